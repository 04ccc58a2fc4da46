"""Sentences about what the variants (arms) of a comparison share and where they differ."""

from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table

from azcore.commands.arena.means import MeanPoint
from azcore.commands.arena.runs import Run, labels
from azcore.storage.changes import changes_of_arms, describe_base
from azcore.storage.checkpoint import digest_of_weights, read_checkpoint
from azcore.storage.run_directory import RunDirectory
from azcore.storage.run_settings import flat

# Sizes that azcore may choose for a machine and that change what a run learns, with their keys.
CHOSEN = {
    "precision": "evaluator.precision",
    "backend": "evaluator.backend",
    "num_games": "selfplay.num_games",
    "workers": "selfplay.workers",
    "steps_per_generation": "learner.steps_per_generation",
}
MOST_NAMED = 4  # runs named in one sentence


def identical_arms(runs: Sequence[Run]) -> list[list[str]]:
    """The variants whose last weights are equal, seed by seed, in groups of two or more."""
    weights: dict[str, dict[int, str]] = {}
    for run in runs:
        digest = digest_of_weights(read_checkpoint(run.kept[-1].path))
        weights.setdefault(run.variant, {})[run.seed] = digest
    groups: dict[tuple[tuple[int, str], ...], list[str]] = {}
    for variant, by_seed in weights.items():
        groups.setdefault(tuple(sorted(by_seed.items())), []).append(variant)
    return [group for group in groups.values() if len(group) > 1]


def unlike(runs: Sequence[Run], last: Mapping[str, MeanPoint]) -> Iterator[str]:
    """How training differed beyond settings, up to the `last` rated moment of each variant."""
    variants = labels(last)
    several = any(len(point.of) > 1 for point in last.values())
    names = {
        run.name: variants[run.variant] + (f",seed={run.seed}" if several else "") for run in runs
    }
    sizes = {run.name: RunDirectory(run.path).read_sizes().known() for run in runs}
    found = []
    for size, key in CHOSEN.items():
        if len({repr(flat(run.config).get(key)) for run in runs}) > 1:
            continue  # the settings name it
        by_value: dict[object, list[str]] = {}
        for name, label in names.items():
            if size in sizes[name]:
                by_value.setdefault(sizes[name][size], []).append(label)
        if len(by_value) > 1:
            words = ", ".join(f"{value} in {listed(of)}" for value, of in by_value.items())
            found.append(f"{size} is {words}")
    if found:
        yield f"not trained alike, according to sizes.json of the runs: {'; '.join(found)}"
    steps: dict[int, list[str]] = {}
    for variant, point in last.items():
        steps.setdefault(max(entry.kept.step for entry in point.of), []).append(variants[variant])
    if len(steps) > 1:
        words = ", ".join(f"{step:,} of {listed(of)}" for step, of in steps.items())
        yield f"not trained equally long: the last checkpoints are at steps {words}"


def table_of_settings(runs: Sequence[Run]) -> Iterator[Table]:
    """The settings that are not their default, and those in which the variants differ."""
    configs = {
        run.variant: {key: value for key, value in run.config.items() if key != "seed"}
        for run in reversed(runs)
    }
    names = labels(configs)
    arms = {names[run.variant]: configs[run.variant] for run in runs}
    bases = list(dict.fromkeys(map(describe_base, arms.values())))
    of = f" of {bases[0]}" if len(bases) == 1 else ""
    table = Table("variant", "settings", title=f"settings other than the defaults{of}")
    for row in changes_of_arms(arms):
        table.add_row(*row)
    if table.rows:
        yield table


def listed(names: Sequence[str]) -> str:
    """`a, b and c`, or the first few of many."""
    if len(names) > MOST_NAMED:
        names = [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} others"]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
