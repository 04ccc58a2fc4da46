"""docs/papers.md is whole and true, and what the papers say of all games holds for ours."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

import azcore
from azcore.assembly.parts import RunSettings, settings_from
from azcore.cli import roots
from azcore.cli.messages import parsed
from azcore.commands import COMMANDS
from azcore.storage.run_settings import flat
from planted_faults import FAULTS, WIRING, rows

Compose = Callable[..., dict[str, Any]]
ROOT = Path(__file__).parents[1]
ROWS = rows()


def test_the_table_has_a_row_for_each_of_the_papers() -> None:
    assert len(ROWS) >= 55
    assert len({row.item for row in ROWS}) == len(ROWS)


def test_rows_are_whole_and_what_they_name_exists(compose: Compose) -> None:
    wrong = []
    for row in ROWS:
        if min(len(cell.strip()) for cell in astuple(row)) < 3:
            wrong.append(f"{row.item}: an empty cell")
        wrong += [f"{row.item}: no {name}" for name in row.files if not (ROOT / name).is_file()]
        for test in row.tests:
            path, _, function = test.partition("::")
            defined_there = f"def {function}(" if function else ""
            if not (ROOT / path).is_file() or defined_there not in (ROOT / path).read_text():
                wrong.append(f"{row.item}: no {test}")
        parsed([override for override in row.overrides if "=" in override])
        groups = [o for o in row.overrides if "=" in o and "." not in o.partition("=")[0]]
        config = compose("algorithm=alphazero", *groups)
        own = set(flat(config))
        for key in (override.partition("=")[0] for override in row.overrides):
            is_there = key == "command" or any(f"{each}.".startswith(f"{key}.") for each in own)
            if not is_there and not any(roots.uses(other, key) for other in list(COMMANDS)[1:]):
                wrong.append(f"{row.item}: no setting {key}")
    assert not wrong


def test_functions_that_rows_name_are_in_their_files() -> None:
    wrong = []
    for row in ROWS:
        for file, name in row.names:
            tree: ast.AST = ast.parse((ROOT / file).read_text())
            for part in name.split("."):
                body = {n: node for node in ast.iter_child_nodes(tree) for n in defined(node)}
                if part not in body:
                    wrong.append(f"{row.item}: no {name} in {file}")
                    break
                tree = body[part]
    assert not wrong
    assert sum(len(row.names) for row in ROWS) > 50


def defined(node: ast.AST) -> list[str]:
    """Names that a statement binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def test_planted_faults_can_still_be_planted() -> None:
    wrong, items = [], {row.item for row in ROWS}
    for fault in FAULTS + WIRING:
        if fault.tests:
            wrong += [f"{fault.item}: no {t}" for t in fault.tests if not (ROOT / t).is_file()]
        elif fault.item not in items:
            wrong.append(f"{fault.item}: no such row")
        if (ROOT / fault.file).read_text().count(fault.old) != 1 or fault.new == fault.old:
            wrong.append(f"{fault.item}: not once in {fault.file}: {fault.old}")
    assert not wrong


def test_facts_of_the_three_games() -> None:
    go = azcore.make("go", board_size=19)
    chess, shogi = azcore.make("chess"), azcore.make("shogi")
    alphas = [game.dirichlet_alpha for game in (go, chess, shogi)]
    assert alphas == pytest.approx([0.03, 0.3, 0.15])
    assert [game.max_game_length for game in (go, chess, shogi)] == [722, 512, 512]
    assert [game.num_actions for game in (go, chess, shogi)] == [362, 73 * 64, 139 * 81]
    shapes = [game.observation_shape for game in (go, chess, shogi)]
    assert shapes == [(17, 19, 19), (119, 8, 8), (362, 9, 9)]


def test_settings_are_the_same_for_all_games(compose: Compose) -> None:
    go, chess, shogi = (compose(f"game={game}", "scale=paper") for game in ("go", "chess", "shogi"))
    for config in (go, chess, shogi):
        # The game itself; how many games the original made, in all and in a generation.
        del config["game"], config["check"], config["replay"]["games_per_generation"]
    assert go == chess == shogi


def test_scale_of_the_original(compose: Compose, capfd: pytest.CaptureFixture[str]) -> None:
    from azcore.commands.check.report import check

    games = [
        compose("command=check", f"game={g}", "scale=paper")["check"]["games"]
        for g in ("go", "chess", "shogi")
    ]
    assert games == [140_000_000, 44_000_000, 24_000_000]
    brief = ["check.positions=60", "check.seconds=0.05", "check.games=3600"]
    check(compose("command=check", "game=tic_tac_toe", "search.num_simulations=8", *brief))
    told = capfd.readouterr().out
    one = re.search(r"simulations, about\s+([\d.e+-]+) s", told)
    all_of_them = re.search(r"3,600 such games\s+([\d.,e+-]+) (s|min|h)", told)
    assert one is not None
    assert all_of_them is not None
    seconds = (
        float(all_of_them[1].replace(",", "")) * {"s": 1, "min": 60, "h": 3600}[all_of_them[2]]
    )
    assert seconds == pytest.approx(3600 * float(one[1]), rel=0.1)


def test_presets_of_both_papers_build_for_every_game(compose: Compose) -> None:
    for algorithm in ("alphazero", "alphagozero"):
        for game in ("go", "chess", "shogi"):
            settings_from(
                compose(f"game={game}", f"algorithm={algorithm}", "scale=paper"), RunSettings
            )
