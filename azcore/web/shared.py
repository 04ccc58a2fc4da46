"""One network for many visitors: it evaluates their searches in shared batches."""

import threading

import numpy as np

from azcore.game import ByteArray, FloatArray
from azcore.search.evaluators import Evaluator
from azcore.web.pace import Pace


class _Request:
    """Observations of one thread, and their evaluation."""

    def __init__(self, observations: ByteArray) -> None:
        self.observations = observations
        self.answer: tuple[FloatArray, FloatArray] | None = None
        self.error: Exception | None = None


class SharedEvaluator(Evaluator):
    """An evaluator for many threads: the first free caller evaluates the whole queue.

    While one thread evaluates, others queue up for the next batch. So a batch grows with the number
    of visitors, and nobody waits on purpose. Without a pace it evaluates as fast as it can.
    """

    def __init__(self, evaluator: Evaluator, pace: Pace | None = None) -> None:
        self._evaluator, self._pace = evaluator, pace
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
        if self._pace is not None:
            self._pace.wait()  # others join the queue meanwhile
        with self._queue:
            batch, self._waiting = self._waiting, []
        self.batches += 1
        try:
            whole = np.concatenate([request.observations for request in batch])
            logits, values = self._evaluator.evaluate(whole)
        except Exception as error:  # each visitor gets the error
            for request in batch:
                request.error = error
            return
        end = 0
        for request in batch:
            begin, end = end, end + len(request.observations)
            request.answer = logits[begin:end].copy(), values[begin:end].copy()
