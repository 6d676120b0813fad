"""Programs that run beside what is measured, so that a table shows how its rows do beside them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from irbench.core.record import NeighbourActivity
from irbench.errors import IrbenchError
from irbench.measure.bandwidth import ONE_THREAD
from irbench.measure.clock import sleep
from irbench.measure.disturbances import PROC, read_processes, tree
from irbench.runner.plan import PlannedGroup
from irbench.runner.workers import START_DEADLINE_S, CellFailed, CellWorker
from irbench.spec import Deadline, Neighbour, Timing
from irbench.spec.neighbours import FULL
from irbench.system.isolation import Isolation, isolated
from irbench.worker.cell import CellTask
from irbench.worker.failures import CallFailed, WorkerDied
from irbench.worker.process import Worker

_HOSTS = {"command": "irbench.worker.neighbour_hosts:CommandHost"}
_PRESSURE = "irbench.worker.neighbour_hosts:PressureHost"
_MODEL = "irbench.worker.neighbour_hosts:ModelHost"
_SETTLE_S = 0.02
"""From a neighbour's first work in a turn to the model's: caches fill meanwhile."""
_ALONE_S = 0.1
_ALONE_CALLS_S = 0.5
"""How long a neighbour is counted alone; another model for some of its calls."""

T = TypeVar("T")


class NeighbourEnded(IrbenchError):
    """What was to run beside the models could not start, or ended before the table did."""


@contextmanager
def busy_neighbours(cpus: Sequence[int], logs: Path) -> Iterator[None]:
    """Keep processors busy by a process that is never frozen and ends with the coordinator.

    It descends from the coordinator, so its processor time does not count as that of other programs.

    Raises:
        NeighbourEnded: It could not start, or ended by itself.
    """
    if not cpus:
        yield
        return
    with _NeighbourProcess(Neighbour("cpu", cpus=tuple(cpus)), {}, logs, lambda: Deadline(START_DEADLINE_S)) as busy:
        busy.work(FULL)
        yield
        busy.ask("counted")


def neighbour_tasks(planned: PlannedGroup, timing: Timing) -> dict[str, CellTask]:
    """Return what is called of each model that rows run beside, by its name."""
    return {
        name: CellTask(cell, other.group.workload_of(cell), timing)
        for name, (other, cell) in planned.neighbours.items()
    }


class Neighbours:
    """The programs beside the models of a launch: a process for each, frozen unless a cell runs beside it.

    Args:
        neighbours: What cells run beside, each once or more.
        models: What is called of another model, by its name.
        logs: Where what they print is written.
        deadline: Returns how long each is waited for.

    Attributes:
        alone: What each did while all models stood still.
    """

    def __init__(
        self,
        neighbours: Iterable[Neighbour],
        models: Mapping[str, CellTask],
        logs: Path,
        deadline: Callable[[], Deadline],
    ) -> None:
        self.alone: dict[Neighbour, NeighbourActivity] = {}
        self._planned = tuple(dict.fromkeys(neighbours))
        self._start = partial(_NeighbourProcess, models=models, logs=logs, deadline=deadline)
        self._processes: dict[Neighbour, _NeighbourProcess] = {}
        self._ended = ExitStack()

    def start(self) -> None:
        """Start them, wait until they are ready, and count what each does alone.

        Raises:
            NeighbourEnded: One of them could not start, or ended by itself.
        """
        for process in dict.fromkeys(neighbour.process for neighbour in self._planned):
            self._processes[process] = started = self._ended.enter_context(self._start(process))
            if process.warm_up_s:
                started.beside(FULL, partial(sleep, process.warm_up_s))
        for neighbour in self._planned:
            alone_s = max(_ALONE_CALLS_S if neighbour.kind == "model" else _ALONE_S, neighbour.counted_s)
            _, self.alone[neighbour] = self._processes[neighbour.process].beside(
                neighbour.intensity, partial(sleep, alone_s)
            )

    def beside(self, neighbour: Neighbour | None, action: Callable[[], T]) -> tuple[T, NeighbourActivity | None]:
        """Do something while a neighbour works; return what it returned, and what the neighbour did meanwhile.

        Raises:
            NeighbourEnded: It ended by itself.
        """
        if neighbour is None:
            return action(), None
        return self._processes[neighbour.process].beside(neighbour.intensity, action)

    def close(self) -> None:
        """End them."""
        self._ended.close()


class _NeighbourProcess:
    """One process that works beside others, frozen until it is told to. Use it as a context manager: that ends it."""

    def __init__(
        self, neighbour: Neighbour, models: Mapping[str, CellTask], logs: Path, deadline: Callable[[], Deadline]
    ) -> None:
        self._neighbour = neighbour
        self._log = logs / f"neighbour-{neighbour.kind}.log"
        self._deadline = deadline
        self._worker: Worker | CellWorker
        self._held_back = ExitStack()
        with ExitStack() as where_it_fails:
            if neighbour.kind == "model":
                self._worker = worker = self._model_worker(models[neighbour.target], logs)
                where_it_fails.callback(worker.kill)
                self._begin_model(worker)
            else:
                self._worker = Worker(self._log, cpus=neighbour.cpus, environment=ONE_THREAD)
                where_it_fails.callback(self._worker.kill)
                host = _HOSTS.get(neighbour.kind, _PRESSURE)
                self._try(partial(self._worker.ask, host, neighbour, hold=True, deadline_s=START_DEADLINE_S))
            self._try(self._worker.freeze)  # also so that nothing is started while controls are put on it
            if neighbour.controls:
                members = tree(self._worker.process_id, read_processes(PROC))
                self._held_back.enter_context(isolated(members, Isolation(neighbour.controls, neighbour.free_cpus)))
            where_it_fails.pop_all()

    def work(self, intensity: int) -> None:
        """Let it work at an intensity from now on."""
        self._worker.thaw()
        self.ask("press", intensity)

    def beside(self, intensity: int, action: Callable[[], T]) -> tuple[T, NeighbourActivity]:
        """Do something while it works at an intensity, and let it stand still again."""
        self.work(intensity)
        sleep(_SETTLE_S)
        before: NeighbourActivity = self.ask("counted")
        result = action()
        after: NeighbourActivity = self.ask("counted")
        self._try(self._worker.freeze)
        return result, _between(before, after)

    def ask(self, method: str, *arguments: Any) -> Any:
        """Return what a method of its host returns.

        Raises:
            NeighbourEnded: It ended, or does not answer.
        """
        worker = self._worker
        if isinstance(worker, CellWorker):
            return self._try(partial(worker.ask, "measure", method, *arguments))
        return self._try(partial(worker.ask, method, *arguments, deadline_s=self._deadline().seconds))

    def _model_worker(self, task: CellTask, logs: Path) -> CellWorker:
        cell = replace(task.cell, id="neighbour-model", load=replace(task.cell.load, cpus=self._neighbour.cpus))
        return CellWorker(replace(task, cell=cell), logs, self._deadline)

    def _begin_model(self, worker: CellWorker) -> None:
        self._try(partial(worker.hold, _MODEL))
        self._try(partial(worker.ask, "import", "import_runtime"))
        self._try(partial(worker.ask, "compile", "prepare", False))
        self._try(partial(worker.ask, "warm-up", "warm_up"))
        self._try(partial(worker.ask, "measure", "begin", self._neighbour.rate))

    def _try(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except (CallFailed, WorkerDied) as error:
            raise self._ended(error.message, error.hint) from error
        except CellFailed as error:
            raise self._ended(error.failure.message, error.failure.hint or "") from error

    def _ended(self, message: str, hint: str) -> NeighbourEnded:
        self._worker.kill()
        name = shlex.quote(self._neighbour.name)
        return NeighbourEnded(
            f"{name}, which was to run beside the model, ended early: {message}",
            hint=hint or f"What it printed is in {self._log}; measure again.",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.kill()
        self._held_back.close()


def _between(before: NeighbourActivity, after: NeighbourActivity) -> NeighbourActivity:
    moved = None
    if before.moved_bytes is not None and after.moved_bytes is not None:
        moved = after.moved_bytes - before.moved_bytes
    return NeighbourActivity(after.wall_ns - before.wall_ns, after.cpu_ns - before.cpu_ns, moved, after.call_ns)
