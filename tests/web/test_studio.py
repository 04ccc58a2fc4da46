"""The studio: a run as it was, what the network sees, games in step, and runs side by side."""

from __future__ import annotations

import json
import shutil
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from websockets.sync.client import connect

import azcore
from azcore.commands.train import train
from azcore.game.symmetries import symmetry_names
from azcore.storage.run_directory import RunDirectory
from azcore.web.sees import NOW, sections
from conftest import compose
from web_kit import Page, served

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
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
    with served(compose(f"web.runs={runs}", "web.num_simulations=5")) as place:
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
    players = json.loads(get(place, "/players.json"))
    found = [player for player in players if player["run"] == "noughts"]
    rated = RunDirectory(runs / "noughts").step_checkpoints()
    assert [player["step"] for player in found] == sorted({*rated, 20})
    assert len(found) >= 3
    assert found[0]["seconds"] == 0
    times = [player["seconds"] for player in found]
    assert times == sorted(times)
    assert times[-1] > times[0]
    assert found[-1]["name"].endswith("noughts@last")
    assert all(player["name"].endswith(f"@step-{player['step']}") for player in found[:-1])
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
    assert seen["symmetries"] == ["as it is"]
    assert seen["views"] == []  # search without a network says nothing


def test_planes_turned_and_what_the_network_says_of_them(place: str, runs: Path) -> None:
    name = str(runs / "noughts@last")
    with seeing(place) as page:
        page.tell({"do": "open", "player": name, "moves": ["a3"]})
        seen = page.hear("sees")
        names = seen["symmetries"]
        page.tell({"do": "turn", "symmetry": names.index("left and right exchanged")})
        turned = page.hear("sees")
        page.tell({"do": "turn", "symmetry": 8})
        assert "from 0 to 7" in page.hear("error")["says"]
    first, second = (m["sections"][0]["planes"][0]["svg"] for m in (seen, turned))
    assert 'd="M0 0h20' in first
    assert 'd="M40 0h20' in second
    assert [view["name"] for view in seen["views"]] == names
    assert len({view["value"] for view in seen["views"]}) > 1  # the network knows no symmetry
    game = azcore.make("tic_tac_toe")
    state = game.step(game.initial_state(), 0)
    for view in seen["views"]:
        game.text_to_action(state, view["best"])  # legal here, so it was turned back


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
        "top and bottom exchanged": board[::-1],
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


# -- in a browser -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@WIDTHS
def test_a_run_is_met_as_it_was(place: str, width: int) -> None:
    with browsing(width) as page:
        page.goto(f"http://{place}/")
        card = page.locator("[data-run=noughts]")
        card.locator("input").focus()
        page.keyboard.press("Home")
        card.get_by_text("before it learned anything").wait_for()
        card.get_by_text("Play").click()
        page.locator("#game-title", has_text="after 0 s, step 0").wait_for()
        page.locator("#moment").focus()
        page.keyboard.press("End")
        page.locator("#game-title", has_text="step 20").wait_for()
        assert "noughts%40last" in page.url
        page.click("#sees")
        page.locator("#views tbody tr").nth(7).wait_for()
        before = page.locator("[data-plane]").count()
        page.select_option("#symmetry", label="a half turn")
        page.locator("#views tr.here", has_text="a half turn").wait_for()
        assert page.locator("[data-plane]").count() == before
        page.click("#back-to-game")
        page.locator("#board svg").wait_for()
