"""Any value in any place: a setting is used, or refused in one sentence, before anything runs."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import pytest
from lightning.pytorch import Trainer

from azcore.assembly.parts import MatchSettings, RunSettings, settings_from
from azcore.assembly.web_settings import web_settings
from azcore.cli import roots
from azcore.commands.arena.settings import comparison_settings
from azcore.commands.bench.plan import PlanSettings
from azcore.commands.bench.settings import BenchSettings
from azcore.commands.check.report import BeforeTraining, CheckSettings
from azcore.commands.export.settings import GenerationExport, export_settings
from azcore.commands.import_games import ImportSettings
from azcore.commands.ladder import least_steps_of, minutes_of, recipes_from
from azcore.commands.play import play_settings
from azcore.commands.puzzles import PuzzleSettings
from azcore.commands.runs import ListSettings
from azcore.commands.tune.parameters import parameters_from
from azcore.commands.tune.tune import TuneSettings
from azcore.engine.programs import Program
from azcore.engine.settings import engine_settings, thinking_search
from azcore.errors import SettingError
from azcore.learner.imported_games import supervised_settings
from azcore.learner.trainer_settings import DECIDED, TrainerSettings
from azcore.search.settings import search_settings
from azcore.selfplay.backend import BackendSettings
from azcore.settings import build
from azcore.storage.run_settings import require_notes

Compose = Callable[..., dict[str, Any]]
Place = tuple[str | int, ...]
VALUES = (-1, 0, math.nan, math.inf, -math.inf, 1e300, 1e-300, 10**20, 10**400, "x", True, [], {})
SOMETIMES_FINE = (-1, 0, 10**20, "x", [], {})
NAMES = ("run_dir", "resume", "init", "fork", "players", "checkpoint", "out", "name", "result")
NAMES += ("experiment",)
# What reads the settings of each command that is not training.
READERS: dict[str, Callable[[dict[str, Any]], object]] = {
    "arena": lambda config: (
        settings_from(config, MatchSettings),
        build(BackendSettings, config["backend"], "backend"),
        [build(Program, each, f"programs.{name}") for name, each in config["programs"].items()],
        supervised_settings(config),
    ),
    "arena arena=comparison": lambda config: comparison_settings(
        {**config["arena"], "runs": ["runs"]}
    ),
    "bench": lambda config: (
        build(BenchSettings, config["bench"], "bench"),
        build(PlanSettings, config["plan"], "plan"),
    ),
    "check": lambda config: build(CheckSettings, config["check"], "check"),
    "engine": lambda config: (engine_settings(config), thinking_search(config)),
    "export": lambda config: export_settings(config["export"]),
    "export what=picture": lambda config: export_settings(config["export"]),
    "export what=checkpoint": lambda config: export_settings(config["export"]),
    "export what=story": lambda config: export_settings(config["export"]),
    "export what=page": lambda config: (
        export_settings(config["export"]),
        search_settings(config),
    ),
    "import": lambda config: build(ImportSettings, config["import"], "import"),
    **dict.fromkeys(
        ("ladder", "ladder ladder=lesson"),
        lambda config: (
            recipes_from(config["ladder"]),
            minutes_of(config["ladder"]),
            least_steps_of(config["ladder"]),
        ),
    ),
    "play": lambda config: (
        play_settings(config),
        engine_settings(config),
        thinking_search(config),
    ),
    "predict": lambda config: supervised_settings(config),
    "puzzles": lambda config: build(
        PuzzleSettings, {**config["puzzles"], "files": ["some.epd"]}, "puzzles"
    ),
    "runs": lambda config: build(ListSettings, config["runs"], "runs"),
    "train": lambda config: (
        settings_from(config, RunSettings),
        require_notes(config["run"]),
        build(GenerationExport, config["export"], "export"),
        build(BeforeTraining, config["check"], "check"),
        comparison_settings({**config["compare"], "runs": ["runs"]}),
    ),
    "tune": lambda config: (
        parameters_from(config["tune"].pop("parameters")),
        build(TuneSettings, config["tune"], "tune"),
    ),
    "web": lambda config: (web_settings(config), search_settings(config)),
}
# Groups that the reader of a command looks at; null: all.
OWN = {name: [name] for name in ("check", "puzzles", "tune", "ladder")}
OWN |= {"bench": ["bench", "plan"], "arena arena=comparison": ["arena"]}
OWN |= {name: [name.partition(" ")[0]] for name in READERS if " " in name}
OWN |= {"play": ["play", "engine", "search"], "engine": ["engine", "search", "puct"]}
OWN |= {"predict": ["supervised"]}
OWN |= {"export what=page": ["export", "search", "puct"]}
OWN |= {"export": ["export"], "import": ["import"], "web": ["web", "search", "puct"]}


def numeric_places(values: Any, place: Place = ()) -> Iterator[Place]:
    """Where a configuration has a number, or null, which may stand for one."""
    if isinstance(values, dict | list):
        for key, value in values.items() if isinstance(values, dict) else enumerate(values):
            yield from numeric_places(value, (*place, key))
    elif values is None or (isinstance(values, int | float) and not isinstance(values, bool)):
        yield place


def changed(config: dict[str, Any], place: Place, value: object) -> dict[str, Any]:
    config = copy.deepcopy(config)
    inner: Any = config
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return config


def test_any_value_is_used_or_refused_in_a_sentence(compose: Compose) -> None:
    texts = {
        ("export", name) for name in ("games", "format", "out", "position", "run")
    }  # a folder: 7
    refused, tried = [], set()
    for command, read in READERS.items():
        root = command.partition(" ")[0]
        words = ["game=tic_tac_toe_plain"] if roots.has(root, "game") else []
        config = compose(*command.split(), *words)  # nothing to compile
        places = [
            place
            for place in numeric_places(config)
            if place[0] in OWN.get(command, [place[0]]) and place[0] not in NAMES
        ]
        for place in [place for place in places if place not in texts]:
            tried.add(place)
            for value in VALUES:
                try:
                    read(changed(config, place, value))
                except SettingError as error:
                    refused.append(str(error))
                except Exception as error:
                    pytest.fail(f"{command}: {place} = {str(value)[:30]}: {error!r}")
                else:
                    what = f"{command}: {place} = {str(value)[:30]} is accepted"
                    assert value in SOMETIMES_FINE, what
    assert {("seed",), ("puct", "c_base"), ("trainer", "gradient_clip_val")} < tried
    assert len(refused) > 8 * len(tried)
    assert not [sentence for sentence in refused if "\n" in sentence]


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("search.num_simulations", 10**20, "a whole number of at most 2,147,483,647"),
        ("puct.c_base", math.inf, "a finite number that float32 can hold, got inf"),
        ("selfplay.final_temperature", math.inf, "a finite number"),
        ("replay.samples_per_position", 1e-9, "0.001 or more"),
        ("learner.learning_rates", [math.nan] * 4, r"learning_rates\[0\] must be a finite number"),
        ("trainer.gradient_clip_val", -1, "above 0, or null for no limit, got -1.0"),
        ("trainer.deterministic", "foo", "true or false, got 'foo'"),
        ("trainer.accelerator", "tpu", "one of auto, cpu, gpu, cuda, got 'tpu'"),
        ("trainer.precision", 16, "one of 32-true, bf16-mixed, 16-mixed, got '16'"),
        ("trainer.precision", "64-true", "got '64-true'"),
        ("trainer.max_time", 10, "days:hours:minutes:seconds such as 00:00:10:00, got '10'"),
        ("trainer.max_time", f"{10**20}:00:00:00", "days:hours:minutes:seconds"),
        ("trainer.log_every_n_steps", True, "a whole number, got True"),
        ("trainer.fast_dev_run", True, "cannot be set: an epoch is a generation"),
        ("trainer.num_nodes", 2, "1, unless each node's environment sets MASTER_ADDR"),
        ("trainer.max_step", 2, "did you mean trainer.max_steps?"),
        ("evaluator.precision", "foo", "evaluator.precision must be one of"),
        ("evaluator.backend", "foo", "evaluator.backend must be one of"),
        ("device", "meta", "a device of this machine"),
        ("device", "cuda:77", "a device of this machine"),
    ],
)
def test_refused_before_anything_is_compiled(
    tiny: Compose, monkeypatch: pytest.MonkeyPatch, key: str, value: object, sentence: str
) -> None:
    from azcore.commands.train import train

    def make(*_: object, **__: object) -> None:
        raise AssertionError("the game's rules are compiled before the settings are looked at")

    monkeypatch.setattr("azcore.assembly.parts.make", make)
    group, _, name = key.rpartition(".")
    with pytest.raises(SettingError, match=sentence.replace("?", r"\?")):
        train(changed(tiny(), (group, name) if group else (name,), value))


def test_an_accelerator_that_is_not_there_is_refused(
    tiny: Compose, monkeypatch: pytest.MonkeyPatch
) -> None:
    from azcore.commands.train import train

    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SettingError, match="auto or cpu on a machine without a GPU"):
        train(tiny("trainer.accelerator=gpu"))


def test_each_parameter_of_lightnings_trainer_is_a_setting_or_is_decided() -> None:
    ours = {field.name for field in fields(TrainerSettings)}
    known = set(inspect.signature(Trainer.__init__).parameters) - {"self"}
    assert not ours & set(DECIDED)
    assert known == ours | set(DECIDED)
