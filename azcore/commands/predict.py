"""`command=predict`: measures how well a checkpoint predicts games, without search.

Silver 2017, figure 3, compares networks by two measures: how often the likeliest move is the
expert's move, and the squared error of the value, of which the paper plots a quarter.
"""

from dataclasses import asdict

from azcore.assembly.entrants import checkpoint_of
from azcore.assembly.parts import Config, EvaluationSettings, settings_from
from azcore.commands.console import plain_table, table_console
from azcore.commands.result import write_result
from azcore.errors import SettingError
from azcore.learner.imported_games import Prediction, predict, read_games, supervised_settings
from azcore.networks.checkpoint import load_network


def predict_games(config: Config) -> int:
    """Measure `checkpoint` on `supervised.games`, held-out games and the others separately; 0."""
    if config["checkpoint"] is None:
        raise SettingError(
            "command=predict needs checkpoint=PATH, such as a run's checkpoints/last.ckpt"
        )
    settings = settings_from(config, EvaluationSettings)
    supervised = supervised_settings(config)
    network, step = load_network(checkpoint_of(config["checkpoint"]), settings.game)
    evaluator = settings.evaluator(network)
    games = read_games(supervised, settings.game)
    console = table_console()
    numbers = ("number", "positions", "predicted", "policy loss", "value loss", "/ 4")
    table = plain_table("games", numbers=numbers)
    found = {}
    for part, name, records in (
        ("held_out", f"held out, {supervised.held_out:.3g} of all", games.held_out),
        ("others", "the others", games.learned),
    ):
        if records:
            with console.status(f"predicting {name}"):
                prediction = predict(
                    evaluator, settings.game, records, supervised.held_out_positions
                )
            table.add_row(name, *_cells(prediction))
            found[part] = asdict(prediction)
    console.print(
        f"{config['checkpoint']}, step {step:,}, without search", markup=False, soft_wrap=True
    )
    console.print(table)
    write_result(config, step=step, predictions=found)
    return 0


def _cells(prediction: Prediction) -> list[str]:
    return [
        f"{prediction.games:,}",
        f"{prediction.positions:,}",
        f"{prediction.accuracy:.1%}",
        f"{prediction.policy_loss:.3f}",
        f"{prediction.value_loss:.3f}",
        f"{prediction.value_loss / 4:.3f}",
    ]
