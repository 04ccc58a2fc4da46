"""A network's predictions for a game: P and values of its moves, and everything else.

A record has visits but neither the priors nor the values of single moves. The saved network nearest
to the one that played recomputes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from azcore.errors import AzcoreError
from azcore.game import FloatArray, Game
from azcore.game.registry import received
from azcore.networks.checkpoint import network_of
from azcore.networks.predictor import NetworkPredictor
from azcore.storage.checkpoint import KEY, read_checkpoint
from azcore.storage.run_directory import RunDirectory

MOST_POSITIONS = 300  # plies to evaluate per game, so that a report takes seconds


@dataclass(frozen=True)
class Weights:
    """The checkpoint that evaluates a game, and its steps."""

    path: Path
    step: int

    @staticmethod
    def nearest(run: RunDirectory, version: int, last: int) -> "Weights | None":
        """The checkpoint nearest to `version` steps, if there is one; the last has `last` steps."""
        paths = run.step_checkpoints()
        if run.last_checkpoint.is_file():
            paths = {last: run.last_checkpoint} | paths  # rated weights are smaller
        if not paths:
            return None
        step = min(paths, key=lambda step: (abs(step - version), step))
        return Weights(paths[step], step)


@dataclass(frozen=True)
class Predicted:
    """A network's predictions for a game's first plies, in the view of the player to move."""

    # For the page: the `step`, and `positions` in the view of seat 0 if the network predicts more
    # than policy and value; or a `note` with the reason for its absence. None: no network.
    plain: dict[str, Any] | None = None
    priors: list[list[float]] = field(default_factory=list)  # P of each ply's moves
    values: list[list[float]] = field(default_factory=list)  # of the positions after these moves
    # Cells in the view of seat 0; None without a prediction.
    owners: list[FloatArray | None] = field(default_factory=list)

    def of(self, ply: int, i: int) -> tuple[float | None, float | None]:
        """P and value of a ply's move `i`; None if unknown."""
        if ply >= len(self.priors):
            return None, None
        return self.priors[ply][i], self.values[ply][i]


class Networks:
    """Loads the networks of checkpoints; caches the last one, which games of one period share."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._last: tuple[tuple[Path, int], Game, NetworkPredictor, int] | None = None

    def of(self, path: Path, game: Game) -> tuple[NetworkPredictor, int]:
        """The network of a checkpoint and its steps.

        Raises:
            AzcoreError: it cannot be read, or is of another game or board.
        """
        learned, predictor, step = self.loaded(path)
        shapes = [(one.num_actions, one.observation_shape) for one in (learned, game)]
        if shapes[0] != shapes[1]:
            raise AzcoreError("it is for another board")
        return predictor, step

    def loaded(self, path: Path) -> tuple[Game, NetworkPredictor, int]:
        """The game that a checkpoint learned, its network and its steps.

        Raises:
            AzcoreError: it cannot be read.
        """
        key = path, path.stat().st_mtime_ns
        if self._last is None or self._last[0] != key:
            saved = read_checkpoint(path)
            identity = saved[KEY]["game"]
            learned = received(identity["name"], identity["settings"])
            network, step = network_of(saved, path, learned)
            self._last = key, learned, NetworkPredictor(network, learned, self._device), step
        return self._last[1:]


def predicted(
    weights: Weights | None,
    game: Game,
    states: Sequence[Any],
    moves: Sequence[Sequence[int]],
    networks: Networks,
) -> Predicted:
    """A network's predictions for a game.

    Args:
        weights: None: no network.
        states: [T + 1], the positions of one game from its beginning.
        moves: [T], the moves to evaluate in each position but the last.
    """
    if weights is None:
        return Predicted()
    asked = [state for state in states[:MOST_POSITIONS] if not game.is_terminal(state)]
    try:
        network, step = networks.of(weights.path, game)
        found = network.predict(game, asked)
        values = _values(network, game, asked, moves)
    except (
        AzcoreError,
        OSError,
        LookupError,
        TypeError,
        RuntimeError,
    ) as error:  # torch: no memory
        note = f"Cannot use the network of {weights.path.name}: {error}"
        return Predicted({"note": note})
    seen = [
        one if game.current_player(state) == 0 else one.of_other_player()
        for state, one in zip(asked, found, strict=True)
    ]
    positions = [one.in_numbers() for one in seen] if network.predicts > {"policy", "value"} else []
    return Predicted(
        {"step": step, "positions": positions},
        [[float(one.policy[a]) for a in some] for one, some in zip(found, moves, strict=False)],
        values,
        [one.ownership for one in seen],
    )


def _values(
    network: NetworkPredictor, game: Game, states: Sequence[Any], moves: Sequence[Sequence[int]]
) -> list[list[float]]:
    """The value of each move for its player, by the rules if it ends the game."""
    after = [
        (game.current_player(state), game.step(state, action))
        for state, some in zip(states, moves, strict=False)
        for action in some
    ]
    unfinished = [following for _, following in after if not game.is_terminal(following)]
    judged = iter(network.predict(game, unfinished))
    values = []
    for seat, following in after:
        if game.is_terminal(following):
            values.append(float(game.outcome(following) * (1 if seat == 0 else -1)))
        else:
            value = next(judged).value
            values.append(value if game.current_player(following) == seat else -value)
    cuts = np.cumsum([len(some) for some in moves[: len(states)]])[:-1]
    return [part.tolist() for part in np.split(np.array(values), cuts)]
