"""What the documentation tells a reader to type works: blocks of Python run, commands compose."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import hydra
import pytest

from azcore.cli import roots
from azcore.cli.old_names import command_of, renamed
from azcore.cli.overrides import require_used
from azcore.cli.plugins import register
from azcore.commands import COMMANDS
from pages_kit import PAGES, ROOT, blocks, commands, run_blocks, shorten

# Pages whose blocks are one story, and the test that tells it.
ELSEWHERE = {
    "docs/library.md": "tests/library/test_page.py",
    "docs/new-game.md": "tests/commands/test_new_game.py",
    "docs/new-network.md": "tests/commands/test_new_network.py",
    "docs/research.md": "tests/documents/test_research.py",
}
# What the reader or a package brings; tests install the packages and run them elsewhere.
OF_PACKAGES = {
    "NAME",
    "my_game",
    "breakthrough",
    "connect_four",
    "minishogi",
    "hex",
    "se_res",
    "average",
}
OF_PACKAGES |= {"soon", "cutout", "huber", "patient"}
PROGRAMS = {"cd", "export", "sudo", ".", "make", "npm", "pip", "python", "python3", "ray", "sh"}
WITH_PYTHON = [
    page for page in PAGES if blocks(page, "python") and ELSEWHERE.get(page, page) == page
]
GROUPS = {folder.name for folder in (ROOT / "conf").iterdir() if folder.is_dir()}
WITH_COMMANDS = [page for page in PAGES if commands(page)]


def azcore_lines(page: str) -> list[list[str]]:
    """The words behind each `python -m azcore` of a page, in its own blocks or indented ones."""
    found = []
    for line in commands(page):
        before, says, words = line.partition("python -m azcore ")
        if says and re.fullmatch(r"(\w+=\S+ |exec |taskset -c 0 )*", before):
            words = [w for w in shlex.split(words, comments=True) if w != "$@"]
            found.append(words)
    return found


@pytest.mark.parametrize("page", WITH_PYTHON)
def test_blocks_of_python_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shorten(monkeypatch)
    assert len(run_blocks(page)) > 2


@pytest.mark.parametrize("page", ELSEWHERE)
def test_the_other_pages_are_run_by_tests_of_their_own(page: str) -> None:
    assert page.partition("/")[2] in (ROOT / ELSEWHERE[page]).read_text().replace('" / "', "/")


def test_command_lines_compose_and_are_obeyed() -> None:
    """Nothing runs, but each word is a setting, its value can be read, and its command uses it.

    Lines that choose the same files of settings are composed together.
    """
    together: dict[tuple[str, ...], dict[str, str]] = {}
    for page in WITH_COMMANDS:
        for words in azcore_lines(page):
            name, rest = command_of([word for word in words if word != "-m"])
            rest = [word for word in rest if "=" in word and "hydra." not in word]
            told = renamed(name, rest, pytest.fail)
            swept = "-m" in words or any(word.startswith("experiment=") for word in words)
            require_used(name, told, swept=swept)
            here = [w for w in told if w.partition("=")[2] not in OF_PACKAGES]
            here = [w for w in here if "network.reduction" not in w]
            # Of values that are swept over, such as seed=4,5, the first.
            first = [re.sub(r"^([\w.]+=[^,\[{'\"]+),.*$", r"\1", word) for word in here]
            groups = (name, *sorted(w for w in first if w.partition("=")[0] in GROUPS))
            single = {w.partition("=")[0]: w for w in first if w not in groups}
            together.setdefault(groups, {}).update(single)
    register()
    with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
        for (name, *groups), single in together.items():
            hydra.compose(name, overrides=[*groups, *single.values()])
    assert len(together) > 20


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_other_commands_name_what_there_is(page: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for line in commands(page):
        for part in line.split(" && "):
            words = [w for w in shlex.split(part, comments=True) if not re.match(r"[A-Z_]+=", w)]
            if words[:1] == ["exec"] or words[:1] == ["taskset"] or "azcore" in words:
                continue
            assert words[0] in PROGRAMS, line
            if words[0] == "make":
                assert set(words[1:]) <= set(targets), line
            for extra in re.findall(r"\[(\w+)\]$", words[-1]):
                assert extra in project["optional-dependencies"], line
            if words[0] in ("python", "sh") and "/" in words[1] and not page.startswith("docs/new"):
                assert (ROOT / words[1]).is_file(), line


def test_no_command_line_is_overlooked() -> None:
    assert sum(len(azcore_lines(page)) for page in PAGES) > 75
    for page in PAGES:
        lines = [line for line in commands(page) if "python -m azcore" in line]
        assert len(azcore_lines(page)) == len(lines), page


def test_each_command_has_a_row() -> None:
    """With what `--help` says, which is the first line of its root."""
    page = (ROOT / "docs" / "commands.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \|", page, re.MULTILINE)
    assert {name: words.replace("`", "") for name, words in rows} == {
        name: roots.what_it_does(name) for name in COMMANDS
    }


def test_each_group_of_settings_is_named() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    for folder in (ROOT / "conf").iterdir():
        if folder.is_dir() and folder.name not in ("preset", "noise", "__pycache__"):
            assert re.search(rf"`{folder.name}[.=]", page), folder.name


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 120


def test_a_row_on_reliability_is_a_line_and_names_a_test() -> None:
    page = (ROOT / "docs" / "reliability.md").read_text()
    assert max(map(len, page.splitlines())) <= 150
    named = re.findall(r"\| `([\w/]+\.py)[^|]*\|$", page, re.MULTILINE)
    assert len(named) > 70
    assert not [n for n in named if not any((ROOT / f / n).is_file() for f in ("tests", "."))]
