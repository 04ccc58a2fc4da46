"""`command=report` and `command=export what=picture` on finished, running and foreign runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import azcore as library
from azcore.pictures import draw
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord
from azcore.storage.run_directory import RunDirectory
from selfplay_kit import played

CommandLine = Callable[..., tuple[int, str, str]]
DESC = "{http://www.w3.org/2000/svg}desc"
MATE = "R6k/6pp/8/8/8/8/8/K7 b - - 0 1"


@pytest.fixture
def records(tmp_path: Path) -> list[GameRecord]:
    """A run with three games of tic-tac-toe, in the current folder."""
    games = played(library.make("tic_tac_toe"), 20)[:3]
    run = RunDirectory(tmp_path / "run")
    run.records.parent.mkdir(parents=True)
    GameFile(run.records).append(games)
    return games


def words_of(path: str) -> str:
    text = ElementTree.parse(path).findtext(DESC)
    assert text is not None
    return text


def test_any_run_has_a_report(azcore: CommandLine, records: list[GameRecord]) -> None:
    status, out, errors = azcore("command=report", "run_dir=run", "device=cpu")
    assert (status, errors) == (0, "")
    assert out.startswith("report run/report.html, ")
    assert "The first generation of this run has not ended yet." in Path(
        "run/report.html"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize("content", [None, b"", b"rubbish" * 99, b"AZG3" + b"\xff" * 99])
def test_a_run_of_rubbish_has_a_report(azcore: CommandLine, content: bytes | None) -> None:
    run = RunDirectory(Path("run"))
    run.records.parent.mkdir(parents=True)
    run.config.write_text("game: [")
    run.last_checkpoint.parent.mkdir()
    run.last_checkpoint.write_bytes(b"PK" + bytes(99))
    if content is not None:
        run.records.write_bytes(content)
    assert azcore("command=report", "run_dir=run", "device=cpu")[0] == 0
    assert "No game has ended yet." in run.report.read_text(encoding="utf-8")


def test_a_run_that_is_none_or_cannot_be_written_to_is_refused(
    azcore: CommandLine, records: list[GameRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("empty").mkdir()
    for name in ("empty", "nowhere", "run/games/records.azg"):
        status, _, errors = azcore("command=report", f"run_dir={name}")
        assert status == 2
        assert errors == f"azcore: run_dir: there is no run in {name}\n"
    full = OSError(28, "No space left on device")
    monkeypatch.setattr("os.replace", lambda *names: (_ for _ in ()).throw(full))
    status, _, errors = azcore("command=report", "run_dir=run")
    assert (status, errors) == (
        2,
        "azcore: run/report.html cannot be written: No space left on device\n",
    )


def test_a_position_becomes_a_picture(azcore: CommandLine) -> None:
    status, out, errors = azcore(
        "command=export", "what=picture", "game=chess", f'export.position="{MATE}"', "out=mate.svg"
    )
    assert (status, out, errors) == (0, "mate.svg written\n", "")
    chess = library.make("chess")
    picture = draw(chess, chess.state_from_text(MATE), theme="light")
    assert Path("mate.svg").read_text(encoding="utf-8") == picture.svg
    assert "In check h8" in words_of("mate.svg")
    options = ("export.flip=true", "export.letters=true", "export.theme=dark")
    assert (
        azcore("command=export", "what=picture", "game=tic_tac_toe", "out=first.svg", *options)[0]
        == 0
    )
    game = library.make("tic_tac_toe")
    picture = draw(game, game.initial_state(), flip=True, letters=True, theme="dark")
    assert Path("first.svg").read_text(encoding="utf-8") == picture.svg


def test_a_ply_of_a_record_becomes_a_picture(
    azcore: CommandLine, records: list[GameRecord]
) -> None:
    game, record = library.make("tic_tac_toe"), records[2]
    states = [game.initial_state()]
    for action in record.actions:
        states.append(game.step(states[-1], int(action)))
    for ply in (0, 3, None):
        where = () if ply is None else (f"export.ply={ply}",)
        arguments = ("export.games=run", "export.first=2", "out=ply.svg", *where)
        assert azcore("command=export", "what=picture", *arguments)[0] == 0
        expected = draw(game, states[-1 if ply is None else ply], theme="light")
        assert Path("ply.svg").read_text(encoding="utf-8") == expected.svg


def test_a_picture_can_be_a_png(azcore: CommandLine) -> None:
    pytest.importorskip("resvg_py")
    image = pytest.importorskip("PIL.Image")
    arguments = ("game=tic_tac_toe", "out=board.png", "export.width=150")
    assert azcore("command=export", "what=picture", *arguments)[0] == 0
    with image.open("board.png") as picture:
        assert picture.format == "PNG"
        assert picture.size[0] == 150
        assert len(np.unique(np.asarray(picture))) > 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("export.games=run", "export.first=3"), "export.first must be below the number of games"),
        (("export.games=run", "export.ply=10"), "export.ply must be at most the game's length"),
        (("export.games=run", "export.position=x"), "null with export.games: a record has its own"),
        (
            ("export.games=run", "game=chess"),
            "game=chess cannot be combined with export.games, which",
        ),
        (("export.games=run", "game.name=x"), "game.name=x cannot be combined with export.games"),
        (("game=chess", "export.position=x"), "chess: a FEN is placement"),
        (("game=chess", "export.count=2"), "export.count is for what=games"),
        (("game=chess", "export.out=there"), "export.out is for what=games"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    azcore: CommandLine, records: list[GameRecord], arguments: tuple[str, ...], said: str
) -> None:
    status, out, errors = azcore("command=export", "what=picture", "out=a.svg", *arguments)
    assert (status, out) == (2, "")
    assert said in errors
    assert errors.count("\n") == 1
    assert not Path("a.svg").exists()
