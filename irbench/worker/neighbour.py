"""A process that keeps a processor busy while others are measured: the worker's end of it."""

from __future__ import annotations

import threading


def stay_busy() -> None:
    """Compute without end beside what answers the coordinator; returns once that has begun."""
    begun = threading.Event()
    threading.Thread(target=_compute, args=(begun,), daemon=True).start()
    begun.wait()


def _compute(begun: threading.Event) -> None:
    begun.set()
    while True:
        pass
