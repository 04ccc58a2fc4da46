"""The runs of a comparison, their variants and seeds, and the checkpoints to rate."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from azcore.assembly.parts import LearningSettings, settings_from
from azcore.assembly.pretrained import in_place_of_story
from azcore.errors import CheckpointError, SettingError
from azcore.networks import build_network, network_cost
from azcore.storage.checkpoint import digest_of, read_checkpoint
from azcore.storage.run_directory import RunDirectory, runs_inside
from azcore.storage.run_settings import differences, read_config, require_received_games
from azcore.storage.table import Table


@dataclass(frozen=True, kw_only=True)
class Kept:
    name: str  # in results
    path: Path
    digest: str  # of its bytes
    step: int
    level: int  # index of its step among those at which all runs are rated
    evaluations: float | None  # of networks until then; None: the run did not count them
    seconds: float | None
    compute: float | None = None  # floating-point operations until then, if they were asked for

    def cost(self, x: str) -> float | None:
        """Its cost, on the axis of this name."""
        costs = {"evaluations": self.evaluations, "steps": self.step, "seconds": self.seconds}
        return {**costs, "compute": self.compute}[x]


@dataclass(frozen=True, kw_only=True)
class Run:
    name: str  # its folder, within the folder that was given
    variant: str  # the name without the seed: runs of one variant are averaged
    seed: int
    path: Path
    config: Mapping[str, Any]
    settings: LearningSettings
    kept: tuple[Kept, ...]  # in order of steps
    parameters: int | None = None  # of its network, if compute was asked for


def find_runs(folders: Iterable[str], device: str, count: int, x: str = "evaluations") -> list[Run]:
    """The runs in some folders, sorted by seed and variant.

    Args:
        folders: run directories, or folders that hold some at any depth.
        count: the most checkpoints of a run.
        x: the cost to plot. Checkpoints are spread evenly over the steps; for `compute`, whose axis
            is logarithmic, each has half the steps of the next.

    Raises:
        SettingError: there is no run, the games differ, or two runs wrongly share a name or
            variant.
        CheckpointError: no run has a checkpoint.
    """
    found: dict[str, tuple[Path, str]] = {}  # folder of the run, and its variant if it has no other
    places = [in_place_of_story(folder) for folder in folders]
    for name, path, root in runs_inside(places, "arena.runs"):
        if name in found and found[name][0].resolve() != path.resolve():
            raise SettingError(
                f"arena.runs: {found[name][0]} and {path} are both named {name}; rename one"
            )
        found[name] = (path, root.resolve().name)
    configs = {name: read_config(RunDirectory(path)) for name, (path, _) in found.items()}
    variants = {name: _variant(name) or found[name][1] for name in found}
    _require_comparable(configs, variants)
    for config in configs.values():
        require_received_games(config)
    steps = {name: _steps(found[name][0]) for name in found}
    last = max((step for at in steps.values() for step in at), default=0)
    if not last:
        raise CheckpointError(f"arena.runs: no run in {', '.join(folders)} has a checkpoint yet")
    targets = [last * (level + 1) / count for level in range(count)]
    if x == "compute":
        targets = [last / 2**level for level in reversed(range(count))]
    runs = []
    for name, (path, _) in found.items():
        if not steps[name]:
            continue
        settings = settings_from({**configs[name], "device": device}, LearningSettings)
        kept, parameters = _kept(name, path, steps[name], targets), None
        if x == "compute":
            kept, parameters = _with_compute(kept, settings)
        runs.append(
            Run(
                name=name,
                variant=variants[name],
                seed=configs[name]["seed"],
                path=path,
                config=configs[name],
                settings=settings,
                kept=kept,
                parameters=parameters,
            )
        )
    return sorted(runs, key=lambda run: (run.seed, run.variant))


def _variant(name: str) -> str:
    """`network=sep_res,seed=2` without the seed."""
    return ",".join(part for part in name.split(",") if not part.startswith("seed="))


def labels(variants: Iterable[str]) -> dict[str, str]:
    """Short labels of variants, without the settings that all of them share."""
    settings = {variant: re.split(r",(?=[\w./]+=)", variant) for variant in variants}
    shared = set.intersection(*map(set, settings.values())) if len(settings) > 1 else set()
    return {
        variant: ",".join(part for part in parts if part not in shared) or variant
        for variant, parts in settings.items()
    }


def _require_comparable(
    configs: Mapping[str, Mapping[str, Any]], variants: Mapping[str, str]
) -> None:
    """Require one game for all runs, and runs of a variant that differ only in the seed."""
    first = next(iter(configs))
    of_variant: dict[str, list[str]] = {}
    for name, config in configs.items():
        game, other = configs[first].get("game"), config.get("game")
        if game != other:
            raise SettingError(
                f"arena.runs must be of one game: {first} has {game}, {name} has {other}; "
                "command=report run_dir=[...] sets different games side by side, without matches"
            )
        for earlier in of_variant.setdefault(variants[name], []):
            changed = differences(configs[earlier], config)
            if len(changed) != 1 or changed[0][0] != "seed":
                keys = ", ".join(key for key, _, _ in changed if key != "seed")
                also = f"but they also differ in {keys}" if keys else "but their seeds are equal"
                raise SettingError(
                    f"arena.runs: {earlier} and {name} are averaged as {variants[name]}, so they "
                    f"must differ in the seed alone, {also}"
                )
        of_variant[variants[name]].append(name)


def _steps(path: Path) -> dict[int, Path]:
    """The saved checkpoints by optimizer steps, with the last one but without the first weights."""
    run = RunDirectory(path)
    steps = {step: kept for step, kept in run.step_checkpoints().items() if step > 0}
    if run.last_checkpoint.exists():
        steps.setdefault(read_checkpoint(run.last_checkpoint)["global_step"], run.last_checkpoint)
    return dict(sorted(steps.items()))


def spread(steps: Iterable[int], targets: list[float]) -> dict[int, int]:
    """The step nearest to each target, each step once: {index of the target: step}."""
    chosen: dict[int, int] = {}
    for level, target in enumerate(targets):
        step = min(steps, key=lambda at: abs(at - target))
        if step not in chosen.values():
            chosen[level] = step
    return chosen


def _with_compute(kept: Iterable[Kept], settings: LearningSettings) -> tuple[tuple[Kept, ...], int]:
    """Checkpoints with the floating-point operations until then, and the network's parameters.

    F (evaluations + 3 B steps), where F is one evaluation's operations and B the batch size: the
    backward pass of a step costs about twice its forward pass.
    """
    network = build_network(settings.game, settings.network, settings.seed)
    cost = network_cost(network, settings.game)
    learned = 3 * settings.learner.batch_size
    return tuple(
        each
        if each.evaluations is None
        else replace(each, compute=cost.flops * (each.evaluations + learned * each.step))
        for each in kept
    ), cost.parameters


def _kept(
    name: str, path: Path, steps: Mapping[int, Path], targets: list[float]
) -> tuple[Kept, ...]:
    table = Table(RunDirectory(path).metrics, [])
    metrics = {table.whole(row, "step"): row for row in table.rows()}

    def measured(step: int, column: str) -> float | None:
        row = metrics.get(step, {})
        return table.number(row, column) if row.get(column) else None

    return tuple(
        Kept(
            name=f"{name}/step-{step}",
            path=steps[step],
            digest=digest_of(steps[step]),
            step=step,
            level=level,
            evaluations=measured(step, "evaluations"),
            seconds=measured(step, "seconds"),
        )
        for level, step in spread(steps, targets).items()
    )
