"""A formula of a package selects the actions of a search, and none is ignored in silence."""

from __future__ import annotations

import importlib
import math
import os
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import azcore
from azcore.errors import SettingError
from azcore.search import puct, rules, softmax, tree
from azcore.search.inspection import node_at
from azcore.search.mcts import Search
from azcore.search.settings import SearchResult
from azcore.search.settings import search_settings as settings_from
from azcore.selfplay import moves, schedule
from reference_mcts import HashEvaluator
from search_kit import gumbel, search_settings
from selfplay_kit import played

GAME = azcore.make("tic_tac_toe")
UNKNOWN = "^puct.rule must be one of even_root, of_text, plain, got 'other'$"


def plain(
    _q: float, prior: float, visits: float, node_visits: float, rate: float, _is_root: bool
) -> float:
    return rate * prior * math.sqrt(node_visits) / (1 + visits)


def even_root(
    _q: float, prior: float, visits: float, node_visits: float, rate: float, is_root: bool
) -> float:
    return rate * (1.0 if is_root else prior) * math.sqrt(node_visits) / (1 + visits)


def of_text(_q: float, _p: float, _n: float, _s: float, _c: float, _r: bool) -> float:
    return "U"  # type: ignore[return-value]


@pytest.fixture(autouse=True)
def package(monkeypatch: pytest.MonkeyPatch) -> dict[str, EntryPoint]:
    """The rules that are installed: this file's, and what a test adds."""
    found = {
        name: EntryPoint(name, f"{__name__}:{name}", rules.RULES)
        for name in ("plain", "even_root", "of_text")
    }
    monkeypatch.setattr(
        "azcore.plugins.installed", lambda group: found if group == rules.RULES else {}
    )
    return found


def searched(**changed: Any) -> tuple[Search, SearchResult]:
    settings = search_settings(num_simulations=200, **changed)
    search = Search(game=GAME, num_trees=1, evaluator=HashEvaluator(GAME), settings=settings)
    return search, search.run([0])[0]


def test_the_formula_is_what_the_search_selects_by() -> None:
    _, azcores = searched()
    _, same = searched(rule="plain")
    assert same.visit_counts.tolist() == azcores.visit_counts.tolist()
    search, even = searched(rule="even_root")
    assert even.visit_counts.std() < azcores.visit_counts.std() / 2
    # Inspection shows the formula's own U, and below the root PUCT's.
    root = node_at(search, 0)
    assert len({edge.visits for edge in root.edges}) > 1
    for edge in root.edges:
        u = root.rate * math.sqrt(root.parent_visits) / (1 + edge.visits)
        assert edge.terms == (edge.q, pytest.approx(u))
    assert root.next_action == max(root.edges, key=lambda edge: edge.score).action
    below = node_at(search, 0, (root.edges[0].action,))
    for edge in below.edges:
        u = below.rate * edge.prior * math.sqrt(below.parent_visits) / (1 + edge.visits)
        assert edge.terms[1] == pytest.approx(u)


def test_a_changed_formula_never_meets_the_code_of_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: dict[str, EntryPoint]
) -> None:
    """Its file keeps name, size and time, and its byte code is the same: a constant differs."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    package["constant"] = EntryPoint("constant", "my_constant:formula", rules.RULES)
    file = tmp_path / "my_constant.py"
    found = []
    for number in (2, 3):
        file.write_text(f"K = {number}.0\ndef formula(q, p, n, s, c, r):\n    return K * p\n")
        os.utime(file, (1e9, 1e9))
        importlib.invalidate_caches()
        sys.modules.pop("my_constant", None)
        compiled: Any = rules.formula_named("constant")
        found.append(compiled.ctypes(0.0, 0.5, 0.0, 1.0, 1.0, True))
    assert found == [1.0, 1.5]


def test_what_cannot_be_obeyed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingError, match=r"^of_text in azcore.search_rules cannot be compiled: "):
        searched(rule="of_text")
    with pytest.raises(SettingError, match=UNKNOWN):
        searched(rule="other")
    composed = {"search": {"num_simulations": 8}, "puct": {"rule": "other"}}
    with pytest.raises(SettingError, match=UNKNOWN):
        settings_from(composed)
    with pytest.raises(SettingError, match=r"^puct.rule must be null with search=gumbel"):
        search_settings(rule="plain", gumbel=gumbel())
    assert search_settings(rule="plain").baseline().rule is None
    monkeypatch.setattr(puct, "exploration", plain)
    with pytest.raises(SettingError, match=r"^azcore.search.puct.exploration must be azcore's own"):
        searched()


@pytest.mark.parametrize(
    ("module", "name"),
    [(tree, "bonus"), (softmax, "softmax"), (moves, "choose_and_record"), (schedule, "drawn")],
)
def test_code_that_is_compiled_is_not_replaced_in_silence(
    module: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, plain)
    with pytest.raises(SettingError, match=rf"\.{name} must be azcore's own"):
        played(GAME, 1)
