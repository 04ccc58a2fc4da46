"""What mkdocs does not do by itself: pages that lie elsewhere or are made, and links between them.

Pages are written for a reader of the repository, so their links are paths in it. Here those links
become links of the site. `README.md` is its first page. Made pages have one source each: the games
state their facts and planes, `conf/` the settings, docstrings the reference.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mkdocs.structure.files import File, Files

import azcore
from azcore.commands.check.planes import drawn_planes
from azcore.testing.random_play import random_game

ROOT = Path(__file__).parents[2]
GAMES = "go", "chess", "shogi", "tic_tac_toe"
FENCE = re.compile(r"^(```[^\n]*\n.*?^```)$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)")
# A row of a table of planes in a game's README: `8`, `1 … 7`, `64, 65`, `14 t + 0 … 5`.
PLANES = re.compile(r"^\| (?:(\d+) t \+ )?(\d+)(?: … (\d+)|((?:, \d+)+))?(?:, [^|]*)? \| (.+) \|$")
STEPS = 8  # t = 0 … 7: AlphaZero's plies of history


def sources() -> dict[str, str]:
    """The pages that lie outside docs: path in the repository to path in the site."""
    found = {"README.md": "index.md"}
    found |= {f"{name}.md": f"{name.lower()}.md" for name in ("SECURITY", "CONTRIBUTING")}
    found["CHANGELOG.md"] = "changelog.md"
    found |= {f"games/{name}/README.md": f"games/{name}.md" for name in GAMES}
    for path in sorted((ROOT / "examples").glob("plugins/*/README.md")):
        found[str(path.relative_to(ROOT))] = f"plugins/{path.parent.name}.md"
    for path in sorted((ROOT / "examples/notebooks").glob("*.ipynb")):
        found[str(path.relative_to(ROOT))] = f"notebooks/{path.stem}.md"
    return found


SOURCES = sources()


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages that lie elsewhere, and those that are made."""
    for source, target in SOURCES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        if source.endswith(".ipynb"):
            text = notebook_page(json.loads(text))
        if source.startswith("games/"):
            text += "\n" + game_section(source.split("/")[1], text)
        files.append(File.generated(config, target, content=text))
    for target, make in MADE.items():
        files.append(File.generated(config, target, content=make()))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Point the links at the site, and give blocks that are files their name as a title."""
    home = page.file.src_uri
    parts = FENCE.split(markdown)  # text and blocks in turn
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = re.sub(r"\A```(\w+) (\S+)\n", r'```\1 title="\2"\n', part)
        else:
            parts[i] = LINK.sub(lambda found: linked(found, home), part)
    return "".join(parts)


def linked(found: re.Match[str], home: str) -> str:
    """A link of the page `home` of the site, which names a path in the repository."""
    picture, text, path, anchor = found.groups(default="")
    if "://" in path or path.startswith("mailto:"):
        return found[0]
    origin = next((source for source, page in SOURCES.items() if page == home), f"docs/{home}")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
    page = in_site(target)
    if page is not None:
        place = posixpath.relpath(page, posixpath.dirname(home) or ".")
        return f"{picture}[{text}]({place}{anchor})"
    if (ROOT / target).exists():
        return text  # source code, which the site does not hold
    return found[0]  # and mkdocs says that it leads nowhere


def in_site(target: str) -> str | None:
    """Where the site has a file or folder of the repository; None: nowhere."""
    if target == "conf":
        return "every-setting.md"
    if target == "examples/notebooks":
        return SOURCES["examples/notebooks/look_inside.ipynb"]
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    return SOURCES.get(target) or SOURCES.get(f"{target}/README.md")


# -- pages that are made -------------------------------------------------------------------------


def notebook_page(notebook: dict[str, Any]) -> str:
    """The cells of a notebook, which is stored without outputs."""
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    return "\n\n".join(parts) + "\n"


def game_section(name: str, page: str) -> str:
    """What the game itself says: its facts, and its planes with what they hold in a position."""
    game = azcore.make(name)
    actions = random_game(game, np.random.default_rng(1))
    state = game.initial_state()
    for action in actions[: len(actions) // 2]:
        state = game.step(state, action)
    settings = ", ".join(f"`{key}={value}`" for key, value in game.settings.items()) or "none"
    channels, height, width = game.observation_shape
    facts = {
        "Settings": settings,
        "Actions": f"{game.num_actions:,}",
        "Observation": f"{channels} × {height} × {width}",
        "Longest game": f"{game.max_game_length:,} plies",
        "Symmetries": str(len(game.symmetries)),
        "`dirichlet_alpha`": f"{game.dirichlet_alpha:g}",
        "Seats": f"0 {game.seat_names[0]}, 1 {game.seat_names[1]}",
        "Protocol of engines": game.protocol.upper(),
    }
    seat = game.seat_names[game.current_player(state)]
    boards = drawn_planes(game.observation(state), most=None, width=88)
    return "\n".join(
        [
            f'## The facts of `azcore.make("{name}")`\n',
            "| Fact | Value |",
            "|:--|:--|",
            *(f"| {key} | {value} |" for key, value in facts.items()),
            "\n## Plane by plane\n",
            "The largest value is the game's `observation_maximum`, by which networks divide.\n",
            "| Planes | Hold | Largest value |",
            "|:--|:--|:--|",
            *plane_rows(page, [int(value) for value in game.observation_maximum]),
            f"\nWhat {seat} sees in the middle of a random game, as `command=check` prints it:\n",
            "```text",
            game.render(state).rstrip() + "\n",
            *boards,
            "```\n",
        ]
    )


def plane_rows(page: str, largest: Sequence[int]) -> Iterator[str]:
    """The rows of a game's own table of planes, its numbers written out, with largest values."""
    for planes, words in planes_of(page):
        kept = [plane for plane in planes if plane < len(largest)]
        if kept:
            values = sorted({int(largest[plane]) for plane in kept})
            yield f"| {numbers(kept)} | {words} | {', '.join(map(str, values))} |"


def planes_of(page: str) -> list[tuple[list[int], str]]:
    """Planes and what they hold, from the section *Observation* of a game's README."""
    section = page.partition("## Observation")[2].partition("\n## ")[0]
    found = []
    for line in section.splitlines():
        row = PLANES.match(line)
        if row is None:
            continue
        step, first, last, others, words = row.groups()
        planes = [*range(int(first), int(last or first) + 1)]
        planes += [int(other) for other in (others or "").split(",") if other]
        if step is not None:
            planes = [int(step) * t + plane for t in range(STEPS) for plane in planes]
        found.append((planes, words))
    return found


def numbers(planes: Sequence[int]) -> str:
    """`0 … 5, 14 … 19`."""
    runs: list[list[int]] = []
    for plane in planes:
        if runs and runs[-1][-1] == plane - 1:
            runs[-1].append(plane)
        else:
            runs.append([plane])
    return ", ".join(f"{run[0]} … {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def reference() -> str:
    """The names that `import azcore` promises, by their docstrings."""
    lines = ["# Reference\n", "The [stable names](library.md#what-stays-stable), in full.\n"]
    for title, names in REFERENCE.items():
        lines += [f"## {title}\n", *(f"::: {azcore._HOMES[name]}.{name}\n" for name in names)]
    return "\n".join(lines)


def every_setting() -> str:
    """Each file of `conf/`, whose comments say what a setting means."""
    lines = [
        "# Every setting\n",
        "These are the files of `conf/`. A group's file sets the keys that begin with its name:",
        "`num_simulations` in `search/puct.yaml` is `search.num_simulations` on the command line.",
        "`python -m azcore --cfg job` prints what a command line comes to.\n",
    ]
    for path in sorted((ROOT / "conf").rglob("*.yaml"), key=lambda p: (len(p.parts), p)):
        text = path.read_text(encoding="utf-8").rstrip()
        lines += [f"## {path.relative_to(ROOT / 'conf')}\n", f"```yaml\n{text}\n```\n"]
    return "\n".join(lines)


REFERENCE = {
    "Games": ["make", "installed_games"],
    "Players and search": ["load", "Player", "search"],
    "Training": ["train", "Run", "LearnerModule"],
    "Matches": ["arena"],
    "Settings": ["compose"],
    "Pictures": ["draw", "film"],
    "A game of your own": ["Game", "CompiledGame", "Facts", "Rules", "Symmetry"],
    "Errors": ["AzcoreError"],
}
MADE = {"reference.md": reference, "every-setting.md": every_setting}  # path in the site: its maker
