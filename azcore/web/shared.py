"""One network for many visitors: their searches meet in its batches."""

from __future__ import annotations

import threading

import numpy as np

from azcore.game import ByteArray, FloatArray
from azcore.search.evaluators import Evaluator


class _Request:
    """Observations of one thread, and what became of them."""

    def __init__(self, observations: ByteArray) -> None:
        self.observations = observations
        self.answer: tuple[FloatArray, FloatArray] | None = None
        self.error: Exception | None = None


class SharedEvaluator(Evaluator):
    """May be called by many threads at once; whoever comes first evaluates for all that wait.

    While one thread evaluates, others queue up, and the next batch is all of theirs. So a batch
    grows with the visitors, and nobody waits on purpose.

    Args of the constructor:
        evaluator: called by one thread at a time.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._waiting: list[_Request] = []
        self._queue = threading.Lock()  # of `_waiting`
        self._turn = threading.Lock()  # to evaluate
        self.batches = 0  # so far

    def evaluate(self, observations: ByteArray) -> tuple[FloatArray, FloatArray]:
        request = _Request(observations)
        with self._queue:
            self._waiting.append(request)
        with self._turn:
            if request.answer is None and request.error is None:
                self._evaluate_waiting()
        if request.error is not None:
            raise request.error
        assert request.answer is not None
        return request.answer

    def _evaluate_waiting(self) -> None:
        with self._queue:
            batch, self._waiting = self._waiting, []
        self.batches += 1
        try:
            whole = np.concatenate([request.observations for request in batch])
            logits, values = self._evaluator.evaluate(whole)
        except Exception as error:  # each visitor is told
            for request in batch:
                request.error = error
            return
        end = 0
        for request in batch:
            begin, end = end, end + len(request.observations)
            request.answer = logits[begin:end].copy(), values[begin:end].copy()
