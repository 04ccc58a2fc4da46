"""What a network knows without search, measured in positions of random games of its game.

`update` measures the checkpoints of a run, a few hundred positions each, and keeps the results in
its probes.csv; `probes_of` reads them. All checkpoints of a game answer the same questions, and a
measure that a game cannot state is left out.

Letters: P positions, A actions, H rows, W columns.
"""

import json
import math
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from azcore.errors import AzcoreError, FaultyGameError, SettingError
from azcore.game import CompiledGame, Game
from azcore.game.batch import GameBatch, make_batch
from azcore.game.exhaustive_search import nothing_decided
from azcore.game.faults import game_faults
from azcore.game.positions import make_positions, only_roots
from azcore.game.registry import received
from azcore.report.predicted import Networks
from azcore.report.tables import cell, count, early, read_rows
from azcore.search.predictions import Prediction, Predictor
from azcore.storage.checkpoint import digest_of
from azcore.storage.run_directory import RunDirectory
from azcore.storage.table import Table
from azcore.storage.untrusted import require_no_link

VERSION = 1  # of the questions: another one measures all checkpoints again
CHECKPOINTS = 12  # of a run, most of them early
GAMES = 64  # random ones, from which the positions are
POSITIONS = 200  # any
CHOICES = 100  # positions with a choice to make, of each kind, at most
MOST_TRIED = 300_000  # legal actions of the positions searched for such wins, by compiled rules
MOST_TRIED_PLAIN = 5_000  # by rules in plain Python
BRIEFLY = 5.0  # seconds that a page which somebody waits for takes for a run
NOTHING = "none"  # measure of the row of a checkpoint without results
COLUMNS = ["version", "weights", "step", "measure", "value", "chance", "margin"]
CPU = torch.device("cpu")


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A kind of question, for pages."""

    title: str  # of its row or column
    meaning: str  # one phrase
    is_share: bool  # whether its values are shares of the answers; else they are correlations


MEASURES = {
    "wins": Measure(
        title="Wins in one move",
        meaning="how many it plays if it draws moves from its policy; by chance: if from all moves",
        is_share=True,
    ),
    "gains": Measure(
        title="Gains of material",
        meaning="how often it plays a move that gains some, such as a capture, where there is one",
        is_share=True,
    ),
    "material": Measure(
        title="Value follows material",
        meaning="correlation with the present lead in pieces: 0 none, 1 exact",
        is_share=False,
    ),
    "score": Measure(
        title="Value follows the score",
        meaning="correlation with the score at the end of the random game: 0 none, 1 exact",
        is_share=False,
    ),
    "ownership": Measure(
        title="Owners of cells",
        meaning="how many it predicts right, of those owned at the end of the random game",
        is_share=True,
    ),
}


class Probe(NamedTuple):
    """A checkpoint's result in one measure.

    `value` is a share from 0 to 1 or a correlation from -1 to 1, `chance` the value of a network
    that knows nothing, and `margin` two standard errors of `chance`.
    """

    value: float
    chance: float
    margin: float


class Known(NamedTuple):
    """The results of one checkpoint by measure, and its optimizer steps."""

    step: int
    probes: dict[str, Probe]


# -- results ------------------------------------------------------------------------------------


def in_words(measure: str, probe: Probe) -> str:
    """A result, such as `7 of 10,` and on the next line `by chance 1 of 10`, or `clear, 0.62`."""
    if MEASURES[measure].is_share:
        return f"{_of_ten(probe.value)},\nby chance {_of_ten(probe.chance)}"
    sizes = {"reversed": -probe.margin, "none": probe.margin, "weak": 0.5, "clear": 0.8}
    link = next((word for word, most in sizes.items() if probe.value <= most), "close")
    return f"{link}, {probe.value:.2f}".replace("-", "−")


def _of_ten(share: float) -> str:
    return f"{10 * share:.0f} of 10" if share >= 0.095 else f"{100 * share:.0f} of 100"


def known_since(course: Sequence[Known], measure: str) -> int | None:
    """The step from which on results stay at or above the middle between chance and the best.

    None: the best is not clearly better than chance, or the latest has fallen below the middle.
    """
    found = [(known.step, known.probes[measure]) for known in course if measure in known.probes]
    best = max((probe.value for _, probe in found), default=-math.inf)
    since = None
    for step, probe in reversed(found):
        is_known = best > probe.chance + probe.margin
        if not is_known or probe.value < (best + probe.chance) / 2:
            break
        since = step
    return since


def since_in_words(course: Sequence[Known], measure: str) -> str:
    """`known_since` as `from step 400 on`."""
    step = known_since(course, measure)
    return "not yet" if step is None else f"from step {step:,} on" if step else "from the start"


def probes_of(run: RunDirectory) -> list[Known]:
    """The kept results of the run's present checkpoints, by ascending steps.

    Anybody may have written the table: other rows are ignored.
    """
    weights = {_digest(path): step for step, path in _checkpoints(run).items()}
    found: dict[int, dict[str, Probe]] = {}
    for row in _rows(run):
        step = weights.get(row["weights"])
        if step is not None and row["measure"] in MEASURES:
            value, chance, margin = (float(row[name]) for name in ("value", "chance", "margin"))
            found.setdefault(step, {})[row["measure"]] = Probe(value, chance, margin)
    return [Known(step, found[step]) for step in sorted(found)]


def update(run: RunDirectory, device: torch.device = CPU, seconds: float = math.inf) -> None:
    """Measure those of the run's checkpoints that have no results yet, and keep the results.

    It measures a checkpoint that it cannot use once, and does nothing in a folder that it cannot
    write to.

    Args:
        run: the run.
        device: where the networks run.
        seconds: after which it begins no other checkpoint; the next call continues. The last
            checkpoint and the first come first, and one is measured in any case.

    Raises:
        SettingError: the table is a link, or cannot be read.
    """
    paths = _checkpoints(run)
    steps = sorted(paths)
    wanted = {_digest(paths[steps[i]]): steps[i] for i in early(len(steps), CHECKPOINTS)}
    missing = [weights for weights in wanted if weights not in {r["weights"] for r in _rows(run)}]
    if not missing or not os.access(run.path, os.W_OK):
        return
    require_no_link(run.probes)
    networks, began, rows = Networks(device), time.monotonic(), list[dict[str, str]]()
    for weights in dict.fromkeys([missing[-1], *missing]):
        step = wanted[weights]
        try:
            game, network, _ = networks.loaded(paths[step])
            results = measured(network, game)
        except FaultyGameError:
            break  # the others have the same game
        except RuntimeError:  # torch: no memory
            continue
        except (AzcoreError, OSError, LookupError, TypeError):
            results = {}
        found = {name: list(map(float, probe)) for name, probe in results.items()}
        rows += [
            {"version": str(VERSION), "weights": weights, "step": str(step), "measure": name}
            | {
                column: f"{number:.4f}"
                for column, number in zip(Probe._fields, numbers, strict=True)
            }
            for name, numbers in (found or {NOTHING: [0.0, 0.0, 0.0]}).items()
        ]
        if time.monotonic() - began > seconds:
            break
    present = {_digest(path) for path in paths.values()}
    kept = [row for row in _rows(run) if row["weights"] in present]  # of other programs, too
    with suppress(SettingError):  # then they are measured again
        Table(run.probes, COLUMNS).replace({n: row[n] for n in COLUMNS} for row in kept + rows)


def _checkpoints(run: RunDirectory) -> dict[int, Path]:
    """The run's checkpoints by steps: those it rated, and the last."""
    paths = run.step_checkpoints()
    metrics = read_rows(run.metrics)
    if run.last_checkpoint.is_file():
        paths = {count(metrics[-1], "step") if metrics else 0: run.last_checkpoint} | paths
    return {step: path for step, path in paths.items() if path.is_file()}


def _digest(path: Path) -> str:
    try:
        return digest_of(path)
    except OSError:  # replaced meanwhile
        return ""


def _rows(run: RunDirectory) -> list[dict[str, str]]:
    """The rows of this version whose numbers are in range."""
    return [row for row in read_rows(run.probes) if _is_valid(row)]


def _is_valid(row: dict[str, str]) -> bool:
    numbers = [cell(row, name) for name in ("value", "chance", "margin")]
    return (
        all(name in row for name in COLUMNS)
        and row["version"] == str(VERSION)
        and row["measure"] in (*MEASURES, NOTHING)
        and all(number is not None and abs(number) <= 1 for number in numbers)
    )


# -- questions ----------------------------------------------------------------------------------


class Choice(NamedTuple):
    """A position in which some actions are better than the others by the rules."""

    state: Any
    good: npt.NDArray[np.intp]  # the better actions
    chance: float  # their share of the legal ones


@dataclass(frozen=True, kw_only=True, eq=False)
class Questions:
    """Positions of random games, and what the rules say of them."""

    states: list[Any] = field(default_factory=list)  # [P]
    # By measure, [P] in the view of the player to move, to compare with values; NaN: unknown.
    numbers: dict[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    # [P], each [H, W] in the same view; None: unknown.
    owners: list[npt.NDArray[np.int8] | None] = field(default_factory=list)
    choices: dict[str, list[Choice]] = field(default_factory=dict)  # by measure


def measured(network: Predictor, game: Game) -> dict[str, Probe]:
    """The results of a network, by measure; those without positions are left out.

    Raises:
        AzcoreError: the game breaks its contract.
    """
    asked = questions_of(game)
    found = network.predict(game, asked.states)
    values = np.array([one.value for one in found])
    results = {name: _correlation(values, truth) for name, truth in asked.numbers.items()}
    results["ownership"] = _owners(found, asked.owners)
    for name, choices in asked.choices.items():
        answers = network.predict(game, [choice.state for choice in choices])
        shares = [
            float(one.policy[choice.good].sum())
            for one, choice in zip(answers, choices, strict=True)
        ]
        results[name] = _share(shares, [choice.chance for choice in choices])
    known = ((name, results.get(name)) for name in MEASURES)
    return {n: probe for n, probe in known if probe is not None and math.isfinite(probe.value)}


def _correlation(values: npt.NDArray[Any], truth: npt.NDArray[np.float64]) -> Probe | None:
    known = np.isfinite(truth) & np.isfinite(values)
    if known.sum() < 3 or np.ptp(truth[known]) == 0:
        return None
    constant = np.ptp(values[known]) == 0
    found = 0.0 if constant else float(np.corrcoef(values[known], truth[known])[0, 1])
    return Probe(found, 0.0, 2 / math.sqrt(GAMES))  # positions of one game resemble each other


def _owners(
    found: Sequence[Prediction], owners: Sequence[npt.NDArray[np.int8] | None]
) -> Probe | None:
    shares = [
        float((np.sign(one.ownership[owner != 0]) == owner[owner != 0]).mean())
        for one, owner in zip(found, owners, strict=True)
        if one.ownership is not None and owner is not None and owner.any()
    ]
    return Probe(sum(shares) / len(shares), 0.5, 1 / math.sqrt(GAMES)) if shares else None


def _share(shares: Sequence[float], chances: Sequence[float]) -> Probe | None:
    if not shares:
        return None
    chance = sum(chances) / len(chances)
    margin = 2 * math.sqrt(chance * (1 - chance) / len(chances))
    return Probe(sum(shares) / len(shares), chance, margin)


def questions_of(game: Game) -> Questions:
    """The questions for a game; the same ones for the same settings.

    Raises:
        FaultyGameError: the game breaks its contract.
    """
    with game_faults():
        return _questions(json.dumps(game.identity, sort_keys=True))


@lru_cache(maxsize=8)
def _questions(identity: str) -> Questions:
    given = json.loads(identity)
    game = received(given["name"], given["settings"])
    rng = np.random.default_rng(VERSION)
    some, won = Sample(POSITIONS, rng), Sample(CHOICES, rng)
    ends = _play(game, rng, some, won)
    states = [state for _, state in some.kept]
    signs = [1 - 2 * game.current_player(state) for state in states]
    last = [ends[number] for number, _ in some.kept]
    numbers: dict[str, list[float]] = {}
    choices = {"wins": [choice for _, state in won.kept if (choice := _winning(game, state))]}
    if game.has_material:
        numbers["material"] = [game.material(state) for state in states]
        choices["gains"] = [
            choice for state in states[:CHOICES] if (choice := _gaining(game, state))
        ]
    if game.has_score:
        scores = [game.score(end) for end in last]
        numbers["score"] = [math.nan if score is None else score for score in scores]
    owners = [game.ownership(end) for end in last] if game.has_ownership else [None] * len(last)
    return Questions(
        states=states,
        numbers={name: np.array(truth) * signs for name, truth in numbers.items()},
        owners=[
            None if owner is None else owner * np.int8(sign)
            for owner, sign in zip(owners, signs, strict=True)
        ],
        choices=choices,
    )


class Sample:
    """A uniform random sample of `size` positions from a stream of unknown length."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.kept: list[tuple[int, Any]] = []  # the number of the game, and a state
        self._size, self._rng, self._seen = size, rng, 0

    def see(self, batch: GameBatch, row: int) -> None:
        """Offer the root of a row, whose game has the row's number."""
        self._seen += 1
        if len(self.kept) < self._size:
            self.kept.append((row, batch.get(row)))
        elif (place := int(self._rng.integers(self._seen))) < self._size:
            self.kept[place] = row, batch.get(row)


def _play(game: Game, rng: np.random.Generator, some: Sample, won: Sample) -> list[Any]:
    """Play `GAMES` random games at once, offer their positions to both samples; the last states.

    `won` sees those in which a move wins, as long as the search for them is cheap.
    """
    batch, tried, ply = make_batch(game, GAMES), 0, 0
    most = MOST_TRIED if isinstance(game, CompiledGame) else MOST_TRIED_PLAIN
    positions, decided = make_positions(game, GAMES), nothing_decided(GAMES)
    over = np.zeros(GAMES, np.bool_)
    while not over.all():
        roots = np.where(over, -1, np.arange(GAMES)).astype(np.int32)
        batch.replay(only_roots(roots), positions)
        looks = tried < most
        if looks:
            batch.decide(only_roots(roots), 1, decided)
        actions = np.full(GAMES, -1, np.int32)
        for row in np.flatnonzero(~over).tolist():
            some.see(batch, row)
            if looks and decided.result[row] > 0:
                won.see(batch, row)
            legal = positions.legal_actions[row, : positions.num_legal[row]]
            tried += len(legal)
            actions[row] = rng.choice(legal)
        batch.play(actions, over)
        ply += 1
        for row in np.flatnonzero(~over).tolist():
            batch.is_over(row, ply)  # a game without an end is at fault
    return [batch.get(row) for row in range(GAMES)]


def _winning(game: Game, state: Any) -> Choice | None:
    """The actions that win at once."""
    sign = 1 - 2 * game.current_player(state)

    def wins(following: Any) -> bool:
        return game.is_terminal(following) and sign * game.outcome(following) > 0

    return _choice(game, state, wins)


def _gaining(game: Game, state: Any) -> Choice | None:
    """The actions after which the player to move is further ahead in material."""
    sign = 1 - 2 * game.current_player(state)
    now = sign * game.material(state)
    return _choice(game, state, lambda following: sign * game.material(following) > now + 1e-9)


def _choice(game: Game, state: Any, is_good: Any) -> Choice | None:
    legal = np.flatnonzero(game.legal_action_mask(state))
    good = [action for action in legal.tolist() if is_good(game.step(state, action))]
    return Choice(state, np.array(good), len(good) / len(legal)) if good else None
