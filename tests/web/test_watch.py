"""Runs on the page: what their tables say, as soon as they say it, and nothing of other files."""

from __future__ import annotations

import csv
import http.client
import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from azcore.algorithms.metrics import MEMBERS, METRICS
from azcore.commands.train import train
from azcore.storage.run_directory import RunDirectory
from azcore.web.runs import Kept
from conftest import compose
from web_kit import served

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests do not wait until a run may be read again, and see no run that ships."""
    monkeypatch.setattr("azcore.web.runs.SHARE", 1e9)
    monkeypatch.setattr("azcore.web.runs.named_stories", dict)


@pytest.fixture(name="runs", scope="module")
def runs_fixture(tmp_path_factory: Any) -> Path:
    """A folder with one true run, and one that consists of its table alone."""
    folder: Path = tmp_path_factory.mktemp("runs")
    train(
        compose(
            "game=tic_tac_toe",
            f"run_dir={folder / 'true'}",
            "trainer.max_steps=100",
            "search.num_simulations=4",
            "selfplay.num_games=8",
            "learner.batch_size=16",
            "arena.games=2",
            "arena.num_simulations=2",
            "arena.every_generations=1",
            "evaluator.backend=torch",
            "evaluator.precision=float32",
            "network.channels=4",
            "network.blocks=1",
        )
    )
    with (folder / "true/config.yaml").open("a") as file:
        file.write("default: {seed: 99}\nrun: {note: slow but steady}\n")
    (folder / "deep/table").mkdir(parents=True)
    write(folder / "deep/table", 3)
    return folder


ONE_POINT = """(() => {
  const host = element('div', { style: 'width: 240px' }, null, document.body)
  const curve = { label: 'one', colour: 'red', x: [30], y: [1] }
  drawCurves(host, 'step', { title: 'loss', unit: '', height: 210, low: 0 }, [curve])
  const marks = [...host.querySelectorAll('text')].map(text => text.textContent).filter(Boolean)
  host.remove()
  return marks
})()"""  # the marks of its axes

TWO_RUNS = """(() => {
  const host = element('div', { style: 'width: 240px' }, null, document.body)
  const curves = [{ label: 'short', x: [1, 3], y: [1, 2] }, { label: 'long', x: [1, 9], y: [4, 3] }]
  drawCurves(host, 'step', { title: 'loss', unit: '', height: 210 }, curves)
  host.querySelector('svg').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }))
  const lines = [...host.querySelectorAll('.tip div')].map(line => line.textContent)
  host.remove()
  return lines
})()"""  # the values at the last point of the longer run


def write(run: Path, generations: int) -> None:
    with (run / "metrics.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, METRICS)
        table.writeheader()
        for i in range(generations):
            row = {"generation": i, "step": 10 * (i + 1), "seconds": 5 * (i + 1), "games": 7}
            table.writerow({**row, "policy_loss": 3 - 0.1 * i, "evaluations": 100})


@pytest.fixture(name="place", scope="module")
def place_fixture(runs: Path) -> Iterator[str]:
    with served(compose("command=web", f"web.runs={runs}")) as place:
        yield place


def get(place: str, path: str) -> tuple[int, str, dict[str, str]]:
    with closing(http.client.HTTPConnection(place, timeout=60)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, answer.read().decode(), found


def test_the_list(place: str) -> None:
    runs = {run["name"]: run for run in json.loads(get(place, "/runs.json")[1])}
    assert set(runs) == {"true", "deep/table"}
    assert runs["true"]["title"] == "Tic tac toe"
    assert runs["true"]["step"] == 100
    assert runs["true"]["rating"] is not None
    assert runs["true"]["player"] == "runs/true@last"
    table = runs["deep/table"]
    assert (table["step"], table["seconds"], table["games"]) == (30, 15, 7)
    assert (table["title"], table["player"], table["rating"]) == ("Unknown game", None, None)


def test_a_run_that_cannot_be_read_is_one_line_of_the_list(place: str, runs: Path) -> None:
    """It hid all others; and it is looked at once, not at each look at the list."""
    (runs / "bad").mkdir()
    with (runs / "bad/metrics.csv").open("w") as file:
        file.truncate(8 << 30)
    try:
        found = {run["name"]: run for run in json.loads(get(place, "/runs.json")[1])}
        assert set(found) == {"true", "deep/table", "bad"}
        assert "must have at most 67,108,864 bytes" in found["bad"]["title"]
        assert found["bad"]["step"] is None
        assert found["true"]["step"] == 100
        for path in ("/run.json?run=bad", "/report?run=bad", "/side-by-side?run=true&run=bad"):
            status, words, _ = get(place, path)
            assert (status, "must have at most" in words) == (404, True), path
        assert get(place, "/players.json")[0] == 200
    finally:
        shutil.rmtree(runs / "bad")


def test_curves_change_with_the_table(place: str, runs: Path) -> None:
    write(runs / "deep/table", 2)
    curves = json.loads(get(place, "/run.json?run=deep/table")[1])
    assert curves["x"]["step"] == [10, 20]
    assert curves["x"]["evaluations"] == [100, 100]
    assert curves["columns"]["policy_loss"] == [3, 2.9]
    assert [chart["name"] for chart in curves["charts"]] == ["policy_loss"]
    write(runs / "deep/table", 4)
    assert json.loads(get(place, "/run.json?run=deep/table")[1])["x"]["step"] == [10, 20, 30, 40]
    true = json.loads(get(place, "/run.json?run=true")[1])
    assert len(true["rating"]["value"]) == len(true["rating"]["x"]["evaluations"]) > 0
    assert (curves["changed"], true["changed"]) == (None, "seed=1 (default 99)")
    assert {"policy_loss", "value_loss", "length"} <= {chart["name"] for chart in true["charts"]}


def test_where_games_are_played(place: str, runs: Path) -> None:
    """Of the latest generation, the slowest first; a row that is still being written is not yet."""
    write_rows(runs / "deep/table", ["<b>one</b>,1.5,900,50,0", "two,1.25,800,100,2", "thr"])
    members = json.loads(get(place, "/run.json?run=deep/table")[1])["members"]
    numbers = ("games_per_s", "evaluations_per_s", "version_lag", "restarts")
    assert members == [
        {"member": name, **dict(zip(numbers, values, strict=True))}
        for name, values in (("two", (1.25, 800, 100, 2)), ("<b>one</b>", (1.5, 900, 50, 0)))
    ]
    report = get(place, "/report?run=deep/table")[1]
    assert "Self-play processes" in report
    assert report.index("<td>two</td>") < report.index("<td>&lt;b&gt;one&lt;/b&gt;</td>")
    assert json.loads(get(place, "/run.json?run=true")[1])["members"] == []
    assert "Self-play processes" not in get(place, "/report?run=true")[1]
    (runs / "deep/table/members.csv").unlink()


def write_rows(run: Path, rows: list[str]) -> None:
    lines = [",".join(MEMBERS), *(f"7,{row}" for row in rows)]
    (run / "members.csv").write_text("\n".join(lines))


def test_a_run_is_read_for_a_hundredth_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = 1000.0
    monkeypatch.setattr("azcore.web.runs.SHARE", 0.01)
    monkeypatch.setattr("azcore.web.runs.time.monotonic", lambda: clock)
    monkeypatch.setattr("azcore.web.runs.time.thread_time", iter([0.0, 0.1, 5.0, 9.0]).__next__)
    made: list[int] = []
    kept, run = Kept(lambda _: made.append(len(made)) or len(made)), RunDirectory(tmp_path)
    run.metrics.write_text("1")
    assert kept.of(run) == 1  # in a tenth of a second
    run.metrics.write_text("12")
    clock += 9.9
    assert kept.of(run) == 1
    clock += 0.2
    assert kept.of(run) == 2  # in four seconds, as when rules are compiled
    run.metrics.write_text("123")
    clock += 29.9
    assert kept.of(run) == 2
    assert len(made) == 2


def test_a_run_is_listed_before_it_has_a_table(place: str, runs: Path) -> None:
    def listed() -> dict[str, Any]:
        found = {run["name"]: run for run in json.loads(get(place, "/runs.json")[1])}
        return dict(found.get("young", {}))

    run = RunDirectory(runs / "young")
    run.open()
    run.config.write_text("game: {name: tic_tac_toe}\n")
    try:
        run.save_progress(212, 3413, "positions")
        run.save_progress(999, 3413, "positions")  # within a second
        found = listed()
        assert (found["title"], found["step"], found["isActive"]) == ("Tic tac toe", None, True)
        assert found["progress"] == [212, 3413, "positions"]
        run.progress.write_text('{"made": 1}')
        assert listed()["progress"] is None
        assert json.loads(get(place, "/run.json?run=young")[1])["x"]["step"] == []
        run.close()
        assert listed() == {}  # it came to nothing
    finally:
        run.close()
        shutil.rmtree(runs / "young")


def test_tables_are_read_once(place: str, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from azcore.web import runs as module

    read = []
    real = module.read_rows
    monkeypatch.setattr(module, "read_rows", lambda path: read.append(path) or real(path))
    write(runs / "deep/table", 5)
    for _ in range(3):
        get(place, "/run.json?run=deep/table")
        get(place, "/runs.json")
    assert [path.name for path in read] == ["metrics.csv", "matches.csv", "members.csv"]


def test_a_report_has_no_origin(place: str) -> None:
    status, page, headers = get(place, "/report?run=true")
    assert status == 200
    assert "Training report" in page
    policy = headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none'")
    assert "allow-same-origin" not in policy
    assert "script-src 'self'" in get(place, "/watch")[2]["content-security-policy"]


@pytest.mark.parametrize("name", ["", "other", "..", "../..", "true/../deep/table", "/etc", "%00"])
@pytest.mark.parametrize("path", ["/run.json", "/report"])
def test_only_what_is_listed(place: str, path: str, name: str) -> None:
    status, text, _ = get(place, f"{path}?run={name}")
    assert status == 404
    assert text.startswith("there is no run named '")


def test_links_lead_nowhere(place: str, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("secret\n1\n")
    (runs / "link").symlink_to(tmp_path)
    (runs / "file").mkdir()
    (runs / "file/metrics.csv").symlink_to(tmp_path / "metrics.csv")
    try:
        names = {run["name"] for run in json.loads(get(place, "/runs.json")[1])}
        assert names == {"true", "deep/table"}
        assert get(place, "/run.json?run=link")[0] == 404
    finally:
        (runs / "link").unlink()
        shutil.rmtree(runs / "file")


def test_a_damaged_table_is_a_short_one(place: str, runs: Path) -> None:
    (runs / "bad").mkdir()
    (runs / "bad/metrics.csv").write_bytes(b"step,games\n1,x\n\xff\xfe,,,,\n7")
    try:
        assert get(place, "/runs.json")[0] == 200
        assert json.loads(get(place, "/run.json?run=bad")[1])["x"]["step"] == [1]
    finally:
        shutil.rmtree(runs / "bad")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("matches.csv", f"generation,player,opponent,pairs\n0,a,random,{'9' * 5000} 0\n"),
        ("metrics.csv", "generation,policy_accuracy,resign_false_positives,resign_measured\n"),
        ("config.yaml", "game: chess\n"),
        ("config.yaml", "game: {name: [1], board_size: {}}\n"),
    ],
)
def test_no_run_hides_the_others(place: str, runs: Path, file: str, text: str) -> None:
    """Whatever its files hold: they may be a stranger's."""
    (runs / "odd").mkdir()
    write(runs / "odd", 2)
    (runs / "odd" / file).write_text(text + "0,0.5,0.5,1e308\n" * (file == "metrics.csv"))
    try:
        names = {run["name"] for run in json.loads(get(place, "/runs.json")[1])}
        assert names == {"true", "deep/table", "odd"}
        assert get(place, "/run.json?run=odd")[0] == 200
        assert get(place, "/report?run=odd")[0] == 200
    finally:
        shutil.rmtree(runs / "odd")


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.parametrize("width", [1280, 390])
def test_a_run_that_goes_on_in_a_browser(place: str, runs: Path, width: int) -> None:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    write(runs / "deep/table", 3)
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 860})
        page.set_default_timeout(60_000)
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
        page.goto(f"http://{place}/watch#run=deep%2Ftable")
        row = page.locator("#runs tbody tr", has_text="deep/table")
        row.get_by_text("30", exact=True).wait_for()
        row.get_by_text("ended, ").wait_for()
        young = RunDirectory(runs / "young")
        young.open()
        young.config.write_text("game: {name: tic_tac_toe}\n")
        young.save_progress(212, 3413, "positions")
        page.get_by_text("playing its first games, 212 of 3,413 positions").wait_for()
        young.close()
        chart = page.locator("[data-chart=policy_loss] svg")
        chart.wait_for()
        before = chart.get_attribute("aria-label")
        write(runs / "deep/table", 9)
        row.get_by_text("90", exact=True).wait_for()
        page.locator(f'[data-chart=policy_loss] svg:not([aria-label="{before}"])').wait_for()
        chart.hover()
        note = page.locator("[data-chart=policy_loss] .tip div").nth(1)
        assert note.inner_text().startswith("deep/table, ")
        page.mouse.move(0, 0)
        times = "import('/static/watch.js').then(it => [-3700, 0.31, 59.9, 95, 3700].map(it.time))"
        assert page.evaluate(times) == ["−3.7k s", "0.31 s", "59 s", "1:35 min", "1:01 h"]
        assert page.evaluate(ONE_POINT) == [
            *("0", "0.5", "1", "0", "10", "20", "30", "optimizer steps")
        ]
        assert page.evaluate(TWO_RUNS) == ["9 optimizer steps", "short2 at 3", "long3"]
        page.locator("[data-run=true]").check()
        page.locator("[data-chart=rating] svg").wait_for()
        page.check("input[value=evaluations]")
        page.locator('[data-chart=policy_loss] svg[aria-label*="over evaluations"]').wait_for()
        assert "run=true" in page.url
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        shown = (
            "[...document.querySelectorAll('#runs tbody tr')].map(row => row.cells[1].innerText)"
        )
        for rows in (["deep/table", "true"], ["true", "deep/table"]):
            page.get_by_role("button", name="Run", exact=True).click()
            assert page.evaluate(shown) == rows
        assert page.locator("#runs .note").all_inner_texts() == ["slow but steady"]
        for words, rows in (
            ("DEEP", ["deep/table"]),
            ("tac TIC", ["true"]),
            ("steady", ["true"]),
            ("nothing", []),
        ):
            page.get_by_role("searchbox").fill(words)
            assert page.evaluate(shown) == rows
        page.get_by_role("searchbox").fill("")
        page.locator("#runs tr", has_text="true").get_by_text("report").click()
        page.locator("h1", has_text="Tic tac toe").wait_for()
        browser.close()
    shutil.rmtree(runs / "young")
    assert not faults
