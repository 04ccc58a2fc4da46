"""Weights of a network for the workers that play with them."""

from abc import ABC, abstractmethod

from azcore.search.evaluators import Evaluator


class Weights(ABC):
    """Weights of a network after `version` optimizer steps, to play with here or elsewhere."""

    version: int

    @abstractmethod
    def evaluator(self, callers: int) -> Evaluator:
        """A new evaluator of these weights, for this many threads at once."""

    @abstractmethod
    def packed(self) -> bytes:
        """The weights as bytes, for processes that have the network's shape."""
