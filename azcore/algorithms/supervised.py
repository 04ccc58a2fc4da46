"""Learning from expert games (Silver 2017, Methods "Supervised learning") instead of self-play.

    repeat for each generation:
        the network takes `steps_per_generation` steps on positions sampled from the given games
        the run measures its predictions on held-out games
        the run saves everything

The paper compared AlphaGo Zero with the same network trained this way, which predicted expert moves
better and played worse. `loop.py` has the loop; `azcore.learner.imported_games` divides the games.
"""

from collections.abc import Callable

from lightning.pytorch import Trainer

from azcore.algorithms.algorithm import Algorithm, Surroundings, WhoPlays
from azcore.learner.imported_games import ImportedGames, Prediction, predict, read_games
from azcore.learner.module import LearnerModule
from azcore.learner.sources import GameSource
from azcore.settings import require


class Supervised(Algorithm):
    """Learns from given games, without self-play; holds out some of them to measure predictions.

    Raises:
        SettingError, GameFileError: the games cannot be used.
    """

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        self._settings = settings = around.settings
        require(
            settings.replay.window_start is None,
            "replay.window_start",
            "null with algorithm=supervised, which has all games from the start",
            settings.replay.window_start,
        )
        games = read_games(settings.supervised, settings.game)
        if not any(record.root_values.any() for record in games.learned):
            reason = "for these games, whose positions were not searched"
            share, later = settings.replay.root_value_share, "network.auxiliary.later_values"
            require(share == 0, "replay.root_value_share", f"0 {reason}", share)
            without = f"false {reason}: method=without_later_values"
            require("later_values" not in settings.network.targets, later, without, True)
        if not any(len(record.surprises) for record in games.learned):
            share = settings.replay.surprise_share
            wanted = "0 for these games, whose searches recorded no surprises"
            require(share == 0, "replay.surprise_share", wanted, share)
        self._source = ImportedGames(games.learned, settings.replay.window_games)
        self._held_out = games.held_out
        self._prediction: Prediction | None = None  # of the generation that just ended

    def source(self, self_play: Callable[[WhoPlays], GameSource]) -> GameSource:
        return self._source

    def publish(self, trainer: Trainer, module: LearnerModule) -> None:
        """Measure how well the network predicts the held-out games."""
        if self._held_out:
            self._prediction = predict(
                self._settings.evaluator(module.playing),
                self._settings.game,
                self._held_out,
                self._settings.supervised.held_out_positions,
            )

    def metrics(self) -> dict[str, float]:
        prediction = self._prediction
        if prediction is None:
            return {}
        return {
            "held_out_accuracy": prediction.accuracy,
            "held_out_policy_loss": prediction.policy_loss,
            "held_out_value_loss": prediction.value_loss,
        }
