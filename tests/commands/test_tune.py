"""Search constants are found from noisy matches, and a tuning that was stopped resumes."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from azcore.arena.elo import expected_score
from azcore.arena.match import MatchGame, MatchResult
from azcore.assembly.parts import MatchSettings, RunSettings, settings_from
from azcore.errors import AzcoreError, SettingError
from azcore.storage.run_directory import locked

pytest.importorskip("optuna", reason="command=tune needs the extra tune (optuna, scipy)")

from azcore.commands.tune import tune as tune_module
from azcore.commands.tune.parameters import Constants, Parameter, parameters_from, with_constants
from azcore.commands.tune.surface import Surface
from azcore.commands.tune.tune import Match, TuneSettings, Tuning, tune
from run_kit import train_once

Tiny = Callable[..., dict[str, Any]]

C_INIT = Parameter(key="puct.c_init", low=0.5, high=8.0, is_log=True, is_whole=False)
FIRST_PLAY = Parameter(key="puct.first_play", low=-1.0, high=1.0, is_log=False, is_whole=False)
BEST = {"puct.c_init": 3.0, "puct.first_play": 0.25}
OPTIONS = TuneSettings(trials=30, games=100, startup_trials=8, confirming_games=0)


def elo_lost(constants: Constants) -> float:
    """A hill of playing strength: Elo below that of BEST, equally steep in both constants."""
    away = (C_INIT.to_unit(constants["puct.c_init"]) - C_INIT.to_unit(3.0)) ** 2 + (
        FIRST_PLAY.to_unit(constants["puct.first_play"]) - FIRST_PLAY.to_unit(0.25)
    ) ** 2
    return 600 * away


def simulated(sign: int = 1, played: list[Constants] | None = None) -> Match:
    """Matches drawn by chance from the hill, against constants 60 Elo below its top."""

    def match(constants: Constants, games: int, seed: int) -> MatchResult:
        if played is not None:
            played.append(dict(constants))
        p = expected_score(60 - sign * elo_lost(constants))
        wins = np.random.default_rng(seed).random(games) < p
        return MatchResult(
            first="tried",
            second="old",
            games=[
                MatchGame(
                    first_seat=i % 2,
                    opening_plies=0,
                    actions=[i],
                    outcome=1 if won == (i % 2 == 0) else -1,
                )
                for i, won in enumerate(wins)
            ],
        )

    return match


def tuning(folder: Path, match: Match, **changed: Any) -> Tuning:
    folder.mkdir(exist_ok=True)
    return Tuning(
        parameters=[C_INIT, FIRST_PLAY],
        options=replace(OPTIONS, **changed),
        match=match,
        folder=folder,
        seed=5,
    )


def test_a_known_optimum_is_found_in_noise(tmp_path: Path) -> None:
    """30 matches of 100 games, whose scores chance moves by 35 Elo each."""
    found = tuning(tmp_path, simulated())
    found.run()
    constants, estimate = found.best()
    assert elo_lost(constants) < 20  # a point drawn by chance loses 123 in the mean
    assert estimate.low < expected_score(60 - elo_lost(constants)) < estimate.high
    # The luckiest trial promises more than it is worth; what is reported does not.
    luckiest = max(found.trials, key=lambda row: float(row["score"]))
    assert float(luckiest["score"]) > estimate.value
    assert len(found.trials) == 30
    # The model has looked for it where it is: points drawn by chance lose 110 in the median.
    lost = [elo_lost({key: float(row[key]) for key in BEST}) for row in found.trials]
    assert np.median(lost[8:]) < 60


def test_a_wrong_sign_leads_away(tmp_path: Path) -> None:
    """What the test above shows is not luck: from scores turned round the worst corner is found."""
    turned = tuning(tmp_path, simulated(sign=-1), trials=15)
    turned.run()
    assert elo_lost(turned.best()[0]) > 200


def test_stopped_and_resumed_equals_never_stopped(tmp_path: Path) -> None:
    tuning(tmp_path / "whole", simulated(), trials=12).run()
    played: list[Constants] = []
    match = simulated(played=played)

    def interrupted(constants: Constants, games: int, seed: int) -> MatchResult:
        if len(played) == 9:
            raise KeyboardInterrupt
        return match(constants, games, seed)

    with pytest.raises(KeyboardInterrupt):
        tuning(tmp_path / "halves", interrupted, trials=12).run()
    assert len(played) == 9
    # As if killed in the middle of a row.
    with (tmp_path / "halves/tuning.csv").open("a") as file:
        file.write("9,1.5,0.2,0.")
    tuning(tmp_path / "halves", match, trials=12).run()
    assert len(played) == 12  # nothing was played twice
    whole, halves = ((tmp_path / name / "tuning.csv").read_text() for name in ("whole", "halves"))
    assert whole == halves
    tuning(tmp_path / "halves", match, trials=12).run()
    assert len(played) == 12


def test_confirmation_is_played_once(tmp_path: Path) -> None:
    played: list[Constants] = []
    found = tuning(tmp_path, simulated(played=played), trials=3, confirming_games=400)
    found.run()
    first = found.confirm(BEST)
    assert first is not None
    assert found.confirm(BEST) == first
    assert len(played) == 4
    assert float(first["low"]) < expected_score(60) < float(first["high"])
    assert float(first["low"]) > 0.5
    assert found.confirm({**BEST, "puct.c_init": 2.0}) != first
    assert len(played) == 5


def test_surface_by_hand() -> None:
    """One trial: all that is known is its score, and ever less of f the farther away."""
    surface = Surface(np.array([[0.5]]), np.array([0.6]), np.array([0.05]))
    amplitude = math.exp(surface._log_parameters[-1])
    here = surface.at(np.array([0.5]))
    assert here.value == pytest.approx(0.6)  # the mean of one score is that score
    variance = amplitude**2 - amplitude**4 / (amplitude**2 + 0.05**2)
    assert here.high - here.value == pytest.approx(1.96 * math.sqrt(variance))
    away = surface.at(np.array([1.0]))
    r = math.sqrt(5) * 0.5 / math.exp(surface._log_parameters[0])
    kernel = amplitude**2 * (1 + r + r * r / 3) * math.exp(-r)
    variance = amplitude**2 - kernel**2 / (amplitude**2 + 0.05**2)
    assert away.high - away.value == pytest.approx(1.96 * math.sqrt(variance))


def test_surface_keeps_its_promise() -> None:
    """The 95 % interval holds the truth as often as it says, over many noisy functions."""
    held = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        centre, points = rng.random(), rng.random((20, 1))
        scores = 0.6 - 0.5 * (points[:, 0] - centre) ** 2 + rng.normal(0, 0.05, 20)
        estimate = Surface(points, scores, np.full(20, 0.05)).at(np.array([0.3]))
        held.append(estimate.low < 0.6 - 0.5 * (0.3 - centre) ** 2 < estimate.high)
    assert 0.85 <= np.mean(held) <= 1


def test_a_real_tuning(tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train_once(tiny("run_dir=run", "trainer.max_steps=4"))
    config = tiny(
        "command=tune",
        "checkpoint=run/checkpoints/last.ckpt",
        "tune.trials=4",
        "tune.games=4",
        "tune.startup_trials=2",
        "tune.confirming_games=4",
    )
    capsys.readouterr()
    assert tune(config) == 0
    told = capsys.readouterr().out
    assert told.count("\ntrial ") == 5  # four, and the head of the table
    command = next(line for line in told.splitlines() if line.startswith("  puct."))
    keys = [word.partition("=")[0] for word in command.split()]
    assert keys == ["puct.c_init", "puct.first_play"]
    assert tiny(*command.split())["puct"]["c_init"] == float(command.split()[0][12:])
    assert "in 4 fresh games" in told
    folders = list((tmp_path / "runs/tune/tic_tac_toe").iterdir())
    assert len(folders) == 1
    # The same command resumes where it was, which is at the end, and says the same.
    assert tune(config) == 0
    again = capsys.readouterr().out
    assert "resuming after 4 trials" in again
    assert command in again
    # Another search is another tuning.
    with pytest.raises(SettingError, match=r"search in .* must be"):
        tune(
            {
                **config,
                "run_dir": str(folders[0]),
                "puct": {**config["puct"], "first_play": 0.1},
            }
        )
    with locked(folders[0]), pytest.raises(SettingError, match="is in use"):
        tune(config)


def test_constants_are_tuned_in_the_search_that_has_them(
    tiny: Tiny, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """PUCT's as engines search, however self-play does; Gumbel's only with `search=gumbel`."""
    train_once(tiny("algorithm=gumbel", "run_dir=run", "trainer.max_steps=4"))
    brief = ["checkpoint=run/checkpoints/last.ckpt", "tune.trials=2", "tune.games=2"]
    brief += ["tune.startup_trials=1", "tune.confirming_games=0", "command=tune"]
    searched: list[bool] = []
    make = tune_module.SearchPlayer

    def watched(**parts: Any) -> Any:
        searched.append(parts["settings"].is_gumbel)
        return make(**parts)

    monkeypatch.setattr(tune_module, "SearchPlayer", watched)
    assert tune(tiny("command=tune", "search=gumbel", *brief)) == 0
    assert "  puct.c_init=" in capsys.readouterr().out
    assert searched
    assert not any(searched)
    searched.clear()
    scale = "tune.parameters.search.gumbel.c_scale=[0.05,0.5]"
    with pytest.raises(
        SettingError, match=r"null except for search.gumbel.c_scale, .* got 'puct.c_"
    ):
        tune(tiny("command=tune", "search=gumbel", scale, *brief))
    alone = [f"tune.parameters.puct.{key}=null" for key in ("c_init", "first_play")]
    with pytest.raises(SettingError, match="search must be gumbel, whose constants are tuned"):
        tune(tiny("command=tune", "search=puct", scale, *alone, *brief))
    assert tune(tiny("command=tune", "search=gumbel", scale, *alone, *brief)) == 0
    assert "  search.gumbel.c_scale=" in capsys.readouterr().out
    assert searched
    assert all(searched)


def test_the_same_constants_make_an_even_match(tiny: Tiny) -> None:
    """Both players are the same weights, so what differs is the constants alone."""
    train_once(tiny("run_dir=run", "trainer.max_steps=4"))
    settings = settings_from(tiny(), RunSettings)
    from rich.console import Console

    match = tune_module._matches(settings, Path("run/checkpoints/last.ckpt"), Console())
    same = match({"puct.c_init": settings.search.c_init}, 8, 1)
    assert same.score == 0.5
    assert all(
        a.points + b.points == 1 for a, b in zip(same.games[::2], same.games[1::2], strict=True)
    )
    other = match({"puct.c_init": 50.0, "puct.first_play": 1.0}, 8, 1)
    assert [game.actions for game in other.games] != [game.actions for game in same.games]


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"puct": {"c_int": [1, 2]}}, "no setting puct.c_int; did you mean puct.c_init"),
        (
            {"puct": {"reuse_subtree": [1, 2]}},
            "must be for a number that affects matches",
        ),
        ({"search": {"num_simulations": [1, 2]}}, "must be for a number that affects matches"),
        ({"learner": {"l2": [1, 2]}}, "no setting learner.l2"),
        ({"puct": {"c_init": [2, 2]}}, r"from low to something higher, got \[2, 2\]"),
        ({"puct": {"c_init": [3, 2]}}, r"from low to something higher, got \[3, 2\]"),
        ({"puct": {"c_init": [0, 2, "log"]}}, "above 0 with log"),
        ({"puct": {"c_init": [1, 2, "lin"]}}, r"\[low, high\] or \[low, high, log\], got"),
        ({"puct": {"c_init": 2}}, r"\[low, high\] or \[low, high, log\], got 2"),
        ({"puct": {"virtual_loss": [1, 2.5]}}, "whole numbers"),
        ({"puct": {"c_init": None}}, "a range for one constant or more"),
    ],
)
def test_ranges_that_cannot_be_used(parameters: Mapping[str, Any], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        parameters_from(parameters)


def test_values_in_a_range() -> None:
    assert C_INIT.from_unit(0.5) == pytest.approx(2.0)  # the geometric middle of 0.5 and 8
    assert C_INIT.to_unit(2.0) == pytest.approx(0.5)
    assert FIRST_PLAY.from_unit(0.5) == 0.0
    whole = Parameter(key="puct.virtual_loss", low=1, high=5, is_log=False, is_whole=True)
    assert [whole.from_unit(x) for x in (0.0, 0.4, 1.0)] == [1, 3, 5]
    narrow = Parameter(key="puct.c_init", low=1.23456, high=1.23459, is_log=False, is_whole=False)
    assert narrow.low <= narrow.from_unit(0.0) <= narrow.high


def test_what_cannot_be_used(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny("command=tune")
    with pytest.raises(AzcoreError, match="needs checkpoint=PATH"):
        tune(config)
    config["checkpoint"] = "none.ckpt"
    with pytest.raises(AzcoreError, match=r"none.ckpt: cannot read"):
        tune(config)
    with pytest.raises(AzcoreError, match=r"tune.games must be an even number"):
        tune({**config, "tune": {**config["tune"], "games": 3}})
    search = settings_from(config, MatchSettings).search
    with pytest.raises(AzcoreError, match=r"puct.c_base must be above 0"):
        with_constants(search, {"puct.c_base": -1.0})
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(
        AzcoreError, match=r"needs the package optuna: pip install 'azcore\[tune\]'"
    ):
        tune(config)
