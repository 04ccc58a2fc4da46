"""The report of `command=check`, and the shorter check before training."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
from rich.console import Console

from azcore.commands.check.planes import drawn_planes, named_planes
from azcore.commands.console import plain_table, table_console
from azcore.commands.result import write_result
from azcore.game import CompiledGame, Game
from azcore.game.registry import preparing, unprepared
from azcore.settings import NOT_NEGATIVE, ONE_OR_MORE, POSITIVE, Checked, build, or_null
from azcore.testing import Report, check_game, perft
from azcore.testing.child import Note, in_child
from azcore.testing.random_play import random_game
from azcore.testing.speed import rules_us_per_ply, us_by_rule
from azcore.testing.view import ranges

Rows = list[tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class CheckSettings(Checked, group="check"):
    """How much to check; the numbers are in `conf/check`."""

    positions: Annotated[int, ONE_OR_MORE]
    seconds: Annotated[float, POSITIVE]
    perft_nodes: Annotated[int, ONE_OR_MORE]
    planes: Annotated[int | None, or_null(NOT_NEGATIVE, "null for all")]
    games: Annotated[int | None, or_null(ONE_OR_MORE, "null for no estimate")]


@dataclass(frozen=True, kw_only=True)
class BeforeTraining(Checked, group="check"):
    """The seconds of checks before a run; the number is in `conf/check`."""

    before_training: Annotated[float, (lambda seconds: seconds >= 0, "0 or more seconds")]


def check(config: Mapping[str, Any]) -> int:
    """Check the composed game and print a report about it; 0.

    Raises:
        ContractError: an identity does not hold.
        FaultyGameError: the game cannot be loaded or compiled.
    """
    settings = build(CheckSettings, config["check"], "check")
    game = unprepared(**config["game"])
    console = table_console()
    with console.status(f"checking {settings.positions} positions of {game.name}"):
        report = in_child(game, partial(_keeps_the_contract, game, settings.positions))
    console.print(f"{report.game} keeps the contract\n")
    for line in report.warnings:
        console.print(f"warning: {line}\n", soft_wrap=True)
    _print_table(console, ("identity", "checks"), _identities(report))
    with preparing(game):
        game.prepare()
    with console.status("counting"):
        width = min(console.width, 110)
        shown = in_child(game, partial(_shown, game, report, settings, width))
    known, counts, pictures = shown
    _print_table(console, ("fact", "value"), known)
    _print_table(console, ("ply", "perft", "seconds", "M/s"), counts)
    console.print(pictures, markup=False)
    with console.status("measuring"):
        speed = _speed(game, config, report, settings)
    _print_table(console, ("speed on this machine", "value"), speed)
    console.print(
        "The time of a game is an estimate for the start of training, when games are about as\n"
        "long as random ones."
    )
    tables = {
        "checks": _identities(report),
        "facts": known,
        "speed": speed,
        "perft": [row[:2] for row in counts],
    }
    rows = {name: {row[0]: row[1] for row in each} for name, each in tables.items()}
    write_result(config, game=game.identity, warnings=report.warnings, **rows)
    return 0


def _keeps_the_contract(game: Game, positions: int, note: Note) -> Report:
    """Check an unprepared game, whose compiled rules must stay within their arrays."""
    with preparing(game):
        if isinstance(game, CompiledGame):
            game.check_bounds()
        game.prepare()
    return check_game(game, num_positions=positions, note=note)


def _shown(
    game: Game, report: Report, settings: CheckSettings, width: int, note: Note
) -> tuple[Rows, Rows, str]:
    note("perft and random games", [])
    counts = _perft_rows(game, settings)
    return _facts(game, report), counts, _pictures(game, settings.planes, width)


def check_before_training(config: Mapping[str, Any], game: Game) -> None:
    """Run the kit briefly, so that a faulty game is reported before anything is written.

    It skips games that ship with azcore, which azcore's own tests check.

    Raises:
        ContractError: an identity does not hold.
    """
    if type(game).__module__.startswith("azcore.games."):
        return
    own = {"before_training": config["check"]["before_training"]}  # presets set `games` too
    seconds = build(BeforeTraining, own, "check").before_training
    if seconds > 0:
        in_child(game, lambda note: check_game(game, seconds=seconds, note=note))


def _print_table(console: Console, head: tuple[str, ...], rows: Rows) -> None:
    table = plain_table(head[0], numbers=head[1:])
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print()


def _identities(report: Report) -> Rows:
    return [
        (str(identity), f"{report.checks[identity]:,}" if report.checks.get(identity) else "-")
        for identity in report.identities
    ]


def _facts(game: Game, report: Report) -> Rows:
    shape = " × ".join(map(str, game.observation_shape))
    games = max(1, report.games)
    wins = (report.seat_0_wins, report.draws, report.seat_1_wins)
    shares = " / ".join(f"{100 * n / games:.0f} %" for n in wins)
    played = "game" if report.games == 1 else "games"
    rows: Rows = [
        ("actions", f"{game.num_actions:,}"),
        ("actions ever legal", f"{report.ever_legal:,}"),
        ("observation", shape),
        ("largest values of its planes", _maxima(game)),
        ("planes that stayed zero", _listed(game, report)),
        ("symmetries", str(len(game.symmetries))),
        ("plies of a random game, mean", f"{report.mean_length:.1f}"),
        ("longest of them", str(report.longest)),
        ("ends checked", report.describe_ends),
        ("max_game_length", f"{game.max_game_length:,}"),
        ("legal actions, mean", f"{report.mean_legal_actions:.1f}"),
        (f"seat 0 wins / draws / seat 1 wins of {report.games} {played}", shares),
    ]
    if isinstance(game, CompiledGame):
        rows.append(("memory of a state", f"{game.state_dtype.itemsize:,} bytes"))
    else:
        rows.append(("memory of a state", "a Python object"))
    return rows


def _listed(game: Game, report: Report) -> str:
    return ranges(np.isin(np.arange(game.observation_shape[0]), report.zero_planes))


def _maxima(game: Game) -> str:
    values = sorted({int(value) for value in game.observation_maximum})
    return ", ".join(map(str, values))


def _perft_rows(game: Game, settings: CheckSettings) -> Rows:
    """Perft depth by depth, as long as the next depth stays within the limits."""
    perft(game, 1)  # loads or compiles the loop
    rows: Rows = []
    visited = 1  # positions whose actions are listed
    for depth in range(1, game.max_game_length + 1):
        began = time.perf_counter()
        count = perft(game, depth)
        used = time.perf_counter() - began
        rows.append((str(depth), f"{count:,}", f"{used:.3f}", f"{count / used / 1e6:.1f}"))
        # The next depth visits the positions that this one has counted.
        expected = used * count / visited
        if count == 0 or count > settings.perft_nodes or expected > settings.seconds:
            break
        visited = count
    return rows


def _pictures(game: Game, most: int | None, width: int) -> str:
    """A seat's view in the middle of a random game, and the final position."""
    actions = random_game(game, np.random.default_rng(1))
    state = game.initial_state()
    for action in actions[: len(actions) // 2]:
        state = game.step(state, action)
    player, text = game.current_player(state), game.state_to_text(state)
    planes = game.observation(state)
    parts = [
        f"what seat {player} sees in the middle of a random game: {text}\n{game.render(state)}",
        "\n".join(drawn_planes(planes, most=most, width=width)).rstrip(),
    ]
    if game.plane_names is not None:
        parts.append("\n".join(named_planes(planes, game.plane_names, most)))
    for action in actions[len(actions) // 2 :]:
        state = game.step(state, action)
    # The kit cannot know who should have won, so the author has to look.
    verdict = {1: "seat 0 has won", 0: "a draw", -1: "seat 1 has won"}[game.outcome(state)]
    ended = f"where that game ended: {verdict} ({game.termination(state)})"
    parts.append(f"{ended}\n{game.render(state)}\n")
    return "\n\n".join(parts)


def _speed(game: Game, config: Mapping[str, Any], report: Report, check: CheckSettings) -> Rows:
    # These import torch, which takes seconds; a faulty game fails before that.
    from azcore.assembly.parts import LearningSettings, settings_from
    from azcore.commands.check.estimate import estimate

    settings, seconds = settings_from(config, LearningSettings), check.seconds
    cost = estimate(settings, report.mean_length, seconds)
    network = settings.network
    by_rule = us_by_rule(game, seconds)
    rows: Rows = [
        ("rules, a ply of random play", f"{rules_us_per_ply(game, seconds):,.2f} µs"),
        *((f"  {rule}, a call", f"{us:,.2f} µs") for rule, us in by_rule.items()),
        ("rules and search, a simulation", f"{cost.search_us:,.2f} µs"),
        (
            f"network {network}, batches of {cost.batch}",
            f"{cost.evaluations_per_s:,.0f} evaluations/s",
        ),
        (
            f"a game of {report.mean_length:.0f} plies × {settings.search.num_simulations} "
            "simulations, about",
            _duration(cost.seconds_per_game),
        ),
    ]
    network_us = 1e6 / cost.evaluations_per_s
    if (rules_us := sum(by_rule.values())) > network_us:
        slowest = max(by_rule, key=by_rule.__getitem__)
        costs = f"{rules_us:,.1f} µs against {network_us:,.1f} µs: begin with {slowest}"
        rows.append(("the rules cost more than the network, a position", costs))
    if check.games is not None:
        rows.append((f"{check.games:,} such games", _duration(check.games * cost.seconds_per_game)))
    return rows


def _duration(seconds: float) -> str:
    for size, unit in ((365.25 * 86400, "years"), (86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.2g} s"
