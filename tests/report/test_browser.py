"""The report in a real browser, from a file: choosing games, stepping, layers, phone and screen."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import azcore
from azcore.report.report import write_report
from azcore.storage.game_file import GameFile
from azcore.storage.run_directory import RunDirectory
from selfplay_kit import played

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]


@pytest.fixture(name="report", scope="module")
def report_fixture(tmp_path_factory: Any) -> Path:
    run = RunDirectory(tmp_path_factory.mktemp("run"))
    run.records.parent.mkdir()
    GameFile(run.records).append(played(azcore.make("go", board_size=5), 300)[:12])
    return write_report(run.path)


@pytest.fixture(name="browser", scope="module")
def browser_fixture() -> Iterator[Any]:
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(name="page")
def page_fixture(browser: Any, report: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    width = getattr(request, "param", 1280)
    page = browser.new_page(viewport={"width": width, "height": 860})
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.goto(report.as_uri())
    yield page
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.close()
    assert not faults


def stones(page: Any) -> int:
    return page.locator("#viewer .az-pieces use:visible").count()


@pytest.mark.parametrize("page", [1280, 390], indirect=True, ids=["screen", "phone"])
def test_games_are_stepped_through_by_keys_and_buttons(page: Any) -> None:
    where = page.locator("#where")
    assert where.inner_text().startswith("Position 0 of ")
    assert stones(page) == 0
    page.keyboard.press("ArrowRight")
    assert where.inner_text().startswith("Position 1 of ")
    assert stones(page) == 1
    page.locator("[data-go=next]").click()
    page.locator("[data-go=back]").click()
    assert stones(page) == 1
    page.locator("[data-go=last]").click()
    total = page.locator("#ply").get_attribute("max")
    assert where.inner_text().startswith(f"Position {total} of {total}")
    assert page.locator("#top").is_hidden()
    assert page.locator("[data-go=next]").is_disabled()


def test_another_game_is_chosen_and_each_keeps_its_place(page: Any) -> None:
    first, last = page.locator("[data-game]").first, page.locator("[data-game]").last
    assert last.get_attribute("aria-pressed") == "true"
    page.keyboard.press("ArrowRight")
    first.click()
    assert page.locator("#where").inner_text().startswith("Position 0 of ")
    assert page.locator(".board:visible").count() == 1
    page.keyboard.press("ArrowRight")  # the button that was clicked keeps no arrows
    page.keyboard.press("ArrowRight")
    assert page.locator("#where").inner_text().startswith("Position 2 of ")
    last.click()
    assert page.locator("#where").inner_text().startswith("Position 1 of ")


def test_moves_have_their_numbers_and_a_reason(page: Any) -> None:
    heads = page.locator("#top th:visible").all_inner_texts()
    assert heads == ["Move", "Share of visits", "N", "P", "Q"]
    assert page.locator("#top tr.played").count() == 1
    assert page.locator("#why").inner_text().startswith("Why: ")
    assert "plays" in page.locator("#move").inner_text()


def test_heat_is_shown_until_it_is_not_wanted(page: Any) -> None:
    heat = page.locator("#viewer .az-heat use:visible")
    assert heat.count() > 0
    page.locator("#heat").uncheck()
    assert heat.count() == 0
    page.keyboard.press("ArrowRight")
    assert stones(page) == 1
    assert heat.count() == 0
    assert page.locator("#owner").is_hidden()  # no network predicts them
