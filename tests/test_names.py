"""azcore knows no game and names none, except where a protocol is the dialect of one."""

from __future__ import annotations

import re
from pathlib import Path

import azcore

ROOT = Path(azcore.__file__).parent
DIALECTS = (  # of one game each
    "analysis_query.py",
    "clients.py",
    "go_command.py",
    "gtp.py",
    "position_command.py",
    "position_server.py",
    "uci.py",
    "usi.py",
)


def test_no_game_is_named_in_azcore() -> None:
    points = azcore.installed_games().values()
    library = {"openspiel"}  # of many games; it is also a program that command=bench measures
    names = sorted(
        {p.name for p in points} - library
        | {"connect_four", "minishogi", "hex", "othello", "gomoku"}
    )
    assert "go" in names
    any_name = "|".join(names)
    english = "|".join(n.replace("_", "[ _-]") for n in names if n not in ("go", "hex"))
    pattern = re.compile(
        rf"""["'`]({any_name})["'`]|games[/.]({any_name})\b|game=({any_name})\b"""
        rf"|(?i:\b({english})\b)"
        r"|(?<=[a-z,;(] )(Go|Hex)\b"  # a verb is capital at the beginning of a sentence only
    )
    assert pattern.search('make("go")')
    assert pattern.search("games/chess/rules.py")
    assert pattern.search("as in Go, where")
    assert not pattern.search("# Go on with it. Go back")
    found = []
    for path in sorted(ROOT.rglob("*")):
        inside = path.relative_to(ROOT).parts
        if path.suffix not in {".py", ".md", ".html", ".js", ".yaml", ".toml"}:
            continue
        if inside[0] in ("games", "conf") or inside[-1] in DIALECTS:
            continue  # in an installed copy the games and their settings lie here too
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if match := pattern.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {match.group()!r}")
    assert found == []
