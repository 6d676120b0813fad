"""Processes that keep processors busy while a table is measured, so that it shows how rows do beside other programs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.runner.workers import START_DEADLINE_S
from irbench.worker.failures import CallFailed, WorkerDied
from irbench.worker.process import Worker

_STAY_BUSY = "irbench.runner.neighbours:stay_busy"
_STILL_THERE = "os:getpid"


class NeighbourEnded(IrbenchError):
    """A process that was to keep a processor busy ended before the table did."""


@contextmanager
def busy_neighbours(cpus: Sequence[int], logs: Path) -> Iterator[None]:
    """Keep processors busy, each by a process of its own that is never frozen and ends with the coordinator.

    It descends from the coordinator, so its processor time does not count as that of other programs.

    Raises:
        NeighbourEnded: One of them could not start, or ended by itself.
    """
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(logs / f"neighbour-{cpu}.log", cpus=(cpu,))) for cpu in cpus]
        _ask(workers, _STAY_BUSY)
        yield
        _ask(workers, _STILL_THERE)


def _ask(workers: Sequence[Worker], target: str) -> None:
    for worker in workers:
        try:
            worker.ask(target, deadline_s=START_DEADLINE_S)
        except (CallFailed, WorkerDied) as error:
            raise NeighbourEnded(
                f"The process that keeps a processor busy ended early: {error.message}",
                hint=error.hint or f"What it printed is in {worker.log}; measure again.",
            ) from error


def stay_busy() -> None:
    """Compute without end beside what answers the coordinator; returns once that has begun."""
    begun = threading.Event()
    threading.Thread(target=_compute, args=(begun,), daemon=True).start()
    begun.wait()


def _compute(begun: threading.Event) -> None:
    begun.set()
    while True:
        pass
