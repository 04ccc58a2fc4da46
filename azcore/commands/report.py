"""`command=report`: the page of a run, or of two to four runs side by side, finished or running."""

from pathlib import Path

from azcore.assembly.parts import Config
from azcore.assembly.pretrained import in_place_of_story
from azcore.commands.result import write_result
from azcore.errors import SettingError, os_errors_as
from azcore.networks.backends import choose_device
from azcore.report import probes
from azcore.report.report import write_report
from azcore.report.side_by_side import SIDE_BY_SIDE, write_side_by_side
from azcore.settings import require
from azcore.storage.run_directory import RunDirectory, runs_inside


def report(config: Config) -> int:
    """Write the page of the runs in `run_dir`, and print its path; 0."""
    given, out = config["run_dir"], config["out"]
    if given is None:
        raise SettingError(
            "command=report needs run_dir=RUN, or run_dir=[RUN,RUN] for a page of both"
        )
    wanted = given if isinstance(given, list) else [given]
    places = [in_place_of_story(str(each)) for each in wanted]
    run = RunDirectory(Path(places[0]))
    if len(places) == 1 and any(path.is_file() for path in (run.config, run.metrics, run.records)):
        require(out is None, "out", f"null for one run, whose page is {run.report}", out)
        if places[0] != str(wanted[0]):
            raise SettingError(f"run_dir={wanted[0]}: a story that ships has no report of its own")
        with os_errors_as(SettingError, f"{run.report} cannot be written"):
            device = choose_device(config["device"])
            probes.update(run, device)
            page = write_report(run.path, device)
    else:
        page = _side_by_side(places, out)
    print(f"report {page}, {page.stat().st_size / 1e3:,.0f} kB")
    write_result(config, report=page)
    return 0


def _side_by_side(places: list[str], out: str | None) -> Path:
    """Write the page of several runs, next to them or to `out`, which may be a folder."""
    named: dict[str, RunDirectory] = {}
    for name, path, _ in runs_inside(list(dict.fromkeys(places)), "run_dir"):
        named[name if name not in named else str(path)] = RunDirectory(path)
    page = (
        Path(places[0] if len(places) == 1 else Path(places[0]).parent)
        if out is None
        else Path(out)
    )
    if page.suffix != ".html":
        page /= SIDE_BY_SIDE
    with os_errors_as(SettingError, f"{page} cannot be written"):
        page.parent.mkdir(parents=True, exist_ok=True)
        write_side_by_side(page, list(named.items()))
    return page
