"""`command=arena` as a user meets it: players by name, matches, the list, and what is kept."""

from __future__ import annotations

import csv
import json
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import hydra
import numpy as np
import pytest
from sgfmill import sgf

import azcore as library
from azcore.arena.elo import MatchScore, expected_score
from azcore.arena.match import MatchGame, MatchResult, play_match
from azcore.arena.players import RandomPlayer
from azcore.assembly import entrants
from azcore.assembly.entrants import KINDS, Kind, entrants_of, players_named, players_of
from azcore.assembly.parts import RunSettings, settings_from
from azcore.cli.overrides import settings_of
from azcore.commands.arena import matches as module
from azcore.commands.arena.files import draw_ratings
from azcore.commands.arena.standings import Standing, club_ratings
from azcore.errors import SettingError
from azcore.networks import build_network
from azcore.networks.checkpoint import describe_run
from azcore.search.settings import PUCT
from azcore.selfplay.processes import ProcessChannel
from azcore.storage import run_directory
from azcore.storage.checkpoint import KEY, write_checkpoint
from process_kit import gone
from run_kit import train_once

Command = Callable[..., tuple[int, str, str]]
Compose = Callable[..., dict[str, Any]]
BASE = ["command=arena", "game=tic_tac_toe", "run_dir=found"]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def run(tiny: Compose, tmp_path: Path) -> Path:
    """A run with checkpoints step-0, step-8, step-16 and last."""
    train_once(tiny("run_dir=first", "trainer.max_steps=16"))
    return tmp_path / "first"


def test_a_round_robin_is_printed_and_kept(azcore: Command, run: Path, tmp_path: Path) -> None:
    status, output, errors = azcore(
        "command=arena",  # the game is that of the checkpoints
        "players=[first@all,first,random,search:8]",
        "arena.games=4",
        "arena.teaching_k=20",
        "search.num_simulations=4",
        "run_dir=found",
    )
    assert (status, errors) == (0, "")
    names = ["first@step-0", "first@step-8", "first@step-16", "first@last", "random", "search:8"]
    for name in names:
        assert name in output
    for words in ("95 % interval", "LOS", "Elo (K=20)", "Points of each row against each column"):
        assert words in output
    assert "Moving first is worth" in output
    assert "random at 0" in output

    kept = tmp_path / "found"
    ratings, matches, games = (rows(kept / f"{n}.csv") for n in ("ratings", "matches", "games"))
    assert sorted(line["player"] for line in ratings) == sorted(names)
    elo = [float(line["elo"]) for line in ratings]
    assert elo == sorted(elo, reverse=True)
    assert all(float(r["low"]) <= float(r["elo"]) <= float(r["high"]) for r in ratings)
    assert [line["elo"] for line in ratings if line["player"] == "random"] == ["0.0"]
    pairings = [(names[i], names[j]) for i in range(6) for j in range(i + 1, 6)]
    assert [(line["player"], line["opponent"]) for line in matches] == pairings
    for line in matches:
        assert int(line["wins"]) + int(line["draws"]) + int(line["losses"]) == 4
        assert 0 <= float(line["los"]) <= 1
    assert len(games) == 4 * len(pairings)

    # Every game is told from its beginning to its end, and who began.
    game = library.make("tic_tac_toe")
    points = dict.fromkeys((line["match"] for line in matches), 0.0)
    assert len(points) == len(pairings)
    between = dict(zip(points, pairings, strict=True))
    for line in games:
        state = game.initial_state()
        for text in line["actions"].split():
            state = game.step(state, game.text_to_action(state, text))
        assert game.is_terminal(state)
        assert game.outcome(state) == int(line["outcome"])
        assert game.termination(state) == line["termination"]
        first, second = between[line["match"]]
        assert {line["first"], line["second"]} == {first, second}
        sign = 1 if line["first"] == first else -1
        points[line["match"]] += (1 + sign * int(line["outcome"])) / 2
    for line in matches:
        assert points[line["match"]] == int(line["wins"]) + int(line["draws"]) / 2

    status, _, errors = azcore(*BASE, "players=[random,search]", "arena.games=2")
    assert status == 2
    assert "run_dir found holds matches of other players or under other conditions" in errors


def test_no_match_is_played_twice(azcore: Command, run: Path, tmp_path: Path) -> None:
    """The same command goes on where it was cut off; a player more costs only its matches."""
    line = ["command=arena", "arena.games=4", "search.num_simulations=4", "arena.teaching_k=20"]
    line += ["arena.export=json"]
    three, four = "players=[first,random,search:2]", "players=[first,random,search:2,search:3]"
    assert azcore(*line, three, "run_dir=whole")[0] == 0
    whole = {
        path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir() if path.is_file()
    }
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    games = (tmp_path / "cut/games.csv").read_text().splitlines(keepends=True)
    # Cut off in the last game of the second match: that match is played again.
    (tmp_path / "cut/games.csv").write_text("".join(games[:8]) + games[8][:20])
    (tmp_path / "cut/matches.csv").unlink()
    (tmp_path / "cut/ratings.csv").unlink()
    status, output, errors = azcore(*line, three, "run_dir=cut")
    assert (status, errors) == (0, "")
    assert "matches saved already: 1" in output
    assert output.count(", already saved") == 1
    for name in ("matches.csv", "ratings.csv", "games.csv"):
        assert (tmp_path / "cut" / name).read_bytes() == whole[name], name
    status, output, _ = azcore(*line, four, "run_dir=cut")
    assert status == 0
    assert output.count(", already saved") == 3
    assert len(rows(tmp_path / "cut/matches.csv")) == 6
    assert len(list((tmp_path / "cut/games").iterdir())) == 6 * 4
    games = (tmp_path / "cut/games.csv").read_text()
    (tmp_path / "cut/games.csv").write_text(games.replace(",-1,", ",7,", 1))
    status, _, errors = azcore(*line, four, "run_dir=cut")
    assert (status, errors.count("\n")) == (2, 1)
    assert "games.csv: outcome must be -1, 0 or 1, got '7'" in errors


def test_two_that_begin_in_one_second_write_to_two_folders(
    azcore: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Frozen(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:
            return datetime(2020, 1, 2, 3, 4, 5)

    monkeypatch.setattr(run_directory, "datetime", Frozen)
    for _ in range(2):
        line = ("command=arena", "game=tic_tac_toe", "players=[random,search:2]", "arena.games=2")
        assert azcore(*line)[0] == 0
    folders = sorted((tmp_path / "runs/arena/tic_tac_toe").iterdir())
    assert [folder.name for folder in folders] == ["2020-01-02-030405", "2020-01-02-030405-2"]
    assert all(rows(folder / "matches.csv") for folder in folders)


def test_a_checkpoint_alone_meets_what_it_should_beat(
    azcore: Command, run: Path, tmp_path: Path
) -> None:
    status, _, _ = azcore(
        "command=arena",
        "checkpoint=first/checkpoints/last.ckpt",
        "arena.games=2",
        "search.num_simulations=4",
    )
    assert status == 0
    (kept,) = (tmp_path / "runs/arena/tic_tac_toe").iterdir()
    met = [(line["player"], line["opponent"]) for line in rows(kept / "matches.csv")]
    assert met == [("first@last", "random"), ("first@last", "search")]


def test_a_network_plays_the_other_form_of_its_game(azcore: Command, run: Path) -> None:
    play = ["command=arena", "players=[first,random]", "arena.games=2", "search.num_simulations=4"]
    status, output, _ = azcore(*play, "game=tic_tac_toe_plain")
    assert status == 0
    assert "first@last" in output
    changed = library.make("tic_tac_toe_plain")
    changed.version = 2
    assert not changed.is_played_as(library.make("tic_tac_toe").identity)
    assert not library.make("chess_plain").is_played_as(library.make("tic_tac_toe").identity)


def test_an_engine_takes_the_game_of_its_checkpoint(compose: Compose, run: Path) -> None:
    def chosen(*overrides: str) -> str:
        words = list(overrides)
        with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
            config = settings_of("engine", hydra.compose("engine", words), words)
        return str(config["game"]["name"])

    assert chosen("checkpoint=first") == "tic_tac_toe"
    assert chosen("checkpoint=first", "game=chess") == "chess"
    assert chosen("checkpoint=lost.ckpt") == chosen() == "go"  # the engine tells what is wrong


def test_the_game_of_a_checkpoint_is_taken_with_its_settings(
    azcore: Command, tiny: Compose, tmp_path: Path
) -> None:
    settings = settings_from(tiny("game=go", "game.board_size=3", "game.komi=0.5"), RunSettings)
    network = build_network(settings.game, settings.network, seed=1)
    checkpoint = {
        KEY: describe_run(settings.game, settings.network),
        "state_dict": {f"network.{name}": value for name, value in network.state_dict().items()},
        "global_step": 0,
    }
    write_checkpoint(checkpoint, tmp_path / "small/checkpoints/last.ckpt")
    play = ["command=arena", "players=[small,random]", "arena.games=2", "search.num_simulations=2"]
    assert azcore(*play, "run_dir=a")[0] == 0
    assert azcore(*play, "run_dir=b", "game=go")[0] == 0
    status, _, errors = azcore(*play, "run_dir=c", "game.komi=2.5")
    assert status == 2
    assert "this checkpoint's game must be" in errors
    assert "'komi': 2.5" in errors
    status, _, errors = azcore(*play, "run_dir=c", "game=tic_tac_toe")
    assert status == 2
    assert "this checkpoint's game must be {'name': 'tic_tac_toe'" in errors
    assert not (tmp_path / "c").exists()


def test_a_gauntlet_with_anchors(azcore: Command, tmp_path: Path) -> None:
    status, output, _ = azcore(
        *BASE,
        "players=[search:4,random,search:8,random]",
        "arena.format=gauntlet",
        "arena.games=4",
        r"arena.anchors={random: 50, search\:8: 300}",
    )
    assert status == 0
    met = [(line["player"], line["opponent"]) for line in rows(tmp_path / "found/matches.csv")]
    assert met == [("search:4", name) for name in ("random", "search:8", "random (2)")]
    ratings = {line["player"]: line["elo"] for line in rows(tmp_path / "found/ratings.csv")}
    assert ratings["random"] == "50.0"
    assert ratings["search:8"] == "300.0"
    assert "fixed" in output


def test_players_that_repeat_their_games_are_told_of(azcore: Command, tmp_path: Path) -> None:
    status, output, _ = azcore(
        *BASE, "players=[search:32,search:16]", "arena.games=40", "arena.opening_plies=0"
    )
    assert status == 0
    assert "19 of 20 pairs of games repeat another move by move, so 1 counts" in output
    (match,) = rows(tmp_path / "found/matches.csv")
    assert (match["games"], match["distinct_pairs"]) == ("40", "1")
    best, _ = rows(tmp_path / "found/ratings.csv")
    assert best["games"] == "2"
    # As uncertain as two games are, not forty.
    assert float(best["high"]) - float(best["low"]) > 400


def test_a_test_between_two_stops_early(azcore: Command, tmp_path: Path) -> None:
    status, output, _ = azcore(
        *BASE, "players=[search:64,random]", "arena.sprt=true", "arena.games=400"
    )
    assert status == 0
    (match,) = rows(tmp_path / "found/matches.csv")
    assert match["verdict"] == "better"
    assert int(match["games"]) < 400
    assert f"better after {match['games']} of 400 games" in output


@pytest.mark.parametrize("last", ["search:4", "random"])
def test_an_interrupted_tournament_rates_what_was_played(
    azcore: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    """Also one whose anchor, random or another, has not played yet."""
    played: list[MatchResult] = []
    enough = 2 if last == "search:4" else 1

    def play(*arguments: Any, **options: Any) -> MatchResult:
        if len(played) == enough:
            raise KeyboardInterrupt
        played.append(play_match(*arguments, **options))
        return played[-1]

    monkeypatch.setattr(module, "play_match", play)
    players = {"search:4": "random,search:2,search:4", "random": "search:2,search:4,random"}
    status, output, _ = azcore(*BASE, f"players=[{players[last]}]", "arena.games=4")
    assert status == 130
    assert f"interrupted after {enough} of 3 matches" in output
    matches = rows(tmp_path / "found/matches.csv")
    assert len(matches) == enough
    assert 0 <= float(matches[0]["los"]) <= 1
    assert len(rows(tmp_path / "found/ratings.csv")) == enough + 1
    monkeypatch.setattr(module, "play_match", play)
    played.clear()
    anchored = ["arena.anchors={random:100}", "run_dir=anchored"]
    status, output, _ = azcore(*BASE, f"players=[{players[last]}]", "arena.games=2", *anchored)
    assert status == 130
    assert len(rows(tmp_path / "anchored/ratings.csv")) == enough + 1
    assert ("random at 100" in output) is (last != "random")


def test_a_log_says_how_far_a_match_is(azcore: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    players = ["players=[random,search:4]", "arena.games=8"]
    assert "of 8 games\n" not in azcore(*BASE, *players)[1]
    monkeypatch.setattr(module, "SECONDS_A_LINE", 0.0)
    _, output, _ = azcore(*BASE, *players, "run_dir=again")
    told = re.findall(r"^random – search:4: (\d) of 8 games$", output, re.MULTILINE)
    assert told
    assert told == sorted(told)
    assert int(told[-1]) < 8  # then comes the result


def test_the_same_seed_gives_the_same_games(azcore: Command, tmp_path: Path) -> None:
    players = "players=[random,search:4,random]"
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        arguments = ["command=arena", "game=tic_tac_toe", players, "arena.games=4"]
        assert azcore(*arguments, f"run_dir={folder}", f"seed={seed}")[0] == 0
    texts = [(tmp_path / folder / "games.csv").read_text() for folder in "abc"]
    assert texts[0] == texts[1] != texts[2]
    # Each match has openings of its own.
    games = rows(tmp_path / "a/games.csv")
    openings = [
        [line["actions"].split()[:2] for line in games if line["match"] == match]
        for match in dict.fromkeys(line["match"] for line in games)
    ]
    assert len(openings) == 3
    assert openings[0] != openings[1] != openings[2]


WITHOUT_CONSTANTS = pytest.mark.long(
    short="tests/commands/arena/test_tournament.py::test_processes_play_the_same_tournament"
)


@pytest.mark.parametrize(
    "players",
    [
        pytest.param("search:4,search:8,first@step-8", marks=WITHOUT_CONSTANTS),
        "first,search:4,'first gumbel=null c_init=3 num_simulations=8'",
    ],
)
def test_processes_play_the_same_tournament(
    azcore: Command, run: Path, tmp_path: Path, players: str
) -> None:
    """By players without chance, whose games do not depend on the games beside them."""
    for folder, more in (("here", []), ("there", ["backend=process", "backend.processes=3"])):
        status, output, errors = azcore(
            "command=arena",
            f"players=[{players}]",
            "arena.games=10",
            "search.num_simulations=4",
            "evaluator.backend=torch",
            "evaluator.precision=float32",
            f"run_dir={folder}",
            *more,
        )
        assert (status, errors) == (0, "")
        assert "3 matches of 10 games" in output
    for name in ("games.csv", "matches.csv", "ratings.csv"):
        assert (tmp_path / "here" / name).read_text() == (tmp_path / "there" / name).read_text()


def test_a_tournament_in_processes_leaves_none(
    azcore: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After Ctrl-C in the second match."""
    processes: list[Any] = []
    begin = ProcessChannel.__init__

    def noting(channel: ProcessChannel, *arguments: Any) -> None:
        begin(channel, *arguments)
        processes.append(channel.process)

    monkeypatch.setattr(ProcessChannel, "__init__", noting)
    play, played = module.play_in_parts, []

    def interrupted(*arguments: Any, **options: Any) -> Any:
        if played:
            raise KeyboardInterrupt
        played.append(play(*arguments, **options))
        return played[-1]

    monkeypatch.setattr(module, "play_in_parts", interrupted)
    there = ["backend=process", "backend.processes=2", "arena.games=4"]
    status, output, _ = azcore(*BASE, "players=[random,search:2,search:4]", *there)
    assert status == 130
    assert "interrupted after 1 of 3 matches" in output
    assert len(processes) == 2
    assert all(process.wait(20) for process in processes)


HELD = """
import sys, time
from pathlib import Path
Path(sys.argv[1], f"{__import__('os').getpid()}.program").touch()
for line in sys.stdin:
    if line.startswith("genmove"):
        time.sleep(1000)
    answer = {"name": "held", "list_commands": "genmove"}.get(line.split()[0], "")
    print("=", answer, end="\\n\\n", flush=True)
"""


def test_an_interrupt_in_a_match_ends_processes_and_their_programs(tmp_path: Path) -> None:
    """Also programs that do not answer; and what was played is rated."""
    (tmp_path / "held.py").write_text(HELD)
    program = f'"gtp {sys.executable} held.py {tmp_path}"'
    there = ["backend=process", "backend.processes=2", "arena.games=4", "run_dir=found"]
    players = f"players=[random,search:2,{program}]"
    command = [sys.executable, "-m", "azcore", "command=arena", "game=go", "game.board_size=3"]
    with subprocess.Popen(
        [*command, players, *there], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        end = time.monotonic() + 60
        kept = tmp_path / "found/matches.csv"
        while time.monotonic() < end and not (
            kept.is_file() and "random,search:2" in kept.read_text()
        ):
            time.sleep(0.1)
        time.sleep(2.0)  # until programs think
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted after 1 of 3 matches" in output
    programs = [int(path.stem) for path in tmp_path.glob("*.program")]
    assert len(programs) >= 2
    assert gone(programs)


def test_players_are_those_of_the_beginning(
    run: Path, tiny: Compose, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is training writes its last checkpoint anew, and rates more of its weights."""
    settings = settings_from(tiny(), RunSettings)
    entrants = entrants_of(["first", "random", "first@all"], settings.programs)
    before = [player.name for player in players_of(settings, entrants)]
    for path in (run / "checkpoints").glob("*.ckpt"):
        path.unlink()
    again = players_of(settings, pickle.loads(pickle.dumps(entrants)))
    assert [player.name for player in again] == before
    assert len(before) == 5


@pytest.mark.parametrize(
    ("backend", "sentence"),
    [
        (["backend=ray", "backend.num_gpus=1"], "backend.num_gpus must be 0 with device=cpu"),
        (["backend.processes=2"], "backend.processes must be null with backend=inline"),
    ],
)
def test_a_backend_that_cannot_be_writes_nothing(
    azcore: Command, tmp_path: Path, backend: list[str], sentence: str
) -> None:
    status, _, errors = azcore(*BASE, "players=[random,search]", "device=cpu", *backend)
    assert status == 2
    assert sentence in errors
    assert not (tmp_path / "found").exists()


def test_a_picture_needs_matplotlib(
    azcore: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    status, output, _ = azcore(*BASE, "players=[random,search:2]", "arena.games=2")
    assert status == 0
    assert "ratings.png needs matplotlib: pip install -e '.[plot]'" in output
    assert not (tmp_path / "found/ratings.png").exists()


def test_the_picture(azcore: Command, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert azcore(*BASE, "players=[random,search:2]", "arena.games=2")[0] == 0
    assert (tmp_path / "found/ratings.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.filterwarnings("error")  # as matplotlib says that names leave no room
def test_the_picture_has_room_for_long_names(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    total = MatchScore(player="random", opponent="x", wins=1, draws=0, losses=1)
    names = ["random", "gtp engine " + "setting=value " * 12, "x" * 200]
    lines = [
        Standing(player=n, elo=0.0, low=-1.0, high=1.0, total=total, los_next=None, elo_k=None)
        for n in names
    ]
    assert draw_ratings(tmp_path / "a.png", lines).endswith("a.png")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["players=[random]"], "players must be two or more, got random"),
        (["players=[]"], "players must be two or more, got none"),
        (
            ["players=[randm,search]"],
            "a player must be random, search or search:SIMULATIONS, a checkpoint, a run directory, "
            "RUN@NAME for one of its checkpoints, RUN@all or a program; got 'randm'",
        ),
        (["players=[random,nothing.ckpt]"], "nothing.ckpt: cannot read this checkpoint"),
        (
            ["players=[random,nothing@best]"],
            "got 'nothing@best', and no such file or folder exists",
        ),
        (["players=[random,search:0]"], "search:N takes a number of simulations, got '0'"),
        (["players=[search,random:3]"], "random takes no argument after a colon, got '3'"),
        (["players=[random,.]"], "checkpoints there: none"),
        (["players=[random,.@all]"], ".@all finds no step-*.ckpt"),
        (["players=[random,search]", "checkpoint=x"], "takes players or checkpoint, got both"),
        (["players=[random,search]", "arena.games=3"], "arena.games must be an even number"),
        (
            ["players=[random,search]", "arena.format=cup"],
            "round_robin, gauntlet, got 'cup'",
        ),
        (
            ["players=[random,search,search]", "arena.sprt=true"],
            "a test between two players, got 3: random, search, search (2)",
        ),
        (["players=[random,search]", "arena.anchors={foo: 1}"], "(random, search), got 'foo'"),
        (["players=[random,search]", "arena.anchors={random: x}"], "must be a number, got 'x'"),
        (["players=[random,search]", "arena.teaching_k=0"], "arena.teaching_k must be above 0"),
        (["players=[random,search]", "arena.opening_plies=9"], "not to be over by then, got 9"),
        (["players=[random,search]", "run_dir=/proc/x"], "/proc/x cannot be written to"),
        (["players=[random,search]", "sprt.alpha=0.6"], "between 0 and 0.5, got 0.6"),
    ],
)
def test_bad_input_is_one_sentence(
    azcore: Command, arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    status, _, errors = azcore("command=arena", "game=tic_tac_toe", *arguments)
    assert status == 2
    assert sentence in errors
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_by_any_of_its_names(run: Path, tiny: Compose) -> None:
    settings = settings_from(tiny(), RunSettings)
    shutil.copy(run / "checkpoints/last.ckpt", run.parent / "alone.ckpt")
    texts = ["first", "first@last", "first@step-8", "first/checkpoints/step-16.ckpt", "alone.ckpt"]
    names = [player.name for player in players_named(settings, texts)]
    assert names == ["first@last", "first@last (2)", "first@step-8", "first@step-16", "alone"]
    with pytest.raises(SettingError, match="checkpoints there: last, step-0, step-16, step-8"):
        players_named(settings, ["first@best", "random"])


def test_a_player_has_a_search_of_its_own(
    run: Path, tiny: Compose, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(run, run.parent / "a folder k=v")
    settings = settings_from(tiny("search=gumbel", "arena.num_simulations=5"), RunSettings)
    searches = []
    monkeypatch.setattr(
        entrants,
        "search_player",
        lambda settings, evaluator, name, count: (
            searches.append((settings.search, count)) or RandomPlayer(game=settings.game, name=name)
        ),
    )
    texts = {
        "first": "first@last",
        "first num_simulations=9": "first@last num_simulations=9",
        "first@step-8 gumbel=null c_base=1e30": "first@step-8 gumbel=null c_base=1e30",
        "first gumbel.actions=3": "first@last gumbel.actions=3",
        "a folder k=v": "a folder k=v@last",
        "a folder k=v@8 gumbel.c_scale=1": "a folder k=v@step-8 gumbel.c_scale=1",
    }
    assert [player.name for player in players_named(settings, list(texts))] == list(texts.values())
    plain, more, puct, fewer, _, last = (search for search, _ in searches)
    assert plain == replace(settings.search, num_simulations=5)
    assert more == replace(plain, num_simulations=9)
    assert puct == replace(plain, gumbel=None, c_base=1e30)
    assert fewer.gumbel == replace(plain.gumbel, actions=3)
    assert last.gumbel == replace(plain.gumbel, c_scale=1.0)
    assert [count for _, count in searches] == [5, 9, 5, 5, 5, 5]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("c_int=2", r"no setting search\.c_int; did you mean search\.c_init\?"),
        ("c_init=x", r"search\.c_init must be a number, got 'x'"),
        ("c_init=[", r"players: c_init must be a value, got '\['"),
        ("gumbel.actions=3", r"search\.gumbel must be settings that include actions, got None"),
        ("solve=true transpositions=true", r"search\.solve must be false"),
        ("num_simulations=0", r"search\.num_simulations must be 1 or more, got 0"),
        ("c_init=2 quickly", "no such file or folder exists"),
        ("dirichlet_fraction=0", "players: dirichlet_fraction is for self-play, got dirichlet_fr"),
    ],
)
def test_a_search_that_cannot_be_is_one_sentence(
    run: Path, tiny: Compose, words: str, sentence: str
) -> None:
    with pytest.raises(SettingError, match=sentence):
        players_named(settings_from(tiny(), RunSettings), ["random", f"first {words}"])


def test_settings_that_a_search_does_not_know_are_refused(run: Path, tiny: Compose) -> None:
    settings = settings_from(tiny("search=gumbel"), RunSettings)
    for name in PUCT:
        value = getattr(settings.search, name)
        word = f"{name}={json.dumps(value)}".replace(" ", "")
        with pytest.raises(SettingError, match=f"players: {name} is for PUCT, which gumbel=null"):
            players_named(settings, ["random", f"first {word}"])
        players_named(settings, ["random", f"first gumbel=null {word}"])
    with pytest.raises(
        SettingError, match="only a run or a checkpoint takes settings, got 'search"
    ):
        players_named(settings, ["random", "search c_init=2"])


def test_a_new_kind_of_player_is_one_entry(tiny: Compose, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = Kind(
        usage="echo:WORD", make=lambda settings, word: RandomPlayer(game=settings.game, name=word)
    )
    monkeypatch.setitem(KINDS, "echo", kind)
    settings = settings_from(tiny(), RunSettings)
    assert [p.name for p in players_named(settings, ["echo:a:b", "random"])] == ["a:b", "random"]
    with pytest.raises(SettingError, match="echo:WORD"):
        players_named(settings, ["ehco", "random"])


def test_club_ratings_by_hand() -> None:
    def match(first: str, second: str, points: list[float]) -> MatchResult:
        games = [
            MatchGame(first_seat=0, opening_plies=0, actions=[i], outcome=int(2 * p - 1))
            for i, p in enumerate(points)
        ]
        return MatchResult(first=first, second=second, games=games)

    ratings = club_ratings([match("a", "b", [1, 0.5]), match("c", "a", [1])], 20)
    a = 10 + 20 * (0.5 - expected_score(20))  # 0 + 20 (1 - 0.5), then a draw with one 20 below
    assert ratings["b"] == pytest.approx(-a)
    change = 20 * (1 - expected_score(0 - a))
    assert ratings["c"] == pytest.approx(change)
    assert ratings["a"] == pytest.approx(a - change)


def test_more_search_is_rated_higher(azcore: Command, tmp_path: Path) -> None:
    """Random play and search of 16, 64 and 256 simulations on a small board, two seeds."""
    names = ["search:256", "search:64", "search:16", "random"]
    lists = []
    for seed in (1, 2):
        status, _, _ = azcore(
            "command=arena",
            "game=go",
            "game.board_size=5",
            "players=[random,search:16,search:64,search:256]",
            "arena.games=60",
            f"seed={seed}",
            f"run_dir=seed-{seed}",
        )
        assert status == 0
        found = rows(tmp_path / f"seed-{seed}/ratings.csv")
        assert [line["player"] for line in found] == names
        assert float(found[0]["los_next"]) > 0.95
        lists.append({line["player"]: line for line in found})
    for name in names[:-1]:
        values = [float(one[name]["elo"]) for one in lists]
        halves = [(float(one[name]["high"]) - float(one[name]["low"])) / 2 for one in lists]
        # Two independent estimates of one number: their difference has both variances.
        assert abs(np.diff(values)[0]) < 1.5 * np.hypot(*halves)


def test_games_are_kept_as_record_files(azcore: Command, tmp_path: Path) -> None:
    arguments = ["game=go", "game.board_size=3", "players=[random,search:4]", "arena.games=4"]
    status, _, errors = azcore("command=arena", *arguments, "arena.export=sgf", "run_dir=kept")
    assert (status, errors) == (0, "")
    files = sorted((tmp_path / "kept/games").iterdir())
    assert [file.name for file in files] == [f"00000{i}.sgf" for i in range(4)]
    for file, row in zip(files, rows(tmp_path / "kept/games.csv"), strict=True):
        written = sgf.Sgf_game.from_string(file.read_text())
        assert written.get_player_name("b") == row["first"]
        assert written.get_winner() == {"1": "b", "-1": "w"}[row["outcome"]]
        assert len(written.get_main_sequence()) == 1 + len(row["actions"].split())
    status, _, errors = azcore("command=arena", *arguments, "arena.export=pgn", "run_dir=none")
    assert status == 2
    assert "pgn" in errors
    assert not (tmp_path / "none").exists()


def test_matches_begin_from_a_book(azcore: Command, tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("# two\n.../.X./... w\n.../.X./.O. b moves A1\n")
    arguments = (
        "command=arena",
        "game=go",
        "game.board_size=3",
        "players=[search:4,random]",
        "arena.games=4",
        "arena.opening_plies=0",
        "arena.starts=[book.txt]",
    )
    status, out, errors = azcore(*arguments, "arena.export=sgf", "run_dir=kept")
    assert (status, errors) == (0, "")
    assert "from 2 positions" in out
    games = rows(tmp_path / "kept/games.csv")
    game = library.make("go", board_size=3)
    assert [row["start"] for row in games[:2]] == [games[0]["start"]] * 2
    assert {row["start"] for row in games} == {".../.X./... w", ".../.X./.O. b"}
    for row, file in zip(games, sorted((tmp_path / "kept/games").iterdir()), strict=True):
        state = game.state_from_text(row["start"])
        for text in row["actions"].split():
            state = game.step(state, game.text_to_action(state, text))
        assert game.outcome(state) == int(row["outcome"])
        board, _ = sgf.Sgf_game.from_string(file.read_text()).get_root().get_setup_stones()[:2]
        assert board == {(1, 1)}
    plain = {key: value for key, value in games[0].items() if key != "start"}
    assert list(plain)[-1] == "termination"


# It names itself, and ends at any other question.
PROGRAM = """
import sys
for line in sys.stdin:
    if "name" not in line:
        sys.exit(3)
    print("= a program\\n", flush=True)
"""


@pytest.mark.parametrize(
    ("line", "words", "told"),
    [
        ("nonsense", (), "book.txt, line 2: a game cannot begin there: go: "),
        (".../.X./... w passes=2", (), "book.txt, line 2: a start must not be the end of the game"),
        (
            ".../.X./... w passes=1",
            ("arena.export=sgf",),
            "book.txt, line 2: no .sgf file can begin there: go: an SGF game can start only",
        ),
        (
            ".../.X./... w",
            (f'players=[random,"gtp name=mine {sys.executable} program.py"]',),
            "arena.starts must be games from the initial position for mine, whose protocol "
            "cannot set up a position, got book.txt, line 2",
        ),
    ],
)
def test_a_book_that_cannot_be_played_is_refused_before_anything_is_written(
    azcore: Command, tmp_path: Path, line: str, words: tuple[str, ...], told: str
) -> None:
    (tmp_path / "book.txt").write_text(f"# a book\n{line}\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    status, _, errors = azcore(
        "command=arena",
        "game=go",
        "game.board_size=3",
        "arena.starts=[book.txt]",
        "run_dir=none",
        *(words if "players" in str(words) else ("players=[search:4,random]", *words)),
    )
    assert status == 2
    assert told in errors
    assert errors.count("\n") == 1
    assert not (tmp_path / "none").exists()


def test_a_rating_says_that_its_player_failed(azcore: Command, tmp_path: Path) -> None:
    arena = ("command=arena", "game=tic_tac_toe", "arena.games=2", "search.num_simulations=4")
    (tmp_path / "program.py").write_text(PROGRAM)
    program = f"gtp name=mine {sys.executable} program.py"
    status, out, _ = azcore(*arena, f"run_dir={tmp_path / 'a'}", f'players=["{program}",random]')
    assert status == 0
    assert "mine failed in 2 of its 2 games, which count as lost" in " ".join(out.split())
    status, out, _ = azcore(*arena, f"run_dir={tmp_path / 'b'}", "players=[search:2,random]")
    assert "failed" not in out
