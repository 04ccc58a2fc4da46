"""command=lesson: games in turn, in their time, with a page of all of them at the end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from azcore.commands.lesson import lesson
from azcore.commands.train import train
from azcore.errors import SettingError
from conftest import TINY, compose


def config(folder: Path, minutes: float, **games: dict[str, Any]) -> dict[str, Any]:
    group = {"minutes": minutes, "refresh_seconds": 5.0, "games": games}
    return {**compose("command=lesson"), "lesson": group, "run_dir": str(folder), "seed": 3}


class InHere:
    """A run in this process, since starting another takes seconds."""

    def __init__(self, words: list[str]) -> None:
        self.status = train(compose(*words[3:]))

    def wait(self, _: float) -> int:
        return self.status


def test_two_games_and_one_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("azcore.commands.command_line.Popen", InHere)
    tiny = [word for word in TINY if not word.startswith("game")]
    tiny += ["trainer.max_steps=8", "arena.every_generations=9"]
    noughts = {"game": "tic_tac_toe", "share": 1, "train": tiny}
    games = {"one": noughts, "two": noughts, "other": {**noughts, "game": "checkers"}}
    folder = tmp_path / "a lesson"
    assert lesson(config(folder, 0.1, **games)) == 0
    said = capsys.readouterr().out
    assert "other is left out: there is no game checkers here" in said
    assert said.rstrip().endswith(f"python -m azcore command=web 'web.runs={folder}'")
    page = (folder / "side_by_side.html").read_text()
    assert page.count("<small>one</small>") == page.count("<small>two</small>") == 2
    assert [path.name for path in sorted(folder.iterdir())] == ["one", "side_by_side.html", "two"]
    with pytest.raises(SettingError, match=r"must be a new folder, got .*, which has files"):
        lesson(config(folder, 0.1, **games))


@pytest.mark.parametrize("ends_early", [0, 1])
def test_each_run_gets_its_share_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends_early: int
) -> None:
    """Of an hour; the first may reach its last step after a minute of its ten."""
    now, said = [0.0], []

    class Process:
        """A run that takes 7 seconds besides its training."""

        def __init__(self, words: list[str]) -> None:
            said.append(words)
            days, hours, minutes, seconds = map(int, words[-1].split("=")[1].split(":"))
            assert days == 0
            self.seconds = 3600 * hours + 60 * minutes + seconds

        def wait(self, _: float) -> int:
            now[0] += 60 if len(said) == ends_early else self.seconds + 7
            return 0

    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("azcore.commands.command_line.Popen", Process)
    games = {
        name: {"game": game, "share": share, "train": [f"x={name}"]}
        for name, game, share in (("a", "go", 1), ("b", "chess", 2), ("c", "go", 3))
    }
    assert lesson(config(tmp_path / "new", 60, **games)) == 0
    assert [words[:4] for words in said] == [
        [sys.executable, "-m", "azcore", f"game={game}"] for game in ("go", "chess", "go")
    ]
    assert [words[4] for words in said] == ["x=a", "x=b", "x=c"]
    # The first run is given 20 seconds for its start; what it did not need is the next one's.
    second, third = ("29:00", "29:46") if ends_early else ("20:06", "29:53")
    assert [words[-1] for words in said] == [
        "trainer.max_time=00:00:09:40",
        f"trainer.max_time=00:00:{second}",
        f"trainer.max_time=00:00:{third}",
    ]
    assert now[0] == 3600


def test_it_ends_with_a_run_that_fails_or_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = 130

    class Process:
        def __init__(self, words: list[str]) -> None:
            pass

        def wait(self, _: float) -> int:
            return status

    monkeypatch.setattr("azcore.commands.command_line.Popen", Process)
    game = {"game": "go", "share": 1, "train": []}
    assert lesson(config(tmp_path / "x", 1, a=game, b=game)) == 130
    status = 2
    with pytest.raises(SettingError, match=r"lesson: status 2 of python -m azcore game=go"):
        lesson(config(tmp_path / "x", 1, a=game))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"minutes": 0}, "lesson.minutes must be 0 to 10,000, got 0"),
        ({"games": {}}, "lesson.games must be 1 to 4 games, got 0"),
        (
            {"games": {"a": {"game": "checkers", "share": 1.0, "train": []}}},
            "lesson.games must hold a game that is installed",
        ),
        (
            {"games": {"a": {"game": "go", "share": 0, "train": []}}},
            "share must be above 0, got 0",
        ),
    ],
)
def test_lessons_that_cannot_be_given(
    tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    given = config(tmp_path / "x", 1)
    given["lesson"] |= changes
    with pytest.raises(SettingError, match=sentence):
        lesson(given)
    assert not (tmp_path / "x").exists()
