"""What a page's requests do, over a real web socket."""

from __future__ import annotations

import gc
import json
import os
import queue
import threading
import time
import urllib.error
import urllib.request
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

import azcore
from azcore.assembly.web_settings import web_settings
from azcore.engine.server import Loaded
from azcore.engine.settings import engine_settings, thinking_search
from azcore.engine.thought import Line, Thought
from azcore.errors import SettingError
from azcore.game import FloatArray
from azcore.search.evaluators import Evaluator, UniformEvaluator
from azcore.search.predictions import Chances, Prediction
from azcore.web import view
from azcore.web.app import make_app
from azcore.web.inside import Inside
from azcore.web.planes import Planes
from azcore.web.players import Players
from azcore.web.room import Room
from azcore.web.runs import Runs
from azcore.web.shared import SharedEvaluator
from web_kit import PATIENCE, Page, served, served_app, visit

Compose = Callable[..., dict[str, Any]]


@pytest.fixture(name="place", scope="module")
def place_fixture(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[str]:
    from conftest import compose

    runs = tmp_path_factory.mktemp("runs")
    few = ("web.visitors=3", "search.num_simulations=20")
    with served(compose("command=web", f"web.runs={runs}", *few)) as place:
        yield place


@pytest.fixture(name="page")
def page_fixture(place: str) -> Iterator[Page]:
    with visit(place) as page:
        yield page


def test_ten_moves_against_the_engine(page: Page) -> None:
    position = page.open("search/tic_tac_toe", people=[0])
    assert (position["toMove"], position["mayMove"], position["moves"]) == (0, True, [])
    while not position["over"]:
        clicks = next(iter(position["paths"].values()))
        page.play(position, *clicks)
        position = page.hear("position", mayMove=True) if not position["over"] else position
        if len(position["moves"]) >= 4:
            break
    thoughts = [message for message in page.heard if message["what"] == "thought"]
    assert thoughts[-1]["simulations"] >= 20
    assert len(thoughts[-1]["rows"]) == 9 - thoughts[-1]["ply"]
    assert {thought["overlay"] for thought in thoughts} == {""}  # it does not give itself away
    assert sum(row["share"] for row in thoughts[-1]["rows"]) == pytest.approx(1, abs=1e-3)


def test_values_of_the_bar_are_those_of_the_first_seat(page: Page) -> None:
    """O is about to win whoever looks: -1 for X. In the table it is O's own +1."""
    moves = ["a1", "b1", "a2", "b2", "c3"]
    page.open("search/tic_tac_toe", people=[0, 1], moves=moves)
    page.tell({"do": "hint"})
    thought = page.hear("thought")
    assert thought["rows"][0]["text"] == "b3"
    assert thought["rows"][0]["value"] == 1
    assert thought["value"] < -0.8


def test_taking_back_going_through_and_another_future(page: Page) -> None:
    position = page.open("search/go", people=[0, 1])
    for point in ("E5", "C3", "G7"):
        page.play(position, point)
        position = page.hear("position")
    page.tell({"do": "jump", "ply": 1})
    position = page.hear("position")
    assert (position["ply"], len(position["moves"])) == (1, 3)
    page.tell({"do": "play", "action": 0, "ply": 1, "text": "of another line"})  # is ignored
    page.play(position, "pass")
    position = page.hear("position")
    assert position["moves"] == ["E5", "pass"]
    page.tell({"do": "undo"})
    assert page.hear("position")["moves"] == ["E5"]


def test_a_game_is_opened_where_it_was_left(page: Page) -> None:
    game = {"people": [0, 1], "moves": ["E5", "C3", "G7"]}
    position = page.open("search/go", **game, ply=1)
    assert (position["ply"], position["moves"]) == (1, ["E5", "C3", "G7"])
    page.tell({"do": "undo"})
    assert page.hear("error")["message"].startswith("only the last move can be taken back")
    page.tell({"do": "resign"})
    assert (page.hear("position")["ply"], position["over"]) == (3, "")
    position = page.open("search/go", **game, resigned=1)
    assert (position["over"], position["values"][-1]) == ("white resigns, black wins", 1)
    page.tell({"do": "undo"})
    position = page.hear("position")
    assert (position["over"], position["values"][-1], position["ply"]) == ("", None, 3)


def test_a_game_is_reviewed_and_its_mistakes_are_tried_again(page: Page) -> None:
    """O does not block c1, and X wins there; however weak the search, the game shows it."""
    game: dict[str, Any] = {"people": [0, 1], "moves": ["a1", "b2", "b1", "a3", "c1"]}
    page.open("search/tic_tac_toe", **game, strengths=["200", "200"])
    page.tell({"do": "review"})
    told = [page.hear("reviewed", ply=ply) for ply in range(6)]
    assert [len(message["values"]) for message in told] == [1, 2, 3, 4, 5, 6]
    assert told[-1]["values"][-2:] == [1, 1]
    [mistake] = [one for one in told[-1]["mistakes"] if one["ply"] == 3]
    assert (mistake["played"], mistake["better"], mistake["left"]) == ("a3", "c1", 0)
    [block, *_] = mistake["line"]
    page.tell({"do": "why", "ply": 3, "actions": mistake["line"][:1]})
    why = page.hear("why")
    assert (why["texts"], why["toMove"]) == (["c1"], 0)
    page.tell({"do": "jump", "ply": 3})
    page.hear("position")
    for action, is_good in ((block, True), (block, True), (5, False)):
        page.tell({"do": "try", "ply": 3, "action": action, "chance": mistake["chance"]})
        assert (page.hear("tried", ply=3)["loss"] <= 0.1) == is_good
    page.tell({"do": "jump", "ply": 5})
    position = page.hear("position")  # the game is as it was
    assert (position["texts"], position["over"]) == (game["moves"], "X wins, first player won")
    page.tell({"do": "review", "on": False})
    page.tell({"do": "try", "ply": 3, "action": block, "chance": mistake["chance"]})
    page.hear("tried", ply=3)


def test_take_back_against_an_engine_takes_both_moves(page: Page) -> None:
    position = page.open("search/go", people=[0])
    page.play(position, "E5")
    assert len(page.hear("position", mayMove=True)["moves"]) == 2
    page.tell({"do": "undo"})
    assert page.hear("position")["moves"] == []


def test_a_click_on_a_picture_that_has_changed_does_nothing(page: Page) -> None:
    position = page.open("search/go", people=[0, 1])
    page.play(position, "E5")
    page.play(position, "C3")  # of ply 0
    page.tell({"do": "jump", "ply": 1})
    page.hear("position", ply=1)
    assert page.hear("position")["moves"] == ["E5"]


def test_analysis_goes_on_until_it_is_turned_off(page: Page) -> None:
    page.open("search/go", people=[0, 1])
    page.tell({"do": "analyse", "on": True})
    first = page.hear("thought")
    more = page.hear("thought")
    assert more["simulations"] > first["simulations"]
    assert "<circle" in more["overlay"]
    page.tell({"do": "analyse", "on": False})
    page.tell({"do": "jump", "ply": 0})
    page.hear("position")
    with pytest.raises(TimeoutError):
        page.socket.recv(timeout=1)


def test_moves_have_points_if_the_network_predicts_the_score(page: Page) -> None:
    page.open("pretrained/go5", people=[0, 1], moves=["pass", "C3", "pass", "B2", "pass", "D4"])
    page.tell({"do": "hint"})
    thought = page.hear("thought")
    tried = [row["points"] for row in thought["rows"] if row["visits"]]
    assert len(tried) > 2
    assert all(points < 0 for points in tried)  # of black, who is to move and has lost
    assert thought["score"] < 0


def test_a_hint_interrupts_an_analysis_and_no_engine(page: Page) -> None:
    position = page.open("search/go", people=[0, 1], strengths=["20", "20"])
    page.tell({"do": "analyse", "on": True})
    page.hear("thought")
    page.tell({"do": "hint"})
    heard = page.hear("thought")["simulations"]
    while page.hear("thought")["simulations"] < heard + 2000:  # more than a hint has
        pass
    page.tell({"do": "analyse", "on": False})
    page.tell({"do": "seats", "people": [0], "strengths": ["10s", "10s"]})
    page.play(position, "E5")
    page.hear("position", ply=1)
    page.tell({"do": "hint"})
    assert page.hear("error")["message"] == "a hint is available only on your turn"
    assert page.hear("position", ply=2)["mayMove"]  # it has moved, after all


def test_seats_strength_and_resigning(page: Page) -> None:
    page.open("search/go", people=[1], strengths=["8", "8"])
    assert page.hear("position", ply=1)["mayMove"]
    page.tell({"do": "resign"})
    position = page.hear("position")
    assert position["over"] == "white resigns, black wins"
    page.tell({"do": "save", "format": "sgf"})
    assert "RE[B+R" in page.hear("file")["text"]
    page.tell({"do": "seats", "people": [0, 1]})
    assert page.hear("position")["people"] == [0, 1]


def test_each_seat_has_its_level_and_a_beginner_has_no_opinion(page: Page) -> None:
    first = set()
    for _ in range(4):
        page.open("search/go", people=[1], strengths=["beginner", "full"])
        first.add(page.hear("position", ply=1)["moves"][0])
    assert len(first) > 1  # by chance
    assert all(message["what"] != "thought" for message in page.heard)
    page.tell({"do": "seats", "people": [0], "strengths": ["beginner", "hard"]})
    position = page.hear("position", ply=2)
    assert position["strengths"] == ["beginner", "hard"]
    thoughts = [message for message in page.heard if message["what"] == "thought"]
    assert {thought["simulations"] for thought in thoughts} >= {400}


def test_a_beginner_overlooks_a_win(page: Page) -> None:
    game = {"people": [1], "moves": ["a1", "b1", "a2", "b2"], "strengths": ["beginner", "full"]}
    played = set()
    for _ in range(8):
        page.open("search/tic_tac_toe", **game)
        played.add(page.hear("position", ply=5)["moves"][4])
    assert len(played) > 1  # not always a3, which wins


def test_a_level_is_as_strong_whatever_was_searched_before(page: Page) -> None:
    game = page.open("pretrained/go5", people=[0], strengths=["hard", "hard"], on=True)
    page.play(game, "C3")
    while page.hear("thought", ply=2)["simulations"] < 500:  # of the analysis
        pass
    page.tell({"do": "seats", "people": [1]})
    page.hear("position", ply=3)
    thoughts = [m["simulations"] for m in page.heard if m["what"] == "thought" and m["ply"] == 2]
    assert max(thoughts) >= 500
    assert thoughts[-1] == 50


def test_saved_games_and_positions_are_read_back(page: Page) -> None:
    for game, moves in (("go", ["E5", "C3"]), ("chess", ["e2e4", "c7c5"]), ("shogi", ["7g7f"])):
        before = page.open(f"search/{game}", people=[0, 1], moves=moves)
        formats = next(m for m in reversed(page.heard) if m["what"] == "opened")["formats"]
        page.tell({"do": "save", "format": formats[0]})
        text = page.hear("file")["text"]
        page.tell({"do": "load", "text": text})
        after = page.hear("position")
        assert after["text"] == before["text"]
        assert after["texts"] == moves
        page.tell({"do": "load", "text": before["text"]})
        assert page.hear("position")["text"] == before["text"]


def test_what_others_write_is_read_as_far_as_it_can_be(page: Page) -> None:
    page.open("search/chess", people=[0, 1])
    for text in ("position startpos moves e2e4 e7e5", "[Fen ...]\n1. e4 e5 ± 2. Ke7 *"):
        page.tell({"do": "load", "text": text})
        assert page.hear("position", ply=2)["texts"] == ["e2e4", "e7e5"]
    assert "read up to an error: chess: move 2. " in page.hear("error")["message"]


def test_variations_are_sent_saved_and_pasted(page: Page) -> None:
    """The page keeps the tree: it gets what was pasted, and sends all lines with what is saved."""
    tree = [
        {"ply": 1, "moves": ["e7e5"], "resigned": 1},
        {"ply": 1, "moves": ["c7c6", "d2d4"]},
    ]
    page.open("search/chess", people=[0, 1], moves=["e2e4", "c7c5"], lines=tree)
    lines = next(m for m in reversed(page.heard) if m["what"] == "tree")["lines"]
    assert [(each["ply"], each["moves"], each["movers"]) for each in lines] == [
        (0, ["e4", "e5"], [0, 1]),
        (1, ["c6", "d4"], [1, 0]),
    ]
    page.tell({"do": "save", "format": "pgn", "lines": tree})
    saved = page.hear("file")
    assert "1. e4 e5 (1... c6 2. d4) 1-0" in saved["text"]
    assert not saved["note"]
    page.tell({"do": "load", "text": saved["text"]})
    pasted = page.hear("tree")["lines"]
    assert [each["texts"] for each in pasted] == [["e2e4", "e7e5"], ["c7c6", "d2d4"]]
    assert page.hear("position")["texts"] == ["e2e4", "e7e5"]
    page.tell({"do": "jump", "ply": 1, "moves": ["e2e4", "e7e5"], "resigned": 1})
    assert page.hear("position", ply=1)["resigned"] == 1
    page.tell({"do": "load", "text": "1. e4 e5 (1... e4) *"})
    said = page.hear("error")["message"]
    assert said == "left out: a part of a variation that cannot be played"
    page.open("search/shogi", people=[0, 1], moves=["7g7f"])
    lines = [{"ply": 1, "moves": []}, {"ply": 0, "moves": ["2g2f"]}]
    page.tell({"do": "save", "format": "kif", "lines": lines})
    assert page.hear("file")["note"].startswith("a KIF file holds only the main line")


@pytest.mark.parametrize(
    ("order", "says"),
    [
        (None, "does not know"),
        ([], "does not know"),
        ({"do": "close"}, "does not know"),
        ({"do": []}, "does not know"),
        ({"do": {"do": "open"}}, "does not know"),
        ({"do": "decided", "turn": 2, "action": "x"}, "does not know"),
        ({"do": "play", "ply": 0, "action": 4000}, "action must be 0 to 81, got 4000"),
        ({"do": "play", "ply": 0, "action": "E5"}, "must be a whole number"),
        ({"do": "play", "ply": 0, "action": True}, "must be a whole number"),
        ({"do": "jump", "ply": 5}, "a ply must be 0 to 0"),
        ({"do": "undo"}, "no move to take back"),
        ({"do": "look", "layer": "x"}, "must be one of none"),
        ({"do": "seats", "people": [2]}, "each 0 or 1"),
        *(
            ({"do": "seats", "people": [0], "strengths": ["easy", wrong]}, "got " + repr(wrong))
            for wrong in ("0", "50001", "99999999999", "nans", "61s", "0s", "hardest", "")
        ),
        ({"do": "seats", "people": [0], "strengths": ["easy"]}, "must be two texts"),
        ({"do": "load", "text": "(;nonsense"}, "cannot read this text"),
        ({"do": "load", "text": ""}, "1 to 200,000 characters"),
        ({"do": "save", "format": "pdf"}, "one of sgf, got 'pdf'"),
        ({"do": "open", "player": "/etc/passwd"}, "no player named '/etc/passwd'"),
        ({"do": "open", "player": "runs/../../x@last"}, "no player named"),
        ({"do": "open", "player": "search/go", "start": "no position"}, "must be 9 of"),
        ({"do": "open", "player": "search/go", "moves": ["Z99"]}, "Z99"),
        ({"do": "open", "player": "search/go", "moves": ["E5", "E5"]}, "E5"),
        ({"do": "open", "player": "search/go", "moves": ["E5"], "ply": 2}, "0 to 1, got 2"),
        ({"do": "review"}, "no moves to review"),
        ({"do": "try", "ply": 0, "action": 90, "chance": 0.5}, "0 to 81, got 90"),
        ({"do": "try", "ply": 0, "action": "E5", "chance": 0.5}, "action 'E5' is not legal there"),
        ({"do": "try", "ply": 0, "action": 1, "chance": 7}, "chance must be 0 to 1, got 7"),
        ({"do": "why", "ply": 0, "actions": [1] * 11}, "a list of at most 10"),
        ({"do": "why", "ply": 0, "actions": [1, 1]}, "not legal"),
        ({"do": "open", "player": "search/go", "ply": -1}, "a ply must be 0 to 0, got -1"),
        ({"do": "open", "player": "search/go", "ply": [1] * 999}, "0 to 0, got [1, 1,"),
        ({"do": "open", "player": "search/go", "resigned": 2}, "a seat, 0 or 1, got '2'"),
        ({"do": "jump", "ply": 2, "moves": ["E5"]}, "a ply must be 0 to 1, got 2"),
        ({"do": "save", "lines": "E5"}, "lines must be a list of a tree's lines"),
        ({"do": "save", "lines": [{"ply": 1}]}, "a ply must be 0 to 0, got 1"),
        ({"do": "save", "lines": [{"ply": 0, "moves": [5]}]}, "a move must be a short text"),
        ({"do": "save", "lines": [{"ply": 0}] * 2_002}, "the tree has too many moves"),
    ],
)
def test_what_cannot_be_done_is_said_and_the_game_goes_on(
    page: Page, order: object, says: str
) -> None:
    page.open("search/go", people=[0, 1])
    page.tell(order)
    assert says in page.hear("error")["message"]
    page.tell({"do": "jump", "ply": 0})
    assert page.hear("position")["ply"] == 0


def test_text_that_is_no_json_is_refused(page: Page) -> None:
    page.open("search/go", people=[0, 1])
    for text in ("{", "[" * 100_000, '{"do": "jump", "ply": 1e999}'):
        page.socket.send(text)
        assert page.hear("error")["message"]


def test_a_message_that_is_too_long_ends_the_visit(page: Page) -> None:
    page.tell({"do": "load", "text": "x" * 300_000})
    with pytest.raises(ConnectionClosed):
        page.socket.recv(timeout=30)


def test_only_so_many_visitors(place: str) -> None:
    with visit(place) as one, visit(place), visit(place):
        one.open("search/go", people=[0, 1])
        with visit(place) as fourth, pytest.raises(ConnectionClosed, match="try again later"):
            fourth.socket.recv(timeout=30)
    with visit(place) as next_one:
        next_one.open("search/go", people=[0, 1])


# -- who may come in --------------------------------------------------------------------------


def answer(place: str, path: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    request = urllib.request.Request(f"http://{place}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as found:
            return found.status, found.read().decode(), dict(found.headers)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), dict(error.headers)


def test_pages_of_other_sites_are_kept_out(place: str) -> None:
    for origin in ("http://evil.example", "http://127.0.0.1:1", "null", "http://[", None):
        with pytest.raises(InvalidStatus) as refused, visit(place, origin=origin):
            pass
        assert refused.value.response.status_code == 403
    assert answer(place, "/", Host="evil.example")[0] == 403
    assert answer(place, "/players.json", Host="evil.example:80")[0] == 403


def test_nothing_outside_the_page_is_served(place: str) -> None:
    for path in (
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/x",
        "/.git",
    ):
        assert answer(place, path)[0] in (404, 405)
    status, _, headers = answer(place, "/")
    assert status == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe-eval" not in headers["content-security-policy"]


def test_players_are_listed_without_plain_twins(place: str) -> None:
    names = [player["name"] for player in json.loads(answer(place, "/players.json")[1])["players"]]
    assert "pretrained/go9" in names
    assert "search/chess" in names
    assert not [name for name in names if name.endswith("_plain")]


def test_elsewhere_a_token_is_asked_for(compose: Compose) -> None:
    with served(compose("command=web", "web.visitors=2"), token="secret") as place:
        assert answer(place, "/")[0] == 403
        assert answer(place, "/?token=wrong")[0] == 403
        with pytest.raises(InvalidStatus), visit(place):
            pass
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(f"http://{place}/?token=secret", timeout=30) as found:
            assert found.url == f"http://{place}/"
        for path, leads_to in (("/watch", "/watch"), ("//example.com", "/")):
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with opener.open(f"http://{place}{path}?token=secret", timeout=30) as found:
                assert found.url == f"http://{place}{leads_to}"
        with visit(place, additional_headers={"Cookie": "azcore-token=secret"}) as page:
            page.open("search/go", people=[0, 1])


# -- one network for all ------------------------------------------------------------------------


class Slow(Evaluator):
    """Says of each observation its first byte, and counts batches."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def evaluate(self, observations: Any) -> tuple[FloatArray, FloatArray]:
        import time

        self.sizes.append(len(observations))
        time.sleep(0.05)
        if (observations == 255).any():
            raise azcore.AzcoreError("broken")
        values = observations.reshape(len(observations), -1)[:, 0].astype(np.float32)
        return np.tile(values[:, None], (1, 3)), values


def test_visitors_share_batches_and_each_gets_their_own() -> None:
    from concurrent.futures import ThreadPoolExecutor

    slow = Slow()
    shared = SharedEvaluator(slow)
    wanted = [np.full((1 + i % 3, 2, 1, 1), i, np.uint8) for i in range(12)]
    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(shared.evaluate, wanted))
    for i, (logits, values) in enumerate(found):
        assert values.tolist() == [i] * (1 + i % 3)
        assert logits.shape == (1 + i % 3, 3)
    assert sum(slow.sizes) == sum(len(observations) for observations in wanted)
    assert len(slow.sizes) < 8
    with pytest.raises(azcore.AzcoreError, match="broken"):
        shared.evaluate(np.full((1, 2, 1, 1), 255, np.uint8))
    assert shared.evaluate(wanted[5])[1][0] == 5


class _Session:
    """A room that does with a request whatever a test wants; it notes what happens."""

    def __init__(self, send: Callable[[dict[str, Any]], None], act: Callable[..., None]) -> None:
        self._send, self._act = send, act
        self.noted: list[str] = []

    def do(self, order: object) -> None:
        self.noted.append("begun")
        self._act(self._send)
        self.noted.append("done")

    def close(self) -> None:
        self.noted.append("closed")


@contextmanager
def _served_sessions(
    act: Callable[..., None], tmp_path: Path
) -> Iterator[tuple[str, list[_Session]]]:
    from conftest import compose

    sessions: list[_Session] = []

    def make(send: Any, _: Any) -> _Session:
        sessions.append(_Session(send, act))
        return sessions[-1]

    config = compose("command=web", f"web.runs={tmp_path}")
    settings = web_settings({**config, "web": {**config["web"], "port": 0, "open": False}})
    players = Players(lambda *_: pytest.fail("nothing is loaded"), tmp_path)
    with served_app(
        make_app(players, Runs(tmp_path), make, make, make, settings, None), settings
    ) as place:
        yield place, sessions


def test_a_room_closes_after_the_order_under_way(tmp_path: Path) -> None:
    """Else a request that loads for long begins to think when the page has gone, for ever."""
    begun, goes_on = threading.Event(), threading.Event()

    def act(_: Any) -> None:
        begun.set()
        goes_on.wait(PATIENCE)

    with _served_sessions(act, tmp_path) as (place, sessions):
        with visit(place) as page:
            page.tell({"do": "anything"})
            assert begun.wait(PATIENCE)
            page.tell({"do": "alive"})
            page.hear("alive")  # however busy the room is
        time.sleep(0.5)  # for the server to see that the page is gone
        goes_on.set()
        until = time.monotonic() + PATIENCE
        while "closed" not in sessions[0].noted and time.monotonic() < until:
            time.sleep(0.01)
        assert sessions[0].noted == ["begun", "done", "closed"]


def test_a_page_that_reads_nothing_is_not_answered_without_end(tmp_path: Path) -> None:
    big = "x" * 300_000

    def act(send: Any) -> None:
        for _ in range(10):
            send({"what": "big", "message": big})
            send({"what": "thought", "message": "old"})
            send({"what": "thought", "message": "new"})

    options = {"max_size": None, "compression": None}
    with _served_sessions(act, tmp_path) as (place, sessions), visit(place, **options) as page:
        for _ in range(40):
            page.tell({"do": "anything"})
        before = -1
        while len(sessions[:1]) == 0 or before != len(sessions[0].noted):
            before = len(sessions[0].noted) if sessions else -1
            time.sleep(1)
        assert sessions[0].noted.count("done") < 30
        heard: Counter[str] = Counter()
        while heard["new"] < 400:
            heard[json.loads(page.socket.recv(timeout=PATIENCE))["message"][:3]] += 1
        assert (heard["xxx"], sessions[0].noted.count("done")) == (400, 40)
        assert heard["old"] < 400  # some were left out


def test_a_thought_stays_with_its_position(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """A click while a thought is being drawn must not make it one of the next position."""
    told, plies = threading.Event(), []
    real = view.thought

    def slow(game: Any, thought: Any, **options: Any) -> dict[str, Any]:
        plain = real(game, thought, **options)
        told.set()
        time.sleep(0.3)
        plain["of"] = 9 - len(thought.variations)
        return plain

    page.open("search/tic_tac_toe", people=[0, 1], moves=["b2", "a1", "c3"])
    monkeypatch.setattr(view, "thought", slow)
    page.tell({"do": "analyse", "on": True})
    for ply in (0, 2, 1, 3):
        told.clear()
        assert told.wait(PATIENCE)
        page.tell({"do": "jump", "ply": ply})
        page.hear("position", ply=ply)
        plies.append(page.hear("thought", ply=ply)["of"])
    thoughts = [message for message in page.heard if message["what"] == "thought"]
    assert plies == [0, 2, 1, 3]
    assert all(message["of"] == message["ply"] for message in thoughts)


@pytest.mark.parametrize(("moves", "sign"), [([], 1), (["C3"], -1)])
def test_what_the_network_says_is_told_of_the_first_seat(moves: list[str], sign: int) -> None:
    """The mover has 40 % wins, 30 % draws, is 4.5 ahead and worth 0.1."""
    go5 = azcore.make("go", board_size=5)
    line = Line(go5)
    for move in moves:
        line.play(go5.text_to_action(line.state, move))
    thought = Thought(
        state=line.state,
        variations=[],
        value=0.2,
        simulations=1,
        new_simulations=1,
        seconds=1.0,
        prediction=Prediction(
            policy=np.zeros(26, np.float32),
            value=0.1,
            chances=Chances(0.4, 0.35, 0.25),
            score=4.5,
            material=0.123,
            plies_left=12.2,
        ),
    )
    plain = view.thought(go5, thought, layer="none", flip=False)
    assert (plain["value"], plain["network"]) == (0.2 * sign, 0.1 * sign)
    assert plain["chances"] == [0.4, 0.35, 0.25][::sign]
    assert (plain["score"], plain["plies_left"]) == (4.5 * sign, 12)
    assert plain["material"] == 0.12 * sign


def test_a_run_that_goes_on_is_played_with_its_newest_weights(tmp_path: Path) -> None:
    last = tmp_path / "run" / "checkpoints" / "last.ckpt"
    last.parent.mkdir(parents=True)
    last.write_bytes((Path(__file__).parents[2] / "games/go/pretrained/go9.ckpt").read_bytes())
    game = azcore.make("tic_tac_toe")
    loads: list[str | None] = []

    def load(checkpoint: str | None, _: str) -> Loaded:
        loads.append(checkpoint)
        return Loaded(game, UniformEvaluator(game))

    players = Players(load, tmp_path)
    name = "runs/run@last"
    first = players.load(name)
    assert players.load(name) is first
    os.utime(last, (1e9, 1e9))
    assert players.load(name) is not first
    assert loads == [f"{tmp_path / 'run'}@last"] * 2
    players.load("search/go")
    assert loads[2:] == [None]
    last.unlink()
    with pytest.raises(SettingError, match="no longer exists"):
        players.load(name)


def test_what_an_engine_decided_too_late_is_not_played(compose: Compose, tmp_path: Path) -> None:
    config, game = compose("command=web", f"web.runs={tmp_path}"), azcore.make("tic_tac_toe")
    told: list[dict[str, Any]] = []
    decided: queue.Queue[object] = queue.Queue()
    room = Room(
        players=Players(lambda *_: Loaded(game, UniformEvaluator(game)), tmp_path),
        search=thinking_search(config),
        engine=engine_settings(config),
        settings=web_settings(config),
        send=told.append,
        later=decided.put,
    )
    order = {"do": "open", "player": "search/tic_tac_toe", "people": [0], "strengths": ["20", "20"]}
    room.do({**order, "moves": ["b2"]})
    late = decision(decided, room)
    room.do({"do": "undo"})
    room.do({"do": "play", "ply": 0, "action": 1})
    room.do(late)
    moves = [message["texts"] for message in told if message["what"] == "position"]
    assert moves[-1] == ["b3"]
    room.do(decision(decided, room))
    room.close()
    assert [message["warm"] for message in told if message["what"] == "opened"] == [False]
    assert len([m for m in told if m["what"] == "position"][-1]["texts"]) == 2


def decision(decided: queue.Queue[Any], room: Room) -> object:
    """What the engine decides; that it is warm by then may come before."""
    while type(found := decided.get(timeout=PATIENCE)).__name__ == "_Warm":
        room.do(found)
    return found


def test_a_closed_room_is_freed_without_the_cyclic_collector(
    compose: Compose, tmp_path: Path
) -> None:
    """Which does not know how large trees are, and so leaves hundreds of them in memory."""
    config, game = compose("command=web", f"web.runs={tmp_path}"), azcore.make("tic_tac_toe")
    players = Players(lambda *_: Loaded(game, UniformEvaluator(game)), tmp_path)
    search, told = thinking_search(config), queue.Queue[dict[str, Any]]()
    order = {"do": "open", "player": "search/tic_tac_toe", "people": [0, 1], "at": 3}

    def visit_each() -> list[weakref.ref[Any]]:
        decided: queue.Queue[object] = queue.Queue()
        room = Room(
            players=players,
            search=search,
            engine=engine_settings(config),
            settings=web_settings(config),
            send=told.put,
            later=decided.put,
        )
        inside = Inside(players=players, search=search, gumbel=None, send=told.put)
        sessions = (room, inside, Planes(players=players, send=told.put))
        for session in sessions:
            session.do({**order, "simulations": 20, "strengths": ["20", "20"]})
            session.do({"do": "nothing that is known"})
        room.do({"do": "hint"})
        room.do(decision(decided, room))
        room.do({"do": "analyse", "on": True})
        thinker, stepper = room._thinker, inside._stepper
        assert thinker is not None
        for session in sessions:
            session.close()
        return [weakref.ref(each) for each in (*sessions, thinker, thinker._search, stepper)]

    visit_each()  # compiles, which leaves cycles that hold this first visit
    until = time.monotonic() + PATIENCE
    while not players.is_warm(players.load("search/tic_tac_toe")) and time.monotonic() < until:
        time.sleep(0.01)
    gc.disable()
    try:
        assert [each() for each in visit_each()] == [None] * 6
    finally:
        gc.enable()
    told_of = {message["what"] for message in told.queue}
    assert told_of >= {"thought", "inside", "sees", "error"}
