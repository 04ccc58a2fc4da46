"""The documentation builds as a site without a network; no link in it leads nowhere."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest

import azcore

ROOT = Path(__file__).parents[2]
GAMES = "go", "chess", "shogi", "tic_tac_toe"


class Page(HTMLParser):
    """What a page can be linked by, what it links to, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attrs if value is not None}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag in ("script", "img", "iframe", "source") and "src" in found:
            self.loads.append(found["src"])
        elif tag == "link" and "canonical" not in found.get("rel", ""):
            self.loads.append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="azcore[docs] is not installed")
    folder = tmp_path_factory.mktemp("site")
    # No proxy that is there answers, so a build that asks another machine for anything fails.
    nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    """docs/site/pages.py, which is no module of a package."""
    pytest.importorskip("mkdocs", reason="azcore[docs] is not installed")
    return loaded("pages")


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "site" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_link_leads_nowhere_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 30
    for path, page in pages.items():
        for load in page.loads:
            assert "//" not in load, f"{path} loads {load}"
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme or path.name == "404.html":  # whose links are absolute
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), f"{path} links to {link}"
            if parts.fragment and target in pages:
                assert parts.fragment in pages[target].ids, f"{path} links to {link}"


def test_the_site_holds_what_it_promises(site: Path) -> None:
    reference = (site / "reference.html").read_text()
    for name in azcore.__all__:
        assert re.search(rf'id="azcore\.[\w.]*\b{name}"', reference), name
    assert "Search one position" in reference or "simulations" in reference
    assert "search.num_simulations" in (site / "every-setting.html").read_text()
    assert "own_game" in (site / "notebooks" / "own_game.html").name
    go = (site / "games" / "go.html").read_text()
    assert "Plane by plane" in go
    assert "plane 16" in go


@pytest.mark.parametrize("name", GAMES)
def test_a_games_page_lists_each_plane_once(maker: ModuleType, name: str) -> None:
    game = azcore.make(name)
    page = (ROOT / "games" / name / "README.md").read_text()
    planes = [plane for group, _ in maker.planes_of(page) for plane in group]
    if name == "go":  # the last two are those of several komi or board sizes
        planes = [plane for plane in planes if plane < game.observation_shape[0]]
    assert sorted(planes) == list(range(game.observation_shape[0]))
    overview = (ROOT / "docs" / "games.md").read_text()
    assert re.search(rf"^\| `{name}` .* \| {len(planes)} \|", overview, re.MULTILINE)
    rows = list(maker.plane_rows(page, game.observation_maximum))
    assert len(rows) == len([group for group, _ in maker.planes_of(page) if group[0] < len(planes)])


def test_links_of_the_repository_become_links_of_the_site(maker: ModuleType) -> None:
    def turned(text: str, home: str) -> str:
        return str(maker.LINK.sub(lambda found: maker.linked(found, home), text))

    assert turned("[a](docs/web.md#keys)", "index.md") == "[a](web.md#keys)"
    assert turned("[a](../games/go)", "games.md") == "[a](games/go.md)"
    assert turned("[a](compiled.py)", "games/tic_tac_toe.md") == "a"
    assert turned("[a](nowhere.md)", "web.md") == "[a](nowhere.md)"  # so that mkdocs finds it
    assert turned("![a](docs/pictures/x.svg)", "index.md") == "![a](pictures/x.svg)"


def test_pictures_of_boards_are_what_azcore_draws() -> None:
    pictures = loaded("pictures")
    for name in pictures.BOARDS:
        path = ROOT / "docs" / "pictures" / f"{name}.svg"
        assert path.read_text() == pictures.board(name), "python docs/site/pictures.py"
