"""The report: one page, whole and harmless whatever the run directory holds."""

import csv
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

import azcore
from azcore.networks import build_network
from azcore.networks.checkpoint import describe_run
from azcore.networks.pooled import PooledRes
from azcore.report import games
from azcore.report.columns import cost, foreseen, halfway
from azcore.report.game_choice import Chooser
from azcore.report.games import reason
from azcore.report.report import Report, duration, json_for_script, write_report
from azcore.report.side_by_side import render_side_by_side
from azcore.report.tables import (
    MAX_POINTS,
    MAX_RATED,
    last_of_each,
    read_rows,
    scores,
    thinned,
)
from azcore.storage.checkpoint import KEY, read_checkpoint, write_checkpoint
from azcore.storage.game_file import GameFile
from azcore.storage.game_record import GameRecord
from azcore.storage.run_directory import RunDirectory
from azcore.storage.targets import TARGETS

METRICS = [
    "generation",
    "step",
    "seconds",
    "games",
    "positions",
    "loss",
    "policy_loss",
    "value_loss",
    "policy_accuracy",
    "target_entropy",
    "policy_entropy",
    "value_target_variance",
    "learning_rate",
    "game_length",
    "draw_rate",
    "seat0_win_rate",
    "evaluations_per_s",
    "search_share",
    "network_share",
    "learner_share",
    "samples_per_position",
]
MATCHES = [
    "generation",
    "step",
    "player",
    "opponent",
    "games",
    "wins",
    "draws",
    "losses",
    "distinct_games",
    "seconds",
]
GO = azcore.make("go", board_size=5)
POOLED = PooledRes(
    name="pooled_res",
    blocks=1,
    channels=4,
    value_hidden=4,
    history=None,
    activation="relu",
    preactivation=False,
    squeeze_excite=0,
    bottleneck=0,
    pooling_every=0,
    head_channels=2,
    value="wdl",
    auxiliary={},
)
BIASES = {  # of whose logarithms
    "value": [0.6, 0.3, 0.1],
    "ownership": [3.0],
    "score": [math.exp(0.25)],
    "plies_left": [1.0],
}
VOID = {"meta", "link", "input", "br"}


def record_of(name: str = "tic_tac_toe", game_index: int = 0) -> GameRecord:
    """X wins on the top row; made-up visits."""
    actions = [4, 8, 0, 5, 1, 3, 2] if game_index % 2 else [0, 3, 1, 4, 2]
    others = [min(set(range(9)) - set(actions[: ply + 1])) for ply in range(len(actions))]
    visits = [[(action, 40), (other, 20)] for action, other in zip(actions, others, strict=True)]
    flat = [pair for ply in visits for pair in ply]
    return GameRecord(
        game=azcore.make(name).identity,
        actions=np.array(actions, np.uint16),
        visit_offsets=np.arange(0, 2 * len(actions) + 1, 2).astype(np.uint32),
        visit_actions=np.array([action for action, _ in flat], np.uint16),
        visit_counts=np.array([visit for _, visit in flat], np.uint32),
        root_values=np.linspace(-0.2, 0.9, len(actions)).astype(np.float32),
        best_child_values=np.zeros(len(actions), np.float32),
        players=(np.arange(len(actions)) % 2).astype(np.uint8),
        outcome=1,
        resigned_by=None,
        resign_threshold=None,
        played_out=True,
        opening_plies=0,
        seed=1,
        game_index=game_index,
        weights_version=1200,
        counts="visits",
    )


def write_rows(path: Path, columns: list[str], rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def metrics_rows(generations: int) -> list[dict[str, Any]]:
    rows = []
    for g in range(1, generations + 1):
        progress = 1 - math.exp(-4 * g / generations)
        rows.append(
            dict.fromkeys(METRICS, "")
            | {
                "generation": g,
                "step": 200 * g,
                "seconds": 90.5 * g,
                "games": 64 * g,
                "positions": 3000 * g,
                "policy_loss": 4 - 2 * progress,
                "value_loss": 1 - 0.6 * progress,
                "target_entropy": 3 - 1.5 * progress,
                "policy_entropy": 4 - 2.2 * progress,
                "value_target_variance": 0.97,
                "policy_accuracy": 0.1 + 0.4 * progress,
                "game_length": 60 + 40 * progress,
                "draw_rate": 0.0,
                "seat0_win_rate": 0.55,
                "evaluations_per_s": 9000.0,
                "search_share": 0.2,
                "network_share": 0.6,
                "learner_share": 0.2,
            }
        )
    return rows


def match_rows(generations: int) -> list[dict[str, Any]]:
    rows = []
    for g in range(1, generations + 1):
        for opponent, wins in (
            ("random", 30 + 10 * g // generations),
            ("search", 10 + 28 * g // generations),
            (f"step-{200 * (g - 1)}", 24),
        ):
            if opponent == "step-0":
                continue
            rows.append(
                {
                    "generation": g,
                    "step": 200 * g,
                    "player": f"step-{200 * g}",
                    "opponent": opponent,
                    "games": 40,
                    "wins": wins,
                    "draws": 0,
                    "losses": 40 - wins,
                    "distinct_games": 38,
                    "seconds": 12.5,
                }
            )
    return rows


def make_run(path: Path, generations: int = 6, num_games: int = 3) -> Path:
    """A run directory as training leaves it."""
    path.mkdir()
    config = {
        "game": {"name": "tic_tac_toe"},
        "network": {"blocks": 4, "channels": 32},
        "search": {"num_simulations": 60},
        "seed": 1,
    }
    (path / "config.yaml").write_text(yaml.safe_dump(config))
    write_rows(path / "metrics.csv", METRICS, metrics_rows(generations))
    write_rows(path / "matches.csv", MATCHES, match_rows(generations))
    records = GameFile(path / "games" / "records.azg")
    for index in range(num_games):
        records.append([record_of(game_index=index)])
    return path


class Page(HTMLParser):
    """Checks that elements close in order and collects what a browser would load or run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.scripts: list[str] = []
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.words = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), f"{tag} runs {name}"
            if name in ("src", "href"):
                self.loads.append(value or "")
            if name == "id":
                self.ids.append(value or "")
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        else:
            self.words += data


def page_of(run: Path) -> tuple[Page, dict[str, Any]]:
    report = write_report(run)
    assert report == run.absolute() / "report.html" or report == run / "report.html"
    page = Page(report.read_text(encoding="utf-8"))
    return page, json.loads(page.scripts[0])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run")


def test_the_page_is_whole(run: Path) -> None:
    page, data = page_of(run)
    assert (run / "report.html").read_text().count('class="missing"') == 1  # without JavaScript
    assert len(set(page.ids)) == len(page.ids)
    assert len(page.scripts) == 2
    assert data["x"]["step"] == [200 * g for g in range(1, 7)]
    assert len(data["columns"]["policy_loss"]) == 6
    assert data["rating"]["names"][-1] == "step-1200"
    assert data["rating"]["low"][-1] < data["rating"]["value"][-1] < data["rating"]["high"][-1]
    assert data["rating"]["x"]["games"][-1] == 384
    assert [line["label"] for line in data["rating"]["lines"]] == ["random", "search"]
    assert "Tic tac toe" in page.words
    assert "18,000" in page.words  # positions
    assert "9 min 03 s" in page.words
    assert not list(run.glob("*.part"))


def test_gate_and_resignation_are_shown_of_a_run_that_has_them(run: Path) -> None:
    config = yaml.safe_load((run / "config.yaml").read_text())
    config |= {
        "algorithm": "alphagozero",
        "gate": {"threshold": 0.55},
        "selfplay": {"resignation_false_positives": 0.05},
    }
    (run / "config.yaml").write_text(yaml.safe_dump(config))
    results = {1: (4, 2, 14), 3: (15, 0, 5), 5: (11, 0, 9), 6: (10, 2, 8)}
    gates = [
        dict.fromkeys(MATCHES, 0)
        | {"generation": g, "step": 200 * g, "player": f"step-{200 * g}", "promoted": int(g == 3)}
        | {"opponent": "best-600" if g > 3 else "best-0"}
        | dict(zip(("wins", "draws", "losses"), result, strict=True))
        for g, result in results.items()
    ]
    write_rows(run / "gate.csv", [*MATCHES, "promoted"], [gates[0], *gates])  # a row twice
    resign = ["resign_threshold", "resigned_rate", "resign_measured", "resign_false_positives"]
    rows = metrics_rows(6)
    for row, values in zip(rows[3:], [(-0.9, 0.5, 0, ""), (-0.95, 0.6, 40, 0.05)], strict=False):
        row |= dict(zip(resign, values, strict=True))
    write_rows(run / "metrics.csv", METRICS + resign, rows)
    page, data = page_of(run)
    assert "Who plays the games?" in page.words
    assert "1 of 4 candidates has passed; the best player is that of step 600." in page.words
    assert "scoring more than 55 %" in page.words
    assert "algorithm alphagozero" in page.words
    gate = data["gate"]
    assert gate["threshold"] == 0.55
    assert gate["x"] == {
        "step": [200, 600, 1000, 1200],
        "games": [64, 192, 320, 384],
        "seconds": [90.5, 271.5, 452.5, 543],
    }
    assert gate["value"] == [0.25, 0.75, 0.55, 0.55]
    # By hand (Wilson 1927), 15 of 20: (0.75 + z²/40 ± z √(0.75·0.25/20 + z²/1600)) / (1 + z²/20).
    assert (gate["low"][1], gate["high"][1]) == (0.5313, 0.8881)
    # A quarter of the points, draws as halves: the same mirrored.
    assert (gate["low"][0], gate["high"][0]) == (0.1119, 0.4687)
    assert gate["promoted"] == [False, True, False, False]
    assert gate["names"][3] == "step-1200 against best-600: 10 won, 2 drawn, 8 lost"
    assert "When does it resign?" in page.words
    columns = data["columns"]
    assert columns["resign_threshold"] == [None, None, None, -0.9, -0.95, None]
    assert columns["resign_measured"][3:] == [0, 40, None]
    assert columns["resign_false_positives"][3:] == [None, 0.05, None]
    assert columns["resign_false_positives.low"][3:] == [None, 0.0138, None]  # 2 of 40
    assert columns["resign_false_positives.high"][3:] == [None, 0.165, None]
    lines = {chart["name"]: chart["lines"] for chart in data["charts"] if chart["lines"]}
    assert lines == {"false_positives": [{"label": "limit:", "value": 0.05}]}


def test_a_run_without_gate_and_resignation_shows_neither(run: Path) -> None:
    page, data = page_of(run)
    text = (run / "report.html").read_text(encoding="utf-8")
    assert "Who plays" not in page.words
    assert "does it resign" not in page.words
    charts = set(re.findall(r'class="plot" data-chart="(\w+)"', text))
    assert charts >= {"rating", "policy_loss", "evaluations"}
    assert not charts & {"gate", "resigned", "false_positives", "threshold"}
    assert data["gate"]["value"] == []


@pytest.mark.parametrize("threshold", ["high", None, [1], True, float("nan")])
def test_a_gate_of_rubbish_has_a_report(run: Path, threshold: object) -> None:
    config = yaml.safe_load((run / "config.yaml").read_text()) | {"gate": {"threshold": threshold}}
    config["selfplay"] = {"resignation_false_positives": threshold}
    (run / "config.yaml").write_text(yaml.safe_dump(config))
    (run / "gate.csv").write_text("generation,step,wins,promoted\nx,y,z,1\n1,2,-3,<b>\n")
    page, data = page_of(run)
    assert data["gate"]["value"] == [None, None]
    assert data["gate"]["threshold"] is None
    assert "1 of 2 candidates has passed" in page.words
    assert "b" not in page.tags[page.tags.index("main") :]


def test_nothing_is_loaded_from_anywhere(run: Path) -> None:
    text = write_report(run).read_text(encoding="utf-8")
    hosts = re.findall(r"https?:[^\s\"']*", text)
    assert set(hosts) == {"http://www.w3.org/2000/svg"}
    outside = [address for address in Page(text).loads if not address.startswith("#")]
    assert outside == ["data:,"]
    assert "@import" not in text
    assert not re.search(r"url\((?!#az-)", text)  # colours of the page's own pictures
    assert "innerHTML" not in text


def test_the_games_are_the_first_one_a_tenth_in_the_longest_and_the_last(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", num_games=30)
    GameFile(run / "games" / "records.azg").append([record_of(game_index=30)])
    page, data = page_of(run)
    assert [(game["index"], game["why"]) for game in data["games"]] == [
        (0, "first"),
        (3, "one tenth into the run"),
        (1, "longest"),
        (30, "last"),
    ]
    buttons = re.findall(r'data-game="(\d)">([^<]+)<', (run / "report.html").read_text())
    assert buttons == [(str(i), game["why"]) for i, game in enumerate(data["games"])]
    assert {"board-0", "board-1", "board-2", "board-3"} <= set(page.ids)


def test_a_game_that_is_several_of_these_is_shown_once(tmp_path: Path) -> None:
    one = page_of(make_run(tmp_path / "one", num_games=1))[1]["games"]
    assert [game["why"] for game in one] == ["first, one tenth into the run, longest and last"]
    two = page_of(make_run(tmp_path / "two", num_games=2))[1]["games"]
    assert [game["why"] for game in two] == ["first and one tenth into the run", "longest and last"]


def test_a_game_has_moves_seats_visits_and_reasons(run: Path) -> None:
    game = page_of(run)[1]["games"][-1]
    assert game["index"] == 2
    assert [ply["action"] for ply in game["plies"]] == ["a3", "a2", "b3", "b2", "c3"]
    assert [ply["seat"] for ply in game["plies"]] == [0, 1, 0, 1, 0]
    assert game["seats"] == ["X", "O"]
    assert game["boards"] == []  # they are in the picture
    first = game["plies"][0]
    assert first["top"] == [["a3", 40, None, 0.0], ["b3", 20, None, None]]  # no network is there
    assert (first["played"], first["visits"], first["why"]) == (0, 60, "most visits, 67 %")
    assert first["value"] == pytest.approx(-0.2)
    assert game["outcome"] == 1
    assert game["has_heat"]
    assert not game["has_owners"]


def test_moves_are_in_the_notation_of_the_game(run: Path) -> None:
    chess = azcore.make("chess")
    knight = chess.text_to_action(chess.initial_state(), "g1f3")
    record = replace(
        record_of(),
        game=chess.identity,
        actions=np.array([knight], np.uint16),
        visit_offsets=np.array([0, 1], np.uint32),
        visit_actions=np.array([knight], np.uint16),
        visit_counts=np.array([9], np.uint32),
        root_values=np.zeros(1, np.float32),
        best_child_values=np.full(1, 0.25, np.float32),
        players=np.zeros(1, np.uint8),
        outcome=-1,
        resigned_by=0,
        played_out=False,
    )
    GameFile(run / "games" / "records.azg").append([record])
    game = page_of(run)[1]["games"][-1]
    assert game["plies"][0]["top"] == [["Nf3", 9, None, 0.25]]
    assert game["ended_by"] == "resignation"


@pytest.mark.parametrize(
    ("changes", "visits", "legal", "why"),
    [
        ({}, {0: 40, 1: 20}, 9, "most visits, 67 %"),
        ({}, {1: 40, 0: 20}, 9, "sampled: it had 33 % of the visits"),
        ({}, {1: 999, 0: 1}, 9, "sampled: it had less than 1 % of the visits"),
        ({}, {1: 40}, 9, "sampled, with few visits"),
        ({}, {0: 40}, 1, "forced: the only legal move"),
        ({}, {}, 9, "after a quick search, which left no record"),
        (
            {"root_values": np.ones(5, np.float32), "visit_counts": np.ones(10, np.uint32)}
            | {"visit_offsets": np.array([0, 1, 4, 6, 8, 10], np.uint32)},
            {0: 1},
            9,
            "the rules had decided the game",
        ),
        ({"opening_plies": 1}, {}, 9, "opening: no search chose it"),
        ({"counts": "policy"}, {0: 9, 1: 3}, 9, "Gumbel: first in the search with its noise, the"),
        ({"counts": "policy"}, {1: 9, 0: 3}, 9, "Gumbel: first in the search with its noise, 25 %"),
    ],
)
def test_a_phrase_says_why_a_move_was_played(
    changes: dict[str, Any], visits: dict[int, int], legal: int, why: str
) -> None:
    assert reason(replace(record_of(), **changes), 0, visits, legal).startswith(why)


def test_a_game_is_one_picture_of_all_its_boards(run: Path) -> None:
    page, _ = page_of(run)
    text = (run / "report.html").read_text(encoding="utf-8")
    assert page.tags.count("pre") == 1  # the settings
    last = text[text.index('id="board-2"') :]
    stones = re.findall(r'data-on="(\S+)"[^>]* data-what="([XO])" data-where="(\S+)"', last)
    assert stones == [
        ("1-5", "X", "a3"),
        ("2-5", "O", "a2"),
        ("3-5", "X", "b3"),
        ("4-5", "O", "b2"),
        ("5", "X", "c3"),
    ]
    ids = re.findall(r' id="(az-[^"]+)"', text)
    assert len(set(ids)) == len(ids)  # each drawing once, whatever the number of games
    assert set(re.findall(r'href="#(az-[^"]+)"', text)) <= set(ids)


def test_a_game_without_boards_is_shown_as_text(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(game: Any, state: Any) -> Any:
        raise KeyError("a fault in the game")

    for board in (lambda game, state: None, faulty):
        monkeypatch.setattr(type(azcore.make("tic_tac_toe")), "board", board)
        page, data = page_of(run)
        assert page.tags.count("pre") == 4
        assert "use" not in page.tags
        assert len(data["games"][-1]["boards"]) == 6
        assert data["games"][-1]["boards"][-1].startswith("3 X X X")


@pytest.mark.parametrize(("counts", "are_visits"), [("visits", True), ("policy", False)])
def test_the_page_knows_what_a_record_counts(run: Path, counts: str, are_visits: bool) -> None:
    """Shares of Gumbel's improved policy, in parts of 65,535, are not shown as visits."""
    GameFile(run / "games" / "records.azg").append([replace(record_of(), counts=counts)])
    assert page_of(run)[1]["games"][-1]["counts_visits"] is are_visits


@pytest.fixture
def go_run(run: Path) -> Path:
    """The last game is one of Go, and the network predicts the same for whoever is to move."""
    record = replace(
        record_of(),
        game=GO.identity,
        actions=np.array([12, 0, 25, 25], np.uint16),
        visit_offsets=np.arange(5).astype(np.uint32),
        visit_actions=np.array([12, 0, 25, 25], np.uint16),
        visit_counts=np.full(4, 8, np.uint32),
        root_values=np.zeros(4, np.float32),
        best_child_values=np.zeros(4, np.float32),
        players=np.array([0, 1, 0, 1], np.uint8),
        outcome=-1,  # a stone each and a komi of 7.5
    )
    GameFile(run / "games" / "records.azg").append([record])
    (run / "checkpoints").mkdir()
    save_network(run, auxiliary={"ownership": True, "score": True, "plies_left": True}, value="wdl")
    return run


def save_network(run: Path, **changes: Any) -> None:
    settings = replace(POOLED, **changes)
    network = build_network(GO, settings, seed=1)
    for name, head in {"value": network.value, **network.auxiliary}.items():
        head.weight.data.zero_()
        head.bias.data = torch.tensor(BIASES[name]).log()[: len(head.bias)]
    write_checkpoint(
        {
            "state_dict": network.state_dict(prefix="network."),
            "global_step": 1400,
            KEY: describe_run(GO, settings),
        },
        run / "checkpoints" / "last.ckpt",
    )


def test_the_network_predicts_a_game_in_the_view_of_the_first_player(go_run: Path) -> None:
    page, data = page_of(go_run)
    game = data["games"][-1]
    found = game["network"]
    assert found["step"] == 1400
    black, white = found["positions"][:2]
    assert found["positions"] == [black, white, black, white]  # none of the end
    # tanh(ln 3) = 0.8; 0.25 of 25 points and komi; 20 softplus(ln 1) = 20 ln 2
    assert black == {
        "chances": [0.6, 0.3, 0.1],
        "score": 8.1,
        "plies_left": 14,
    }
    assert white == {
        "chances": [0.1, 0.3, 0.6],
        "score": -8.1,
        "plies_left": 14,
    }
    assert {"owner", "chances", "expected"} <= set(page.ids)
    assert game["has_owners"]
    text = (go_run / "report.html").read_text(encoding="utf-8")
    owners = text[text.index('class="az-owner"') :]
    owners = owners[: owners.index("</g>")]
    assert owners.count('data-on="0 2"') == owners.count('data-on="1 3"') == 25


def test_the_network_says_prior_and_value_of_each_move(go_run: Path) -> None:
    plies = page_of(go_run)[1]["games"][-1]["plies"]
    # All policies are even; the value is 0.6 - 0.1 for who is to move, so -0.5 after a move. Q of
    # the most visited move is the record's.
    assert plies[0]["top"] == [["C3", 8, pytest.approx(1 / 26, abs=1e-3), 0.0]]
    assert plies[1]["top"][0][2] == pytest.approx(1 / 25, abs=1e-3)
    records = GameFile(go_run / "games" / "records.azg")
    old = list(records.read())[-1]
    records.append([replace(old, counts="policy")])
    plies = page_of(go_run)[1]["games"][-1]["plies"]
    assert [ply["top"][0][3] for ply in plies] == [-0.5, -0.5, -0.5, 1.0]  # the rules know the end


def test_the_nearest_network_is_asked(go_run: Path) -> None:
    nearer = go_run / "checkpoints" / "step-1000.ckpt"
    saved = read_checkpoint(go_run / "checkpoints" / "last.ckpt")
    write_checkpoint({**saved, "global_step": 1000}, nearer)
    assert (
        page_of(go_run)[1]["games"][-1]["network"]["step"] == 1400
    )  # 1,200, and metrics end there
    write_checkpoint({**saved, "global_step": 1190}, go_run / "checkpoints" / "step-1190.ckpt")
    write_rows(go_run / "metrics.csv", METRICS, metrics_rows(7))
    assert page_of(go_run)[1]["games"][-1]["network"]["step"] == 1190


def test_a_network_of_policy_and_value_predicts_nothing_more(go_run: Path) -> None:
    save_network(go_run, auxiliary={}, value="scalar")
    assert page_of(go_run)[1]["games"][-1]["network"] == {"step": 1400, "positions": []}
    (go_run / "checkpoints" / "last.ckpt").unlink()
    assert page_of(go_run)[1]["games"][-1]["network"] is None


def test_a_checkpoint_that_cannot_be_used_is_said_to_be_so(go_run: Path) -> None:
    (go_run / "checkpoints" / "last.ckpt").write_bytes(b"rubbish")
    found = page_of(go_run)[1]["games"][-1]["network"]
    assert list(found) == ["note"]
    assert found["note"].startswith("Cannot use the network of last.ckpt: ")


def test_the_losses_of_targets_are_shown_of_a_run_that_has_them(run: Path) -> None:
    page, data = page_of(run)
    assert "What else does it learn?" not in page.words
    rows = [row | {"ownership_loss": 0.4, "score_loss": ""} for row in metrics_rows(3)]
    write_rows(run / "metrics.csv", [*METRICS, "ownership_loss", "score_loss"], rows)
    page, data = page_of(run)
    assert "What else does it learn?" in page.words
    assert "Ownership loss" in page.words
    assert "Score loss" not in page.words
    assert data["columns"]["ownership_loss"] == [0.4] * 3
    assert {f"{name}_loss" for name in TARGETS} <= {chart["name"] for chart in data["charts"]}


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_a_cut_tail_shows_the_game_before(run: Path, cut: int) -> None:
    path = run / "games" / "records.azg"
    path.write_bytes(path.read_bytes()[:-cut])
    _, data = page_of(run)
    assert [game["index"] for game in data["games"]] == [0, 1]


def test_an_altered_record_is_said_to_be_so(run: Path) -> None:
    path = run / "games" / "records.azg"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    page, data = page_of(run)
    assert [game["why"] for game in data["games"]] == [
        "first and one tenth into the run",
        "longest",
    ]
    assert "Cannot show the game that is the last: " in page.words


@pytest.mark.parametrize("content", [b"", b"AZ", b"AZG1", b"rubbish" * 50])
def test_a_file_without_records_is_said_to_be_so(run: Path, content: bytes) -> None:
    (run / "games" / "records.azg").write_bytes(content)
    page, data = page_of(run)
    assert data["games"] == []
    assert "No game has ended yet." in page.words


def test_a_game_of_another_version_is_said_to_be_so(run: Path) -> None:
    record = record_of()
    record.game["version"] = 99
    (run / "games" / "records.azg").write_bytes(record.to_bytes())
    page, data = page_of(run)
    assert data["games"] == []
    assert "Cannot show" in page.words
    assert "No game has ended" not in page.words


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ("config.yaml", "The settings of this run cannot be read."),
        ("metrics.csv", "The first generation of this run has not ended yet."),
        ("matches.csv", "No matches yet."),
        ("games/records.azg", "No game has ended yet."),
    ],
)
def test_what_is_missing_is_said_without_names_of_files(run: Path, gone: str, said: str) -> None:
    assert said not in page_of(run)[0].words
    (run / gone).unlink()
    page, _ = page_of(run)
    assert said in page.words
    assert gone not in page.words
    assert "Unknown game" not in page.words


def test_an_empty_directory_has_a_report(tmp_path: Path) -> None:
    page, data = page_of(tmp_path)
    assert "Unknown game" in page.words
    assert data["games"] == []
    body = page.words[page.words.index("Unknown game") :]
    assert not re.search(r"\w\.(csv|azg|yaml)\b", body)
    assert page.tags.count("figure") == 2  # of the rating and of a game: charts need numbers


@pytest.mark.parametrize(
    "rubbish",
    [bytes(range(256)) * 20, b"a: " + b"[" * 100_000, b"a," + b"x" * 200_000 + b"\n1,2\n"],
    ids=["binary", "deep", "huge cell"],
)
def test_files_of_rubbish_have_a_report(run: Path, rubbish: bytes) -> None:
    for name in ("config.yaml", "metrics.csv", "matches.csv", "gate.csv"):
        (run / name).write_bytes(rubbish)
    page_of(run)


@pytest.mark.parametrize("number", ["1e308", "9" * 300, "inf", "nan", "-1", "=1+1"])
def test_numbers_that_count_nothing_have_a_report(run: Path, number: str) -> None:
    row = {**match_rows(1)[0], "step": number, "wins": number, "draws": number, "losses": number}
    write_rows(run / "matches.csv", MATCHES, [row])
    write_rows(run / "gate.csv", [*MATCHES, "promoted"], [{**row, "promoted": 1}])
    row = {**metrics_rows(1)[0], "step": number, "games": number, "seconds": "1"}
    write_rows(run / "metrics.csv", list(row), [row])
    page_of(run)


ABSURD = ("1e308", "-1e308", "1.7e308", "1e-320", "5e-324", "-0.0", "1e20", "9007199254740992")


@pytest.mark.parametrize("seed", range(8))
def test_absurd_numbers_have_a_page_side_by_side(tmp_path: Path, seed: int) -> None:
    """They are finite, but what is calculated from them is not."""
    rng = np.random.default_rng(seed)
    runs = []
    for name in "ab":
        run = RunDirectory(tmp_path / name)
        run.path.mkdir()
        for path, columns in ((run.metrics, METRICS), (run.matches, MATCHES)):
            with path.open("w", newline="") as file:
                table = csv.writer(file)
                table.writerow(columns)
                table.writerows(rng.choice(ABSURD, len(columns)) for _ in range(9))
        runs.append((name, run))
    assert "</html>" in render_side_by_side(runs)


def test_what_is_calculated_of_absurd_numbers_is_a_number_or_unknown() -> None:
    assert foreseen({"value_loss": "-1e308", "value_target_variance": "1e-320"}) is None
    assert halfway([1e308, 1.7e308], [1, 2]) == 2
    rows = [{"games": "1", "seconds": "1", "game_length": "5e-324", "evaluations": "1e308"}]
    assert cost(rows) is None


def test_a_row_still_being_written_is_left_out(run: Path) -> None:
    with (run / "metrics.csv").open("a") as file:
        file.write("7,1400,99")
    rows = read_rows(run / "metrics.csv")
    assert len(rows) == 6
    (run / "metrics.csv").write_text("generation,step\n1,nan\n2,inf\n3,\n4,x\n5,5\n6\n7,8,9\n")
    _, data = page_of(run)
    assert data["x"]["step"] == [None, None, None, None, 5.0]


def test_a_resumed_run_replaces_its_last_rows() -> None:
    rows = [{"generation": "1", "v": "a"}, {"generation": "2", "v": "b"}]
    rows += [{"generation": "2", "v": "c"}]
    assert last_of_each(rows, ("generation",)) == [rows[0], rows[2]]


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    run = make_run(tmp_path / "<img src=x onerror=alert(1)>")
    evil = "</script><script>alert(1)</script><!--"
    (run / "config.yaml").write_text(
        yaml.safe_dump({"game": {"name": evil, evil: evil}, "seed": "{{data}}", evil: [evil]})
    )
    rows = match_rows(2)
    rows += [rows[0] | {"generation": 9, "player": evil, "opponent": "random"}]
    rows += [rows[0] | {"generation": 9, "player": "step-9", "opponent": f"<b>{evil}"}]
    write_rows(run / "matches.csv", MATCHES, rows)
    clean = Page(write_report(make_run(tmp_path / "clean")).read_text(encoding="utf-8"))
    page, data = page_of(run)
    assert len(page.scripts) == 2
    assert "img" not in page.tags
    # The same elements but for the rows of the tables and the settings shown.
    varying = {"tr", "td", "li", "b"}
    assert [t for t in page.tags if t not in varying] == [t for t in clean.tags if t not in varying]
    assert evil in data["rating"]["names"]
    assert evil in page.words
    assert "{{data}}" in page.words


def test_json_cannot_leave_its_script() -> None:
    text = json_for_script({"a": "</script><!-- & \u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><!-- & \u2028"}


def test_a_long_run_is_thinned(run: Path) -> None:
    write_rows(run / "metrics.csv", METRICS, metrics_rows(5000))
    write_rows(run / "matches.csv", MATCHES, match_rows(150))
    page, data = page_of(run)
    assert len(data["x"]["step"]) == MAX_POINTS
    assert (data["x"]["step"][0], data["x"]["step"][-1]) == (200, 1_000_000)
    assert page.tags.count("tr") == 202  # heads of two tables and the latest 200 matches
    assert "249 earlier matches" in page.words
    assert (run / "report.html").stat().st_size < 1_000_000
    assert thinned(3) == [0, 1, 2]


def test_a_repeating_pair_is_marked(run: Path) -> None:
    rows = match_rows(1)
    rows[0]["distinct_games"] = 2
    write_rows(run / "matches.csv", MATCHES, rows)
    page, _ = page_of(run)
    assert page.words.count("repeats") == 1


def test_writing_again_replaces_the_page(run: Path) -> None:
    first = write_report(run).read_bytes()
    assert write_report(run).read_bytes() == first
    (run / "metrics.csv").unlink()
    assert write_report(run).read_bytes() != first


def test_durations_read_well() -> None:
    assert [duration(s) for s in (40.2, 725, 11_220)] == ["40 s", "12 min 05 s", "3 h 07 min"]


# -- again and again -----------------------------------------------------------------------------


def test_a_report_of_a_running_run_replays_only_new_games(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replayed: list[int] = []
    original = games.replayed

    def counted(game: Any, record: GameRecord, *args: Any) -> Any:
        replayed.append(record.game_index)
        return original(game, record, *args)

    monkeypatch.setattr(games, "replayed", counted)
    report = Report(run)
    report.write()
    assert replayed == [0, 1, 2]
    report.write()
    assert replayed == [0, 1, 2]
    GameFile(run / "games" / "records.azg").append([record_of(game_index=3)])
    report.write()
    assert replayed == [0, 1, 2, 3]
    assert report.write().read_bytes() == write_report(run).read_bytes()


def test_a_report_notices_that_games_were_cut_or_dropped(run: Path) -> None:
    file = GameFile(run / "games" / "records.azg")
    chooser = Chooser(file.path)
    places = [place for place, _ in file.frames()]
    assert [one.place for one in chooser.choose()] == places
    file.truncate(places[2])
    assert [one.place for one in chooser.choose()] == places[:2]
    file.append([record_of(game_index=index) for index in (2, 3)])
    file.forget(1)
    assert chooser.choose()[0].place == places[1]
    file.path.unlink()
    assert chooser.choose() == []


def test_the_game_a_tenth_in_is_kept_for_a_while(tmp_path: Path) -> None:
    file = GameFile(tmp_path / "records.azg")
    file.append([record_of()] * 2345)
    chosen = {one.why: one.place for one in Chooser(file.path).choose()}
    size = len(record_of().to_bytes())
    assert chosen["one tenth into the run"] == 230 * size


def test_a_page_replaces_a_link_and_does_not_follow_it(run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (run / "report.html").symlink_to(tmp_path / "mine")
    write_report(run)
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (run / "report.html").is_symlink()


def test_a_page_that_cannot_be_written_leaves_nothing_behind(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(path.name for path in run.iterdir())
    monkeypatch.setattr("os.replace", lambda *names: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        write_report(run)
    assert sorted(path.name for path in run.iterdir()) == before


def test_a_table_of_matches_without_end_is_rated_in_part() -> None:
    """A fit takes time and memory by the square of the players, and a run may be a stranger's."""
    rows = [{"player": f"step-{i}", "opponent": "random", "wins": "1"} for i in range(100_000)]
    rated = scores(rows)
    assert len(rated) == MAX_RATED
    assert rated[-1].player == "step-99999"
