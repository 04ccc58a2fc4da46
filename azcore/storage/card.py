"""The card of a checkpoint: the origin of its weights and their measured strength.

Every checkpoint of a run names the version of azcore and the settings that made it (`made_by`). A
network that is shared carries a card, too (`what=checkpoint`): lines of text under titles, for
people.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from azcore.errors import CheckpointError
from azcore.version import __version__

MADE, CARD = "made", "card"  # keys of a checkpoint's description of itself
# Groups of settings that determine what the network learns; the others determine where and for how
# long.
_LEARNING = (
    *("seed", "algorithm", "scale", "search", "selfplay", "replay", "learner", "gate"),
    *("supervised", "plugins"),
)
_MOST_TITLES, _MOST_LETTERS = 40, 20_000  # letters of a text; a title has at most 40

Card = dict[str, str]  # text by title; several lines where there are several facts


def made_by(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The origin in a run's checkpoints: azcore's version and commit, and the run's settings.

    Args:
        settings: the run's settings, plain values by key, such as `learner.optimizer`.
    """
    return {
        "azcore": __version__,
        "commit": commit(),
        "settings": {
            key: value for key, value in settings.items() if key.partition(".")[0] in _LEARNING
        },
    }


def commit(digits: int = 12, differs: str = "+") -> str:
    """The commit of this checkout, then `differs` if files do; empty outside a checkout."""
    folder = Path(__file__).parents[1]
    if not (folder.parent / ".git").exists():
        return ""
    words = ["describe", "--always", f"--dirty={differs}", f"--abbrev={digits}", "--match="]
    try:
        described = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return described.stdout.strip() if described.returncode == 0 else ""


def require_card(card: Mapping[str, str]) -> Card:
    """Check that every reader will accept a card, then return it.

    Raises:
        CheckpointError: it is too long.
    """
    if _plain(card) != dict(card):
        raise CheckpointError(
            f"a card must have at most {_MOST_TITLES} titles, of 40 letters, with texts of "
            f"{_MOST_LETTERS:,}, all printable, got {dict(card)!r:.200}"
        )
    return dict(card)


def card_of(described: Mapping[str, Any]) -> Card:
    """A checkpoint's card, of which only short texts are read; empty if it cannot be read."""
    card = _plain(described.get(CARD))
    made = described.get(MADE)
    if not card and isinstance(made, dict):
        settings = made.get("settings")
        settings = settings if isinstance(settings, dict) else {}
        wanted = ("algorithm", "scale", "seed")
        card = _plain(
            {
                "azcore": _version(made.get("azcore"), made.get("commit")),
                **{key: str(settings[key]) for key in wanted if key in settings},
                "settings": "\n".join(f"{key}={value}" for key, value in settings.items()),
            }
        )
    return card


def _version(version: object, commit: object) -> str:
    return f"{version}, commit {commit}" if commit else str(version)


def _plain(card: object) -> Card:
    """The titles and texts that can be shown."""
    if not isinstance(card, Mapping) or len(card) > _MOST_TITLES:
        return {}
    return {
        title: text
        for title, text in card.items()
        if type(title) is str
        and type(text) is str
        and title.isprintable()
        and text.replace("\n", "").isprintable()
        and len(title) <= 40
        and len(text) <= _MOST_LETTERS
    }
