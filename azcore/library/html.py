"""Pieces of HTML for notebooks, with texts escaped: games and runs are untrusted."""

from collections.abc import Sequence

from azcore.pictures.svg import escaped, tag

CELL = "padding:.1rem .6rem;text-align:"


def table_of(names: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    """A table; columns of numbers are aligned right."""
    sides = ["right" if is_number else "left" for is_number in numeric]
    head = "".join(_cell("th", name, side) for name, side in zip(names, sides, strict=True))
    body = "".join(
        tag("tr", "".join(_cell("td", cell, side) for cell, side in zip(row, sides, strict=True)))
        for row in rows
    )
    return tag("table", tag("tr", head) + body, style="border-collapse:collapse")


def _cell(name: str, text: str, side: str) -> str:
    return tag(name, escaped(text) or " ", style=CELL + side)


def facts_of(title: str, facts: Sequence[tuple[str, str]]) -> str:
    """A title over a list of facts."""
    rows = "".join(
        tag("tr", _cell("th", name, "left") + _cell("td", text, "left")) for name, text in facts
    )
    return tag("div", tag("b", escaped(title)) + tag("table", rows))


def beside(*parts: str) -> str:
    """Parts side by side, or below each other if the page is narrow."""
    columns = "".join(
        tag("div", part or " ", style="flex:0 1 auto;min-width:14rem") for part in parts
    )
    style = "display:flex;flex-wrap:wrap;gap:1.5rem;align-items:flex-start"
    return tag("div", columns, style=style)


__all__ = ["beside", "escaped", "facts_of", "table_of", "tag"]
