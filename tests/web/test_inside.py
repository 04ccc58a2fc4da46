"""The page that looks into a search: its numbers are the search's own, whatever is changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from websockets.sync.client import connect

import azcore
from azcore.engine.server import Loaded
from azcore.engine.settings import thinking_search
from azcore.search.evaluators import UniformEvaluator
from azcore.search.mcts import Search
from azcore.web.inside import Inside
from azcore.web.players import Players
from conftest import compose
from web_kit import served

PLAYER = "search/tic_tac_toe"


@pytest.fixture(name="place", scope="module")
def place_fixture(tmp_path_factory: Any) -> Iterator[str]:
    # Of bfloat16 a network gives too few different numbers.
    exactly = ("evaluator.backend=torch", "evaluator.precision=float32")
    runs = tmp_path_factory.mktemp("runs")
    with served(compose("command=web", f"web.runs={runs}", *exactly)) as place:
        yield place


class Visitor:
    def __init__(self, socket: Any) -> None:
        self.socket = socket

    def ask(self, **order: Any) -> dict[str, Any]:
        self.socket.send(json.dumps(order))
        answer: dict[str, Any] = json.loads(self.socket.recv(timeout=60))
        return answer

    def open(self, **order: Any) -> dict[str, Any]:
        return self.ask(**{"do": "open", "player": PLAYER, "simulations": 40, **order})


@contextmanager
def visit(place: str) -> Iterator[Visitor]:
    with connect(f"ws://{place}/inside/room", origin=f"http://{place}") as socket:  # type: ignore[arg-type]
        yield Visitor(socket)


def searched(moves: list[str], simulations: int, **changed: Any) -> Any:
    """The result of the engine's own search, without what it knows by the rules alone."""
    from dataclasses import replace

    game = azcore.make("tic_tac_toe")
    state = game.initial_state()
    for move in moves:
        state = game.step(state, game.text_to_action(state, move))
    settings = thinking_search(compose("command=web"))
    settings = replace(settings, num_simulations=simulations, proof_plies=0, **changed)
    search = Search(game=game, num_trees=1, evaluator=UniformEvaluator(game), settings=settings)
    search.start(0, state)
    [result] = search.run([0])
    return game, state, result


def test_the_numbers_are_those_of_the_search(place: str) -> None:
    with visit(place) as visitor:
        moves = ["a1", "b2", "c3"]
        begun, marked = visitor.open(moves=moves), []
        assert (begun["at"], begun["of"], begun["last"]) == (0, 40, None)
        for at in range(1, 41):
            shown = visitor.ask(do="jump", at=at)
            assert (shown["what"], shown["at"]) == ("inside", at)
            steps = shown["last"]["steps"]
            assert all(step["after"][0] == step["before"][0] + 1 for step in steps)
            assert all(
                step["after"][1] == pytest.approx(step["before"][1] + step["gain"])
                for step in steps
            )
            for step in steps:  # it takes the highest score
                scores = [sum(choice["terms"]) for choice in step["choices"]]
                assert scores == sorted(scores, reverse=True)
                assert step["choices"][0]["text"] == step["text"]
            assert shown["node"]["visits"] == at + 1
            for edge in shown["node"]["edges"]:  # the next choice keeps its share
                if edge["next"] and edge["n"]:
                    assert f">{100 * edge['n'] / at:.0f}?<" in shown["svg"]
                    marked.append(edge["text"])
        assert marked
        game, state, result = searched(moves, 40)
        edges = {edge["action"]: edge for edge in shown["node"]["edges"]}
        for action, visits, q, prior in zip(
            result.actions, result.visit_counts, result.q_values, result.priors, strict=True
        ):
            edge = edges[int(action)]
            assert edge["n"] == visits
            assert edge["p"] == pytest.approx(prior)
            if visits:
                assert edge["q"] == pytest.approx(q, abs=1e-6)
        best = game.action_to_notation(state, int(result.actions[result.ranked()[0]]))
        assert shown["rivals"]["puct"]["best"] == best
        assert set(shown["rivals"]) == {"puct", "gumbel"}
        assert "<svg" in shown["svg"]


def test_back_and_forth_is_the_same(place: str) -> None:
    for rule in ("puct", "gumbel"):
        with visit(place) as visitor:
            visitor.open(rule=rule, noise="some")
            there = visitor.ask(do="jump", at=23)
            visitor.ask(do="jump", at=40)
            assert visitor.ask(do="jump", at=23) == there


def test_the_tree_leads_to_every_node(place: str) -> None:
    with visit(place) as visitor:
        shown = visitor.open(at=40)
        lit = shown["last"]["path"]
        node, seen = shown["tree"], 0
        while node["below"]:
            seen += 1
            [node] = [child for child in node["below"] if child["lit"]]
            looked = visitor.ask(do="look", path=node["path"])
            assert looked["node"]["path"] == node["path"] == lit[:seen]
            if looked["node"]["path"] == lit:
                break
        assert node["path"] == lit
        assert looked["node"]["value"] == shown["last"]["value"]


def test_a_value_of_ones_own_is_kept_when_one_comes_back(place: str) -> None:
    with visit(place) as visitor:
        visitor.open()
        told = visitor.ask(do="value", value=0.5)
        assert (told["isOwn"], told["last"]["value"], told["last"]["seat"]) == (True, 0.5, "O")
        assert told["last"]["steps"][0]["gain"] == -0.5
        visitor.ask(do="jump", at=9)
        assert visitor.ask(do="jump", at=1) == told
        assert visitor.ask(do="value", value=1.5)["message"].startswith("a value must be a number")


def test_each_change_changes_what_it_says(place: str) -> None:
    with visit(place) as visitor:
        moves = ["a1", "b1", "a2"]  # O must stop a3
        usual = visitor.open(moves=moves, at=40, exploration="usual")
        assert usual["rivals"]["puct"]["best"] == "a3"
        unturned = visitor.open(moves=moves, at=40, turns=False)
        gains = {step["gain"] for step in unturned["last"]["steps"]}
        assert len(gains) == 1  # every player takes the value as it is
        rows = {row[0]: row[1] for row in unturned["rivals"]["puct"]["rows"]}
        assert rows != {row[0]: row[1] for row in usual["rivals"]["puct"]["rows"]}
        none = visitor.open(moves=moves, at=5, exploration="none")
        assert none["node"]["rate"] == 0
        huge = visitor.open(moves=moves, at=5, exploration="huge")
        assert huge["node"]["rate"] == pytest.approx(8 * usual["node"]["rate"], rel=0.01)
        flat = {edge["p"] for edge in usual["node"]["edges"]}
        noisy = visitor.open(moves=moves, at=5, noise="all")
        assert len(flat) == 1
        assert len({edge["p"] for edge in noisy["node"]["edges"]}) > 1


def test_halves_of_a_network(place: str) -> None:
    with visit(place) as visitor:
        shown = {
            keep: visitor.open(player="pretrained/go9", simulations=16, network=keep)["node"]
            for keep in ("both", "policy", "value", "none")
        }
        spread = {keep: len({edge["p"] for edge in node["edges"]}) for keep, node in shown.items()}
        assert spread["both"] > 10
        assert spread["policy"] == spread["both"]
        assert spread["value"] == spread["none"] == 1
        assert shown["value"]["value"] == shown["both"]["value"] != 0
        assert shown["policy"]["value"] == shown["none"]["value"] == 0


BAD = [
    ({"do": "jump", "at": 1}, "no search is open"),
    ({"do": "dance"}, "this server does not know"),
    ({"do": "open", "player": PLAYER}, "simulations must be a whole number from 1 to 1,000"),
    ({"do": "open", "player": PLAYER, "simulations": 2000}, "from 1 to 1,000"),
    ({"do": "open", "player": PLAYER, "simulations": 5, "rule": "luck"}, "rule must be one of"),
    ({"do": "open", "player": PLAYER, "simulations": 5, "at": 6}, "at must be a whole number"),
    ({"do": "open", "player": PLAYER, "simulations": 5, "moves": ["z9"]}, "z9"),
    ({"do": "open", "player": "../x", "simulations": 5}, "there is no player named"),
    (
        {
            "do": "open",
            "player": PLAYER,
            "simulations": 5,
            "moves": ["a1", "b1", "a2", "b2", "a3"],
        },
        "the game is over",
    ),
]


@pytest.mark.parametrize(("order", "says"), BAD)
def test_refusals(place: str, order: dict[str, Any], says: str) -> None:
    with visit(place) as visitor:
        answer = visitor.ask(**order)
        assert answer["what"] == "error"
        assert says in answer["message"]
        assert visitor.open()["what"] == "inside"  # the visit goes on


def test_a_node_that_is_not_there(place: str) -> None:
    with visit(place) as visitor:
        visitor.open()
        assert (
            visitor.ask(do="look", path=[0])["message"]
            == "the search has not reached this node yet"
        )
        assert "a list of actions" in visitor.ask(do="look", path="a1")["message"]
        assert visitor.ask(do="jump", at=41)["what"] == "error"


def test_a_fault_ends_the_visit_and_no_other(
    place: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from websockets.exceptions import ConnectionClosedError

    from azcore.web.inside import Inside

    with visit(place) as other, visit(place) as visitor:
        other.open()
        visitor.open()
        with monkeypatch.context() as patched:
            patched.setattr(Inside, "_show", lambda *_: 1 / 0)
            with pytest.raises(ConnectionClosedError, match="server error"):
                visitor.ask(do="jump", at=1)
        assert other.ask(do="jump", at=1)["at"] == 1
    assert "ZeroDivisionError" in caplog.text


def test_a_solver_does_not_keep_it_from_going_on(tmp_path: Path) -> None:
    """With search.solve=true a search would end where the root is proven, here at once."""
    game = azcore.make("tic_tac_toe")
    told: list[dict[str, Any]] = []
    room = Inside(
        players=Players(lambda *_: Loaded(game, UniformEvaluator(game)), tmp_path),
        search=thinking_search(compose("command=web", "search.solve=true")),
        gumbel=None,
        send=told.append,
    )
    order = {"do": "open", "player": PLAYER, "moves": ["a1", "b1", "a2", "b2"], "at": 50}
    thread = Thread(target=room.do, args=[{**order, "simulations": 50}], daemon=True)
    thread.start()
    thread.join(60)
    assert [message.get("at") for message in told] == [50]
