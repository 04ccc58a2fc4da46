"""The colours of pictures, for light and dark pages.

A picture of theme `auto` follows its page: its colours are CSS variables (`--az-wood`), which a
page may override. With the themes `light` and `dark` the picture contains the colours, for programs
without CSS variables.
"""

from dataclasses import dataclass

THEMES = ("auto", "light", "dark")

# Name: light, dark.
COLOURS = {
    "wood": ("#e3bd7a", "#b08a50"),
    "wood-edge": ("#d4aa62", "#9c7740"),
    "grid": ("#5b4220", "#3a2912"),
    "ink": ("#4a3617", "#271a08"),  # labels on wood
    "light-cell": ("#efdfc0", "#c2ae8b"),
    "dark-cell": ("#b98d62", "#83654a"),
    "frame": ("#7d5a3a", "#4b3625"),  # around checkered cells
    "frame-ink": ("#f3e6cf", "#e2d2b8"),
    "paper": ("#fdfcf8", "#23282e"),
    "paper-grid": ("#8b8f96", "#747c86"),
    "paper-ink": ("#5d646d", "#a2abb5"),
    "paper-text": ("#1f2328", "#e7e9ec"),
    "rack": ("#2463b8", "#1d4d8f"),
    "rack-edge": ("#1b4f97", "#163c71"),
    "rack-ink": ("#f2f6fc", "#d9e4f3"),
    "hole": ("#dfe7f2", "#10151c"),
    "stand": ("#cfa65f", "#8f6c3a"),  # pieces in hand
    "koma": ("#f7e3b5", "#e2c88f"),
    "koma-edge": ("#8b6a34", "#5c441c"),
    "koma-ink": ("#1d1712", "#1d1712"),
    "promoted": ("#b8200f", "#a91808"),
    "shadow": ("#2a1a05", "#000000"),
    "last": ("#8a9a00", "#84a012"),
    "last-line": ("#66750a", "#e8f29a"),
    "check": ("#c81e10", "#e0402e"),
    "check-line": ("#c81e10", "#ff9d8f"),
    "won": ("#1b8a4b", "#3fc07c"),
    "won-line": ("#1b8a4b", "#3fc07c"),
    "hint": ("#0b5cad", "#1668bd"),
    "hint-second": ("#a8480a", "#b4530f"),
    "hint-ink": ("#ffffff", "#ffffff"),
}
# Of pieces: the body, its outline, and lines on the body.
BODIES = {
    "black": ("#34302d", "#100e0d", "#e8dfd0"),
    "white": ("#fbf7ee", "#3b332b", "#3b332b"),
    "red": ("#cf3a2b", "#7d1a10", "#ffd9d2"),
    "yellow": ("#f2c230", "#8f6a00", "#6d5000"),
    "blue": ("#1f5fbf", "#123a75", "#dbe8fb"),
    "green": ("#1f8a5b", "#0f4c31", "#d9f3e6"),
    "orange": ("#e07b1a", "#7f4208", "#3d1f02"),
    "purple": ("#7a4fb5", "#43286a", "#ece1fa"),
}
# Of pieces drawn only with lines, which must contrast with the paper in both themes.
STROKES = {name: (body, body) for name, (body, _, _) in BODIES.items()} | {
    "black": ("#24211f", "#e9e4da"),
    "white": ("#8a8378", "#f7f3ea"),
    "blue": ("#1f5fbf", "#7db0ff"),
    "red": ("#c2321f", "#ff8a73"),
}


@dataclass(frozen=True)
class Palette:
    """Writes colours for one theme."""

    theme: str

    def __call__(self, name: str) -> str:
        if self.theme == "auto":
            return f"var(--az-{name})"
        return _all_colours()[name][THEMES.index(self.theme) - 1]

    def style(self) -> str:
        """The variables, as a style sheet; empty if the picture contains the colours."""
        if self.theme != "auto":
            return ""
        light, dark = (
            "".join(f"--az-{name}:{pair[i]};" for name, pair in _all_colours().items())
            for i in (0, 1)
        )
        return (
            f":where(.az-board){{{light}}}"
            f"@media (prefers-color-scheme:dark){{:where(.az-board){{{dark}}}}}"
        )


def _all_colours() -> dict[str, tuple[str, str]]:
    return COLOURS | {f"stroke-{name}": pair for name, pair in STROKES.items()}
