"""A program that presses on arithmetic units, the last-level cache or the bandwidth of memory, and counts what it did.

Each of its threads works in pieces of about a tenth of a millisecond, on a processor of its own, and rests in between
so that its work takes a share of the time. A model whose calls last a millisecond meets about the same pressure in each
of them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from irbench.core.record import NeighbourActivity
from irbench.measure.clock import now_ns, sleep, thread_cpu_ns
from irbench.measure.pacing import precise_sleep
from irbench.spec import Pressure
from irbench.system.host import last_level_cache_bytes

_PIECE_BYTES = 256 << 10
_IN_FIRST_LEVEL_BYTES = 8 << 10
_PRODUCTS = 256
"""Of two arrays that the first-level cache holds, in one piece of arithmetic."""
_CACHE_BYTES = 32 << 20
"""Assumed where the kernel does not tell the size of the last-level cache."""
_BEYOND_CACHE = 4
_OWED_NS = 2_000_000
"""No more work than this is made up for: a program that was stopped for a second must not work for one."""
_LONGEST_REST_NS = 5_000_000
"""After this a thread looks whether its intensity has changed."""
_BURST_NS = 1_000_000
"""On a processor that others use too, waking up more often would slow them down by itself."""
_PERCENT = 100
_BYTES_PER_FLOAT = 4

Piece = Callable[[], int]
"""Does a piece of work, and returns how many bytes it moved."""


def piece_of(pressure: Pressure, threads: int, cache_bytes: int | None) -> Piece:
    """Return what one of several threads does again and again.

    ``cpu`` multiplies what the first-level cache holds; ``l3`` reads all that the last-level cache holds, which the
    threads divide; ``bandwidth`` copies arrays that no cache holds.
    """
    cache = cache_bytes or _CACHE_BYTES
    if pressure == "cpu":
        return _arithmetic()
    if pressure == "l3":
        return _reading(max(cache // threads, _PIECE_BYTES))
    return _copying(max(_BEYOND_CACHE * cache // threads, _PIECE_BYTES))


def _arithmetic() -> Piece:
    left, right = np.ones((2, _IN_FIRST_LEVEL_BYTES // _BYTES_PER_FLOAT), np.float32)
    left_rows, right_rows = (np.broadcast_to(array, (_PRODUCTS, array.size)) for array in (left, right))
    out = np.empty(_PRODUCTS, np.float32)

    def piece() -> int:
        np.vecdot(left_rows, right_rows, out=out)
        return 0

    return piece


def _reading(size_bytes: int) -> Piece:
    pieces = np.ones((max(1, size_bytes // _PIECE_BYTES), 2, _PIECE_BYTES // _BYTES_PER_FLOAT // 2), np.float32)
    turn = 0

    def piece() -> int:
        nonlocal turn
        turn = (turn + 1) % len(pieces)
        np.vecdot(pieces[turn, 0], pieces[turn, 1])
        return _PIECE_BYTES

    return piece


def _copying(size_bytes: int) -> Piece:
    source, target = np.ones((2, max(1, size_bytes // _PIECE_BYTES // 2), _PIECE_BYTES), np.uint8)
    turn = 0

    def piece() -> int:
        nonlocal turn
        turn = (turn + 1) % len(source)
        np.copyto(target[turn], source[turn])
        return 2 * _PIECE_BYTES

    return piece


@dataclass
class WorkLimit:
    """Decides when a thread works, so that its work takes a share of the time.

    Attributes:
        share: From 0 to 1.
        burst_ns: After a rest, so much work is done at once at least.
    """

    share: float = 0.0
    burst_ns: int = 0
    _owed_ns: float = field(default=0.0, init=False)
    _rests: bool = field(default=False, init=False)

    def allows(self, passed_ns: int, worked_ns: int) -> bool:
        """Whether the next piece is due, after so much time passed and so much of it was work."""
        self._owed_ns += self.share * passed_ns - worked_ns
        self._owed_ns = max(-_OWED_NS, min(_OWED_NS, self._owed_ns))
        self._rests = self._owed_ns < (self.burst_ns if self._rests else 0)
        return self.share > 0 and (self.share >= 1 or not self._rests)

    @property
    def rest_ns(self) -> int:
        """How long it is until the next piece is due."""
        if not self.share:
            return _LONGEST_REST_NS
        return round(min(_LONGEST_REST_NS, max(0.0, self.burst_ns - self._owed_ns) / self.share))


@dataclass
class _Done:
    cpu_ns: int = 0
    moved_bytes: int = 0


class PressureProgram:
    """Threads that work, one on each processor, until the process ends.

    Args:
        pressure: On what.
        cpus: The processors, one for each thread.
        yields: Whether threads sleep while they rest, so that others can use the processor; otherwise they wait for the
            next piece without sleeping, which keeps its moment exact.
    """

    def __init__(self, pressure: Pressure, cpus: Sequence[int], *, yields: bool) -> None:
        self._limits = [WorkLimit(burst_ns=_BURST_NS if yields else 0) for _ in cpus]
        self._done = [_Done() for _ in cpus]
        self._yields = yields
        self._moves = pressure != "cpu"
        ready = threading.Barrier(len(cpus) + 1)
        for cpu, limit, done in zip(cpus, self._limits, self._done, strict=True):
            own = (pressure, cpu, limit, done, ready)
            threading.Thread(target=self._work, args=own, daemon=True).start()
        ready.wait()

    def press(self, intensity: int) -> None:
        """Work this share of the time from now on, in percent."""
        for limit in self._limits:
            limit.share = intensity / _PERCENT

    def counted(self) -> NeighbourActivity:
        """Return what was done since some moment in the past: differences are meant."""
        return NeighbourActivity(
            now_ns(),
            sum(done.cpu_ns for done in self._done),
            sum(done.moved_bytes for done in self._done) if self._moves else None,
        )

    def _work(self, pressure: Pressure, cpu: int, limit: WorkLimit, done: _Done, ready: threading.Barrier) -> None:
        os.sched_setaffinity(0, {cpu})  # of this thread alone, before it touches its memory
        piece = piece_of(pressure, len(self._done), last_level_cache_bytes(cpu))
        ready.wait()
        with precise_sleep():
            at_ns, worked_ns = now_ns(), 0
            while True:
                last_ns, at_ns = at_ns, now_ns()
                if limit.allows(at_ns - last_ns, worked_ns):
                    began_ns = thread_cpu_ns()
                    moved = piece()
                    worked_ns = thread_cpu_ns() - began_ns
                    done.cpu_ns += worked_ns
                    done.moved_bytes += moved
                    continue
                worked_ns = 0
                # even no time at all lets the other threads of Python run
                sleep(limit.rest_ns / 1e9 if self._yields else 0)
