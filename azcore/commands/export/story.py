"""`what=story`: a run as a small folder to share, with some of its checkpoints and games.

A story is a run directory: commands that show, rate or play a run accept it. It cannot be resumed.
"""

import math
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from azcore.assembly.parts import Config
from azcore.assembly.pretrained import in_place_of_story
from azcore.commands.export.checkpoint import given_away, without_folders
from azcore.commands.export.settings import ExportedStory
from azcore.commands.result import write_result
from azcore.errors import CheckpointError
from azcore.report import probes
from azcore.settings import require
from azcore.storage.checkpoint import KEY, halved, read_checkpoint, write_checkpoint
from azcore.storage.game_file import GameFile, new_game_file
from azcore.storage.game_record import GameRecord
from azcore.storage.run_directory import RunDirectory
from azcore.storage.run_settings import own_settings, save_config


def export_story(config: Config, settings: ExportedStory) -> int:
    """Write the story of a run to the folder `out`, and print its contents; 0."""
    require(config["checkpoint"] is None, "checkpoint", "null for a story", config["checkpoint"])
    require(settings.run is not None, "export.run", "a run directory", settings.run)
    require(config["out"] is not None, "out", "a new folder", config["out"])
    run = RunDirectory(Path(in_place_of_story(str(settings.run))))
    out = Path(str(config["out"]))
    require(run.config.is_file(), "export.run", "a run directory", str(run.path))
    if out.exists():
        raise CheckpointError(f"out={out} already exists; choose another folder")
    story = RunDirectory(out)
    try:
        steps = _write(run, story, settings.count)
    except BaseException:
        shutil.rmtree(out, ignore_errors=True)
        raise
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"checkpoints of steps {', '.join(f'{step:,}' for step in steps)}")
    print(f"written to {out}, {size / 1e6:.2f} MB")
    write_result(config, folder=out, steps=steps)
    return 0


def _write(run: RunDirectory, story: RunDirectory, count: int) -> list[int]:
    """Write everything; returns the steps of the checkpoints."""
    last = read_checkpoint(run.last_checkpoint)
    end = int(last["global_step"])
    earlier = {step: path for step, path in run.step_checkpoints().items() if step < end}
    steps = [*chosen(earlier, end, count - 1), end]
    story.checkpoints.mkdir(parents=True)
    for step in steps:
        checkpoint = last if step == end else read_checkpoint(earlier[step])
        small = halved(checkpoint)
        small[KEY] = given_away(small[KEY])
        write_checkpoint(
            small, story.last_checkpoint if step == end else story.step_checkpoint(step)
        )
    save_config(story, without_folders(own_settings(run)))
    for source, target in ((run.metrics, story.metrics), (run.matches, story.matches)):
        if source.is_file():
            shutil.copyfile(source, target)
    story.save_sizes(run.read_sizes())
    story.records.parent.mkdir()
    with new_game_file(story.records) as write:
        for record in _games(GameFile(run.records).read(), steps):
            write(record)
    probes.update(story)
    return steps


def chosen(steps: Iterable[int], end: int, count: int) -> list[int]:
    """Some steps of a run, denser at the beginning, where a player changes most.

    Args:
        steps: that have checkpoints, below `end`.
        end: the last step.
        count: how many to choose, at most.

    Returns:
        The first step, and those nearest to fractions of the logarithm; ascending.
    """
    left = sorted(steps)
    if len(left) <= count:
        return left
    found, left = left[:1], left[1:]
    low = math.log(left[0])
    for number in range(count - 1):
        wanted = low + (math.log(end) - low) * number / (count - 1)
        nearest = min(left, key=lambda step: abs(math.log(step) - wanted))
        left.remove(nearest)
        found.append(nearest)
    return sorted(found)


def _games(records: Iterable[GameRecord], steps: Sequence[int]) -> Iterator[GameRecord]:
    """The first game of each checkpoint, and the run's last game, in order."""
    wanted = sorted(steps, reverse=True)
    last: GameRecord | None = None
    for record in records:
        last = record
        if wanted and record.weights_version >= wanted[-1]:
            while wanted and record.weights_version >= wanted[-1]:
                wanted.pop()
            yield record
            last = None
    if last is not None:
        yield last
