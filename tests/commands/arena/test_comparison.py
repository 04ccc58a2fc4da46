"""`arena=comparison` on runs of a second or two: who meets whom, what is kept, what is refused."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from azcore.arena.players import SearchPlayer
from azcore.commands.arena import arena as command
from azcore.commands.arena import comparison as comparing
from azcore.commands.arena import matches as playing
from azcore.commands.arena.comparison import pairings
from azcore.commands.arena.runs import Run, find_runs, spread
from azcore.commands.train import train
from azcore.errors import CheckpointError, SettingError
from azcore.game.registry import make
from azcore.learner.imported_games import predict, read_games, supervised_settings
from azcore.networks import network_cost
from azcore.networks.checkpoint import load_network
from conftest import TINY, compose

Compose = Callable[..., dict[str, Any]]
BRIEF = ["arena.games=2", "arena.opening_plies=1", "arena.num_simulations=4"]
COMPARISON = ("command=arena", "arena=comparison")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two variants of 16 steps, one with two seeds; checkpoints of steps 8 and 16."""
    folder = tmp_path_factory.mktemp("trained")
    for name, *overrides in (
        ("gate.enabled=false,seed=1", "seed=1"),
        ("gate.enabled=false,seed=2", "seed=2"),
        ("gate.enabled=true,seed=1", "seed=1", "gate.enabled=true", "gate.games=2"),
    ):
        assert train({**compose(*TINY, *overrides), "run_dir": str(folder / name)}) == 0
    return folder


@pytest.fixture
def runs(trained: Path, tiny: Compose, tmp_path: Path) -> Path:
    """A copy of them, in an empty current directory."""
    return Path(shutil.copytree(trained, tmp_path / "mine"))


@pytest.fixture
def compare(tiny: Compose, runs: Path) -> Callable[..., int]:
    return lambda *overrides: command.arena(
        compose(*COMPARISON, *BRIEF, "arena.runs=mine", *overrides)
    )


def test_tables_hold_every_checkpoint_and_match_once(
    compare: Callable[..., int], runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare("arena.checkpoints=2") == 0
    table = rows(runs / "ratings.csv")
    assert [(row["run"], row["variant"], row["seed"], row["step"]) for row in table[:-2]] == [
        (f"gate.enabled={gate},seed={seed}", f"gate.enabled={gate}", seed, step)
        for gate, seed in (("false", "1"), ("true", "1"), ("false", "2"))
        for step in ("8", "16")
    ]
    assert [row["run"] for row in table[-2:]] == ["random", "search"]
    for row in table[:-2]:
        assert float(row["low"]) < float(row["rating"]) < float(row["high"])
        [metrics] = [m for m in rows(runs / row["run"] / "metrics.csv") if m["step"] == row["step"]]
        assert float(row["evaluations"]) == float(metrics["evaluations"])
        assert float(row["seconds"]) == float(metrics["seconds"])
    matches = rows(runs / "comparison_matches.csv")
    pairs = {frozenset((row["player"], row["opponent"])) for row in matches}
    # Search and random; six checkpoints with both; three pairs of neighbours; two rings of three.
    assert len(pairs) == len(matches) == 1 + 12 + 3 + 6
    assert all(
        int(row["wins"]) + int(row["draws"]) + int(row["losses"]) == 2 == int(row["games"])
        for row in matches
    )
    output = capsys.readouterr().out
    assert "6 checkpoints of 3 runs: 22 matches of 2 games\n" in output
    # The printed line of the variant with two seeds has the mean of their last ratings.
    last = [float(row["rating"]) for row in table if row["step"] == "16"]
    line = next(line for line in output.splitlines() if "gate.enabled=false" in line)
    assert f"{(last[0] + last[2]) / 2:+.0f}" in line
    assert "1, 2" in line
    # So does the difference between the two variants.
    [between] = rows(runs / "differences.csv")
    false, true = (last[0] + last[2]) / 2, last[1]
    stronger, weaker = ("false", "true") if false > true else ("true", "false")
    assert between["stronger"] == f"gate.enabled={stronger}"
    assert between["weaker"] == f"gate.enabled={weaker}"
    assert float(between["elo"]) == pytest.approx(abs(false - true), abs=0.2)
    assert float(between["low"]) < float(between["elo"]) < float(between["high"])
    assert 0.5 <= float(between["probability"]) <= 1.0
    line = next(line for line in output.splitlines() if line.count("gate.enabled=") == 2)
    assert float(line.split("│")[3]) == pytest.approx(float(between["elo"]), abs=0.6)
    assert "several seeds: intervals cover the variation between seeds" in output
    assert "one seed" not in output
    saved = (runs / "comparison.txt").read_text()
    assert "differences of the last checkpoints" in saved
    assert saved in output


def test_nothing_is_played_twice(
    compare: Callable[..., int], runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in the midst it resumes; a new checkpoint costs only its own matches."""
    play = playing.play_match
    played: list[tuple[str, str]] = []

    def count(game: Any, first: Any, second: Any, **options: Any) -> Any:
        if len(played) == 5:
            raise KeyboardInterrupt
        played.append((first.name, second.name))
        return play(game, first, second, **options)

    with monkeypatch.context() as patch:
        patch.setattr(playing, "play_match", count)
        assert compare("arena.checkpoints=2") == 130
    stopped = (runs / "comparison_matches.csv").read_text()
    assert stopped.count("\n") == 1 + 5

    def note(game: Any, first: Any, second: Any, **options: Any) -> Any:
        played.append((first.name, second.name))
        return play(game, first, second, **options)

    monkeypatch.setattr(playing, "play_match", note)
    assert compare("arena.checkpoints=2") == 0
    assert (runs / "comparison_matches.csv").read_text().startswith(stopped)
    assert len(rows(runs / "comparison_games.csv")) == 22 * 2
    assert len(played) == len(set(played)) == 22
    ratings = (runs / "ratings.csv").read_bytes()
    assert compare("arena.checkpoints=2") == 0
    assert len(played) == 22
    assert (runs / "ratings.csv").read_bytes() == ratings

    # Other bytes under the same name are another player, and other conditions another match.
    run = runs / "gate.enabled=true,seed=1"
    shutil.copy(run / "checkpoints/step-16.ckpt", run / "checkpoints/step-8.ckpt")
    assert compare("arena.checkpoints=2") == 0
    again = played[22:]
    assert len(again) == 2 + 1 + 2
    assert all("gate.enabled=true,seed=1/step-8" in pair for pair in again)
    assert compare("arena.checkpoints=2", "arena.num_simulations=3") == 0
    assert len(played) == 22 + 5 + 22


def test_players_are_the_checkpoints_with_the_search_of_their_run(
    compare: Callable[..., int], runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = compose("search=gumbel")["search"]["gumbel"]
    for run in runs.glob("gate.enabled=false*"):
        edit(run, "\nsearch:\n", f"\nsearch:\n  gumbel: {json.dumps(numbers)}\n")
    seen: dict[str, Any] = {}
    seeds: list[int] = []
    play, begin = playing.play_match, SearchPlayer.begin

    def note(game: Any, first: Any, second: Any, **options: Any) -> Any:
        seeds.append(options["seed"])
        return play(game, first, second, **options)

    def begun(self: SearchPlayer, *arguments: int) -> None:
        seen[self.name] = self
        begin(self, *arguments)

    monkeypatch.setattr(playing, "play_match", note)
    monkeypatch.setattr(SearchPlayer, "begin", begun)
    assert compare("arena.checkpoints=1", "arena.rivals=0") == 0
    assert len(set(seeds)) == len(seeds) == 1 + 3 * 2  # other openings in each match
    gumbel = {name: player._settings.is_gumbel for name, player in seen.items()}
    assert gumbel == {
        "search": False,
        "gate.enabled=false,seed=1/step-16": True,
        "gate.enabled=false,seed=2/step-16": True,
        "gate.enabled=true,seed=1/step-16": False,
    }
    board = np.zeros((1, 2, 3, 3), np.uint8)
    for run in find_runs([str(runs)], "cpu", 1):
        player = seen[run.kept[0].name]
        assert player._settings.num_simulations == 4
        network, step = load_network(run.path / "checkpoints/step-16.ckpt", run.settings.game)
        assert step == 16
        expected = run.settings.evaluator(network).evaluate(board)[0]
        np.testing.assert_array_equal(player._evaluator.evaluate(board)[0], expected)


def test_two_folders_and_another_place(
    tiny: Compose, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = [str(runs / "gate.enabled=true,seed=1"), str(runs / "gate.enabled=false,seed=2")]
    config = compose(*COMPARISON, *BRIEF, "run_dir=out", "arena.checkpoints=1")
    config["arena"]["runs"] = places
    assert command.arena(config) == 0
    table = rows(tmp_path / "out/ratings.csv")
    assert [row["run"] for row in table[:2]] == [Path(place).name for place in places]
    assert not (runs / "ratings.csv").exists()


def test_without_matplotlib_there_is_a_sentence_and_the_table(
    compare: Callable[..., int],
    runs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "azcore.commands.arena.figure", raising=False)
    assert compare("arena.checkpoints=1", "arena.rivals=0") == 0
    assert "a figure needs matplotlib: pip install matplotlib\n" in capsys.readouterr().out
    assert (runs / "ratings.csv").exists()
    assert not (runs / "figure.png").exists()


@pytest.mark.parametrize("x", ["evaluations", "compute", "seconds"])
def test_figure(
    compare: Callable[..., int], runs: Path, monkeypatch: pytest.MonkeyPatch, x: str
) -> None:
    pytest.importorskip("matplotlib")
    import matplotlib

    from azcore.commands.arena import figure

    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")  # letters as letters
    options = ["arena.checkpoints=2", "arena.rivals=0", f"arena.x={x}"]
    assert compare(*options) == 0
    assert (runs / "figure.png").read_bytes().startswith(b"\x89PNG\r\n")
    drawn = (runs / "figure.svg").read_text()
    for text in (
        "tic_tac_toe; dual_res 1x4; 8 simulations a move in self-play",
        "matches of 2 games, 4 simulations a move; thin: seeds 1, 2",
        "gate.enabled=false (2 seeds)",
        "gate.enabled=true (1 seed)",
        "rating (Elo above random play)",
        figure.LABELS[x],
    ):
        assert text in drawn
    assert compare(*options) == 0
    assert (runs / "figure.svg").read_text() == drawn
    table = rows(runs / "ratings.csv")
    assert ("compute" in table[0]) == (runs / "scaling.csv").exists() == (x == "compute")
    if x == "compute":
        assert "parameters of the network" in drawn
        assert "not fitted over parameters" in (runs / "comparison.txt").read_text()  # all alike
        network, _ = load_network(
            runs / table[0]["run"] / "checkpoints/last.ckpt", make("tic_tac_toe")
        )
        cost = network_cost(network, make("tic_tac_toe"))
        for row in table[:-2]:
            assert int(row["parameters"]) == cost.parameters
            positions = float(row["evaluations"]) + 3 * 16 * int(row["step"])  # 16 in a batch
            assert float(row["compute"]) == cost.flops * positions


def test_one_checkpoint_has_its_interval(
    compare: Callable[..., int],
    runs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.axes import Axes

    drawn: list[list[list[float]]] = []
    monkeypatch.setattr(Axes, "errorbar", lambda *_, yerr, **__: drawn.append(yerr))
    run = runs / "gate.enabled=false,seed=2"
    assert compare(f"arena.runs=['{run}']", "arena.checkpoints=1") == 0
    ((below,), (above,)) = drawn[0]
    assert min(below, above) > 10
    assert "the interval is for the difference from random play" in capsys.readouterr().out
    *_, last = csv.DictReader((run / "ratings.csv").read_text().splitlines()[:2])
    assert float(last["low"]) < float(last["rating"]) < float(last["high"])


def test_predictions_of_games_by_others(
    compare: Callable[..., int], runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the table, in what is printed and in the figure, of the games held out alone."""
    run = runs / "gate.enabled=false,seed=1"
    games = f"supervised.games=['{run}/games/records.azg']"
    brief = ["arena.checkpoints=1", "arena.rivals=0"]
    assert compare(*brief, games, "supervised.held_out=0.5") == 0
    [settings] = [entry.settings for entry in find_runs([str(run)], "cpu", 1)]
    chosen = replace(
        supervised_settings(compose(*COMPARISON)),
        games=(f"{run}/games/records.azg",),
        held_out=0.5,
    )
    held_out = read_games(chosen, settings.game).held_out
    wanted = predict(
        settings.evaluator(load_network(run / "checkpoints/last.ckpt", settings.game)[0]),
        settings.game,
        held_out,
        10_000,
    )
    first, *others = rows(runs / "ratings.csv")
    assert first["run"] == run.name
    assert float(first["predicted"]) == pytest.approx(wanted.accuracy, abs=1e-4)
    assert float(first["value_error"]) == pytest.approx(wanted.value_loss, abs=1e-4)
    assert len({row["value_error"] for row in (first, *others[:-2])}) > 1
    output = capsys.readouterr().out
    assert f"on {wanted.positions} positions of {len(held_out)} held-out games" in output
    line = next(line for line in output.splitlines() if "gate.enabled=true" in line)
    assert f"{float(others[0]['predicted']):.1%}" in line
    assert f"{float(others[0]['value_error']):.3f}" in line
    assert compare(*brief, games, "supervised.held_out=1e-9") == 0
    assert "nothing to predict: supervised.held_out=1e-09 of" in capsys.readouterr().out
    assert "predicted" not in rows(runs / "ratings.csv")[0]


@pytest.mark.parametrize(
    ("share", "told"), [(0.04, None), (0.05, None), (0.06, "at most 0.05, got 0.06: .*true,seed=1")]
)
def test_games_that_a_run_learned_from_are_not_held_out(
    compare: Callable[..., int], runs: Path, share: float, told: str | None
) -> None:
    taught = runs / "gate.enabled=true,seed=1"
    edit(
        taught,
        "\n  held_out_positions: 10000\n  enabled: false",
        "\n  held_out_positions: 10000\n  enabled: true",
    )
    options = ["arena.checkpoints=1", f"supervised.held_out={share}"]
    games = f"supervised.games=['{taught}/games/records.azg']"
    if told is None:
        assert compare(*options, games) == 0
    else:
        with pytest.raises(SettingError, match=told):
            compare(*options, games)
    assert compare(*options) == 0  # without games it says nothing


def test_predictions_are_of_positions_as_they_are(compare: Callable[..., int], runs: Path) -> None:
    """And not in one of the symmetries that AlphaGo Zero's search sees them in."""
    run = runs / "gate.enabled=false,seed=1"
    games = f"supervised.games=['{run}/games/records.azg']"
    options = ["arena.checkpoints=1", "arena.rivals=0", games, "supervised.held_out=0.5"]
    found = []
    for symmetric in ("false", "true"):
        assert compare(*options) == 0
        found.append([(r.get("predicted"), r["value_error"]) for r in rows(runs / "ratings.csv")])
        if symmetric == "false":
            for seed in (1, 2):  # they must differ in nothing else
                of_seed = runs / f"gate.enabled=false,seed={seed}"
                edit(of_seed, "random_symmetry: false", "random_symmetry: true")
    assert found[0] == found[1]


def test_figure_of_predictions(
    compare: Callable[..., int], runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.axes import Axes

    drawn: dict[int, list[list[float]]] = {}

    def note(axes: Axes, x: Any, y: Any, *args: Any, **options: Any) -> Any:
        drawn.setdefault(axes.get_subplotspec().colspan.start, []).append(list(y))
        return plot(axes, x, y, *args, **options)

    plot = Axes.plot
    monkeypatch.setattr(Axes, "plot", note)
    games = f"supervised.games=['{runs}/gate.enabled=true,seed=1/games/records.azg']"
    assert compare("arena.checkpoints=1", "arena.rivals=0", games) == 0
    table = rows(runs / "ratings.csv")[:-2]
    for number, (column, unit) in enumerate(
        [("rating", 1), ("predicted", 0.01), ("value_error", 1)]
    ):
        of_runs = [float(row[column]) / unit for row in table]  # seeds 1, 1 and 2
        thin = [of_runs[0], of_runs[2], (of_runs[0] + of_runs[2]) / 2, of_runs[1], of_runs[1]]
        lines = [values for values in drawn[number] if len(values) == 1]
        assert [value for [value] in lines] == pytest.approx(thin, abs=0.11)


def test_arms_that_differ_in_nothing_or_in_more_than_they_say(
    compare: Callable[..., int], runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(runs / "gate.enabled=false,seed=2")
    shutil.copytree(runs / "gate.enabled=false,seed=1", runs / "arena.games=4,seed=1")
    brief = ["arena.checkpoints=1", "arena.rivals=0", f"result={runs / 'found.json'}"]
    assert compare(*brief) == 0
    output = capsys.readouterr().out
    found = json.loads((runs / "found.json").read_text())
    assert found["same_weights"] == [["arena.games=4", "gate.enabled=false"]]
    assert all(f"{note}\n" in output for note in found["notes"])
    assert any(note.startswith("one seed:") for note in found["notes"])
    assert "one seed: these intervals do not cover the variation between seeds\n" in output
    assert "arena.games=4 and gate.enabled=false have the same weights: their different" in output
    assert "not trained" not in output
    assert len(rows(runs / "differences.csv")) == 2
    sizes = runs / "gate.enabled=true,seed=1" / "sizes.json"
    for key, value in (("precision", "bfloat16"), ("threads", 64)):
        sizes.write_text(json.dumps(json.loads(sizes.read_text()) | {key: value}))
    (runs / "arena.games=4,seed=1/checkpoints/step-16.ckpt").unlink()
    (runs / "arena.games=4,seed=1/checkpoints/last.ckpt").unlink()
    assert compare(*brief) == 0
    output = capsys.readouterr().out
    told = "float32 in arena.games=4 and gate.enabled=false, bfloat16 in gate.enabled=true\n"
    assert f"not trained alike, according to sizes.json of the runs: precision is {told}" in output
    told = "8 of arena.games=4, 16 of gate.enabled=false and gate.enabled=true\n"
    assert f"not trained equally long: the last checkpoints are at steps {told}" in output
    assert "have the same weights" not in output
    # What was chosen is no surprise.
    edit(runs / "gate.enabled=true,seed=1", "precision: float32", "precision: bfloat16")
    assert compare(*brief) == 0
    assert "not trained alike" not in capsys.readouterr().out


def test_of_many_arms_those_of_the_strongest_are_printed(
    compare: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    runs: Path,
) -> None:
    shutil.move(runs / "gate.enabled=false,seed=2", runs / "seed=3,x=1")
    monkeypatch.setattr(comparing, "MOST_PAIRS", 2)
    assert compare("arena.checkpoints=1", "arena.rivals=0") == 0
    output = capsys.readouterr().out
    assert "only pairs with the strongest variant; differences.csv has all 3\n" in output
    assert len({row["stronger"] for row in rows(runs / "differences.csv")[:2]}) == 1
    assert output.count(" before ") == 1


def edit(run: Path, old: str, new: str) -> None:
    text = (run / "config.yaml").read_text()
    assert old in text
    (run / "config.yaml").write_text(text.replace(old, new))


def test_runs_that_cannot_be_compared(
    compare: Callable[..., int], runs: Path, tiny: Compose
) -> None:
    second = runs / "gate.enabled=false,seed=2"
    config = (second / "config.yaml").read_text()

    def refused(sentence: str, *overrides: str) -> None:
        with pytest.raises((SettingError, CheckpointError), match=sentence):
            compare(*overrides)
        assert not (runs / "comparison_matches.csv").exists()

    edit(second, "c_init: 1.25", "c_init: 2.0")
    refused("averaged as gate.enabled=false, so .* in the seed alone, but.*in puct.c_init$")
    (second / "config.yaml").write_text(config)
    edit(second, "seed: 2", "seed: 1")
    refused("in the seed alone, but their seeds are equal$")
    (second / "config.yaml").write_text(config)
    edit(second, "name: tic_tac_toe", "name: tic_tac_toe_plain")
    refused("must be of one game: .*'tic_tac_toe'.* has .*'tic_tac_toe_plain'")
    (second / "config.yaml").write_text(config)
    (second / "config.yaml").write_text("nonsense")
    refused("must hold settings, got str")
    (second / "config.yaml").write_text(config)
    metrics = (second / "metrics.csv").read_text()
    (second / "metrics.csv").write_text(metrics.replace("evaluations,", "older,", 1))
    refused("metrics.csv has no evaluations for step 8; arena.x=steps works without it")
    (second / "metrics.csv").write_text(metrics)
    refused("arena.games must be an even number", "arena.games=3")
    refused("arena.checkpoints must be 1 or more, got 0", "arena.checkpoints=0")
    shutil.copytree(runs, runs.with_name("other"))
    both = compose(*COMPARISON, *BRIEF)
    both["arena"]["runs"] = ["mine", "other"]
    with pytest.raises(SettingError, match=r"are both named gate\.enabled=false,seed=1"):
        command.arena(both)
    for checkpoints in runs.glob("*/checkpoints"):
        shutil.rmtree(checkpoints)
    refused("no run in mine has a checkpoint yet")


def test_checkpoints_are_spread_evenly() -> None:
    steps = range(100, 1300, 100)
    assert spread(steps, [300.0, 600.0, 900.0, 1200.0]) == {0: 300, 1: 600, 2: 900, 3: 1200}
    # A run that got half as far has its last one, and no step twice.
    assert spread([200, 400, 600], [300.0, 600.0, 900.0, 1200.0]) == {0: 200, 1: 600}


def test_checkpoints_over_compute_halve_the_steps(runs: Path) -> None:
    """Its axis is logarithmic. Of 16 steps and 8, those nearest to 16, 8 and 4, each once."""
    [run] = find_runs([str(runs / "gate.enabled=true,seed=1")], "cpu", 3, "compute")
    assert [(kept.level, kept.step) for kept in run.kept] == [(0, 8), (2, 16)]


def test_last_checkpoint_counts_where_it_is_later_than_those_kept(runs: Path) -> None:
    run = runs / "gate.enabled=true,seed=1"
    (run / "checkpoints/step-16.ckpt").unlink()
    found = {run.name: run for run in find_runs([str(runs)], "cpu", 9)}
    kept: Run = found["gate.enabled=true,seed=1"]
    assert [(k.step, k.path.name) for k in kept.kept] == [(8, "step-8.ckpt"), (16, "last.ckpt")]


def test_rings_join_variants_and_seeds(runs: Path) -> None:
    found = find_runs([str(runs)], "cpu", 1)
    assert [run.name for run in found] == [
        "gate.enabled=false,seed=1",
        "gate.enabled=true,seed=1",
        "gate.enabled=false,seed=2",
    ]
    a, b, c = (run.kept[0].name for run in found)
    anchors = [("search", "random")] + [(p, q) for p in (a, b, c) for q in ("random", "search")]
    assert list(pairings(found, 0)) == anchors
    assert list(pairings(found, 1)) == [*anchors, (a, b), (b, c), (c, a)]
    assert list(pairings(found, 9)) == [*anchors, (a, b), (b, c), (c, a)]
    assert list(pairings(found[:1], 2)) == anchors[:3]
