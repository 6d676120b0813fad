"""How fast one thread moves memory.

NumPy's own work in a call, 0.3 to 0.5 microseconds, is longer than moving what a first-level cache holds. It is the
same for arrays of a few bytes, so those are timed beside, and the difference is the time of the data.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from irbench.measure.clock import now_ns

Access = Literal["read", "copy", "add"]
"""``read`` adds up the products of two arrays, ``copy`` writes one into another, ``add`` writes the sum of two into a
third."""
ACCESSES: tuple[Access, ...] = get_args(Access)
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""For the environment of a process that probes: each has one thread, on a processor of its own."""

_ARRAYS: dict[Access, int] = {"read": 2, "copy": 2, "add": 3}
_TINY_ELEMENTS = 16
_LINE_BYTES = 64
_STAGGER_BYTES = 17 * _LINE_BYTES
"""Arrays begin this far apart modulo a page: stores slow down loads of the same place in another page."""
_REPEATED_BYTES = 1 << 20
"""What a call reads at least: a dot product alone is no longer than the rest of its call in the first-level cache."""
_BATCHES = 15
_PILOT_CALLS = 3
_OVERHEAD_SHARE = 8
_FEWEST_ALONE = 8
"""So many batches, as long as they took when they were prepared, fit a window at least: threads that share a bandwidth
take longer together."""
_LEAD_NS = 20_000_000
"""From asking for a measurement to its start: all processes, which have prepared by then, must have been told."""


@dataclass(frozen=True)
class MemoryTimes:
    """What one thread measured of one access at one size.

    Attributes:
        bytes_per_call: What a call reads and writes, each byte counted once.
        calls_per_batch: Calls between two readings of the clock.
        batch_ns: How long each batch took that began and ended within the window, in nanoseconds; the first batch
            alone where none ended in time.
        tiny_bytes_per_call: As ``bytes_per_call``, of the tiny arrays.
        tiny_calls_per_batch: As ``calls_per_batch``.
        tiny_batch_ns: As ``batch_ns``.
    """

    bytes_per_call: int
    calls_per_batch: int
    batch_ns: tuple[int, ...]
    tiny_bytes_per_call: int
    tiny_calls_per_batch: int
    tiny_batch_ns: tuple[int, ...]

    @property
    def fastest_bytes_per_ns(self) -> float | None:
        """The rate of the fastest batch, in bytes per nanosecond (10^9 bytes per second).

        Others slow down some batches, and none is too fast. ``None`` where tiny calls take as long.
        """
        return self._bytes_per_ns(min(self.batch_ns))

    @property
    def median_bytes_per_ns(self) -> float | None:
        """The rate of the median batch; see :attr:`fastest_bytes_per_ns`.

        Of threads that share a bandwidth, the fastest batch may be one during which the others stood still.
        """
        return self._bytes_per_ns(statistics.median(self.batch_ns))

    def _bytes_per_ns(self, batch_ns: float) -> float | None:
        call_ns = batch_ns / self.calls_per_batch
        tiny_ns = min(self.tiny_batch_ns) / self.tiny_calls_per_batch
        if call_ns <= tiny_ns:
            return None
        return (self.bytes_per_call - self.tiny_bytes_per_call) / (call_ns - tiny_ns)


def begins_soon() -> int:
    """Return when several processes that are asked now should begin, in nanoseconds of the clock."""
    return now_ns() + _LEAD_NS


def shared_window(asked_ns: int, batches_ns: Sequence[int]) -> int:
    """Return how long a window lasts in which each of several threads finishes some batches, in nanoseconds."""
    return max(asked_ns, _FEWEST_ALONE * max(batches_ns))


@dataclass(frozen=True)
class _Prepared:
    """What is called, and all that is known of its times before it is measured."""

    call: Callable[[], Any]
    times: MemoryTimes


class MemoryProbe:
    """Moves memory in a process of its own, which is to have one thread.

    :meth:`prepare` does all that takes a while and is not timed, so that processes which are then told to
    :meth:`measure` begin at the same moment.
    """

    def __init__(self, most_bytes: int) -> None:
        room = most_bytes + len(ACCESSES) * (_STAGGER_BYTES + _LINE_BYTES) + _LINE_BYTES
        self._buffer = np.empty(room, np.uint8)
        self._buffer.fill(0)  # every page is there before anything is timed
        self._tiny = np.ones((len(ACCESSES), _TINY_ELEMENTS), np.float32)
        self._prepared: _Prepared | None = None

    def prepare(self, access: Access, working_set_bytes: int, window_ns: int) -> int:
        """Fill the arrays, time an empty call, and return how long a batch of calls takes, in nanoseconds."""
        arrays = self.arrays(_ARRAYS[access], working_set_bytes)
        repeats = max(1, _REPEATED_BYTES // working_set_bytes) if access == "read" else 1
        call = _call(access, arrays, repeats)
        tiny = _call(access, list(self._tiny[: len(arrays)]), repeats)
        call_ns, tiny_ns = _pilot_ns(call), _pilot_ns(tiny)
        calls = max(1, window_ns // _BATCHES // call_ns)
        tiny_calls = max(1, window_ns // _OVERHEAD_SHARE // _BATCHES // tiny_ns)
        times = MemoryTimes(
            bytes_per_call=repeats * sum(array.nbytes for array in arrays),
            calls_per_batch=calls,
            batch_ns=(),
            tiny_bytes_per_call=repeats * len(arrays) * _TINY_ELEMENTS * arrays[0].itemsize,
            tiny_calls_per_batch=tiny_calls,
            tiny_batch_ns=tuple(_batch_ns(tiny, tiny_calls) for _ in range(_BATCHES)),
        )
        self._prepared = _Prepared(call, times)
        return calls * call_ns

    def measure(self, start_ns: int, window_ns: int) -> MemoryTimes:
        """Time what was prepared: the working set is gone through again and again.

        The same calls are made, untimed, until ``start_ns``, and the last batch ends behind the window. So processes
        that are asked together are all at work throughout the window, and only batches within it count.
        """
        assert self._prepared is not None
        call, times = self._prepared.call, self._prepared.times
        while now_ns() < start_ns:
            call()
        batch_ns = [_batch_ns(call, times.calls_per_batch)]
        while now_ns() < start_ns + window_ns:
            batch_ns.append(_batch_ns(call, times.calls_per_batch))
        return replace(times, batch_ns=tuple(batch_ns[:-1] or batch_ns))

    def arrays(self, count: int, working_set_bytes: int) -> list[NDArray[np.float32]]:
        """Return so many arrays of float32 in the buffer, which share no cache line and no place in their pages."""
        size = working_set_bytes // count // _LINE_BYTES * _LINE_BYTES
        place = -self._buffer.ctypes.data % _LINE_BYTES
        arrays: list[NDArray[np.float32]] = []
        for _ in range(count):
            arrays.append(self._buffer[place : place + size].view(np.float32))
            place += size + _STAGGER_BYTES
        for array in arrays:
            array.fill(1.0)
        return arrays


def _call(access: Access, arrays: list[NDArray[np.float32]], repeats: int) -> Callable[[], Any]:
    if access == "read":
        # rows that are all the same array: one call of NumPy reads it so many times
        rows = [np.broadcast_to(array, (repeats, array.size)) for array in arrays]
        return partial(np.vecdot, *rows)
    if access == "copy":
        return partial(np.copyto, arrays[1], arrays[0])
    return partial(np.add, arrays[0], arrays[1], arrays[2])


def _pilot_ns(call: Callable[[], Any]) -> int:
    call()
    return max(1, min(_batch_ns(call, 1) for _ in range(_PILOT_CALLS)))


def _batch_ns(call: Callable[[], Any], calls: int) -> int:
    start_ns = now_ns()
    for _ in range(calls):
        call()
    return now_ns() - start_ns
