"""KataGo's JSON analysis protocol: queries in the form that KataGo documents and KaTrain sends."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import azcore
from azcore.engine.analysis_server import AnalysisServer
from azcore.engine.lines import Writer
from azcore.engine.server import Engine, Loaded
from azcore.engine.settings import engine_settings, thinking_search
from azcore.game import Game
from azcore.search.evaluators import UniformEvaluator
from conftest import compose
from engine.predicting import Foreseen
from protocol_kit import Live, make_engine

SIZE = {"boardXSize": 5, "boardYSize": 5}
PLAIN = {"id": "foo", "moves": [], "rules": "tromp-taylor", "komi": 7.5, "maxVisits": 10, **SIZE}
# As KaTrain 1.17 builds them (katrain/core/engine.py), on a small board.
KATRAIN = {
    "rules": "japanese",
    "priority": 1,
    "analyzeTurns": [2],
    "maxVisits": 25,
    "komi": 6.5,
    "boardXSize": 5,
    "boardYSize": 5,
    "includeOwnership": True,
    "includeMovesOwnership": True,
    "includePolicy": True,
    "initialStones": [],
    "initialPlayer": "B",
    "moves": [["B", "C3"], ["W", "D4"]],
    "overrideSettings": {"reportAnalysisWinratesAs": "BLACK", "maxTime": 60.0},
    "reportDuringSearchEvery": 30,
    "id": "QUERY:1",
}


@pytest.fixture(name="go5")
def go5_fixture() -> Game:
    return azcore.make("go", board_size=5)


def ask(game: Game, *queries: Any, **settings: Any) -> list[dict[str, Any]]:
    """What a server writes about lines (or what becomes one as JSON) until all is answered."""
    out = io.StringIO()
    server = AnalysisServer(make_engine(game, **settings), Writer(out))
    lines = [query if isinstance(query, str) else json.dumps(query) for query in queries]
    assert server.run(iter(lines)) == 0
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.fixture
def live(go5: Game) -> Iterator[Callable[..., Live]]:
    begun: list[Live] = []

    def begin(**settings: Any) -> Live:
        begun.append(Live(AnalysisServer, make_engine(go5, **settings)))
        return begun[-1]

    yield begin
    for each in begun:
        each.send('{"id": "", "action": "terminate_all"}')
        each.end()
        each.join()


def test_a_query_of_katrain(go5: Game) -> None:
    *warnings, found = ask(go5, KATRAIN)
    assert {warning["field"] for warning in warnings} == {
        "rules",
        "includeOwnership",  # there is no network
        "includeMovesOwnership",
    }
    assert warnings[0]["warning"].startswith("Rules japanese not supported by neural net, using {")
    assert (found["id"], found["turnNumber"], found["isDuringSearch"]) == ("QUERY:1", 2, False)
    assert found["rootInfo"]["visits"] == 25
    assert found["rootInfo"]["currentPlayer"] == "B"
    moves = found["moveInfos"]
    assert [move["order"] for move in moves] == list(range(len(moves)))
    assert sum(move["visits"] for move in moves) == 25
    assert all(move["pv"][0] == move["move"] for move in moves)
    policy = found["policy"]
    assert len(policy) == 26
    assert [i for i, share in enumerate(policy) if share < 0] == [8, 12]  # D4 and C3 are taken
    assert sum(share for share in policy if share >= 0) == pytest.approx(1)


KATRAIN_RULES = (
    "japanese",
    "chinese",
    "korean",
    "aga",
    "tromp-taylor",
    "new zealand",
    "stone_scoring",
)


@pytest.mark.parametrize("rules", KATRAIN_RULES)
def test_the_rules_that_katrain_names(go5: Game, rules: str) -> None:
    """Its RULESETS_ABBR; whether a move may take its own stones is what the name says."""
    stones = [["B", "A1"], ["W", "A3"], ["W", "B2"], ["W", "B1"], ["B", "E5"]]
    query = KATRAIN | {"rules": rules, "initialStones": stones, "moves": [["B", "A2"]]}
    *_, found = ask(go5, query | {"analyzeTurns": [1]})
    assert ("error" in found) == (rules not in ("tromp-taylor", "new zealand"))


@pytest.mark.parametrize(
    ("changed", "moves", "warned"),
    [
        # Equal visits, sweeps and refined moves: one query a move, without what is shown anyway.
        (
            {
                "moves": [["B", "C3"], ["W", "D4"], ["B", "B2"]],
                "analyzeTurns": [3],
                "includeOwnership": False,
                "includeMovesOwnership": False,
                "includePolicy": False,
                "overrideSettings": {"reportAnalysisWinratesAs": "BLACK"},
                "priority": -500,
            },
            None,
            {"rules"},
        ),
        # Alternatives: what is known is avoided.
        (
            {"avoidMoves": [{"moves": ["B2", "B3", "A1"], "player": "B", "untilDepth": 1}]},
            lambda found: found.isdisjoint({"B2", "B3", "A1"}),
            {"rules", "includeOwnership", "includeMovesOwnership"},
        ),
        # A region: what is outside is avoided, for either player.
        (
            {
                "avoidMoves": [
                    {
                        "moves": [f"{c}{r}" for c in "ABCDE" for r in range(1, 6) if c > "B"],
                        "player": player,
                        "untilDepth": 1,
                    }
                    for player in "BW"
                ]
            },
            lambda found: {move[0] for move in found} <= {"A", "B", "p"},
            {"rules", "includeOwnership", "includeMovesOwnership"},
        ),
        # A handicap game, which White begins, with the noise that its settings may ask for.
        (
            {
                "initialStones": [["B", "B2"], ["B", "D4"]],
                "initialPlayer": "W",
                "moves": [],
                "analyzeTurns": [0],
                "komi": 0.5,
                "overrideSettings": {
                    "reportAnalysisWinratesAs": "BLACK",
                    "maxTime": 8.0,
                    "wideRootNoise": 0.04,
                },
            },
            None,
            {"rules", "includeOwnership", "includeMovesOwnership", "overrideSettings"},
        ),
    ],
)
def test_other_queries_of_katrain(
    go5: Game,
    changed: dict[str, Any],
    moves: Callable[[set[str]], bool] | None,
    warned: set[str],
) -> None:
    *warnings, found = ask(go5, KATRAIN | changed)
    assert {warning["field"] for warning in warnings} == warned
    assert not found["isDuringSearch"]
    assert found["rootInfo"]["visits"] == 25
    assert moves is None or moves({info["move"] for info in found["moveInfos"]})


def test_katrain_ponders_and_goes_on(live: Callable[..., Live]) -> None:
    """A million visits without a time limit and a report now and then, until it is terminated."""
    server = live(max_simulations=10**7)
    settings = {"reportAnalysisWinratesAs": "BLACK"}
    pondering = {"maxVisits": 1_000_000, "reportDuringSearchEvery": 0.05, "id": "QUERY:2"}
    server.send(json.dumps(KATRAIN | pondering | {"overrideSettings": settings, "rules": "aga"}))
    while not (found := json.loads(server.line())).get("isDuringSearch"):
        assert "warning" in found
    server.send('{"action": "terminate", "terminateId": "QUERY:2", "id": "QUERY:3"}')
    server.send(json.dumps(KATRAIN | {"id": "QUERY:4", "priority": 1001}))
    answers = [json.loads(line) for line in server.until('{"id": "QUERY:4", "isDuringSearch": fal')]
    echoed = [answer for answer in answers if answer["id"] == "QUERY:3"]
    assert [(one["action"], one["terminateId"]) for one in echoed] == [("terminate", "QUERY:2")]
    ended = [one for one in answers if one["id"] == "QUERY:2" and not one["isDuringSearch"]]
    assert len(ended) == 1
    assert ended[0]["rootInfo"]["visits"] < 1_000_000


def test_the_query_of_katagos_page(go5: Game) -> None:
    query = PLAIN | {
        "initialStones": [["B", "B4"], ["B", "(3,3)"]],
        "moves": [["W", "C3"], ["B", "A1"]],
        "analyzeTurns": [2, 0, 1],
    }
    found = ask(go5, query)
    assert [answer["turnNumber"] for answer in found] == [0, 1, 2]
    assert [answer["rootInfo"]["currentPlayer"] for answer in found] == ["W", "B", "W"]
    taken = [
        {i for i, share in enumerate(answer["policy"]) if share < 0}
        for answer in ask(go5, query | {"includePolicy": True})
    ]
    assert taken == [{6, 18}, {6, 18, 12}, {6, 18, 12, 20}]


def test_views_of_the_value() -> None:
    game = azcore.make("go", board_size=3)
    board = PLAIN | {"boardXSize": 3, "boardYSize": 3, "maxVisits": 200}
    won = board | {"moves": [["B", "B2"]], "komi": -20}  # White is to move, and every end is lost
    rates = {}
    for view in ("BLACK", "WHITE", "SIDETOMOVE"):
        override = {"overrideSettings": {"reportAnalysisWinratesAs": view}}
        (found,) = ask(game, won | override)
        rates[view] = found["rootInfo"]["winrate"]
        first = found["moveInfos"][0]
        assert (first["lcb"] > first["winrate"]) == (view == "BLACK")
    assert rates["BLACK"] > 0.5
    assert rates["WHITE"] == rates["SIDETOMOVE"] == pytest.approx(1 - rates["BLACK"])


def test_rules_and_komi_are_the_games_own() -> None:
    game = azcore.make("go", board_size=2)
    over = PLAIN | {"boardXSize": 2, "boardYSize": 2, "moves": [["B", "pass"], ["W", "pass"]]}
    for komi, rate in ((-1, 1.0), (0, 0.5), (1, 0.0)):
        (found,) = ask(game, over | {"komi": komi})
        assert found["rootInfo"]["winrate"] == rate
        assert found["moveInfos"] == []
    assert ask(game, over | {"rules": {"ko": "POSITIONAL", "suicide": True}})[0]["turnNumber"] == 2
    assert "warning" in ask(game, over | {"rules": {"ko": "SIMPLE"}})[0]
    # A move that takes its own stones is legal by Tromp and Taylor and not in China.
    stones = [["B", "A1"], ["W", "A3"], ["W", "B2"], ["W", "B1"]]
    own = PLAIN | {"boardXSize": 3, "boardYSize": 3, "initialStones": stones}
    own |= {"moves": [["B", "A2"]]}
    game = azcore.make("go", board_size=3)
    assert "error" not in ask(game, own)[-1]
    assert ask(game, own | {"rules": "chinese"})[-1]["error"] == "Illegal move 0: A2"


@pytest.mark.parametrize(
    ("query", "field", "words"),
    [
        ({"boardXSize": 20}, "boardXSize", "Must provide an integer from 2 to 19"),
        ({"boardYSize": "5"}, "boardYSize", "Must provide an integer from 2 to 19"),
        ({"boardYSize": 6}, "boardYSize", "Must be boardXSize, which is 5"),
        ({"komi": 0.3}, "komi", "Must be a integer or half-integer from -150.0 to 150.0"),
        ({"komi": True}, "komi", "Must be a integer or half-integer from -150.0 to 150.0"),
        ({"rules": "chess"}, "rules", "Could not parse rules: chess"),
        ({"rules": {"colour": 1}}, "rules", "Could not parse rules: "),
        ({"rules": None}, "rules", "Must specify rules string"),
        ({"moves": "C3"}, "moves", "Must be an array of pairs"),
        ({"moves": [["B"]]}, "moves", "Must be an array of pairs"),
        ({"moves": [["X", "C3"]]}, "moves", "Could not parse player: X"),
        ({"moves": [["B", "C3"], ["W", "C3"]]}, "moves", "Illegal move 1: C3"),
        ({"moves": [["B", "Z9"]]}, "moves", "Illegal move 0: Z9"),
        ({"initialStones": [["B", "F1"]]}, "initialStones", "Could not parse board location: F1"),
        ({"initialPlayer": 3}, "initialPlayer", 'Must be "b" or "w"'),
        ({"analyzeTurns": [1]}, "analyzeTurns", "Invalid turn number: 1"),
        ({"analyzeTurns": 0}, "analyzeTurns", "Must specify an array of integers"),
        ({"analyzeTurns": []}, "analyzeTurns", "Must specify at least one turn, got []"),
        ({"priorities": [1]}, "priorities", "Can only specify when also"),
        ({"analyzeTurns": [0], "priorities": []}, "priorities", "Must be of matching length"),
        ({"priority": 2**63}, "priority", "Must be a number between -2^62 and 2^62"),
        ({"maxVisits": 0}, "maxVisits", "Must be an integer from 1 to 2^50"),
        ({"includePolicy": 1}, "includePolicy", "Must be a boolean"),
        ({"reportDuringSearchEvery": 0}, "reportDuringSearchEvery", "Must be number of seconds"),
        ({"avoidMoves": [{"moves": []}]}, "avoidMoves", "Must be a list of dicts with subfields"),
        ({"allowMoves": [], "avoidMoves": []}, "allowMoves", "Cannot specify both"),
        (
            {"allowMoves": [{"player": "B", "moves": [], "untilDepth": 1}]},
            "allowMoves",
            "No legal move is left",
        ),
        ({"overrideSettings": []}, "overrideSettings", "Must be an object"),
    ],
)
def test_a_wrong_field_is_named(go5: Game, query: dict[str, Any], field: str, words: str) -> None:
    (found,) = ask(go5, PLAIN | query)
    assert (found["id"], found["field"]) == ("foo", field)
    assert words in found["error"]


def test_a_line_that_is_no_query_is_answered(go5: Game) -> None:
    found = ask(
        go5,
        "nonsense",
        "[" * 100_000,
        "[1]",
        "{}",
        '{"id": 1}',
        '{"id": "a", "action": "castle"}',
        '{"id": "a", "action": "terminate"}',
        '{"id": "a", "action": "terminate_all", "turnNumbers": 1}',
        "",
        '{"id": "b"}',
    )
    assert len(found) == 9
    assert all("error" in answer for answer in found)
    assert "could not parse input line as json request: nonsense" in found[0]["error"]
    assert max(len(answer["error"]) for answer in found) < 500
    assert [answer.get("field") for answer in found[6:]] == [
        "terminateId",
        "turnNumbers",
        "boardXSize",
    ]


def test_unknown_fields_are_warned_of(go5: Game) -> None:
    query = PLAIN | {"visits": 3, "overrideSettings": {"cpuct": 1, "wideRootNoise": 0.04}}
    settings, field, found = ask(go5, query)
    assert settings["warning"] == "Unknown config params: cpuct,wideRootNoise"
    assert (field["field"], field["warning"]) == ("visits", "Unexpected or unused field")
    assert found["rootInfo"]["visits"] == 10


def test_actions_are_echoed(go5: Game) -> None:
    asked = [
        {"id": str(i), "action": action, "x": i}
        for i, action in enumerate(
            ("query_version", "query_models", "clear_cache", "terminate_all")
        )
    ]
    found = ask(go5, *asked)
    for one, answer in zip(asked, found, strict=True):
        assert one.items() <= answer.items()
    assert found[0]["version"] == azcore.__version__
    assert found[1]["models"][0]["internalName"] == "go"


def test_avoided_moves(go5: Game) -> None:
    points = [f"{column}{row}" for column in "ABCDE" for row in range(1, 6)]
    rule = {"player": "B", "moves": [*points, "nowhere"], "untilDepth": 1}
    (found,) = ask(go5, PLAIN | {"avoidMoves": [rule]})
    assert [move["move"] for move in found["moveInfos"]] == ["pass"]
    (found,) = ask(go5, PLAIN | {"allowMoves": [rule | {"moves": ["A1", "B2"]}]})
    assert {move["move"] for move in found["moveInfos"]} == {"A1", "B2"}
    (found,) = ask(go5, PLAIN | {"avoidMoves": [rule | {"player": "W"}]})
    assert len(found["moveInfos"]) > 5


def test_a_line_of_a_variation_is_as_long_as_asked(go5: Game) -> None:
    (found,) = ask(go5, PLAIN | {"maxVisits": 400, "analysisPVLen": 1})
    assert max(len(move["pv"]) for move in found["moveInfos"]) == 2


def test_the_highest_priority_is_next(live: Callable[..., Live]) -> None:
    server = live(max_simulations=10**6)
    long = PLAIN | {"id": "long", "maxVisits": 10**6, "reportDuringSearchEvery": 0.05}
    server.send(json.dumps(long))
    assert json.loads(server.line())["isDuringSearch"]
    for name, priority in (("low", -1), ("first", 5), ("second", 5), ("middle", 0)):
        server.send(json.dumps(PLAIN | {"id": name, "priority": priority}))
    server.send(json.dumps({"id": "t", "action": "terminate", "terminateId": "long"}))
    ended = []
    while len(ended) < 5:
        found = json.loads(server.line())
        if found["id"] != "t" and not found["isDuringSearch"]:
            ended.append(found)
    assert [found["id"] for found in ended] == ["long", "first", "second", "middle", "low"]
    assert 0 < ended[0]["rootInfo"]["visits"] < 10**6


def test_what_waits_can_be_terminated(live: Callable[..., Live]) -> None:
    server = live(max_simulations=10**6)
    server.send(
        json.dumps(PLAIN | {"id": "long", "maxVisits": 10**6, "reportDuringSearchEvery": 1})
    )
    server.line()
    moves = [["B", "A1"], ["W", "B1"]]
    server.send(json.dumps(PLAIN | {"id": "two", "moves": moves, "analyzeTurns": [0, 1, 2]}))
    server.send('{"id": "t", "action": "terminate", "terminateId": "two", "turnNumbers": [1, 2]}')
    server.send('{"id": "u", "action": "terminate_all"}')
    found = [json.loads(line) for line in server.until('{"id": "long", "isDuringSearch": false')]
    found = [answer for answer in found if not answer.get("isDuringSearch")]
    assert [(answer["id"], answer.get("turnNumber")) for answer in found[:5]] == [
        ("two", 1),
        ("two", 2),
        ("t", None),
        ("two", 0),
        ("u", None),
    ]
    assert found[0] == {"id": "two", "isDuringSearch": False, "noResults": True, "turnNumber": 1}


def test_other_games_have_no_board_or_rules() -> None:
    game = azcore.make("tic_tac_toe")
    (found,) = ask(game, {"id": "a", "moves": [["X", "b2"], ["O", "a1"]], "includePolicy": True})
    assert len(found["policy"]) == 9
    (found,) = ask(game, {"id": "a", "moves": [], "initialStones": [["X", "b2"]]})
    assert found["field"] == "initialStones"
    assert "no SGF" in found["error"]


@pytest.mark.parametrize(("view", "sign"), [("BLACK", -1), ("WHITE", 1), ("SIDETOMOVE", 1)])
def test_predictions_take_the_view_asked_for(go5: Game, view: str, sign: int) -> None:
    """White is to move and 4.5 ahead; after each of its moves Black is said to be."""
    config = compose("command=engine", "game=tic_tac_toe")
    engine = Engine(
        lambda: Loaded(go5, UniformEvaluator(go5), Foreseen("score", "ownership")),
        thinking_search(config),
        engine_settings(config),
    )
    query = {
        **PLAIN,
        "moves": [["B", "C3"]],
        "includeOwnership": True,
        "includeMovesOwnership": True,
        "overrideSettings": {"reportAnalysisWinratesAs": view},
    }
    out = io.StringIO()
    assert AnalysisServer(engine, Writer(out)).run(iter([json.dumps(query)])) == 0
    [found] = map(json.loads, out.getvalue().splitlines())
    assert found["rootInfo"]["scoreLead"] == 4.5 * sign
    assert found["ownership"] == [sign, *[0] * 20, -0.5 * sign, *[0] * 3]
    for move in found["moveInfos"]:
        assert move["scoreLead"] == -4.5 * sign
        assert move["ownership"][0] == -sign


def test_white_moves_first_in_chess() -> None:
    """Its colours are chess's own, in queries and in answers; a mate in one says who wins."""
    game = azcore.make("chess")
    moves = [["W", "f2f3"], ["B", "e7e5"], ["white", "g2g4"]]
    query = {"id": "a", "moves": moves, "maxVisits": 60, "analyzeTurns": [3]}
    rates = {}
    for view in ("WHITE", "BLACK", "SIDETOMOVE"):
        settings = {"overrideSettings": {"reportAnalysisWinratesAs": view}}
        found = ask(game, query | settings)[-1]
        assert found["rootInfo"]["currentPlayer"] == "B"
        assert found["moveInfos"][0]["move"] == "d8h4"
        rates[view] = found["moveInfos"][0]["winrate"]
    assert rates == {"WHITE": 0.0, "BLACK": 1.0, "SIDETOMOVE": 1.0}
