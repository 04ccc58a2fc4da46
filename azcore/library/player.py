"""A player: a loaded network for predictions and searches."""

import os
from pathlib import Path
from typing import Any

from torch import nn

from azcore.assembly.entrants import checkpoint_of, player_name
from azcore.assembly.parts import PlaySettings, settings_from
from azcore.assembly.pretrained import is_pretrained
from azcore.commands.info import facts
from azcore.errors import GameError
from azcore.game import Game
from azcore.game.faults import game_faults
from azcore.game.registry import offer, received
from azcore.library.html import facts_of
from azcore.library.settings import settings_of
from azcore.networks import network_settings
from azcore.networks.checkpoint import network_of
from azcore.networks.predictor import NetworkPredictor
from azcore.search.evaluators import Evaluator
from azcore.search.predictions import Prediction
from azcore.storage.checkpoint import KEY, read_checkpoint


class Player:
    """A network and its game; `azcore.load` makes one.

    Attributes:
        name: the name in tables: the run's name and the checkpoint's, or a shipped network's.
        game: the game, with the settings that the network learned it with.
        network: the torch module: logits [N, A] and values [N] for observations [N, C, H, W].
        step: optimizer steps behind the weights.
        evaluator: for search, the fastest way to run the network on this machine.
    """

    def __init__(
        self,
        *,
        name: str,
        game: Game,
        network: nn.Module,
        step: int,
        evaluator: Evaluator,
        shape: str,
        facts: dict[str, str],
        predictor: NetworkPredictor,
    ) -> None:
        self.name, self.game, self.network, self.step = name, game, network, step
        self.evaluator = evaluator
        self._shape, self._facts, self._predictor = shape, facts, predictor

    def predict(self, state: Any) -> Prediction:
        """The network's predictions for a position, without search; view of the player to move.

        Returns:
            policy float32 [A], value in [-1, 1], and the network's other predictions.

        Raises:
            GameError: the game is over there.
        """
        if self.game.is_terminal(state):
            raise GameError(f"{self.game.name}: the game is over, so there is nothing to predict")
        return self._predictor.predict(self.game, [state])[0]

    def require_game(self, game: Game) -> None:
        """Refuse a game on which the network was not trained.

        Raises:
            GameError: the message names both.
        """
        if not game.is_played_as(self.game.identity):
            raise GameError(f"{self.name} plays {self.game}, got {game}")

    def __repr__(self) -> str:
        return f"Player {self.name}: {self._shape} for {self.game}, step {self.step:,}"

    def _repr_html_(self) -> str:
        return facts_of(self.name, list(self._facts.items()))


def load(source: str | os.PathLike[str], *, game: Game | None = None) -> Player:
    """A player from a checkpoint.

    Args:
        source: a run directory (its last weights), `RUN@step-400`, a checkpoint file, or
            `pretrained/NAME` for a network that an installed game ships.
        game: for a game that is not installed: the game with the network's settings.

    Raises:
        SettingError: the run, checkpoint or network does not exist.
        CheckpointError: the checkpoint cannot be used, or is of another game.
        GameError: its game is not installed.
    """
    text = os.fspath(source)
    path = checkpoint_of(text)
    checkpoint = read_checkpoint(path)
    if game is None:
        identity = checkpoint[KEY]["game"]
        game = received(identity["name"], identity["settings"])
    offer(game)
    with game_faults():
        network, step = network_of(checkpoint, path, game)
        settings = settings_from(settings_of(game), PlaySettings)
        evaluator = settings.search_evaluator(network, step)
    return Player(
        name=text.partition("/")[2] if is_pretrained(text) else player_name(path),
        game=game,
        network=network,
        step=step,
        evaluator=evaluator,
        shape=str(network_settings(checkpoint[KEY]["network"])),
        facts=facts(Path(path), checkpoint),
        predictor=NetworkPredictor(network, game, settings.device),
    )
