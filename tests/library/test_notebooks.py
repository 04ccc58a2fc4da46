"""The notebooks run from top to bottom, as a reader runs them, and reach what they promise."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def cells(path: Path) -> list[str]:
    """The code cells."""
    notebook = json.loads(path.read_text())
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def shown(code: str, names: dict[str, Any]) -> Any:
    """Run a cell; what its last line says if that is an expression, as a notebook shows it."""
    body = ast.parse(code).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "a cell", "exec"), names)
    if last is None:
        return None
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), "a cell", "eval"), names)


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a notebook by name; its names afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")

    def run(name: str) -> dict[str, Any]:
        names: dict[str, Any] = {"__name__": "__main__"}
        for code in cells(ROOT / "examples" / "notebooks" / f"{name}.ipynb"):
            value = shown(code, names)
            if value is not None:
                assert repr(value)
                if hasattr(value, "_repr_html_"):
                    assert value._repr_html_().startswith("<")
        return names

    return run


def test_notebooks_are_stored_without_outputs() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["compare_settings", "look_inside", "own_game"]
    for path in NOTEBOOKS:
        code = [c for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "code"]
        assert all(cell["outputs"] == [] for cell in code), path


def test_look_inside_a_search(notebook: Any) -> None:
    names = notebook("look_inside")
    assert names["slow"].simulations == 13
    assert names["growing"].simulations == 400
    # The notebook's own formula picks the action that azcore's picked next.
    best = max(names["scores"], key=names["scores"].get)
    before, after = names["table"], names["slow"].table()
    visits = dict(zip(before["move"], before["visits"], strict=True))
    assert [row["move"] for row in after.rows() if row["visits"] > visits[row["move"]]] == [best]


def test_compare_two_settings(notebook: Any) -> None:
    names = notebook("compare_settings")
    assert (names["folder"] / "compare.png").stat().st_size > 10_000
    assert names["few"].metrics["step"][-1] == names["many"].metrics["step"][-1] == names["STEPS"]
    assert names["ratings"].table()["player"][-1] == "random"


@pytest.mark.long(short="tests/commands/test_new_game.py::test_the_tutorial_does_what_it_says")
def test_a_game_of_ones_own(notebook: Any) -> None:
    (rules,) = [c for c in cells(NOTEBOOKS[2]) if "class TakeAway" in c]
    assert len(rules.splitlines()) <= 66, "the page says 60 lines, and means the class"
    names = notebook("own_game")
    values = {left: names["player"].predict((left, 0)).value for left in range(1, 9)}
    lost = [values[left] for left in (4, 8)]
    won = [values[left] for left in (1, 2, 3, 5, 6, 7)]
    assert max(lost) < min(won), "the network knows which heaps are lost"
    assert names["found"].best == 2  # take three of fifteen
