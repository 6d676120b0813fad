"""Counting completions of concurrent requests: when a timed window opens, and how long requests are wanted."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

_VALUE_BYTES = 8
_CLOSED, FIRST_COUNT = 0, 1
"""Places of the value that all processes share, and of the first of their counts."""


@dataclass(frozen=True)
class Window:
    """Samples of one timed window, in nanoseconds from its opening.

    Attributes:
        issue_ns: int64, negative for requests in flight when the window opened.
        completion_ns: int64, ascending; the window closes at the last.
        open_ns: Issue of each request that was in flight when the window closed, int64; empty where there is one only.
        part_ns: When each part of a request was complete after its begin, int64: all parts of the first request, then
            of the next; empty without parts, and where they are not counted together with requests.
    """

    issue_ns: NDArray[np.int64]
    completion_ns: NDArray[np.int64]
    open_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    part_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


class Ledger(Protocol):
    """Takes note of every completion, and decides whether another request is wanted."""

    def complete(self, issued_at: int, completed_at: int) -> bool:
        """Enter one completion, in nanoseconds of the clock; return whether another request is wanted."""
        ...

    def abandon(self) -> None:
        """Want no further request: one has failed."""
        ...


class WindowLedger:
    """The window of one process.

    It opens at the completion that ends the settling and closes ``samples`` completions later.
    Requests keep being issued until then, so the load is the same from its first nanosecond to its last.
    """

    def __init__(self, samples: int, settle_calls: int, streams: int) -> None:
        self._opening = max(settle_calls, streams) - 1
        self._closing = self._opening + samples
        self._lock = threading.Lock()
        self._done: list[tuple[int, int]] = []
        self._abandoned = False

    def abandon(self) -> None:
        """Want no further request: one has failed."""
        self._abandoned = True

    def complete(self, issued_at: int, completed_at: int) -> bool:
        """Enter one completion; return whether another request is wanted."""
        with self._lock:
            self._done.append((completed_at, issued_at))
            return not self._abandoned and len(self._done) <= self._closing

    def window(self) -> Window:
        """Return the samples between opening and closing, in order of completion."""
        ordered = sorted(self._done)
        done, later = ordered[self._opening : self._closing + 1], ordered[self._closing + 1 :]
        opened_at = done[0][0]
        times = np.array(done[1:], np.int64) - opened_at
        return Window(times[:, 1].copy(), times[:, 0].copy(), _issued_by(later, done[-1][0]) - opened_at)


def _issued_by(later: Sequence[tuple[int, int]], closed_at: int) -> NDArray[np.int64]:
    """Return the issue of the requests that completed after the window and were in flight when it closed."""
    return np.array([issued_at for _, issued_at in later if issued_at < closed_at], np.int64)


@dataclass(frozen=True)
class CommonWindow:
    """The window of several processes that issue requests side by side.

    It opens at the first completion of one of them, the reference, after all have settled, and closes a number of its
    completions later: what the others complete in between is counted. So it begins and ends at the same point of a
    request of the reference, and at any point of those of the others. A window from the completion that ends the
    settling to any completion would begin where nobody is in the middle of a request more often than it ends there.

    Attributes:
        reference: Which process it is, counted from 0.
        settle_calls: Completions of each process that come before, at least.
        calls: Completions of the reference.
    """

    reference: int
    settle_calls: int
    calls: int


class WindowCounters:
    """How far the processes are that share a window, in memory that all of them see.

    Each process writes its own count only. A value is written by a single store of the processor, so that no other
    process sees half of it.

    Attributes:
        values: Whether the window has closed, then the completions of each process, from :data:`FIRST_COUNT` on.
    """

    def __init__(self, descriptor: int, processes: int) -> None:
        self.values = memoryview(mmap.mmap(descriptor, self.size_bytes(processes))).cast("q")

    @staticmethod
    def size_bytes(processes: int) -> int:
        """Return how large the file is."""
        return _VALUE_BYTES * (FIRST_COUNT + processes)

    def reset(self) -> None:
        """Begin again; no process may be driving."""
        for place in range(len(self.values)):
            self.values[place] = 0

    def done(self, process: int) -> int:
        """Return how many requests of a process have completed."""
        return self.values[FIRST_COUNT + process]

    def all_done(self, calls: int) -> bool:
        """Whether every process has completed so many requests."""
        return min(self.values[FIRST_COUNT:].tolist()) >= calls


class SharedLedger:
    """The part of one process in a window that several processes share.

    The reference closes the window when it has made its calls after all have settled, and a few more: what completes on
    another of its streams meanwhile may be entered late. There is no lock: a count that is entered late is made good by
    the next one. It costs what a call is lengthened by.
    """

    def __init__(self, counters: WindowCounters, process: int, window: CommonWindow, streams: int = 1) -> None:
        self._counters = counters
        self._values = counters.values
        self._place = FIRST_COUNT + process
        self._window = window
        self._is_reference = process == window.reference
        self._streams = streams
        self._closing: int | None = None
        self._done: list[tuple[int, int]] = []
        self._abandoned = False

    def abandon(self) -> None:
        """Want no further request: one has failed."""
        self._abandoned = True

    def complete(self, issued_at: int, completed_at: int) -> bool:
        """Enter one completion; return whether another request is wanted."""
        self._done.append((issued_at, completed_at))
        count = self._values[self._place] = len(self._done)
        if self._values[_CLOSED] or self._abandoned:
            return False
        return not self._is_reference or self._keeps_open(count)

    def times_ns(self) -> NDArray[np.int64]:
        """Return issue and completion of each request in nanoseconds of the clock, int64 of shape (requests, 2)."""
        return np.array(self._done, np.int64).reshape(-1, 2)

    def _keeps_open(self, count: int) -> bool:
        if self._closing is None:
            if not self._counters.all_done(self._window.settle_calls):
                return True
            self._closing = count + self._window.calls + self._streams
        if count <= self._closing:
            return True
        self._values[_CLOSED] = 1
        return False


def joined_window(times_ns: Sequence[NDArray[np.int64]], window: CommonWindow) -> Window:
    """Return what several processes did in their common window.

    Args:
        times_ns: Of each process, issue and completion of its requests on a clock that all share, and when each of
            their parts was complete after the begin; int64 of shape (requests, 2 + parts).
        window: When it opens and closes.

    Raises:
        ValueError: They do not overlap: too few completions of the reference follow the settling, or one of them did
            not settle, or no time passes between the first completion and the last.
    """
    if min(len(times) for times in times_ns) < window.settle_calls:
        raise ValueError(f"one of its instances made fewer than {window.settle_calls} calls")
    ordered = [times[np.argsort(times[:, 1], kind="stable")] for times in times_ns]
    settled_at = max(int(times[window.settle_calls - 1, 1]) for times in ordered)
    own = ordered[window.reference][:, 1]
    bounds = own[own > settled_at][: window.calls + 1]
    if len(bounds) <= window.calls or bounds[0] == bounds[-1]:
        raise ValueError(f"only {max(0, len(bounds) - 1)} of {window.calls} calls of one of its instances follow")
    merged = np.concatenate(ordered)
    merged = merged[np.argsort(merged[:, 1], kind="stable")]
    timed = merged[(merged[:, 1] > bounds[0]) & (merged[:, 1] <= bounds[-1])]
    issue_ns, completion_ns = timed[:, :2].T - bounds[0]
    is_open = (merged[:, 0] < bounds[-1]) & (merged[:, 1] > bounds[-1])
    return Window(issue_ns.copy(), completion_ns.copy(), merged[is_open, 0] - bounds[0], timed[:, 2:].ravel())
