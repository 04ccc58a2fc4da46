"""Checks of `Game.transcript_formats`: writes finished games and reads them back."""

from collections.abc import Sequence

from azcore.errors import GameError, InvalidTextError
from azcore.game import Transcript, TranscriptFormat
from azcore.testing.checker import Checker
from azcore.testing.contract import ContractError, Identity
from azcore.testing.view import View

_GAMES = 20  # games to write: reading one may take a tenth of a second


class Transcripts:
    """Writes the first finished games of a check, and reads them back."""

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self.games = 0
        self.formats = checker.ask(Identity.TRANSCRIPT, "transcript_formats")

    def check(self, actions: Sequence[int], start: str | None, view: View) -> None:
        """Check a finished game; `start` is the text of its first position, None: the initial."""
        self.games += 1
        if self.games > _GAMES:
            return
        written = Transcript(
            actions=actions,
            comments=["a remark"],
            players=("one", "another"),
            headers={"date": "2026-01-31"},
            start_text=start,
        )
        for name, form in self.formats.items():
            text = self._written(name, form, written)
            if text is not None:
                self._check_read_back(name, form, text, written, view)

    def _written(self, name: str, form: TranscriptFormat, game: Transcript) -> str | None:
        """The text of a game; None: the format is unavailable, or cannot express this start."""
        try:
            with self.checker.during(
                Identity.TRANSCRIPT, f"writing as {name}", GameError, InvalidTextError
            ):
                return form.write(game)
        except InvalidTextError as error:
            if game.start_text is None:
                self.checker.fail(Identity.TRANSCRIPT, f"writing as {name} raised {error!r}")
        except ContractError:
            raise
        except GameError:  # its library is not installed
            pass
        return None

    def _check_read_back(
        self, name: str, form: TranscriptFormat, text: str, written: Transcript, view: View
    ) -> None:
        checker, identity = self.checker, Identity.TRANSCRIPT
        with checker.during(identity, f"reading {name}"):
            games = list(form.games(text.splitlines(keepends=True)))
            checker.expect(identity, len(games) == 1, f"{name} has {len(games)} games, want 1")
            got = form.read(games[0])
        for part in ("actions", "comments", "players", "headers", "start_text"):
            what = f"{name}: {part} read back as {getattr(got, part)!r:.200}"
            same = getattr(got, part) == getattr(written, part)
            checker.expect(identity, same, f"{what}, want {getattr(written, part)!r:.200}")
        checker.expect(identity, got.result is not None, f"{name}: the result is lost")
        what = f"{name}: the outcome read back is {got.outcome}, want {view.outcome}"
        checker.expect(identity, got.outcome in (None, view.outcome), what)
