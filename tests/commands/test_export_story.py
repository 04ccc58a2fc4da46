"""`what=story`: a run made small is still a run, for everything but training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import azcore as library
from azcore.assembly import pretrained as shop
from azcore.assembly.entrants import checkpoints_of
from azcore.commands.export.story import chosen
from azcore.commands.train import train
from azcore.errors import SettingError
from azcore.report.probes import probes_of
from azcore.storage.game_file import GameFile
from azcore.storage.run_directory import RunDirectory
from azcore.web.players import Players
from azcore.web.runs import Runs
from conftest import TINY, compose

CommandLine = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "mine"
    rated = ("arena.every_generations=1", "arena.games=2", "arena.num_simulations=2")
    train(compose(*TINY, *rated, f"run_dir={folder}", "trainer.max_steps=16", "seed=5"))
    return folder


def test_a_story_is_a_small_run_that_cannot_be_resumed(azcore: CommandLine, run: Path) -> None:
    export = ("command=export", "what=story", f"export.run={run}", "out=story", "export.count=3")
    status, output, errors = azcore(*export)
    assert (status, errors) == (0, "")
    story, steps = RunDirectory(Path("story")), [0, *RunDirectory(run).step_checkpoints()]
    end = max(steps)
    kept = [*story.step_checkpoints(), end]
    assert len(kept) == 3
    assert kept[0] == 0
    assert f"checkpoints of steps {', '.join(map(str, kept))}\n" in output
    assert story.metrics.read_bytes() == RunDirectory(run).metrics.read_bytes()
    every = [record.to_bytes() for record in GameFile(RunDirectory(run).records).read()]
    games = list(GameFile(story.records).read())
    assert [record.to_bytes() for record in games] == [
        one for one in every if one in {record.to_bytes() for record in games}
    ]
    assert games[0].to_bytes() == every[0]
    assert games[-1].to_bytes() == every[-1]
    assert 2 <= len(games) <= 4
    assert str(run.parent) not in story.config.read_text()
    assert [known.step for known in probes_of(story)] == kept

    assert azcore("command=report", f"run_dir=[story,{run}]", "out=page.html")[0] == 0
    play = ("command=arena", "game=tic_tac_toe", "players=[story@all,random]", "arena.games=2")
    assert azcore(*play, "search.num_simulations=2")[0] == 0
    assert library.Run("story").game.name == "tic_tac_toe"
    status, _, errors = azcore("game=tic_tac_toe", "resume=story")
    assert status == 2
    assert "weights" in errors
    status, _, errors = azcore(*export)
    assert (status, "already exists" in errors) == (2, True)


def test_early_checkpoints_are_kept_since_a_player_changes_most_there() -> None:
    steps = [0, 100, 200, 300, 600, 1000, 1800, 3200, 5600]
    assert chosen(range(0, 10_000, 100), 10_000, 9) == steps
    assert chosen([0, 5, 7], 9, 3) == [0, 5, 7]
    assert chosen([], 9, 3) == []


def test_a_story_that_ships_stands_wherever_a_run_does(
    azcore: CommandLine, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shipped"
    folder.mkdir()
    make = ("command=export", f"out={folder / 'noughts'}")
    assert azcore(*make, "what=story", f"export.run={run}")[0] == 0
    network = ("command=export", "what=checkpoint", f"checkpoint={run}")
    assert azcore(*network, f"out={folder / 'noughts.ckpt'}")[0] == 0
    (folder / "other.ckpt").write_bytes((folder / "noughts.ckpt").read_bytes())
    monkeypatch.setattr(shop, "_folder", lambda module: folder)

    assert shop.stories() == {"noughts": folder / "noughts"}
    last = folder / "noughts/checkpoints/last.ckpt"
    assert checkpoints_of("pretrained/noughts@story") == [last]
    assert checkpoints_of("pretrained/noughts@story@step-0") == [last.with_name("step-0.ckpt")]
    assert library.Run("pretrained/noughts@story").path == folder / "noughts"
    with pytest.raises(
        SettingError,
        match="no story pretrained/other@story; shipped stories: pretrained/noughts",
    ):
        shop.in_place_of_story("pretrained/other@story")
    both = f"run_dir=[pretrained/noughts@story,{run}]"
    assert azcore("command=report", both, "out=page.html")[0] == 0

    runs = Runs(tmp_path / "none")
    assert [each["name"] for each in runs.listed()] == ["pretrained/noughts@story"]
    assert len(runs.games("pretrained/noughts@story")["games"]) == 2
    player = "runs/pretrained/noughts@story@step-0"
    players = Players(lambda *_: pytest.fail("nothing is loaded"), tmp_path / "none")
    entries = {entry.name: entry for entry in players.entries()}
    assert entries[player].step == 0
