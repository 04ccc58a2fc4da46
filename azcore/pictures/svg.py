"""Writes SVG elements, and escapes every text and attribute, here and nowhere else."""

from html import escape


def number(value: float) -> str:
    """At most one decimal, without trailing zeros."""
    return f"{round(value, 1):g}"


def escaped(words: str) -> str:
    """Escape text content. XML forbids control characters, even escaped, so spaces replace them."""
    return escape("".join(letter if letter.isprintable() else " " for letter in words))


def tag(name: str, content: str = "", /, **attributes: str | float | None) -> str:
    """One element; omits attributes that are None, and replaces `_` in names with `-`."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def text(content: str, x: float, y: float, size: float, /, **attributes: str | float | None) -> str:
    """Text centred on (x, y); capitals and digits are some 0.72 of the size high."""
    return tag(
        "text",
        escaped(content),
        x=x,
        y=y + 0.36 * size,
        font_size=size,
        text_anchor="middle",
        **attributes,
    )


def _text(value: str | float) -> str:
    return number(value) if isinstance(value, int | float) else escaped(value)
