"""A game whose own code fails in mid-run: its author is told where, in a few lines."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from numba import config

import azcore
from azcore import interrupts
from azcore.engine.gtp import GtpServer
from azcore.engine.process import ProgramError
from azcore.engine.uci import UciServer
from azcore.errors import FaultyGameError
from azcore.game import faults
from azcore.game.batch import make_batch
from azcore.game.faults import game_faults
from azcore.game.positions import Paths
from azcore.search.evaluators import UniformEvaluator
from azcore.selfplay.actor import Actor
from azcore.storage.checkpoint import read_checkpoint
from conftest import TINY
from engine.partner import Partner, make_server
from faulty_kit import install
from run_kit import fingerprint
from search_kit import search_settings
from selfplay_kit import selfplay_settings

Run = Callable[..., tuple[int, str, str]]
Install = Callable[[str, str, str], Path]
UNCHECKED = "check.before_training=0"
LATE = "if state.count('.') == 3: "  # in the plain game
LATE_COMPILED = "if np.sum(state.board == 0) == 3:\n    "


@pytest.fixture(autouse=True)
def no_game_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a game lies in the folder of the tests, whose lines would be taken for its own."""
    monkeypatch.setattr(faults, "_folders", {})


@pytest.fixture
def faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs the game `faulty`; its file. Again: with another mistake, or none."""

    def forget() -> None:
        for name in [name for name in sys.modules if name.partition(".")[0] == "faulty"]:
            del sys.modules[name]

    def installed(kind: str, rule: str, body: str) -> Path:
        forget()
        install(tmp_path / "plugins", kind, rule, body)
        return tmp_path / "plugins/faulty/game.py"

    (tmp_path / "plugins").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "plugins"))
    yield installed
    forget()


def test_games_may_be_made_while_another_thread_looks_for_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As the watch of rules that do not return does."""

    class Grows(type(Path())):  # type: ignore[misc]
        def is_relative_to(self, other: object) -> bool:  # type: ignore[override]
            faults._folders[Path(str(len(faults._folders)))] = "late"
            return False

    faults._folders[Path("first")] = "first"
    monkeypatch.setattr(faults, "Path", Grows)
    assert faults.game_of("elsewhere") is None


def play(game: azcore.Game, workers: int) -> None:
    actor = Actor(
        game=game,
        search=search_settings(num_simulations=8),
        settings=selfplay_settings(workers=workers),
        seed=3,
        evaluator=UniformEvaluator(game),
    )
    actor.play(200)


def expect_told(message: str, file: Path, rule: str, lines: list[str]) -> None:
    assert f"game faulty is at fault in {rule}:\n" in message
    assert f"  {file}, line " in message
    for line in lines:
        assert line in message
    assert "Traceback" not in message
    assert len(message.splitlines()) <= 6


PLAIN = [
    ("step", f"{LATE}raise ZeroDivisionError('ouch')", ["ZeroDivisionError: ouch\n", "\n    if "]),
    ("step", f"{LATE}raise SystemExit(0)", ["SystemExit: 0\n"]),
    ("step", f"{LATE}raise MemoryError", ["MemoryError", "raise MemoryError"]),
    ("observation", f"{LATE}raise OSError(2, 'gone', 'file')", ["FileNotFoundError: "]),
    ("outcome", "return 7", ["it gave 7, want -1, 0 or +1\n", "\n    def outcome("]),
    ("current_player", f"{LATE}return 5", ["it gave 5, want 0 or 1\n"]),
    ("legal_action_mask", f"{LATE}return np.zeros(9, bool)", ["no legal action, want 1 to 9 "]),
    ("legal_action_mask", f"{LATE}return np.ones(8, bool)", ["it gave bool (8,), want bool (9,)"]),
    ("legal_action_mask", f"{LATE}return np.ones(9, int)", ["it gave int64 (9,), want bool (9,)"]),
    ("observation", f"{LATE}return np.full((2, 3, 3), np.nan)", ["it gave nan, want whole num"]),
    ("observation", f"{LATE}return np.full((2, 3, 3), np.inf)", ["it gave inf, want whole num"]),
    ("observation", f"{LATE}return np.full((2, 3, 3), 0.5)", ["it gave 0.5, want whole num"]),
    ("observation", f"{LATE}return np.zeros((2, 3, 4))", ["(2, 3, 4), want whole", "(2, 3, 3)"]),
]
COMPILED = [
    ("step", f"{LATE_COMPILED}raise ValueError('ouch')", ["ValueError: ouch\n", "\n    raise Val"]),
    (
        "current_player",
        f"{LATE_COMPILED}return 7 // (state.board[0] - state.board[0])",
        ["ZeroDivisionError: ", "\n    return 7 // "],
    ),
    ("outcome", "if state.player >= 0:\n    return 7", ["it gave 7, want -1, 0 or +1\n"]),
    ("current_player", f"{LATE_COMPILED}return 5", ["it gave 5, want 0 or 1\n"]),
    ("legal_actions", f"{LATE_COMPILED}return 0", ["it gave 0 legal actions, want 1 to 9 "]),
    (
        "legal_actions",
        f"{LATE_COMPILED}actions[0] = 5\n    actions[1] = 2\n    return 2",
        ["it gave action 2 out of order, want actions that ascend, 0 to 8"],
    ),
    (
        "legal_actions",
        f"{LATE_COMPILED}actions[0] = 9\n    return 1",
        ["it gave action 9 out of order, want actions that ascend, 0 to 8"],
    ),
]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("rule", "body", "lines"), PLAIN)
def test_plain_rules_in_self_play(
    faulty: Install, rule: str, body: str, lines: list[str], workers: int
) -> None:
    file = faulty("plain", rule, body)
    with pytest.raises(FaultyGameError) as caught:
        play(azcore.make("faulty"), workers)
    expect_told(str(caught.value), file, rule, lines)


@pytest.mark.rules
@pytest.mark.parametrize(("rule", "body", "lines"), COMPILED)
def test_compiled_rules_in_self_play(
    faulty: Install, rule: str, body: str, lines: list[str]
) -> None:
    if config.DISABLE_JIT and "//" in body:
        pytest.skip("NumPy's integers, interpreted, divide by zero with a warning")
    file = faulty("compiled", rule, body)
    with pytest.raises(FaultyGameError) as caught:
        play(azcore.make("faulty"), 2)
    expect_told(str(caught.value), file, rule, lines)


@pytest.mark.parametrize("num_simulations", [1, 200])  # noticed in the game, and in the search
def test_a_game_without_end(faulty: Install, num_simulations: int) -> None:
    """No path in a tree may be longer than its game can be: there is no memory for it."""
    faulty("plain", "is_terminal", "return False")
    faulty_file = faulty("plain", "legal_action_mask", "return np.ones(9, bool)")
    text = faulty_file.read_text()
    for rule, body in (("is_terminal", "return False"), ("step", "return '.' * 9")):
        head = text.index(f"def {rule}(")
        at = text.index(":\n", text.index("->", head)) + 2
        text = f"{text[:at]}        {body}\n{text[at:]}"
    faulty_file.write_text(text)
    game = azcore.make("faulty")
    actor = Actor(
        game=game,
        search=search_settings(num_simulations=num_simulations),
        settings=selfplay_settings(),
        seed=3,
        evaluator=UniformEvaluator(game),
    )
    with pytest.raises(
        FaultyGameError, match=r"False after 9 plies, want .* max_game_length = 9"
    ) as caught:
        actor.play(200)
    if num_simulations == 1:  # the game itself came there, so its moves and board are shown
        *_, moves, third, second, first, letters = str(caught.value).splitlines()
        assert re.fullmatch("after( [abc][123]){9}", moves)
        assert [third, second, first, letters] == ["3 . . .", "2 . . .", "1 . . .", "  a b c"]


def test_only_what_a_game_raises_is_its_fault(faulty: Install) -> None:
    faulty("plain", "step", "raise KeyboardInterrupt")
    game = azcore.make("faulty")
    batch = make_batch(game, 1)
    before = signal.signal(signal.SIGINT, interrupts.interrupt)
    try:
        with pytest.raises(FaultyGameError, match="in step:\nKeyboardInterrupt"):
            batch.step(0, 3)
    finally:
        signal.signal(signal.SIGINT, before)
    if before is signal.default_int_handler:  # then nobody knows who raised it
        with pytest.raises(KeyboardInterrupt):
            batch.step(0, 3)
    for error in (RuntimeError("ours"), ProgramError("another's"), SystemExit(0)):
        with pytest.raises(type(error)), game_faults():
            raise error
    with pytest.raises(TypeError):  # whoever asks it so is at fault
        batch.replay(Paths(*[None] * 3), None)  # type: ignore[arg-type]


# Each of these asks the rules in its own way; the mistake comes late in a game.
COMMANDS = [
    ("train", [*TINY[1:], UNCHECKED, "run_dir=run"]),
    ("train", [*TINY[1:], UNCHECKED, "run_dir=run", "selfplay.workers=2"]),
    ("check", []),
    ("arena", ["players=[random,search]", "arena.games=2", "search.num_simulations=4"]),
]


@pytest.mark.parametrize(("command", "arguments"), COMMANDS)
@pytest.mark.parametrize("error", ["SystemExit(0)", "KeyboardInterrupt", "RuntimeError('ouch')"])
def test_commands_end_with_status_2(
    azcore: Run, faulty: Install, command: str, arguments: list[str], error: str
) -> None:
    file = faulty("plain", "step", f"{LATE}raise {error}")
    before = signal.signal(signal.SIGINT, interrupts.interrupt)
    try:
        status, _, errors = azcore("game=faulty", f"command={command}", *arguments)
    finally:
        signal.signal(signal.SIGINT, before)
    assert status == 2
    assert error.partition("(")[0] in errors
    assert command == "check" or f"{file}, line " in errors
    assert "Traceback" not in errors


def test_the_last_checkpoint_stands_and_the_run_goes_on(
    azcore: Run, faulty: Install, tmp_path: Path
) -> None:
    """A rating match, in the second generation, meets the mistake."""
    faulty("plain", "render", "")
    tiny = ["game=faulty", *TINY[1:], UNCHECKED]
    assert azcore(*tiny, "run_dir=whole")[0] == 0
    # The rules are asked by each rating's first step, not by self-play, which replays.
    later = "import pathlib\nif pathlib.Path('broken/checkpoints/last.ckpt').exists(): "
    faulty("plain", "state_to_text", f"{later}raise SystemExit(0)")
    status, output, errors = azcore(*tiny, "run_dir=broken")
    assert status == 2
    assert "at fault in state_to_text:\nSystemExit: 0\n" in errors
    assert "saved up to" in output
    assert "resume=" in output
    last = tmp_path / "broken/checkpoints/last.ckpt"
    assert read_checkpoint(last)["global_step"] == 4
    faulty("plain", "render", "")
    assert azcore("game=faulty", "resume=broken")[0] == 0
    assert fingerprint(tmp_path / "broken") == fingerprint(tmp_path / "whole")


ASKED = {
    "gtp": ["play b b2", "genmove w", "name"],
    "uci": [
        "isready",
        "position startpos moves b2",
        "go nodes 9",
        "position startpos",
        "go nodes 9",
    ],
}


@pytest.mark.parametrize("protocol", ASKED)
@pytest.mark.parametrize("rule", ["step", "text_to_action", "action_to_text"])
def test_an_engine_tells_answers_and_goes_on(
    compose: Any, faulty: Install, capsys: Any, protocol: str, rule: str
) -> None:
    """A GUI waits for each answer; the author of the game finds the place on standard error."""
    file = faulty("plain", rule, "raise SystemExit(0)")
    kind = {"gtp": GtpServer, "uci": UciServer}[protocol]
    config, game = compose("command=web", "game=tic_tac_toe"), azcore.make("faulty")
    partner = Partner(lambda out: make_server(kind, config, game, out, num_simulations=9))
    partner.say(*ASKED[protocol])
    if protocol == "uci":
        heard = partner.hear("bestmove") + partner.hear("bestmove")
        assert partner.quiet() == []
    else:
        heard = partner.hear("?")
        partner.say("protocol_version")
        while heard[-1] != "= 2":
            heard += partner.hear("=")
        assert "= azcore" in heard
    partner.end()
    assert "SystemExit: 0" in "".join(heard)
    expect_told(capsys.readouterr().err.split("azcore: ")[1], file, rule, ["SystemExit: 0\n"])


def test_a_bug_of_azcore_has_its_own_traceback(
    azcore: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bug(*_: object) -> int:
        raise LookupError("a bug")

    monkeypatch.setattr("azcore.commands.check.report.check", bug)
    status, _, errors = azcore("game=tic_tac_toe", "command=check")
    assert status == 1
    assert errors.count("Traceback") == 1
    assert errors.rstrip().endswith("LookupError: a bug")
    assert "hydra" not in errors


def test_azcore_is_told_from_games_wherever_its_files_lie() -> None:
    """Ctrl-C is raised by azcore's own handler, in the midst of whatever a game does."""
    assert Path(azcore.__file__).parent == faults._AZCORE
    assert Path(interrupts.__file__).is_relative_to(faults._AZCORE)
