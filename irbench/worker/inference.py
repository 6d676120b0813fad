"""One backend answering outside any measurement: import, compile, open one slot, then stage, run and fetch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from irbench.errors import RequestRefused
from irbench.measure.clock import sleep
from irbench.measure.generation import GenerationSlot
from irbench.measure.kernel_evidence import PhaseLog
from irbench.spec import Artifact, Load, Scalar
from irbench.spi import Array, Backend, Feed, Outputs, Slot
from irbench.worker.generation import generating_if_decoder
from irbench.worker.watchdog import own_temporary_files

_T = TypeVar("_T")
_WAITS_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
_LONGEST_WAIT_S = 5.0
"""A server may ask for longer waits between two tries of a call."""


class Retries:
    """Makes calls that have no time of their own, and repeats those that a model server refuses.

    Slots on several threads may share it: while one of them is answered, the others go on waiting.

    Attributes:
        refused: How many calls were refused so far, repeated ones included.
        answered: How many calls were answered so far.
    """

    def __init__(self) -> None:
        self.refused = 0
        self.answered = 0
        self._waits: list[tuple[int, int]] = []
        self._counting = threading.Lock()

    def call(self, function: Callable[[], _T]) -> _T:
        """Call a function until it is answered, and return what it returns.

        Raises:
            RequestRefused: The server refused all calls for as long as one is repeated, which is a few seconds.
        """
        waits_s, answered, refused_at = iter(_WAITS_S), self.answered, None
        while True:
            try:
                answer = function()
            except RequestRefused as refusal:
                with self._counting:
                    self.refused += 1
                    refused_at = self.answered if refused_at is None else refused_at
                    if self.answered != answered:
                        waits_s, answered = iter(_WAITS_S), self.answered
                wait_s = next(waits_s, None)
                if wait_s is None:
                    raise
                sleep(max(wait_s, min(refusal.retry_after_s, _LONGEST_WAIT_S)))
            else:
                with self._counting:
                    if refused_at is not None:
                        self._waits.append((refused_at, self.answered))
                    self.answered += 1
                return answer

    def undisturbed(self, first: int, calls: int, streams: int) -> NDArray[np.bool_]:
        """Return for each of some calls, in the order of their answers, whether no wait is part of its time.

        Args:
            first: How many calls were answered before them.
            calls: How many they are.
            streams: Over how many answers in a row the time of each is taken.
        """
        undisturbed = np.ones(calls, np.bool_)
        for refused_at, answered_at in self._waits:
            undisturbed[max(0, refused_at - first) : max(0, answered_at + streams - first)] = False
        return undisturbed


def infer(slot: Slot, feed: Feed) -> tuple[Array, ...]:
    """Run a slot once and return its outputs; a sequence of tensors stays a list.

    Raises:
        RequestRefused: A model server has no room for it.
    """
    if isinstance(slot, GenerationSlot):
        return slot.answer(feed)
    slot.stage(feed)
    slot.run()
    return fetched(slot)


def fetched(slot: Slot) -> tuple[Array, ...]:
    """Return the outputs of a slot's last call, as :func:`arrays_of` does."""
    return arrays_of(slot.fetch())


def arrays_of(outputs: Outputs) -> tuple[Array, ...]:
    """Return outputs as arrays; a sequence of tensors stays a list."""
    return tuple(output if isinstance(output, list) else np.asarray(output) for output in outputs)


def size_bytes(outputs: Outputs) -> int:
    """Return the size of outputs, at least 1, those in lists included; that of texts without what they refer to."""
    parts = (part for output in outputs for part in (output if isinstance(output, list) else [output]))
    return max(1, sum(np.asarray(part).nbytes for part in parts))


def token_memory_bytes(slot: Slot) -> NDArray[np.int64]:
    """Return the resident memory of the process after each token of a slot's first answer; empty without tokens."""
    return np.array(slot.memory_bytes if isinstance(slot, GenerationSlot) else (), np.int64)


class OpenSession:
    """A compiled artifact with one slot. Use it as a context manager: it closes the session.

    Every dynamic dimension of ``artifact`` is bound.
    """

    def __init__(self, backend: Backend, artifact: Artifact, load: Load, device: str = "cpu") -> None:
        own_temporary_files()
        backend.import_runtime(load, device)
        backend = generating_if_decoder(backend, artifact)
        self._session = backend.compile(artifact, load, device, PhaseLog())
        try:
            (self._slot,) = self._session.open_slots(1, "copy")
        except BaseException:
            self._session.close()
            raise

    @property
    def effective(self) -> Mapping[str, Scalar]:
        """What the runtime read back."""
        return self._session.effective

    def answer(self, feed: Feed) -> tuple[Array, ...]:
        """Return the outputs in the order of the artifact's; see :func:`infer`."""
        return infer(self._slot, feed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()
