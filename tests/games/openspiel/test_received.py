"""An id of OpenSpiel in a file of anybody's is a known name with known parameters, or refused."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

import azcore
from azcore.commands.train import train
from azcore.errors import GameError
from azcore.game.registry import received
from azcore.storage.checkpoint import KEY, read_checkpoint, write_checkpoint
from azcore.storage.game_file import GameFile
from azcore.storage.run_directory import RunDirectory
from conftest import TINY, compose

loading, listed = (
    import_module(f"azcore.games.openspiel.{name}") for name in ("loading", "listed")
)
LISTED: dict[str, Any] = listed.LISTED

ENDLESS = "normal_form_extensive_game(game=tic_tac_toe())"  # some gigabytes after a minute
WORDS = "game.id= on the command line accepts any id"

WRAPPERS = ("misere", "turn_based_simultaneous_game", "normal_form_extensive_game", "zerosum")
ODD = [
    *(f"{name}(game={inside})" for name in WRAPPERS for inside in ("hex()", "go()", "chess")),
    *(f"{name}(game=" * 3000 + "hex()" + ")" * 3000 for name in WRAPPERS),
    *(f"{name}(" * 3000 for name in WRAPPERS),
    *(f"hex({key}={value})" for key in ("board_size", "num_cols") for value in
      (-1, 0, 1, 20, 300, 10**9, 10**30, "1e9", "0x9", "٣", "", "9 ", "+9", "9.0", "True", "9;9")),
    *(f"gomoku(size={size},dims={dims})" for size in (-1, 0, 1, 9, 99) for dims in (1, 3, 9, 99)),
    *(f"{name}({word})" for name in LISTED for word in ("bord=9", "game=hex()")),
    *(f"{name}(players={n})" for name in ("quoridor", "chinese_checkers") for n in (0, 1, 3, 99)),
    *(f"nim(pile_sizes={sizes})" for sizes in ("", "0", "9;", ";9", "99;99", "9;" * 60 + "9")),
    *(f"efg_game(filename={path})" for path in ("/etc/passwd", "/dev/zero", "/dev/stdin")),
    *(sign * count for sign in "(),=;\x00\n é" for count in (1, 90, 10**6)),
    *(f"hex{sign}" for sign in ("(", ")", "()()", "((", "( )", " ", "\n", "\x00", "(board_size)")),
    *("Hex", "hexx", "kuhn_poker", "universal_poker()", "python_tic_tac_toe", "hex(hex(hex()))"),
    *(f"go(komi={komi})" for komi in ("nan", "inf", "1e308", "7.55", "-", "9" * 400 + ".5")),
    *(f"mnk({'m=3,' * count}n=3,k=3)" for count in (100, 10**5)),
]  # fmt: skip


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids that would have reached OpenSpiel; none does."""
    asked: list[str] = []

    def load(spiel_id: str) -> Any:
        asked.append(spiel_id)
        raise GameError("loaded")

    monkeypatch.setattr("azcore.games.openspiel.game.load", load)
    return asked


def test_odd_ids_from_files_never_reach_openspiel(loads: list[str]) -> None:
    with pytest.raises(GameError):
        received("openspiel", {"id": "misere"})  # imports the game before the clock starts
    assert len(set(ODD)) >= 200
    for spiel_id in ODD:
        began = time.perf_counter()
        with pytest.raises(GameError, match=r"^openspiel: [^\n]*$") as refusal:
            received("openspiel", {"id": spiel_id, "max_plies": 9})
        assert time.perf_counter() - began < 0.1, spiel_id[:60]
        assert len(str(refusal.value)) < 400
    assert not loads


def corners(count: int) -> list[str]:
    """Ids of every name with the least and the most that each parameter may be."""
    found = []
    for name, parameters in LISTED.items():
        values = [
            dict.fromkeys(
                (str(each[0]), str(each[-1])) if isinstance(each, range | tuple) else ("1.5",)
            )
            for key, each in parameters.items()
            if key != "pile_sizes"
        ]
        keys = [key for key in parameters if key != "pile_sizes"]
        every = list(product(*values)) if keys else [()]
        kept = every if len(every) <= count else [every[0], every[-1]]
        found += [
            f"{name}({','.join(f'{k}={v}' for k, v in zip(keys, each, strict=True))})"
            for each in kept
        ]
    return [*found, "nim(pile_sizes=20;20;20;20;20;20;20;20)", "nim(pile_sizes=1;1)"]


def require_sentence(text: str) -> None:
    assert re.fullmatch(r"openspiel: [^\n]+", text), text


def played_from_file(spiel_id: str) -> None:
    """One random game by what azcore asks of the rules."""
    game: Any = received("openspiel", {"id": spiel_id})
    state, ply = game.initial_state(), 0
    while not game.is_terminal(state) and ply < 300:
        actions = state.legal_actions()
        assert actions, spiel_id
        game.observation(state)
        state = game.step(state, actions[(7 * ply) % len(actions)])
        ply += 1


def test_what_a_file_may_name_is_loaded_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a try in another process."""
    pytest.importorskip("pyspiel")
    monkeypatch.setattr(loading, "_try", None)
    for spiel_id in [*LISTED, *corners(1)]:
        listed.require_listed(spiel_id)
        try:
            azcore.make("openspiel", id=spiel_id)
        except GameError as error:  # two ranges together may be no game
            require_sentence(str(error))


@pytest.mark.long(
    short="tests/games/openspiel/test_received.py::test_what_a_file_may_name_is_loaded_at_once"
)
def test_what_a_file_may_name_can_be_played() -> None:
    pytest.importorskip("pyspiel")
    for spiel_id in corners(200):
        try:
            azcore.make("openspiel", id=spiel_id)
        except GameError as error:
            require_sentence(str(error))
        else:
            played_from_file(spiel_id)


def test_another_id_of_the_command_line_is_tried_in_a_process_that_can_be_ended(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyspiel")
    monkeypatch.setattr(loading, "MOST_SECONDS", 1)
    began = time.monotonic()
    with pytest.raises(GameError, match=r"cannot be loaded: OpenSpiel .*within 1 s"):
        azcore.make("openspiel", id=ENDLESS)
    assert time.monotonic() - began < 4
    monkeypatch.setattr(loading, "MOST_SECONDS", 10)
    monkeypatch.setattr(loading, "MOST_MEGABYTES", 60)
    with pytest.raises(GameError, match=r"cannot be loaded: (it takes more than 60|.* 60 MB)"):
        azcore.make("openspiel", id=ENDLESS)
    monkeypatch.undo()
    for spiel_id, why in (
        ("hex(num_cols=1,num_rows=1)", "no player can move"),
        ("gomoku(size=-1)", "gomoku_grid"),
        ("hex(\x00)", "null byte"),
        (f"misere({' ' * 10**6})", "too long"),
    ):
        with pytest.raises(GameError, match=why) as refusal:
            azcore.make("openspiel", id=spiel_id)
        assert "\n" not in str(refusal.value)
    assert not capfd.readouterr().err  # OpenSpiel prints its errors too


def test_an_id_that_this_process_was_given_may_come_from_a_file_too() -> None:
    """Or a run of such an id could show no game in its own report."""
    pytest.importorskip("pyspiel")
    spiel_id = "misere(game=mnk(m=3,n=3,k=3))"
    with pytest.raises(GameError, match=WORDS):
        received("openspiel", {"id": spiel_id})
    azcore.make("openspiel", id=spiel_id)
    assert received("openspiel", {"id": spiel_id}).num_actions == 9


# -- where ids come in -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose settings, checkpoints and records name an endless id."""
    folder = tmp_path_factory.mktemp("strange")
    assert train(compose(*TINY, "trainer.max_steps=8", f"run_dir={folder / 'run'}")) == 0
    run = RunDirectory(folder / "run")
    settings = {"id": ENDLESS, "max_plies": 9}
    config = yaml.safe_load(run.config.read_text())
    config["game"] = {"name": "openspiel", **settings}
    run.config.write_text(yaml.safe_dump(config))
    identity = {"name": "openspiel", "version": 1, "settings": settings}
    for path in run.checkpoints.glob("*.ckpt"):
        checkpoint = read_checkpoint(path)
        checkpoint[KEY]["game"] = identity
        write_checkpoint(checkpoint, path)
    records = [replace(record, game=identity) for record in GameFile(run.records).read()]
    run.records.unlink()
    GameFile(run.records).append(records)
    return run.path


Command = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    "words",
    [
        ("train", "resume={run}"),
        ("train", "fork={run}", "game=openspiel"),
        ("arena", "arena=comparison", "arena.runs=[{run}]"),
        ("arena", "players=[random,{run}]"),
        ("play", "checkpoint={run}"),
        ("engine", "checkpoint={run}", "game=tic_tac_toe", "engine.protocol=gtp"),
        ("export", "what=games", "export.games={run}", "export.format=moves"),
        ("export", "what=onnx", "checkpoint={run}", "out=a.onnx"),
    ],
    ids=lambda words: "_".join(words[:2]),
)
def test_no_command_loads_what_a_file_names(
    azcore: Command, strange: Path, loads: list[str], words: tuple[str, ...]
) -> None:
    if words[0] == "engine":
        from azcore.commands.engine import loaded

        with pytest.raises(GameError, match=WORDS):
            loaded(compose("command=engine", f"checkpoint={strange}", "game=tic_tac_toe"))
    else:
        status, _, errors = azcore(*(word.format(run=strange) for word in words))
        assert (status, loads) == (2, []), errors
        assert WORDS in errors
    assert not loads


def test_no_page_loads_what_a_file_names(
    azcore: Command, strange: Path, loads: list[str], tmp_path: Path
) -> None:
    for words in (f"run_dir={strange}",), (f"run_dir=[{strange},{strange}/.]", "out=two.html"):
        azcore("report", *words)
    assert (strange / "report.html").is_file()
    assert not loads


def test_no_object_of_the_library_loads_what_a_file_names(strange: Path, loads: list[str]) -> None:
    run = azcore.Run(strange)
    for use in (lambda: run.game, lambda: run.learner(steps=1), lambda: azcore.load(strange)):
        with pytest.raises(GameError, match=WORDS):
            use()
    assert not loads


def test_the_game_of_self_play_counts_too(
    azcore: Command, strange: Path, tmp_path: Path, loads: list[str]
) -> None:
    run = RunDirectory(tmp_path / "run")
    run.path.mkdir()
    config = yaml.safe_load((strange / "config.yaml").read_text())
    config["game"] = {"name": "tic_tac_toe"}
    config["selfplay"]["game"] = {"name": "openspiel", "id": ENDLESS}
    run.config.write_text(yaml.safe_dump(config))
    status, _, errors = azcore("train", "resume=run")
    assert (status, loads) == (2, []), errors
    assert WORDS in errors


def test_a_run_of_another_id_is_resumed_with_that_id_on_the_command_line(
    azcore: Command, strange: Path, loads: list[str]
) -> None:
    status, _, errors = azcore(
        *("train", f"resume={strange}", "game=openspiel", f'game.id="{ENDLESS}"'),
        "game.max_plies=9",
    )
    assert (status, set(loads)) == (2, {ENDLESS}), errors
