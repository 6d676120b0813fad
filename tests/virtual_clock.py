"""Time that passes only when a scripted slot says so, so that the real command line gives exact ratios at once."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable

from irbench.measure import clock, drive, evidence, paced, phases

_PATIENCE_S = 0.05


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
        for module in (clock, drive, evidence, paced, phases):
            module.now_ns = self.read  # type: ignore[attr-defined]
        paced.sleep = self.sleep
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
                # the next event may only happen once every slot that will be issued again has been
                self._changed.wait_for(lambda: len(self._pending) >= self.expected_in_flight, timeout=_PATIENCE_S)
                due_ns, _, done = heapq.heappop(self._pending)
                self.now_ns = max(self.now_ns, due_ns)
            done()
