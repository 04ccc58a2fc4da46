"""Objects that a Python program passes to a run: a learner, and callbacks.

A run saves their names. Without them a resumed run would differ, so azcore refuses that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lightning.pytorch import Callback

from azcore.errors import SettingError
from azcore.learner.module import LearnerModule
from azcore.settings import require


@dataclass(frozen=True, kw_only=True)
class Objects:
    """The objects; None: not passed, which a resumed run must match."""

    learner: type[LearnerModule] | None = None
    callbacks: Sequence[Callback] | None = None

    def __post_init__(self) -> None:
        kind, callbacks = self.learner, self.callbacks
        fits = kind is None or (isinstance(kind, type) and issubclass(kind, LearnerModule))
        require(fits, "learner", "a subclass of azcore.LearnerModule", kind)
        for each in callbacks or ():
            fits = isinstance(each, Callback)
            require(fits, "callbacks", "objects of lightning.pytorch.Callback", each)

    @property
    def names(self) -> dict[str, list[str]]:
        """The names of their classes, which a run saves; no key for objects not passed."""
        kind = self.learner
        learner = [] if kind is None or kind is LearnerModule else [kind.__name__]
        callbacks = [type(each).__name__ for each in self.callbacks or ()]
        found = {"learner": learner, "callbacks": callbacks}
        return {key: names for key, names in found.items() if names}

    def require_those_of(self, run: object, names: Mapping[str, Sequence[str]]) -> None:
        """Refuse to resume a run without the objects it had.

        Raises:
            SettingError: the message names what is missing.
        """
        missing = {key: each for key, each in names.items() if getattr(self, key) is None}
        if missing:
            passed = " and ".join(f"{key} {', '.join(each)}" for key, each in missing.items())
            words = ", ".join(f"{key}=..." for key in missing)
            raise SettingError(
                f"{run} was trained with {passed}, which a Python program must pass again: "
                f"azcore.Run(...).resume({words})"
            )


NONE = Objects()
