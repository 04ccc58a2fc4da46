"""The page in a real browser: games by mouse, on a screen and on a phone."""

from __future__ import annotations

import random
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import azcore
from azcore.game.transcript import MOST_IN_VARIATIONS, branches_of
from web_kit import served

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]
FOOLS = "1. f3 e5 2. g4 Qh4# 0-1"


PLUGIN = Path(__file__).parents[2] / "examples/plugins/connect_four/src"
BARE = """
from azcore.game import Game
from azcore.games.tic_tac_toe.plain import TicTacToePlain

class Bare(TicTacToePlain):
    board = Game.board
    def __init__(self):
        super().__init__()
        self.name = "bare"
"""
LINED = """
from azcore.game import Board, Layout, Piece, Role
from azcore.games.tic_tac_toe.plain import TicTacToePlain

LAYOUT = Layout(
    kind="lines", columns=("a", "b", "c"), rows=("1", "2", "3"), colours=("red", "blue"),
    roles={"line": Role(name="line", letter="L")},
)
LINES = [place for place, (x, y) in LAYOUT.places.items() if (x + y) % 2][:9]

class Lined(TicTacToePlain):
    def __init__(self):
        super().__init__()
        self.name = "lined"
    def board(self, state):
        over = self.is_terminal(state)
        drawn = [(line, mark) for line, mark in zip(LINES, state) if mark != "."]
        return Board(
            layout=LAYOUT,
            pieces=tuple(Piece(line, "XO".index(mark), "line") for line, mark in drawn),
            to_move=None if over else self.current_player(state),
            actions={} if over else {i: (LINES[i],) for i in range(9) if state[i] == "."},
        )
"""


@pytest.fixture(name="plugins", scope="module")
def plugins_fixture(tmp_path_factory: Any) -> Iterator[None]:
    """Three packages of strangers, as pip would install them; the game of one has no `board`."""
    site = tmp_path_factory.mktemp("site")
    (site / "bare.py").write_text(BARE)
    (site / "lined.py").write_text(LINED)
    for name, place in (
        ("bare", "bare:Bare"),
        ("lined", "lined:Lined"),
        ("connect_four", "connect_four.game:ConnectFour"),
    ):
        folder = site / f"{name}-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (folder / "entry_points.txt").write_text(f"[azcore.games]\n{name} = {place}\n")
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(PLUGIN))
        patched.syspath_prepend(str(site))
        yield


@pytest.fixture(name="place", scope="module")
def place_fixture(plugins: None, tmp_path_factory: Any) -> Iterator[str]:
    from conftest import compose

    runs = tmp_path_factory.mktemp("runs")
    with served(compose("command=web", f"web.runs={runs}", "search.num_simulations=20")) as place:
        yield place


@pytest.fixture(name="browser", scope="module")
def browser_fixture() -> Iterator[Any]:
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


ON_A_PHONE_TOO = pytest.mark.parametrize(
    "page", [1280, 390], indirect=True, ids=["screen", "phone"]
)


@pytest.fixture(name="page")
def page_fixture(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    width = getattr(request, "param", 1280)
    context = browser.new_context(viewport={"width": width, "height": 860}, accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(60_000)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    yield page
    context.close()
    assert not faults


def begin(page: Any, place: str, player: str, people: str | None = None) -> None:
    page.goto("about:blank")
    page.goto(f"http://{place}/")
    choose(page, player)
    page.wait_for_selector("#board svg")
    if people is not None:
        sit(page, people)


def choose(page: Any, player: str) -> None:
    """Play what a card of the first view offers; those without a network are in a list of more."""
    if player.startswith("search/"):
        page.click("#more-games > summary")
    page.click(f'[data-player="{player}"]')


def sit(page: Any, people: str) -> None:
    """Take these seats, and leave the others to the engine."""
    for seat in "01":
        page.select_option(f"#seat-{seat}", "you" if seat in people else "16")


def click(page: Any, *names: str) -> None:
    for name in names:
        page.click(f'[data-click="{name}"]')


def moves(page: Any, count: int) -> list[str]:
    """The moves as listed, once there are so many."""
    if count:
        page.locator("#moves li").nth(count - 1).wait_for()
    assert page.locator("#moves li").count() == count
    return [text.lstrip("0123456789.…") for text in page.locator("#moves li").all_inner_texts()]


def shown(page: Any) -> tuple[int, str, str, bool, str]:
    """What a visitor has before their eyes: moves, the present one, strength, analysis, layer."""
    page.wait_for_selector("#moves [aria-current]")
    return (
        page.locator("#moves li").count(),
        page.locator("#moves [aria-current]").inner_text(),
        page.input_value("#seat-1"),
        page.is_checked("#analyse"),
        page.input_value("#layer"),
    )


def test_nothing_of_a_game_is_lost(page: Any, place: str) -> None:
    """Whatever one does between two moves: go back, refresh, look inside, begin another game."""
    begin(page, place, "search/go", "01")
    for number, point in enumerate(("E5", "C3", "G7", "C7"), 1):
        click(page, point)
        moves(page, number)
    page.select_option("#seat-1", "50")
    page.select_option("#seat-1", "you")
    page.select_option("#layer", "prior")
    page.check("#analyse")
    page.keyboard.press("f")
    for _ in range(2):  # faster than the server answers
        page.keyboard.press("ArrowLeft")
    page.locator("#moves [aria-current]", has_text="C3").wait_for()
    before = (4, "2C3", "you", True, "prior")
    assert shown(page) == before
    page.reload()
    assert shown(page) == before
    assert "flip=1" in page.url
    assert "strength=medium%2C50" in page.url  # of each seat, though people have both
    assert page.locator(".az-board text").first.text_content() != "A"  # turned
    page.keyboard.press("i")
    page.locator("#edges tbody tr").nth(3).wait_for()
    page.click("#back-to-game")
    assert shown(page) == before
    page.click("#home")
    page.click("text=Continue your game")
    assert shown(page) == before
    page.uncheck("#analyse")
    page.keyboard.press("n")
    page.click("text=Keep this one")
    assert shown(page)[0] == 4
    page.keyboard.press("n")
    page.click("text=Start a new game")
    page.locator("#moves li").first.wait_for(state="detached")
    page.go_back()
    moves(page, 4)
    page.keyboard.press("End")
    page.locator("#moves [aria-current]", has_text="C7").wait_for()
    page.click("#resign")
    page.locator("#status", has_text="Black resigns, white wins").wait_for()
    assert page.inner_text("#bar b") == "white wins"
    page.reload()
    page.locator("#status", has_text="Black resigns, white wins").wait_for()
    page.click("#undo")  # the resignation, and no move
    page.locator("#status", has_text="White played C7. Black to move").wait_for()
    click(page, "E3")
    moves(page, 5)
    page.keyboard.press("Home")
    page.wait_for_selector("#undo:disabled")
    click(page, "A1")  # another game
    page.locator("#moves li").nth(1).wait_for(state="detached")
    assert moves(page, 1) == ["A1"]
    page.keyboard.press("ArrowUp")  # the game is the line above
    assert moves(page, 5)[-1] == "E3"


@ON_A_PHONE_TOO
def test_a_card_says_what_a_level_does_and_begins_with_it(page: Any, place: str) -> None:
    page.goto(f"http://{place}/")
    card = page.locator(".card", has=page.locator('[data-player="pretrained/go9"]'))
    assert "larger area wins" in card.inner_text()
    assert card.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)")
    card.locator("select").select_option("easy")
    assert "Draws moves from the network's policy. Scored " in card.inner_text()
    card.locator("button").click()
    click(page, "E5")
    moves(page, 2)
    assert (page.input_value("#seat-0"), page.input_value("#seat-1")) == ("you", "easy")
    assert "strength=easy" in page.url


def test_a_server_that_is_silent_or_gone_is_told_of(page: Any, place: str) -> None:
    held: dict[str, Any] = {"silent": False}

    def between(socket: Any) -> None:
        held["socket"], server = socket, socket.connect_to_server()
        socket.on_message(lambda order: None if held["silent"] else server.send(order))

    page.route_web_socket("**/room", between)
    begin(page, place, "search/go", "01")
    click(page, "E5")
    moves(page, 1)
    held["silent"] = True
    began = time.monotonic()
    click(page, "C3")
    page.hover('[data-click="E3"]')
    page.locator(".ghost .sent").wait_for(state="attached")  # seen before the server knows
    page.locator("#message", has_text="The server does not respond").wait_for()
    assert time.monotonic() - began < 3 + 2  # on a busy machine
    held["silent"] = False
    held["socket"].close(code=1011, reason="")
    page.locator("#message").wait_for(state="hidden")
    assert moves(page, 1) == ["E5"]
    assert page.locator(".ghost .sent").count() == 0
    click(page, "C3")
    moves(page, 2)


def test_a_link_that_leads_nowhere_says_so(page: Any, place: str) -> None:
    for link, says in (
        (
            "player=runs/gone@last",
            "There is no player named 'runs/gone@last'; it may have been removed",
        ),
        ("player=search/go&moves=E5&ply=7", "A ply must be 0 to 1, got 7"),
    ):
        page.goto("about:blank")
        page.goto(f"http://{place}/#{link}")
        page.locator("#message", has_text=says).wait_for()
        page.locator('[data-player="search/go"]').wait_for(state="attached")
        assert not page.is_visible("#status")


@ON_A_PHONE_TOO
@pytest.mark.parametrize(
    ("view", "ready"),
    [
        ("", ".card.game select"),
        ("watch", "#watch:not(.loading)"),
        ("#player=search/go&people=0", "#board svg"),
        ("#player=search/shogi&people=0", "#board svg"),
        ("sees#player=search/go&people=0", "#sections svg"),
    ],
)
def test_nothing_jumps_while_a_view_loads(page: Any, place: str, view: str, ready: str) -> None:
    """Cumulative layout shift below 0.05, as the Web Vitals define it."""
    page.add_init_script(
        "window.shift = 0; new PerformanceObserver(list => list.getEntries().forEach(entry => {"
        "window.shift += entry.hadRecentInput ? 0 : entry.value"
        "})).observe({ type: 'layout-shift', buffered: true })"
    )
    page.goto(f"http://{place}/{view}")
    page.locator(ready).first.wait_for()
    page.wait_for_timeout(200)
    assert page.evaluate("window.shift") < 0.05


@ON_A_PHONE_TOO
def test_ten_moves_of_go_a_pass_and_back(page: Any, place: str) -> None:
    begin(page, place, "pretrained/go9", "01")
    for number, point in enumerate(("E5", "C3", "G7", "C7", "G3", "E3", "E7", "C5", "G5"), 1):
        click(page, point)
        moves(page, number)
    page.click("[data-choice=pass]")
    assert moves(page, 10)[-1] == "pass"
    page.click("#undo")
    page.locator("#moves li").nth(9).wait_for(state="detached")
    page.keyboard.press("Home")
    page.wait_for_selector('[data-click="E5"].can')
    assert page.locator("[data-choice=pass]").is_enabled()
    page.keyboard.press("End")
    page.locator("#moves [aria-current]", has_text="G5").wait_for()


def test_against_the_engine_with_analysis_on_and_off(page: Any, place: str) -> None:
    begin(page, place, "pretrained/go9")
    click(page, "E5")
    moves(page, 2)
    assert page.locator("#rows tbody tr").count() == 0  # it does not give itself away
    page.check("#analyse")
    page.locator("#rows tbody tr").first.wait_for()
    page.locator(".az-layers circle").first.wait_for()
    page.hover("#rows tbody tr")
    page.locator(".line-layer circle").first.wait_for()
    page.uncheck("#analyse")
    assert "simulations" in page.inner_text("#thought")


@ON_A_PHONE_TOO
def test_chess_by_clicks_by_dragging_and_a_promotion(page: Any, place: str) -> None:
    begin(page, place, "search/chess", "01")
    line = [("e2", "e4"), ("e7", "e5"), ("g1", "f3"), ("b8", "c6"), ("f1", "c4"), ("f8", "c5")]
    for number, (start, end) in enumerate(line, 1):
        click(page, start, end)
        moves(page, number)
    page.drag_and_drop('[data-click="e1"]', '[data-click="g1"]')
    assert moves(page, 7)[-1] == "O-O"
    for number, (start, end) in enumerate([("g8", "f6"), ("d2", "d3"), ("d7", "d6")], 8):
        click(page, start, end)
        moves(page, number)
    page.click("#files-panel summary")
    page.fill("#paste", "7k/P7/8/8/8/8/8/K7 w - - 0 1")
    page.click("#load")
    page.wait_for_selector('[data-click="a7"].can')
    click(page, "a7", "a8")
    queen = page.locator('dialog button[value=q][aria-label="Becomes a queen"]')
    assert queen.locator("svg use").count() == 1  # the piece itself, at its square
    box, square = queen.bounding_box(), page.locator('[data-click="a8"]').bounding_box()
    assert abs(box["x"] - square["x"]) < 8
    assert abs(box["y"] - square["y"]) < 8
    queen.click()
    assert moves(page, 1) == ["a8=Q+"]


@ON_A_PHONE_TOO
def test_a_drop_in_shogi(page: Any, place: str) -> None:
    begin(page, place, "search/shogi", "01")
    line = [("7g", "7f"), ("3c", "3d"), ("8h", "2b"), ("3a", "2b"), ("*B", "5e")]
    line += [("2b", "3c"), ("5e", "3c"), ("2a", "3c"), ("*S", "5f"), ("*B", "5d")]
    for number, (start, end) in enumerate(line, 1):
        click(page, start, end)
        if (start, end) in (("8h", "2b"), ("5e", "3c")):
            page.click("dialog button >> nth=0")
        moves(page, number)
    assert moves(page, 10)[4] == "B*5e"


def test_tic_tac_toe_by_keyboard(page: Any, place: str) -> None:
    """The board is one stop of the Tab key; arrows go on, and the focus stays after a move."""
    begin(page, place, "search/tic_tac_toe")
    assert page.locator('#board [tabindex="0"]').count() == 1
    page.focus('#board [tabindex="0"]')
    here = "document.activeElement.getAttribute('aria-label')"
    while page.evaluate(here) != "b1, empty":
        page.keyboard.press("ArrowRight" if page.evaluate(here)[0] == "a" else "ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    moves(page, 2)
    page.wait_for_selector(".target.can")
    assert page.evaluate(here) == "b2, X"
    assert page.inner_text("#status").startswith("O played ")
    assert page.locator('#board [tabindex="0"]').count() == 1
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.id") == "home"
    page.keyboard.press("u")
    page.locator("#moves li").first.wait_for(state="detached")
    page.keyboard.press("f")
    page.wait_for_selector('[data-click="b2"].can')


def test_a_whole_game_of_tic_tac_toe_by_mouse(page: Any, place: str) -> None:
    begin(page, place, "search/tic_tac_toe", "01")
    for number, cell in enumerate(("b2", "a1", "c1", "a3", "a2", "c2", "b3", "b1", "c3"), 1):
        click(page, cell)
        moves(page, number)
    page.locator("#status", has_text="raw").wait_for()
    assert page.inner_text("#bar b") == "draw"


def test_a_review_lists_mistakes_that_are_tried_again(page: Any, place: str) -> None:
    page.goto(f"http://{place}/#player=search/tic_tac_toe&moves=a1+b2+b1+a3+c1&people=01")
    page.locator("#status", has_text="X wins").wait_for()
    page.click("#review")
    page.locator("#mistakes li", has_text="4 a3").wait_for()
    page.locator("#reviewed", has_text="tenth of the winning chance").wait_for()
    assert page.locator("#graph .mistake").count() == page.locator("#mistakes li").count()
    mistake = page.locator("#mistakes li", has_text="4 a3")
    assert "better c1" in mistake.inner_text()
    mistake.get_by_text("See why").click()
    page.locator("#lesson", has_text="Instead of a3: c1").wait_for()
    page.keyboard.press("ArrowRight")
    page.locator("#lesson", has_text=re.compile("Instead of a3: c1 .")).wait_for()
    mistake.get_by_text("Try again").click()
    page.locator("#lesson", has_text="Find a better move for O").wait_for()
    page.locator("#moves [aria-current]", has_text="b1").wait_for()
    click(page, "b3")
    page.locator("#lesson", has_text="b3 loses").wait_for()
    click(page, "c1")
    page.locator("#lesson", has_text="c1 is the move").wait_for()
    page.keyboard.press("Escape")
    page.locator("#lesson").wait_for(state="hidden")
    assert moves(page, 5)[-1] == "c1"  # the game is as it was
    page.reload()
    page.locator("#mistakes li", has_text="4 a3").wait_for()


@ON_A_PHONE_TOO
def test_files_and_links(page: Any, place: str) -> None:
    begin(page, place, "search/chess", "01")
    page.click("#files-panel summary")
    page.fill("#paste", FOOLS)
    page.click("#load")
    assert moves(page, 4)[-1] == "Qh4#"
    assert "checkmate" in page.inner_text("#status")
    assert page.inner_text("#bar b") == "black wins"
    with page.expect_download() as saved:
        page.click("text=Save as PGN")
    assert "Qh4#" in Path(saved.value.path()).read_text()
    page.fill("#paste", "no game at all")
    page.click("#load")
    page.wait_for_selector("#message:not([hidden])")
    box = page.locator("#message").bounding_box()
    assert 0 <= box["y"] < 860 - box["height"]  # in view, wherever one has scrolled to
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    assert moves(page, 4)[-1] == "Qh4#"


def test_a_game_without_a_board_is_a_list_of_actions(
    page: Any, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page gets the text and the legal actions; any game can be shown so."""
    monkeypatch.setattr(type(azcore.make("tic_tac_toe")), "board", azcore.Game.board)
    begin(page, place, "search/tic_tac_toe", "01")
    page.click("#choices button >> nth=4")
    moves(page, 1)
    assert page.locator("#choices button").count() == 8


@ON_A_PHONE_TOO
def test_inside_a_search_step_by_step(page: Any, place: str) -> None:
    begin(page, place, "search/tic_tac_toe", "01")
    for number, cell in enumerate(("a1", "b2"), 1):
        click(page, cell)
        moves(page, number)
    page.keyboard.press("i")
    page.locator("#edges tbody tr").nth(6).wait_for()
    page.click("#more")
    page.locator("#count", has_text="1 of 50").wait_for()
    assert page.locator("#walk tbody tr").count() == 1
    page.fill("#own-value", "-0.5")
    page.click("#own button")
    page.locator("#story", has_text="Your value is −0.500").wait_for()
    page.click("#all")
    page.locator("#count", has_text="50 of 50").wait_for()
    visits = [int(row.split("\t")[1]) for row in page.locator("#edges tbody tr").all_inner_texts()]
    assert sum(visits) == 50
    page.locator("#tree .node").nth(1).click()
    page.locator("#where", has_text="After").wait_for()
    assert "science.aar6404" in (page.get_attribute("#paper", "href") or "")
    page.select_option("#rule", "gumbel")
    page.locator("#where", has_text="root").wait_for()
    page.locator("#heads", has_text="log P").wait_for()
    page.locator("#paper", has_text="Danihelka").wait_for()
    page.check("#unturned")
    page.locator("#story", has_text="does not flip the sign").wait_for()
    best = page.locator("#rivals p").first.inner_text().split(",")[0].split()[-1]
    top = page.locator("#rivals table").first.locator("tbody tr").first.inner_text()
    assert f"▸ {best}" in top or f", {best} has the highest g" in page.inner_text("#rivals")
    page.select_option("#audience", "pupil")
    assert page.locator("#heads").inner_text().split("\t")[:2] == ["Move", "Visits"]
    assert not page.is_visible("#changes")
    assert "?for=pupil#" in page.url
    page.click("#back-to-game")
    assert moves(page, 2) == ["a1", "b2"]


def test_a_simulation_is_told_in_three_steps_along_the_tree(page: Any, place: str) -> None:
    page.goto(f"http://{place}/inside#player=search/tic_tac_toe&moves=a1+b2&people=01")
    page.locator("#edges tbody tr").nth(6).wait_for()
    page.evaluate("""() => {
        window.told = []
        const note = () => {
            const now = document.querySelector('#story .now h2')?.textContent
            if (now && now !== told.at(-1)) told.push(now)
            window.carried = document.querySelector('.carrier text')?.textContent || window.carried
        }
        new MutationObserver(note).observe(document.querySelector('#inside'),
            { subtree: true, childList: true, attributeFilter: ['class'] })
    }""")
    page.fill("#own-value", "-0.5")
    page.click("#own button")
    page.locator(".carrier").wait_for(state="attached")
    page.locator(".carrier").wait_for(state="detached")
    steps = ["1 Choose", "2 Ask the network", "3 Carry the answer back"]
    assert page.evaluate("told") == steps
    assert page.evaluate("carried") == "+0.500"  # for the player who chose the move
    assert page.locator("#compared .choice .taken .terms i").count() == 2  # value so far, curiosity
    page.emulate_media(reduced_motion="reduce")
    page.click("#more")
    page.locator("#story", has_text="simulation 2 takes").wait_for()
    page.wait_for_timeout(100)
    assert page.evaluate("told") == steps
    assert page.evaluate("document.getAnimations().length") == 0


def test_the_formula_explains_its_symbols(page: Any, place: str) -> None:
    page.goto(f"http://{place}/inside#player=search/tic_tac_toe&moves=a1+b2&people=01")
    page.locator("#edges tbody tr").nth(6).wait_for()
    assert page.locator("#formula mfrac msqrt").count() == 1
    page.hover("#formula [data-symbol=P]")
    assert "the network gives move a" in page.inner_text("#meaning")
    page.focus("#formula [data-symbol=score]")
    for symbol, says in (("Q", "the value so far"), ("U", "curiosity"), ("U", "curiosity")):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.dataset.symbol") == symbol
        assert says in page.inner_text("#meaning")
    page.select_option("#rule", "gumbel")
    page.locator("#formula [data-symbol=sigma]").wait_for()
    for symbol in page.locator("#formula .symbol").all():
        symbol.focus()
        assert "Point at" not in page.inner_text("#meaning")


SEEN = """
    window.moved = []
    window.sounded = 0
    const { animate } = Element.prototype, { start } = OscillatorNode.prototype
    Element.prototype.animate = function (frames, how) {
        moved.push(frames[0].transform ?? 'fades')
        return animate.call(this, frames, how)
    }
    OscillatorNode.prototype.start = function (...at) { sounded++; return start.apply(this, at) }
"""


def test_pieces_move_as_they_are_played_and_stepped_through(page: Any, place: str) -> None:
    page.add_init_script(SEEN)
    page.goto(f"http://{place}/#player=search/chess&moves=e2e4+d7d5&people=01")
    moves(page, 2)
    assert page.evaluate("moved") == []
    click(page, "e4", "d5")
    assert page.evaluate("moved[0]") == "translate(100px, 100px)"  # as one clicks
    moves(page, 3)
    assert page.evaluate("moved.filter(how => how === 'fades').length") == 1  # the captured pawn
    assert page.get_attribute("#taken-0", "aria-label") == "white has taken 1 × pawn"
    assert page.locator("#taken-0 svg").bounding_box()["height"] > 20
    assert page.get_attribute("#taken-1", "aria-label") == "black has taken nothing"
    page.evaluate("moved.length = 0")
    page.keyboard.press("ArrowLeft")
    page.locator("#moves li:nth-child(2) [aria-current]").wait_for()
    assert "translate(-100px, -100px)" in page.evaluate("moved")
    page.evaluate("moved.length = 0")
    page.emulate_media(reduced_motion="reduce")
    page.keyboard.press("ArrowRight")
    page.locator("#moves [aria-current]", has_text="exd5").wait_for()
    click(page, "d8", "d5")
    moves(page, 4)
    assert page.evaluate("moved") == []


def test_arrows_and_circles_by_the_right_button(page: Any, place: str) -> None:
    begin(page, place, "search/go", "01")
    page.click('[data-click="C3"]', button="right")
    page.hover('[data-click="E5"]')
    page.mouse.down(button="right")
    page.hover('[data-click="G7"]')
    page.mouse.up(button="right")
    assert page.locator(".sketch circle").count() == 1
    assert page.locator(".sketch .head").count() == 1
    page.keyboard.press("f")
    page.locator('[data-click="A1"][y^="4"]').wait_for(state="attached")
    assert page.locator(".sketch > *").count() == 2
    page.click('[data-click="C3"]', button="right")  # the same again
    assert page.locator(".sketch > *").count() == 1
    click(page, "E5")
    moves(page, 1)
    assert page.locator(".sketch > *").count() == 0


def test_sounds_are_off_until_turned_on_and_remembered(page: Any, place: str) -> None:
    page.add_init_script(SEEN)
    begin(page, place, "search/tic_tac_toe", "01")
    click(page, "a1")
    moves(page, 1)
    assert page.evaluate("sounded") == 0
    page.check("#sounds")
    page.reload()
    page.wait_for_selector('[data-click="b2"].can')
    assert page.is_checked("#sounds")
    click(page, "b2")
    moves(page, 2)
    assert page.evaluate("sounded") > 0


def test_a_move_entered_while_the_engine_thinks_is_played_after_its_answer(
    page: Any, place: str
) -> None:
    held: dict[str, Any] = {"ply": 2, "answers": []}

    def between(socket: Any) -> None:
        server = socket.connect_to_server()
        held["release"] = lambda: [socket.send(answer) for answer in held["answers"]]

        def hear(answer: str) -> None:
            if f'"ply":{held["ply"]},' in answer.replace(" ", "")[:200_000]:
                held["answers"].append(answer)
            else:
                socket.send(answer)

        server.on_message(hear)

    page.route_web_socket("**/room", between)
    page.goto(f"http://{place}/#player=search/chess&people=0&strength=1")
    click(page, "g1", "f3")
    page.locator('[data-click="d2"].later').wait_for()
    click(page, "d2", "d3")
    assert page.locator(".target.premove").count() == 2
    page.keyboard.press("Escape")
    assert page.locator(".target.premove").count() == 0
    click(page, "d2", "d3")
    page.click('[data-click="g1"]', button="right", force=True)  # where nothing can be played
    assert page.locator(".target.premove").count() == 0
    assert page.locator(".sketch > *").count() == 0
    click(page, "e2", "e3")
    held["ply"] = 4
    held["release"]()
    assert [moves(page, 3)[ply] for ply in (0, 2)] == ["Nf3", "e3"]


def test_a_finger_drags_a_piece_and_taps_a_large_place_once(page: Any, place: str) -> None:
    page.set_viewport_size({"width": 390, "height": 860})
    page.goto(f"http://{place}/#player=search/chess&people=01")
    page.wait_for_selector('[data-click="e2"].can')
    finger = page.context.new_cdp_session(page)
    finger.send("Emulation.setTouchEmulationEnabled", {"enabled": True})

    def touch(kind: str, *names: str) -> None:
        boxes = [page.locator(f'[data-click="{name}"]').bounding_box() for name in names]
        points = [{"x": box["x"] + 15, "y": box["y"] + 15} for box in boxes]
        finger.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})

    touch("Start", "e2")
    for name in ("e3", "e4"):
        touch("Move", name)
    touch("End")
    assert moves(page, 1) == ["e4"]
    page.goto(f"http://{place}/#player=search/tic_tac_toe&people=01")
    page.wait_for_selector('[data-click="b2"].can')
    touch("Start", "b2")
    touch("End")
    assert moves(page, 1) == ["b2"]


def test_a_plugin_by_clicks(page: Any, place: str) -> None:
    begin(page, place, "search/connect_four", "01")
    played = []
    for ply in range(10):
        column = str(ply * 3 % 7 + 1)
        page.locator(f'[data-click^="{column}"].can').first.click()
        moves(page, ply + 1)
        played.append(column)
    listed = [text.lstrip() for text in page.locator("#moves li").all_inner_texts()]
    assert [text[-1] for text in listed] == played  # after the number of the move
    page.check("#analyse")
    page.locator("#rows tbody tr").first.wait_for()
    page.uncheck("#analyse")


@ON_A_PHONE_TOO
def test_a_plugin_without_a_board_by_its_list(page: Any, place: str) -> None:
    begin(page, place, "search/bare", "01")
    for number in range(1, 5):
        page.locator("#choices button").first.click()
        moves(page, number)
    page.click("#undo")
    page.locator("#moves li").nth(3).wait_for(state="detached")
    page.check("#analyse")
    page.locator("#rows tbody tr").first.wait_for()


def test_a_picked_piece_stays_picked_when_the_seats_change(page: Any, place: str) -> None:
    begin(page, place, "search/chess", "01")
    click(page, "e2")
    sit(page, "0")
    page.wait_for_timeout(500)
    click(page, "e4")
    moves(page, 2)
    assert "12" not in page.inner_text("#who")  # no limits of the search or of the rules
    sit(page, "1")  # the board turns to whoever plays
    page.locator('[data-click="e1"][y^="1"]').wait_for(state="attached")


def test_a_game_that_one_watches_has_a_pace_and_rests(page: Any, place: str) -> None:
    began = time.monotonic()
    begin(page, place, "search/tic_tac_toe", "")
    page.locator("#moves li").nth(1).wait_for()
    assert time.monotonic() - began > 2
    page.keyboard.press(" ")
    page.locator("#status", has_text="The game is paused").wait_for()
    rests = page.locator("#moves li").count()
    page.wait_for_timeout(1500)
    assert page.locator("#moves li").count() == rests
    page.click("text=Resume")
    page.locator("#moves li").nth(rests).wait_for()


def test_a_game_of_openspiel_by_clicks(page: Any, place: str) -> None:
    pytest.importorskip("pyspiel")
    begin(page, place, "search/openspiel", "01")
    for number, cell in enumerate(("d4", "c3", "a7"), 1):
        click(page, cell)
        assert moves(page, number)[-1] == cell


def test_hexagons_by_mouse_and_keyboard(page: Any, place: str) -> None:
    pytest.importorskip("pyspiel")
    begin(page, place, "search/openspiel", "01")
    page.click('[data-click="d4"]', position={"x": 2, "y": 2}, force=True)
    assert moves(page, 1) == ["d3"]  # outside of the hexagon in that corner, and in another
    here = "document.activeElement.dataset.click"
    page.focus('[data-click="d4"]')
    seen = []
    for key in ("Down", "Down", "Right", "Up", "Left", "Up"):
        page.keyboard.press(f"Arrow{key}")
        seen.append(page.evaluate(here))
    assert seen == ["d5", "d6", "e6", "e5", "d5", "d4"]
    page.keyboard.press("Enter")
    assert moves(page, 2) == ["d3", "d4"]
    page.check("#analyse")
    page.locator(".az-layers circle").first.wait_for()


@ON_A_PHONE_TOO
def test_lines_by_mouse_and_keyboard(page: Any, place: str) -> None:
    begin(page, place, "search/lined", "01")
    assert page.locator('[data-click="b2"]').count() == 0  # a point
    shown = []
    for line in ("a1a2", "a1b1"):
        page.hover(f'[data-click="{line}"]')
        box = page.locator(".ghost use").bounding_box()
        shown.append(box["width"] < box["height"])
    assert shown == [True, False]
    click(page, "a1b1")
    moves(page, 1)
    page.locator(".az-pieces use").wait_for()
    here = "document.activeElement.getAttribute('aria-label')"
    page.focus('[data-click="a1b1"]')
    seen = [page.evaluate(here)]
    for key in ("Right", "Down", "Left"):
        page.keyboard.press(f"Arrow{key}")
        seen.append(page.evaluate(here))
    assert seen == ["a1b1, X line", "b1c1, empty", "b1c2, empty", "b1b2, empty"]
    page.keyboard.press("Enter")
    moves(page, 2)


def test_a_browser_set_to_german_gets_german_until_it_is_changed(browser: Any, place: str) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 860}, locale="de-DE")
    page = context.new_page()
    begin(page, place, "search/tic_tac_toe", "01")
    click(page, "b2")
    expect = sync_api.expect
    expect(page.locator("#status")).to_have_text("X zog b2. O am Zug")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.locator("#undo")).to_have_attribute("title", "Zurücknehmen (u)")
    shown = page.locator("#table").inner_text()
    assert not re.findall(r"\b(?:the|to|of|with|and|your|move|game)\b", shown)
    page.select_option("#language", "en")
    expect(page.locator("#status")).to_have_text("X played b2. O to move")
    page.reload()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    context.close()


def test_a_game_pasted_as_sgf(page: Any, place: str) -> None:
    begin(page, place, "pretrained/go9", "01")
    page.click("#files-panel summary")
    page.fill("#paste", "(;GM[1]FF[4]SZ[9]KM[7.5];B[ee];W[cc];B[gg])")
    page.click("#load")
    assert moves(page, 3) == ["E5", "C7", "G3"]
    with page.expect_download() as waiting:
        page.get_by_text("Save as SGF").click()
    assert ";B[ee];W[cc];B[gg]" in Path(waiting.value.path()).read_text().replace("\n", "")


VARIED = "(;GM[1]FF[4]SZ[9]KM[7.5];B[ee];W[cc](;B[gg];W[gc])(;B[cg](;W[ge])(;W[eg];B[ec])))"


@ON_A_PHONE_TOO
def test_variations_are_kept_drawn_and_saved(page: Any, place: str) -> None:
    """Another move in the past adds a line; one goes from line to line by mouse and by keys."""
    begin(page, place, "search/go", "01")
    for number, point in enumerate(("E5", "C7", "G3"), 1):
        click(page, point)
        moves(page, number)
    assert not page.is_visible("#variations")
    page.keyboard.press("ArrowLeft")
    page.locator("#moves [aria-current]", has_text="C7").wait_for()
    click(page, "C3")
    page.locator("#moves [aria-current]", has_text="C3").wait_for()
    assert moves(page, 3) == ["E5", "C7", "C3"]
    click(page, "G5")
    moves(page, 4)
    assert page.is_hidden("#message")  # nothing was lost
    nodes = page.locator("#variations .node")
    assert nodes.count() == 6  # the start and five moves
    page.reload()  # the address holds all lines
    nodes.nth(5).wait_for()
    assert moves(page, 4)[-1] == "G5"
    page.keyboard.press("ArrowLeft")
    page.locator("#moves [aria-current]", has_text="C3").wait_for()
    page.keyboard.press("ArrowUp")
    page.locator("#moves [aria-current]", has_text="G3").wait_for()
    page.keyboard.press("ArrowLeft")
    page.locator("#moves [aria-current]", has_text="C7").wait_for()
    click(page, "C3")  # a move that the tree has: its line continues
    page.locator("#moves [aria-current]", has_text="C3").wait_for()
    assert moves(page, 4)[-1] == "G5"
    page.keyboard.press("End")
    for gone in ("G5", "C3"):
        page.locator("#moves [aria-current]", has_text=gone).wait_for()
        page.click("#undo")
    page.locator("#moves [aria-current]", has_text="C7").wait_for()
    assert moves(page, 3)[-1] == "G3"  # the other line remains
    assert not page.is_visible("#variations")
    page.click("#files-panel summary")
    page.fill("#paste", VARIED)
    page.click("#load")
    nodes.nth(8).wait_for()
    page.locator("#variations .node", has=page.locator("title", has_text="5 E7")).click()
    page.locator("#moves [aria-current]", has_text="E7").wait_for()
    assert moves(page, 5) == ["E5", "C7", "C3", "E3", "E7"]
    page.click("#promote")
    page.wait_for_selector("#promote:disabled")
    page.keyboard.press("Home")
    page.wait_for_selector("#back:disabled")
    with page.expect_download() as saved:
        page.click("text=Save as SGF")
    text = Path(saved.value.path()).read_text().replace("\n", "")
    assert text.endswith(";B[ee];W[cc](;B[cg](;W[eg];B[ec])(;W[ge]))(;B[gg];W[gc]))")
    page.locator("#variations .node", has=page.locator("title", has_text="4 G7")).click()
    page.locator("#moves [aria-current]", has_text="G7").wait_for()
    page.click("#remove")
    page.locator("#moves [aria-current]", has_text="C7").wait_for()
    assert nodes.count() == 7
    page.click("text=Restore them")
    nodes.nth(8).wait_for()


def test_a_full_tree_refuses_another_move_and_says_so(page: Any, place: str) -> None:
    game = azcore.make("tic_tac_toe")
    rng = random.Random(1)
    lines: list[list[int]] = []
    for _ in range(1_500):
        state, line = game.initial_state(), [8, 7]  # two cells that the main line leaves empty
        for action in line:
            state = game.step(state, action)
        while not game.is_terminal(state):
            line.append(rng.choice(game.legal_action_mask(state).nonzero()[0].tolist()))
            state = game.step(state, line[-1])
        lines.append(line)
    cells = [game.action_to_text(game.initial_state(), action) for action in range(9)]
    link, room = "&line=2", MOST_IN_VARIATIONS
    for branch in branches_of([0, 1], lines):
        texts = [cells[action] for action in branch.actions[:room]]
        room -= len(texts)
        link += f"&line={branch.ply}+{'+'.join(texts)}" if texts else ""
    assert room == 0
    page.goto(
        f"http://{place}/#player=search/tic_tac_toe&people=01&moves={cells[0]}+{cells[1]}{link}"
    )
    click(page, cells[2])  # the main line may grow
    moves(page, 3)
    page.keyboard.press("Home")
    page.wait_for_selector("#back:disabled")
    click(page, cells[5])
    page.locator("#message", has_text="The variations have 2,000 moves, the most").wait_for()
    assert moves(page, 3)[0] == cells[0]
