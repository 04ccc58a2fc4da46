"""`command=export what=page`: a browser plays by the files of a folder what Python plays."""

from __future__ import annotations

import http.server
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import azcore as package
from azcore.commands.export.page import verification, writing
from azcore.errors import AzcoreError
from azcore.game import ByteArray, FloatArray, Game
from azcore.networks.evaluator import NetworkEvaluator
from azcore.networks.registry import build_network, network_settings
from azcore.search.evaluators import Evaluator, UniformEvaluator
from azcore.search.mcts import Search
from azcore.search.settings import search_settings
from conftest import compose

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("ziglang", reason="ziglang is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed"),
]
CommandLine = Callable[..., tuple[int, str, str]]
EXPORT = ("command=export", "what=page", "game=tic_tac_toe", "search.num_simulations=60")
RUNTIME = Path(__file__).with_name("page_runtime") / "node_modules/onnxruntime-web/dist"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture(name="folder", scope="module")
def folder_fixture(tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("page")
    config = compose(*EXPORT, f"out={folder}")
    assert writing.export_page(config, writing.ExportedPage(what="page", runtime=None)) == 0
    return folder


@pytest.fixture(name="page", scope="module")
def page_fixture(folder: Path) -> Iterator[Any]:
    """The folder in Chromium, from the plain file server of Python."""
    handler = partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        asked: set[str] = set()
        page.on("request", lambda request: asked.add(request.url.split("/")[2]))
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        yield page
        assert not faults
        assert asked == {f"127.0.0.1:{server.server_port}"}  # no other host
        browser.close()
    server.shutdown()
    server.server_close()


def searched(game: Game, evaluator: Evaluator) -> Search:
    settings = search_settings(compose(*EXPORT))
    return Search(game=game, num_trees=1, evaluator=evaluator, settings=settings)


def choice(search: Search, state: Any) -> tuple[int, dict[int, int]]:
    """The action that Python's search plays, and the visits of all."""
    search.start(0, state)
    (result,) = search.run([0])
    visits = dict(zip(result.actions.tolist(), result.visit_counts.tolist(), strict=True))
    return int(result.actions[result.ranked()[0]]), visits


def test_a_whole_game_is_the_one_that_python_plays(page: Any) -> None:
    game = package.make("tic_tac_toe")
    search = searched(game, UniformEvaluator(game))
    page.wait_for_selector("#board svg")
    state, texts = game.initial_state(), []
    while not game.is_terminal(state):
        if game.current_player(state) == 0:  # a person, who does not play well
            action = int(np.flatnonzero(game.legal_action_mask(state))[-1])
            page.click(f'[data-click="{game.action_to_text(state, action)}"]')
        else:
            action = choice(search, state)[0]
        texts.append(game.action_to_text(state, action))
        state = game.step(state, action)
        page.locator("#moves li").nth(len(texts) - 1).wait_for()
        shown = page.locator("#moves li").all_inner_texts()
        assert [text.split(". ")[1] for text in shown[: len(texts)]] == texts
    page.locator("#status", has_text="Game over: O wins").wait_for()
    assert page.locator(".az-pieces use").count() == len(texts)


class Recording(Evaluator):
    """Random evaluations, the same for the same position, all written down."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[list[float], float]] = {}

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        logits, values = [], []
        for planes in observations:
            key = "".join(map(str, planes.ravel().tolist()))
            rng = np.random.default_rng([1, *planes.ravel().tolist()])
            drawn = rng.normal(size=10).astype(np.float32)
            value = np.tanh(drawn[9])
            self.known[key] = drawn[:9].tolist(), float(value)
            logits.append(drawn[:9])
            values.append(value)
        return np.stack(logits), np.array(values, np.float32)


SEARCHED_BY_PAGE = """async ({ games, known, simulations }) => {
  const { Rules } = await import('./rules.mjs')
  const { Search } = await import('./search.mjs')
  const facts = await (await fetch('games/tic_tac_toe/game.json')).json()
  const code = await (await fetch('games/tic_tac_toe/rules.wasm')).arrayBuffer()
  const rules = new Rules(facts, await WebAssembly.compile(code))
  const search = new Search(rules, facts.search, planes => {
    const [logits, value] = known[planes.join('')]
    return { logits, value }
  })
  const found = []
  for (const actions of games) {
    rules.put(rules.initial)
    actions.forEach(action => rules.step(action))
    const edges = await search.run(rules.get(), simulations)
    found.push([edges[0].action, Object.fromEntries(edges.map(edge => [edge.action, edge.visits]))])
  }
  return found
}"""


def test_recorded_evaluations_lead_to_the_same_visits(page: Any) -> None:
    game, recording = package.make("tic_tac_toe"), Recording()
    search = searched(game, recording)
    wanted, asked = [], []
    for actions in verification.random_games(game, 5, 100):
        state = game.initial_state()
        for ply, action in enumerate(actions):
            best, visits = choice(search, state)
            wanted.append([best, {str(action): count for action, count in visits.items()}])
            asked.append(actions[:ply])
            state = game.step(state, action)
    given = {"games": asked, "known": recording.known, "simulations": 60}
    assert page.evaluate(SEARCHED_BY_PAGE, given) == wanted


@pytest.mark.skipif(
    not RUNTIME.exists(), reason="`npm install` was not run in tests/commands/page_runtime"
)
def test_the_browsers_own_network_leads_to_the_same_move(page: Any, folder: Path) -> None:
    onnx_export = pytest.importorskip("azcore.networks.onnx_export")
    game = package.make("tic_tac_toe")
    settings = compose("game=tic_tac_toe", "network.blocks=1", "network.channels=8")["network"]
    network = build_network(game, network_settings(settings), seed=1)
    cpu = torch.device("cpu")
    evaluator = NetworkEvaluator(network=network, device=cpu, dtype=torch.float32)
    search = searched(game, evaluator)
    content = onnx_export.onnx_of(network, game, {})
    facts = json.loads((folder / "games/tic_tac_toe/game.json").read_text())
    module = (folder / "games/tic_tac_toe/rules.wasm").read_bytes()
    text = json.dumps({**facts, "network": True}).encode()
    files = {"rules.wasm": module, "game.json": text, "network.onnx": content}
    writing.write_files(folder, "own", files, RUNTIME)
    page.goto(f"{page.url.partition('?')[0]}?game=own")
    page.select_option("#people", "")  # nobody: the engine plays itself
    page.locator("#status", has_text="Game over").wait_for()
    shown = [text.split(". ")[1] for text in page.locator("#moves li").all_inner_texts()]
    state, texts = game.initial_state(), []
    while not game.is_terminal(state):
        action = choice(search, state)[0]
        texts.append(game.action_to_text(state, action))
        state = game.step(state, action)
    assert shown == texts


def test_a_module_that_plays_otherwise_is_refused(folder: Path) -> None:
    """As when a rule of the module reads the wrong memory."""
    game = package.make("tic_tac_toe")
    facts = json.loads((folder / "games/tic_tac_toe/game.json").read_text())
    module = (folder / "games/tic_tac_toe/rules.wasm").read_bytes()
    games = verification.random_games(game, 3, 20)
    positions = [verification.positions_of(game, actions) for actions in games]
    read = verification.read_by_page(facts, module, games)
    assert verification.require_equal(game, positions, read) >= 20
    first = facts["look"]["planes"][0]["pieces"]
    first[0][0], first[1][0] = first[1][0], first[0][0]
    read = verification.read_by_page(facts, module, games)
    with pytest.raises(AzcoreError, match="must agree with Python on "):
        verification.require_equal(game, positions, read)


def test_what_it_cannot_do_is_said_at_once(
    azcore: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("kept").mkdir()
    Path("kept/mine.txt").touch()
    for words, told in (
        (("game=tic_tac_toe",), "out must be a folder for the page, got None"),
        (("out=kept",), "out must be a new folder, or one with a page, got 'kept'"),
        (("game=tic_tac_toe_plain", "out=site"), "compiled rules, got tic_tac_toe_plain"),
        (("out=site", "search.leaves_per_tree=2"), "search.leaves_per_tree must be 1 with"),
        (("out=site", "checkpoint=pretrained/go5"), "export.runtime must be the folder node_mod"),
    ):
        status, _, error = azcore("command=export", "what=page", *words)
        assert status == 2
        assert told in error
        assert not Path("site").exists()
    monkeypatch.setenv("PATH", "")
    status, _, error = azcore(*EXPORT, "out=site")
    assert (status, "what=page needs Node" in error) == (2, True)
