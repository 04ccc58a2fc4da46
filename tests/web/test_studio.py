"""The studio: a run as it was, what the network sees, games in step, and runs side by side."""

from __future__ import annotations

import json
import math
import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from websockets.sync.client import connect

import azcore
from azcore.commands.arena.comparison import comparison
from azcore.commands.report import report
from azcore.commands.train import train
from azcore.game.symmetries import symmetry_names
from azcore.report.columns import cost, foreseen, halfway, in_words
from azcore.report.rules_facts import facts_of
from azcore.search.evaluators import Evaluator
from azcore.storage.game_file import GameFile
from azcore.storage.run_directory import RunDirectory
from azcore.web.planes import NOW, Planes, sections
from azcore.web.players import Entry
from conftest import compose
from web_kit import Page, served

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
AXE = Path(__file__).parent / "node_modules/axe-core/axe.min.js"
WIDTHS = pytest.mark.parametrize("width", [1280, 390])
SMALL = (
    "trainer.max_steps=20",
    "learner.steps_per_generation=10",
    "search.num_simulations=4",
    "selfplay.num_games=8",
    "learner.batch_size=16",
    "arena.games=2",
    "arena.num_simulations=2",
    "arena.every_generations=1",
    "evaluator.backend=torch",
    "evaluator.precision=float32",
    "network.channels=4",
    "network.blocks=1",
)


@pytest.fixture(name="runs", scope="module")
def runs_fixture(tmp_path_factory: Any) -> Path:
    """A folder with runs of three games."""
    folder: Path = tmp_path_factory.mktemp("runs")
    games = {"noughts": ["tic_tac_toe"], "go3": ["go", "game.board_size=3"]}
    games["go2"] = ["go", "game.board_size=2"]
    for name, (game, *settings) in games.items():
        train(compose(f"game={game}", *settings, f"run_dir={folder / name}", *SMALL))
    return folder


@pytest.fixture(name="place", scope="module")
def place_fixture(runs: Path) -> Iterator[str]:
    exact = ["evaluator.backend=torch", "evaluator.precision=float32", "search.num_simulations=5"]
    with served(compose("command=web", f"web.runs={runs}", *exact)) as place:
        yield place


def get(place: str, path: str) -> str:
    with urllib.request.urlopen(f"http://{place}{path}", timeout=60) as answer:
        text: str = answer.read().decode()
        return text


@contextmanager
def browsing(width: int, **options: Any) -> Iterator[Any]:
    """A page of a browser that makes no error."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 860}, **options)
        page.set_default_timeout(60_000)
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
        yield page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        browser.close()
    assert not faults


# -- a run as it was ----------------------------------------------------------------------------


def test_checkpoints_of_a_run_with_their_times(place: str, runs: Path) -> None:
    players = json.loads(get(place, "/players.json"))["players"]
    found = [player for player in players if player["run"] == "noughts"]
    rated = RunDirectory(runs / "noughts").step_checkpoints()
    assert [player["step"] for player in found] == sorted({*rated, 20})
    assert len(found) >= 3
    assert found[0]["seconds"] == 0
    times = [player["seconds"] for player in found]
    assert times == sorted(times)
    assert times[-1] > times[0]
    assert found[-1]["name"] == "runs/noughts@last"  # whatever the folder of runs is called
    steps = [f"runs/noughts@step-{player['step']}" for player in found[:-1]]
    assert [player["name"] for player in found[:-1]] == steps
    assert {player["run"] for player in players if player["group"] != "runs"} == {""}


# -- what the network sees ----------------------------------------------------------------------


@contextmanager
def seeing(place: str) -> Iterator[Page]:
    with connect(f"ws://{place}/sees/room", origin=f"http://{place}") as socket:
        yield Page(socket)


def test_planes_with_their_names(place: str) -> None:
    with seeing(place) as page:
        page.tell({"do": "open", "player": "search/chess", "moves": ["e2e4"]})
        seen = page.hear("sees")
    assert (seen["seat"], seen["shape"]) == ("black", "119 planes of 8 × 8")
    assert [part["name"] for part in seen["sections"]][:2] == [NOW, "1 ply ago"]
    now = {plane["name"]: plane["svg"] for plane in seen["sections"][0]["planes"]}
    assert "pawns: 8 of 64 cells" in now["opponent's pawns"]
    assert "White to move" in seen["sections"][0]["zeros"]
    assert "moves played" in seen["sections"][0]["zeros"]  # a move is two plies
    assert seen["symmetries"] == ["unchanged"]
    assert seen["views"] == []  # search without a network says nothing


def test_planes_turned_and_what_the_network_says_of_them(place: str) -> None:
    name = "runs/noughts@last"
    with seeing(place) as page:
        page.tell({"do": "open", "player": name, "moves": ["a3"]})
        seen = page.hear("sees")
        names = seen["symmetries"]
        page.tell({"do": "turn", "symmetry": names.index("left and right swapped")})
        turned = page.hear("sees")
        page.tell({"do": "turn", "symmetry": 8})
        assert "from 0 to 7" in page.hear("error")["message"]
    first, second = (m["sections"][0]["planes"][0]["svg"] for m in (seen, turned))
    assert 'd="M0 0h20' in first
    assert 'd="M40 0h20' in second
    assert [view["name"] for view in seen["views"]] == names
    # The network knows no symmetry.
    assert len({(view["value"], view["share"]) for view in seen["views"]}) > 1


class Neighbours(Evaluator):
    """Likes cells beside marks, its own most; so it says the same of a position however turned."""

    def evaluate(self, observations: Any) -> tuple[Any, Any]:
        marks = np.pad(2 * observations[:, 0] + observations[:, 1], ((0, 0), (1, 1), (1, 1)))
        beside = marks[:, :-2, 1:-1] + marks[:, 2:, 1:-1] + marks[:, 1:-1, :-2] + marks[:, 1:-1, 2:]
        logits = beside.reshape(len(observations), 9).astype(np.float32)
        return logits, np.full(len(observations), 0.25, np.float32)


def test_moves_are_turned_back() -> None:
    entry = Entry(name="x", game="tic_tac_toe", title="", player="", group="runs")
    loaded = azcore.make("tic_tac_toe"), Neighbours(), None
    players: Any = SimpleNamespace(entry=lambda _: entry, load=lambda _: loaded)
    told: list[Any] = []
    sees = Planes(players=players, send=told.append)
    for order in ([], {"do": []}, {"do": "turn"}):
        sees.do(order)
        assert told.pop()["what"] == "error"
    sees.do({"do": "open", "player": "x", "moves": ["b1", "a3", "a1"]})
    assert len(told[0]["views"]) == 8
    assert {(view["best"], view["share"]) for view in told[0]["views"]} == {("a2", 0.5753)}


def test_a_game_without_names_of_planes_has_numbers() -> None:
    game = azcore.make("tic_tac_toe")
    game.plane_names = None
    state = game.step(game.initial_state(), 4)
    [part] = sections(game, game.observation(state))
    assert (part["zeros"], [plane["name"] for plane in part["planes"]]) == (
        ["plane 0"],
        ["plane 1"],
    )


def test_symmetries_do_what_their_names_say() -> None:
    game = azcore.make("tic_tac_toe")
    board = np.arange(9).reshape(3, 3)
    what = {
        "a quarter turn to the left": np.rot90(board),
        "a half turn": np.rot90(board, 2),
        "top and bottom swapped": board[::-1],
        "mirrored along the diagonal \\": board.T,
    }
    cells = dict(zip(symmetry_names(game)[1:], (s.cells for s in game.symmetries), strict=True))
    assert len(cells) == 7
    assert not any("symmetry" in name for name in cells)
    for name, moved in what.items():
        assert cells[name].tolist() == moved.ravel().tolist()


@pytest.mark.parametrize("wrong", [["a"], ["a", "a"], ["a", ""], ["a", "b" * 81], ["a", 1]])
def test_names_of_planes_are_checked(wrong: list[Any]) -> None:
    facts = {"name": "x", "version": 1, "settings": {}, "num_actions": 1, "max_game_length": 1}
    facts |= {"observation_shape": (2, 1, 1), "dirichlet_alpha": 1.0}
    with pytest.raises(azcore.AzcoreError, match="plane_names must be 2 different texts"):
        azcore.game.Facts(**facts, plane_names=wrong)


# -- games in step ------------------------------------------------------------------------------


def test_the_first_game_and_the_latest(place: str, runs: Path) -> None:
    found = json.loads(get(place, "/games.json?run=noughts"))
    records = list(GameFile(runs / "noughts/games/records.azg").read())
    assert [game["why"] for game in found["games"]] == ["first", "last"]
    for game, record in zip(found["games"], (records[0], records[-1]), strict=True):
        assert len(game["moves"]) == len(game["players"]) == len(record)
        assert game["index"] == record.game_index
        assert "data-on" in game["svg"]
    assert found["games"][0]["step"] == 0 < found["games"][1]["step"]
    assert 'class="az-board az-shared"' in found["definitions"]


def test_games_of_a_damaged_file_are_left_out(place: str, runs: Path) -> None:
    (runs / "bad/games").mkdir(parents=True)
    shutil.copy(runs / "noughts/metrics.csv", runs / "bad")
    (runs / "bad/games/records.azg").write_bytes(b"AZG3" + b"x" * 99)
    try:
        assert json.loads(get(place, "/games.json?run=bad")) == {"definitions": "", "games": []}
    finally:
        shutil.rmtree(runs / "bad")


# -- runs side by side --------------------------------------------------------------------------


def test_facts_of_rules_are_those_of_random_games() -> None:
    facts = facts_of(azcore.make("tic_tac_toe"))
    assert facts == facts_of(azcore.make("tic_tac_toe"))
    assert facts.games == 200
    assert sum(facts.results) == pytest.approx(1)
    # By exhaustion, random play is 58.5 % wins, 12.7 % draws and 28.8 % losses of X.
    assert facts.results == pytest.approx((0.585, 0.127, 0.288), abs=0.11)
    assert 7 < facts.length < 8.3
    assert 4.8 < facts.tree < math.log10(math.factorial(9))


@pytest.mark.parametrize(
    ("exponent", "words"),
    [
        (0.0, "1"),
        (2.7, "500"),
        (2.999, "1 thousand"),
        (4.9, "80 thousand"),
        (14.2, "200 trillion"),
        (17.2, "10^17, fewer than the grains of sand on all beaches"),
        (19.2, "10^19, as many as the grains of sand on all beaches"),
        (35.1, "10^35, 10 million times the atoms in a human body"),
        (80.9, "10^81, 8 times the atoms in the observable universe"),
        (360.0, "10^360, a 1 with 360 zeros; there are 10^80 atoms in the observable universe"),
    ],
)
def test_numbers_of_games_in_words(exponent: float, words: str) -> None:
    assert in_words(exponent) == words


def test_where_a_curve_is_halfway_and_what_a_move_costs() -> None:
    assert halfway([0.0, 0.4, None, 0.5, 1.0, 0.2], [0, 1, 2, 3, 4, 5]) == 3
    assert halfway([1.0, 0.5], [0, 1]) is None
    assert halfway([None, 3.0], [0, 1]) is None
    rows = [
        {"games": "10", "game_length": "6", "seconds": "10", "evaluations": "900"}
        | {"search_share": "0.25", "network_share": "0.5"},
        {"games": "30", "game_length": "7", "seconds": "20", "evaluations": "2000"}
        | {"search_share": "0.25", "network_share": "0.25"},
    ]
    assert cost(rows) == pytest.approx((2000 / 200, 12.5 / 200))
    assert cost([]) is None
    assert foreseen({"value_loss": "0.25", "value_target_variance": "0.5"}) == 0.5
    assert foreseen({"value_loss": "0.25"}) is None


def test_three_runs_of_different_games_on_one_page(place: str, runs: Path) -> None:
    page = get(place, "/side-by-side?run=noughts&run=go3&run=go2")
    table = page[page.index("<h2>The rules</h2>") :]
    rows = dict(
        re.findall(
            r'<th scope="row">([^<]*)(?:<small>[^<]*</small>)?</th>((?:<td>[^<]*</td>)*)', table
        )
    )
    told = {name: re.findall("<td>([^<]*)", cells) for name, cells in rows.items()}
    assert told["Number of actions"] == ["9", "10", "5"]
    assert told["Input planes"] == ["2 of 3 × 3", "17 of 3 × 3", "17 of 2 × 2"]
    assert told["Optimizer steps"] == ["20"] * 3
    assert told["Rating above its own random play"][0].endswith(" Elo")
    data = json.loads(re.findall('id="data">(.*?)</script>', page)[0])
    assert [run["title"] for run in data["runs"]] == ["Tic tac toe", "Go 3×3", "Go 2×2"]
    for run in data["runs"]:
        assert run["x"]["step"] == [10, 20]
        assert {len(curve) for curve in run["curves"].values()} == {2}
        assert all(value is not None for value in run["curves"]["accuracy"])
        steps = [game["step"] for game in run["games"]]
        assert steps == sorted(steps)
        assert (steps[0], steps[-1]) == (0, 10)
        assert run["games"][0]["trained"] == "0 s"


def test_only_two_to_four_runs_that_are_listed(place: str) -> None:
    for query, words in (
        ("run=noughts", "must be 2 to 4, got 1"),
        ("run=noughts&run=noughts", "must be 2 to 4, got 1"),
        ("", "must be 2 to 4, got 0"),
        ("run=noughts&run=..", "there is no run named '..' here"),
    ):
        with pytest.raises(urllib.error.HTTPError) as refused:
            get(place, f"/side-by-side?{query}")
        with refused.value as answer:
            assert answer.code == 404
            assert words in answer.read().decode()


def test_a_page_of_runs_by_command(runs: Path, tmp_path: Path, capsys: Any) -> None:
    both = f"[{runs / 'noughts'},{runs / 'go2'}]"
    for words in (
        ["command=report", f"run_dir={both}", f"out={tmp_path / 'new'}"],
        # The older name.
        [
            "compare",
            "compare.side_by_side=true",
            f"compare.runs={both}",
            f"run_dir={tmp_path / 'new'}",
        ],
    ):
        assert report(compose(*words)) == 0
        path = tmp_path / "new/side_by_side.html"
        assert f"report {path}" in capsys.readouterr().out
        assert "<h1>Tic tac toe · Go 2×2</h1>" in path.read_text()
        path.unlink()
    one = runs / "noughts"
    with pytest.raises(azcore.AzcoreError, match=r"must be 2 to 4, got 1"):
        report(compose("command=report", f"run_dir=[{one},{one}]"))
    with pytest.raises(azcore.AzcoreError, match=r"out must be null for one run, whose page is"):
        report(compose("command=report", f"run_dir={one}", "out=there"))
    with pytest.raises(azcore.AzcoreError, match=r"one game: .*report run_dir=.* sets different"):
        comparison(compose("command=arena", "arena=comparison", f"arena.runs=[{runs}]"))


# -- in a browser -------------------------------------------------------------------------------


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@WIDTHS
def test_a_run_is_met_as_it_was(place: str, width: int) -> None:
    with browsing(width) as page:
        page.goto(f"http://{place}/")
        card = page.locator("[data-run=noughts]")
        card.locator("input").focus()
        page.keyboard.press("Home")
        card.get_by_text("before training").wait_for()
        card.get_by_text("Play").click()
        page.locator("#game-title", has_text="after 0 s, step 0").wait_for()
        page.locator("#moment").focus()
        page.keyboard.press("End")
        page.locator("#game-title", has_text="step 20").wait_for()
        page.wait_for_url("**noughts%40last**")  # the title comes first, its position after
        page.click("#sees")
        page.locator("#views tbody tr").nth(7).wait_for()
        before = page.locator("[data-plane]").count()
        page.select_option("#symmetry", label="a half turn")
        page.locator("#views tr.here", has_text="a half turn").wait_for()
        assert page.locator("[data-plane]").count() == before
        page.click("#back-to-game")
        page.locator("#board svg").wait_for()


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_run_that_goes_on_shows_its_games_in_step(place: str, runs: Path) -> None:
    live, table = runs / "live", (runs / "noughts/metrics.csv").read_text().splitlines(True)
    records = [record.to_bytes() for record in GameFile(runs / "noughts/games/records.azg").read()]
    (live / "games").mkdir(parents=True)
    (live / "metrics.csv").write_text("".join(table[:2]))
    (live / "games/records.azg").write_bytes(records[0])
    try:
        with browsing(390, reduced_motion="reduce") as page:
            page.goto(f"http://{place}/watch#run=live")
            page.locator("#films figure svg").wait_for()
            assert page.locator("#films figure").count() == 1
            page.click("[data-films=next]")
            page.locator("#films .description", has_text="1: X plays").wait_for()
            (live / "games/records.azg").write_bytes(b"".join(records))
            (live / "metrics.csv").write_text("".join(table))
            page.locator("#films figure").nth(1).wait_for()
            page.locator("#films .description", has_text="1: X plays").nth(1).wait_for()
            page.click("[data-films=next]")
            page.locator("#films .description", has_text="2: O plays").nth(1).wait_for()
            page.locator("[data-films=play]").click()
            page.locator("#films .count", has_text="4 of").wait_for()
    finally:
        shutil.rmtree(live)


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@WIDTHS
def test_runs_side_by_side_and_saved_as_a_file(place: str, tmp_path: Path, width: int) -> None:
    path = tmp_path / "side_by_side.html"
    with browsing(width) as page:
        page.goto(f"http://{place}/watch#run=noughts&run=go3&run=go2")
        with page.expect_download() as saved:
            page.click("#save")
        assert saved.value.suggested_filename == path.name
        saved.value.save_as(path)
        page.click("#side-by-side")
        page.locator("#films figure").nth(2).wait_for()
    with browsing(width, offline=True) as page:  # no server, no network
        page.emulate_media(reduced_motion="reduce")  # else the games play at once
        page.goto(path.as_uri())
        page.locator("#films figure svg").nth(2).wait_for()
        assert page.locator("#charts .plot svg").count() >= 6
        page.click("[data-films=next]")
        page.locator("#films .description", has_text="1: X plays").wait_for()
        page.locator("#films .description", has_text="1: black plays").nth(1).wait_for()
        known = page.locator("#known tr", has_text="Wins in one move").locator("td")
        assert "by chance" in known.first.inner_text()
        network = page.locator("#known [data-known=when]")
        assert re.match(r"step \d+, after", network.first.inner_text())
        page.locator("#moment").fill("0")
        assert network.first.inner_text() == "untrained"
        page.locator("#films figcaption", has_text="Go 3×3, untrained").wait_for()
        page.locator("input[value=evaluations]").check(force=True)
        page.locator('svg[aria-label*="over evaluations of networks"]').first.wait_for()
        page.locator("tr", has_text="Number of actions").get_by_text("10").wait_for()
        legal = page.locator("tr", has_text="Mean number of legal actions").locator("td").first
        assert re.fullmatch(r"random 5\.\d\nlearned \d\.\d", legal.inner_text())
        page.evaluate("window.print = () => { window.atPrint = document.body.className }")
        page.click("#print-sheet")
        page.evaluate("document.body.className = window.atPrint")
        page.emulate_media(media="print")
        assert page.locator("#sheet").is_visible()
        assert not page.locator("#films").is_visible()


VIEWS = {  # and what is there once a view is complete
    "": ".card img",
    "#player=search/tic_tac_toe&moves=b2+a1&people=01&analysis=1": "#rows tbody tr",
    "inside#player=search/tic_tac_toe&moves=b2": "#edges tbody tr",
    "watch#run=noughts&run=go3": "#films figure svg",
    "side-by-side?run=noughts&run=go3": "#films figure svg",
}


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.skipif(not AXE.exists(), reason="`npm install` was not run in tests/web")
def test_nothing_stands_in_the_way_of_anybody(place: str) -> None:
    """By the rules of axe-core, in light and dark colours."""
    found = []
    with browsing(1280) as page:
        for view, complete in VIEWS.items():
            page.goto("about:blank")
            page.goto(f"http://{place}/{view}")
            page.locator(complete).first.wait_for()
            page.evaluate(AXE.read_text())
            for theme, rules in (("light", None), ("dark", ["color-contrast"])):
                page.emulate_media(color_scheme=theme)
                told = page.evaluate("rules => axe.run(rules ? { runOnly: rules } : {})", rules)
                for fault in told["violations"]:
                    if fault["impact"] in ("serious", "critical"):
                        where = [node["target"] for node in fault["nodes"]][:3]
                        found.append((view, theme, fault["id"], *where))
    assert not found
