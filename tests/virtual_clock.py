"""Time that passes only when a scripted slot says so, so that the real command line gives exact ratios at once."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from irbench.measure import call_parts, clock, drive, generation, kernel_evidence, pacing, serving

_LOOK_S = 0.001
_LOOKS = 20
"""How often in a row all other threads must be found asleep before nobody is taken to issue another request. Once is
not enough: a thread sleeps for a moment while it waits for Python's lock, which this one holds while it looks."""
_MOST_LOOKS = 30_000
"""Half a minute: longer than a thread waits for a processor on a machine that still makes progress."""


class VirtualClock:
    """Stands in for the one clock inside a worker, and completes queued requests in virtual time."""

    def __init__(self) -> None:
        self.now_ns = clock.now_ns()
        self.expected_in_flight = 0
        self._changed = threading.Condition()
        self._pending: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self._thread: threading.Thread | None = None

    def install(self) -> VirtualClock:
        """Take the place of the real clock wherever this process reads it."""
        for module in (call_parts, clock, drive, generation, kernel_evidence, pacing, serving):
            module.now_ns = self.read  # type: ignore[attr-defined]
        pacing.sleep = serving.sleep = self.sleep
        kernel_evidence.wait_in_run_queue_ns = lambda: 0  # nobody waits for a processor in virtual time
        return self

    def read(self) -> int:
        """Return the virtual time; each reading takes a nanosecond, so that no two are equal."""
        with self._changed:
            self.now_ns += 1
            return self.now_ns

    def advance(self, duration_ns: int) -> None:
        """Let time pass: for the caller alone where several are expected in flight, who then wait side by side."""
        if self.expected_in_flight > 1:
            passed = threading.Event()
            self.complete_after(duration_ns, passed.set)
            passed.wait()
            return
        with self._changed:
            self.now_ns += duration_ns

    def sleep(self, seconds: float) -> None:
        """Let the caller sleep."""
        self.advance(round(seconds * 1e9))

    def complete_after(self, duration_ns: int, done: Callable[[], None]) -> None:
        """Call ``done`` from another thread when the virtual time has come."""
        with self._changed:
            self._count += 1
            heapq.heappush(self._pending, (self.now_ns + duration_ns, self._count, done))
            self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._pending))
                self._await_requests()
                due_ns, _, done = heapq.heappop(self._pending)
                self.now_ns = max(self.now_ns, due_ns)
            done()

    def _await_requests(self) -> None:
        """Wait until every slot that will be issued again has been: only then may the next event happen.

        At the end of a round some are not. That is seen from threads that sleep, and not from time that passes: on a
        busy machine a thread that will issue one may wait for a processor for long. A thread that never sleeps, as
        one of a runtime that spins, ends the wait after :data:`_MOST_LOOKS`.
        """
        looks = 0
        for _ in range(_MOST_LOOKS):
            if len(self._pending) >= self.expected_in_flight or looks >= _LOOKS:
                return
            self._changed.wait(_LOOK_S)
            looks = looks + 1 if _others_sleep() else 0


def _others_sleep() -> bool:
    """Whether all threads of this process but the calling one are asleep, and none waits for a processor."""
    states = []
    for task in Path("/proc/self/task").iterdir():
        if task.name != str(threading.get_native_id()):
            with suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
                states.append((task / "stat").read_text().rpartition(")")[2].split()[0])
    return all(state == "S" for state in states)
