"""A plugin of tic-tac-toe with a mistake in it, compiled or plain, installed in a folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

GAMES = Path(__file__).resolve().parents[1] / "games/tic_tac_toe"


def install(folder: Path, kind: str, rule: str, body: str) -> dict[str, str]:
    """Put a game `faulty` into `folder`, where the body of one rule begins with `body`.

    Args:
        folder: must be on the path of imports.
        kind: `compiled` or `plain`.
        rule: the function, or of the plain game the method.
        body: lines of Python.

    Returns:
        The environment by which a new process finds it.
    """
    text = (GAMES / f"{kind}.py").read_text()
    text = re.sub('name="tic_tac_toe(_plain)?"', 'name="faulty"', text)
    indent = "    " if kind == "compiled" else "        "
    head = re.search(rf"^ *def {rule}\(.*\) -> .*:\n", text, re.MULTILINE)
    assert head is not None, rule
    lines = "".join(f"{indent}{line}\n" for line in body.splitlines())
    text = text[: head.end()] + lines + text[head.end() :]
    (folder / "faulty/conf/game").mkdir(parents=True, exist_ok=True)
    (folder / "faulty/conf/game/faulty.yaml").write_text("name: faulty\n")
    (folder / "faulty/__init__.py").touch()
    (folder / "faulty/board.py").write_text((GAMES / "board.py").read_text())
    (folder / "faulty/game.py").write_text(text)
    metadata = folder / "faulty-1.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1\n")
    name = "TicTacToe" if kind == "compiled" else "TicTacToePlain"
    (metadata / "entry_points.txt").write_text(f"[azcore.games]\nfaulty = faulty.game:{name}\n")
    return {**os.environ, "PYTHONPATH": str(folder)}
