"""Making calls last: the only place of the plugin that reads a clock."""

from __future__ import annotations

import itertools
import math
import random
import time
from pathlib import Path

from irbench_known_speed.script import Script

_SPIN_NS = 400_000
"""A sleeper rises this long before its call is over, because the kernel wakes it late, and spins the rest."""


class Pace:
    """Holds every call of one process to its script. Streams may share it."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._started_ns = time.perf_counter_ns()
        self._factor = math.exp(random.gauss(0.0, script.launch_sd))
        self._numbers = itertools.count(1)  # one step of it is atomic, whatever thread takes it

    def begin(self) -> int:
        """Return when a call begins, for :meth:`last`: by the real clock, or by that of the thread's own work."""
        if self._script.beacon:
            Path(self._script.beacon).touch()
        return time.thread_time_ns() if self._script.wait == "work" else time.perf_counter_ns()

    def last(self, since_ns: int) -> None:
        """Return when the call that began at ``since_ns`` is over."""
        elapsed_s = (time.perf_counter_ns() - self._started_ns) / 1e9
        until_ns = since_ns + self._script.duration_ns(next(self._numbers), elapsed_s, self._factor)
        if self._script.wait == "work":
            _work(until_ns)
        elif self._script.wait == "spin":
            _spin(until_ns)
        else:
            _sleep(until_ns)


def _spin(until_ns: int) -> None:
    while time.perf_counter_ns() < until_ns:
        pass


def _work(until_ns: int) -> None:
    while time.thread_time_ns() < until_ns:
        pass


def _sleep(until_ns: int) -> None:
    spare_ns = until_ns - _SPIN_NS - time.perf_counter_ns()
    if spare_ns > 0:
        time.sleep(spare_ns / 1e9)
    while time.perf_counter_ns() < until_ns:
        time.sleep(0)  # lets go of the interpreter's lock, so that no stream delays another
