"""`command=check`: its report, and what it says of a game whose own code is at fault."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import azcore
from azcore.commands.check import report
from azcore.commands.check.planes import drawn_planes, named_planes
from azcore.commands.check.report import check
from azcore.commands.new import write_package
from azcore.commands.train import train
from azcore.errors import FaultyGameError
from azcore.game import registry
from azcore.testing import ContractError, check_game, perft, speed

Compose = Callable[..., dict[str, Any]]
BRIEF = ["check.positions=60", "check.seconds=0.05"]
INTERPRETED = bool(numba.config.DISABLE_JIT)


# -- counts and drawings -------------------------------------------------------------------------


@pytest.mark.rules
@pytest.mark.parametrize("name", ["tic_tac_toe", "tic_tac_toe_plain"])
def test_perft_of_both_forms(name: str) -> None:
    game = azcore.make(name)
    depth = 5 if INTERPRETED or name.endswith("plain") else 9
    # Known counts; games over at ply 5 are missing from ply 6 on.
    counts = [1, 9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872]
    assert [perft(game, d) for d in range(depth + 1)] == counts[: depth + 1]
    if depth == 9:
        assert perft(game, 10) == 0


@pytest.mark.rules
def test_perft_of_a_position_leaves_it_alone() -> None:
    game = azcore.make("tic_tac_toe")
    state = game.state_from_text("XX./OO./... x")
    before = state.copy()
    assert [perft(game, depth, state) for depth in (1, 2)] == [5, 16]  # one of five wins at once
    assert state == before
    with pytest.raises(ValueError, match="depth must be 0 or more, got -1"):
        perft(game, -1)


@pytest.mark.parametrize(
    ("us_per_ply", "least", "most"),
    [(1000, 0.9, 1.1), (20, 0.9, 1.1), (700_000, 0, 15 * 0.7)],
    ids=["slow rules", "fast rules", "a ply takes most of the time"],
)
def test_the_speed_of_rules_is_measured_in_the_time_given(
    us_per_ply: int, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = azcore.make("tic_tac_toe_plain")
    clock = Clock()
    step = game.step

    def step_by_the_clock(state: Any, action: int) -> Any:
        clock.now += us_per_ply * 1e-6
        return step(state, action)

    monkeypatch.setattr(game, "step", step_by_the_clock)
    monkeypatch.setattr(speed, "time", clock)
    assert speed.rules_us_per_ply(game, seconds=1.0) == pytest.approx(us_per_ply)
    assert least <= clock.now <= most


def test_each_rule_is_timed_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    game = azcore.make("tic_tac_toe_plain")
    clock = Clock()
    observation = game.observation

    def observe_by_the_clock(state: Any) -> Any:
        clock.now += 20e-6
        return observation(state)

    monkeypatch.setattr(game, "observation", observe_by_the_clock)
    monkeypatch.setattr(speed, "time", clock)
    monkeypatch.setattr(speed, "random_states", lambda *_: [game.initial_state()] * 3)
    # A rule that takes no time by this clock ends by the seconds that it may take: none.
    times = speed.us_by_rule(game, seconds=0.0)
    assert times == pytest.approx({"legal_actions": 0, "step": 0, "is_terminal": 0, "observe": 20})


class Clock:
    """Stands where the module `time` is looked up, and moves when told."""

    now = 0.0  # seconds

    def perf_counter(self) -> float:
        return self.now


def test_the_kit_can_be_told_to_stop() -> None:
    report = check_game(azcore.make("go"), seconds=0.01)  # in the middle of the first game
    assert report.positions >= 1
    assert (report.games, report.mean_length, report.longest) == (0, 0, 0)


def test_planes_are_drawn_side_by_side() -> None:
    observation = np.zeros((7, 2, 3), np.float32)
    observation[0, 0, 1] = 1
    observation[2, 1, 2] = 12
    observation[4] = 1
    observation[6, 0, 0] = 3
    assert drawn_planes(observation, most=None, width=80) == [
        "plane 0   plane 2    plane 6",
        "·1·        ·  ·  ·   3··",
        "···        ·  · 12   ···",
        "",
        "planes 1, 3, 5: all 0",
        "plane 4: all 1",
    ]
    assert drawn_planes(observation, most=1, width=10) == [
        "plane 0",
        "·1·",
        "···",
        "",
        "not drawn: planes 2, 6",
        "planes 1, 3, 5: all 0",
        "plane 4: all 1",
    ]
    names = list("abcdefg")
    assert named_planes(observation, names, 1) == ["plane 0: a", "plane 4: e"]
    assert named_planes(observation, names, None) == [
        f"plane {i}: {names[i]}" for i in (0, 2, 4, 6)
    ]
    narrow = drawn_planes(observation, most=None, width=10)
    assert [line for line in narrow if "plane " in line][:2] == ["plane 0", "plane 2"]


# -- the report ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tic_tac_toe", "tic_tac_toe_plain"])
def test_report(
    compose: Compose,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    slow = name == "tic_tac_toe_plain"
    us_by_rule = {"observe": 1e6 if slow else 1e-6, "step": 1e-6}
    monkeypatch.setattr(report, "us_by_rule", lambda game, seconds: us_by_rule)
    long_enough = "check.seconds=2"  # for perft by plain rules on a busy machine
    assert check(compose("command=check", f"game={name}", *BRIEF, long_enough)) == 0
    told = capsys.readouterr().out
    for words in (
        f"{name} version 1 {{}} keeps the contract",
        "an action reads back from its text",
        "max_game_length",
        "3,024",
        "sees in the middle of a random game: ",
        "plane 0   plane 1",
        "plane 1: opponent's marks",
        "rules, a ply of random play",
        "  observe, a call",
        "of random games may remain unseen",
        "evaluations/s",
        "plies × 16 simulations, about",
    ):
        assert words in told
    assert ("the rules cost more than the network, a position" in told) == slow
    assert ("begin with observe" in told) == slow
    assert ("10 bytes" in told) == (name == "tic_tac_toe")
    assert "\x1b" not in told  # plain where it is not a terminal


def test_settings_are_checked(compose: Compose) -> None:
    for override, sentence in (
        ("check.positions=0", "check.positions must be 1 or more, got 0"),
        ("check.planes=-1", "check.planes must be 0 or more, or null for all, got -1"),
    ):
        with pytest.raises(azcore.AzcoreError, match=sentence):
            check(compose("command=check", "game=tic_tac_toe", override))


# -- games at fault ------------------------------------------------------------------------------


@pytest.fixture
def package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The sources of a new game that is found as if it were installed, and its settings."""
    source = write_package("pebbles", tmp_path) / "src"
    monkeypatch.syspath_prepend(str(source))
    point = EntryPoint("pebbles", "pebbles.game:Pebbles", "azcore.games")
    monkeypatch.setattr(registry, "installed_games", lambda: {"pebbles": point})
    yield source / "pebbles", {"name": "pebbles", "board_size": 3, "in_a_row": 3}
    for name in [name for name in sys.modules if name.partition(".")[0] == "pebbles"]:
        del sys.modules[name]


def edited(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


LOADING = "game pebbles cannot be loaded from pebbles.game:Pebbles:\n"
MAKING = "game pebbles cannot be made with {'board_size': 3, 'in_a_row': 3}:\n"
BREAKS = "pebbles breaks the contract, "


@pytest.mark.skipif(INTERPRETED, reason="half of these are faults that numba finds")
@pytest.mark.parametrize(
    ("file", "old", "new", "lines"),
    [
        (
            "notation.py",
            "import re\n",
            "import ree\n",
            [LOADING, "ModuleNotFoundError: No module named 'ree'", "notation.py, line 8"],
        ),
        (
            "rules.py",
            "def step(",
            "def step((",
            [LOADING, "SyntaxError: ", "rules.py, line ", "\n    def step((state"],
        ),
        (
            "game.py",
            "class Pebbles(",
            "class Stones(",
            [LOADING, "AttributeError: module 'pebbles.game' has no attribute 'Pebbles'"],
        ),
        (
            "rules.py",
            "@register_jitable\n",
            "",
            [
                MAKING,
                "numba cannot compile step (TypingError):\n",
                "Untyped global name 'in_line'",
                "rules.py, line ",
                "\n    if in_line(state, row, column):\n",
                "hint: a helper that a rule calls needs @numba.extending.register_jitable",
            ],
        ),
        (
            "rules.py",
            "state.winner = state.player + 1",
            "state.wimmer = state.player + 1",
            [
                MAKING,
                "numba cannot compile step (KeyError)",
                "the record has no field 'wimmer'",
                "\n    state.wimmer = ",
            ],
        ),
        (
            "rules.py",
            "length += 1",
            'length += "1"',
            [MAKING, "numba cannot compile step", 'rules.py, line 52\n    length += "1"'],
        ),
        (
            "game.py",
            "num_actions=num_cells,",
            "num_actions=num_cells / 0,",
            [MAKING, "ZeroDivisionError: division by zero\n", "game.py, line "],
        ),
        (
            "game.py",
            "rules.set_up(state, self.in_a_row)",
            "rules.set_up(state)",
            [BREAKS, "initial_state raised TypeError", "\n    rules.set_up(state)"],
        ),
        (
            "notation.py",
            'return f"{rows} ',
            'return f"{rows[99]} ',
            [
                BREAKS,
                "state_to_text raised IndexError",
                "notation.py, line ",
                "\nafter (no action)",
            ],
        ),
        (
            "rules.py",
            "while 0 <= r < size and",
            "while 0 <= r <= size and",
            [
                BREAKS,
                "IndexError: index ",
                "rules.py, line 51\n",
                "while 0 <= r <= size",
                "\nafter ",
            ],
        ),
        (
            "rules.py",
            "return 1 if",
            "return 3 if",
            [BREAKS, "'the outcome of a terminal state is -1, 0 or +1': got 3\nafter ", " 3 "],
        ),
    ],
    ids=lambda value: value.strip()[:30] if isinstance(value, str) else "",
)
def test_faults_are_told_with_their_place(
    compose: Compose,
    package: tuple[Path, dict[str, Any]],
    file: str,
    old: str,
    new: str,
    lines: list[str],
) -> None:
    folder, settings = package
    edited(folder, file, old, new)
    with pytest.raises(FaultyGameError) as caught:
        check(compose("command=check", "game=tic_tac_toe", *BRIEF) | {"game": settings})
    told = str(caught.value)
    for line in lines:
        assert line in told, told
    assert len(told.splitlines()) < 12
    assert "\x1b" not in told


def test_no_training_with_a_game_at_fault(
    compose: Compose,
    package: tuple[Path, dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, settings = package
    monkeypatch.chdir(tmp_path)
    edited(folder, "rules.py", "return 1 if", "return 3 if")
    config = compose("game=tic_tac_toe", "run_dir=run", "trainer.max_steps=2") | {"game": settings}
    with pytest.raises(ContractError, match="-1, 0 or"):
        train(config)
    assert not (tmp_path / "run").exists()


def test_a_setting_that_the_game_refuses_is_no_fault(package: tuple[Path, dict[str, Any]]) -> None:
    with pytest.raises(azcore.AzcoreError, match="board_size must be a whole number") as caught:
        azcore.make("pebbles", board_size=99)
    assert not isinstance(caught.value, FaultyGameError)
