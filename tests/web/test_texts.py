"""Tables of translations: all languages have the same sentences, and the pages still use them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from azcore.web import texts

ROOT = Path(__file__).parents[2]
FOLDERS = sorted({path.parent for path in ROOT.glob("games/*/texts/*.json")})
TABLES = [ROOT / "azcore/web/static/texts", *FOLDERS]


FROM_PARTS = "Each move on the way has one more visit. The backup "


def table(path: Path) -> dict[str, str]:
    return dict(json.loads(path.read_text()))


def sources(folder: Path) -> Iterable[Path]:
    """The files whose sentences a table translates."""
    if folder == TABLES[0]:
        of_reports = [ROOT / "azcore/report" / name for name in ("chart.js", "films.js")]
        files = [*(ROOT / "azcore/web").rglob("*"), *of_reports, ROOT / "azcore/game/contract.py"]
        return [path for path in files if path.suffix in (".py", ".js", ".html")]
    return [*folder.parent.glob("*.py"), ROOT / "azcore/game/contract.py"]


@pytest.mark.parametrize("folder", TABLES, ids=lambda path: path.parent.name)
def test_each_language_has_the_same_sentences_with_the_same_gaps(folder: Path) -> None:
    english = {path.stem: list(table(path)) for path in folder.glob("*.json")}
    assert sorted(english) == texts.languages()
    assert english["de"] == english["ja"] == english["zh"]
    for path in folder.glob("*.json"):
        for sentence, translation in table(path).items():
            gaps = re.findall(r"\{(\d?)\}", translation)
            wanted = [""] * len(re.findall(r"\{#?\}", sentence))
            numbered = [str(number) for number in range(1, len(wanted) + 1)]
            assert sorted(gaps) in (wanted, numbered), (path.name, sentence, translation)


@pytest.mark.parametrize("folder", TABLES, ids=lambda path: path.parent.name)
def test_no_table_has_words_that_the_pages_have_lost(folder: Path) -> None:
    made = "\n".join(path.read_text() for path in sources(folder)).lower()
    words = set(re.findall("[a-z]+", made))
    for sentence in table(folder / "de.json"):
        assert set(re.findall("[a-z]+", sentence.lower())) <= words, sentence
        if folder == TABLES[0] and "{" not in sentence and not sentence.startswith(FROM_PARTS):
            assert sentence.lower() in made, sentence


def test_a_package_translates_its_game_and_not_the_page() -> None:
    texts.texts.cache_clear()
    german = texts.texts("de")
    assert german["two passes"] == "zweimal gepasst"
    assert german["Take back"] == "Zurücknehmen"
    assert texts.texts("en") == {}


def test_packages_agree_on_the_words_that_they_share() -> None:
    """All of them share one table on the page."""
    found: dict[tuple[str, str], str] = {}
    for path in (path for folder in TABLES for path in sorted(folder.glob("*.json"))):
        for sentence, translation in table(path).items():
            shared = found.setdefault((path.stem, sentence), translation)
            assert shared == translation, (path, sentence)


def test_a_faulty_table_affects_only_its_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = []
    for name, content in (
        ("broken", "{"),
        ("list", "[1]"),
        ("odd", json.dumps({"{}": "x", "draw": 3, "knock": "klopf"})),
    ):
        folder = tmp_path / name / "texts"
        folder.mkdir(parents=True)
        (folder / "de.json").write_text(content)
        folders.append(folder.parent)
    monkeypatch.setattr(texts, "_folders", lambda: [texts.OWN, *folders])
    german = texts.texts.__wrapped__("de")
    assert german["knock"] == "klopf"
    assert german["draw"] == "Remis"
    assert "{}" not in german
