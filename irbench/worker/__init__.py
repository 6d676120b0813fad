"""Work in a process of its own: one session, one probe, one export, none able to harm the coordinator.

The coordinator's end is imported when it is first used: a worker imports this package too, and has no workers.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

CONFINEMENT = "IRBENCH_WORKER_CONFINEMENT"
"""The environment variable that says what a worker may reach; without it a worker is not confined."""

if CONFINEMENT in os.environ:  # before NumPy starts threads, which would stay free
    from irbench.worker.confined_start import confine_as_asked

    confine_as_asked()

from irbench.measure import process_start as process_start  # noqa: E402 - reads the clock: after confining, first of all else

if TYPE_CHECKING:
    from irbench.worker.failures import WorkerDied
    from irbench.worker.process import Worker, call_in_worker

__all__ = ["Worker", "WorkerDied", "call_in_worker"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("irbench.worker.process"), name)
