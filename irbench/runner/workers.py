"""The workers of one launch: started together, resumed one at a time; each failure becomes a row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from irbench.measure.clock import now_ns
from irbench.record import Failure, Stage
from irbench.runner.confined_cells import confinement_of
from irbench.runner.instances import InstanceWorkers
from irbench.spec import Cell, Deadline
from irbench.system import host
from irbench.worker.cell import CellTask
from irbench.worker.failures import CallFailed, WorkerDied, WorkerTimedOut
from irbench.worker.process import Worker

START_DEADLINE_S = 60.0
"""A worker may take this long to start even where the protocol's deadline is shorter."""


class Workers:
    """Workers by cell id. A cell that fails leaves them and is remembered with its reason.

    Attributes:
        failures: Why cells left, by cell id.
        started_ns: From a worker's start until it held its cell, by cell id: interpreter and harness.
    """

    def __init__(self, tasks: Iterable[CellTask], logs: Path, deadline: Callable[[], Deadline]) -> None:
        self.failures: dict[str, Failure] = {}
        self.started_ns: dict[str, int] = {}
        self._deadline = deadline
        self._timed_out: set[str] = set()
        self._workers: dict[str, Worker | InstanceWorkers] = {}
        self._tasks = {task.cell.id: task for task in tasks}
        self._logs = logs

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that are still healthy, in the order of the plan."""
        return tuple(task.cell for task in self._tasks.values() if task.cell.id in self._workers)

    def start(self) -> None:
        """Start a worker for each cell, one after the other, and leave it frozen once its runtime is imported."""
        for cell, task in self._tasks.items():
            self._start_one(cell, task)
            self._finish(cell, "import", self._deadline().seconds)

    def start_and_prepare(self, together: Collection[str]) -> dict[str, Any]:
        """Start all workers, and let these import, load and compile side by side; leave each frozen when it is done.

        Returns:
            What ``prepare`` returned, by the ids of the cells that prepared.
        """
        for cell, task in self._tasks.items():
            self._start_one(cell, task)
            if cell in together and cell in self._workers:
                # waits in the worker until the import is done
                self._try(cell, "import", partial(self._send, cell, "prepare", False))
        prepared: dict[str, Any] = {}
        shared_s = self._deadline().together(len(together))
        for cell in self._tasks:
            if cell not in together:
                self._finish(cell, "import", self._deadline().seconds)
            elif self._receive(cell, "import", shared_s):
                prepared[cell] = self._finish(cell, "compile", shared_s)
        return {cell: answer for cell, answer in prepared.items() if cell in self._workers}

    def ask(self, cell: str, stage: Stage, method: str, *args: Any, deadline_s: float | None = None) -> Any:
        """Wake one worker, ask it, and freeze it again.

        Args:
            cell: Whose worker.
            stage: What a failure of this call is called in the cell's row.
            method: A method of :class:`irbench.worker.run.RunHost`.
            args: Its arguments.
            deadline_s: When to give the worker up; the protocol's deadline unless given.

        Returns:
            What the method returned, or ``None`` when the cell failed; see :attr:`failures`.
        """
        worker = self._workers[cell]
        worker.thaw()
        patience_s = deadline_s or self._deadline().seconds
        answer = self._try(cell, stage, lambda: worker.ask(method, *args, deadline_s=patience_s))
        if cell in self._workers:
            self._try(cell, stage, worker.freeze)
        return answer if cell in self._workers else None

    def can_prepare(self, task: CellTask) -> bool:
        """Whether a worker of its own prepares another task for a cell that failed; the cell stays failed.

        No other is tried where the deadline ended the first one: it would take as long.
        """
        cell = task.cell.id
        failure = self.failures[cell]
        if failure.stage != "compile" or cell in self._timed_out:
            return False
        self._start_one(cell, task)
        self._finish(cell, "import", self._deadline().seconds)
        prepared = self.ask(cell, "compile", "prepare", False) if cell in self._workers else None
        if cell in self._workers:
            self._workers.pop(cell).kill()
        self.failures[cell] = failure
        return prepared is not None

    def dismiss(self, cell: str, failure: Failure) -> None:
        """Let a healthy cell go, for a reason its worker does not know."""
        self.failures[cell] = failure
        self._workers.pop(cell).kill()

    def close(self) -> None:
        """End every worker, frozen or not."""
        for worker in self._workers.values():
            worker.kill()
        self._workers.clear()

    def _start_one(self, cell: str, task: CellTask) -> None:
        deadline_s = max(START_DEADLINE_S, self._deadline().seconds)
        start_ns = now_ns()
        self._workers[cell] = worker = _started(task, self._logs)
        self._try(cell, "start", lambda: _hold(worker, task, deadline_s))
        self.started_ns[cell] = now_ns() - start_ns
        if cell in self._workers:
            self._try(cell, "import", lambda: self._send(cell, "import_runtime"))

    def _send(self, cell: str, method: str, *args: Any) -> None:
        self._workers[cell].send(method, *args, deadline_s=self._deadline().seconds)

    def _receive(self, cell: str, stage: Stage, deadline_s: float) -> bool:
        """Take one answer, whatever it is; whether the cell is still healthy."""
        if cell in self._workers:
            self._try(cell, stage, lambda: self._workers[cell].receive(deadline_s=deadline_s))
        return cell in self._workers

    def _finish(self, cell: str, stage: Stage, deadline_s: float) -> Any:
        """Return the answer to what was sent to a worker, and freeze it; ``None`` where it failed."""
        if cell not in self._workers:
            return None
        worker = self._workers[cell]
        answer = self._try(cell, stage, lambda: worker.receive(deadline_s=deadline_s))
        if cell in self._workers:
            self._try(cell, stage, worker.freeze)
        return answer

    def _try(self, cell: str, stage: Stage, action: Callable[[], Any]) -> Any:
        deadline = self._deadline()  # of before the wait
        try:
            return action()
        except (CallFailed, WorkerDied) as error:
            worker = self._workers.pop(cell)
            worker.kill()
            if isinstance(error, WorkerTimedOut):
                self._timed_out.add(cell)
            self.failures[cell] = failure_of(stage, error, worker.log, deadline)
            return None


def _started(task: CellTask, logs: Path) -> Worker | InstanceWorkers:
    cell, load = task.cell, task.cell.load
    environment = thread_environment(load.threads)
    confinement = confinement_of(cell, task.workload.feeding.samples)
    if load.instances == 1:
        log = logs / f"{cell.id}.log"
        return Worker(log, cpus=load.cpus, environment=environment, python=cell.python, confinement=confinement)
    return InstanceWorkers(cell, logs, host.allowance(load.cpus).cpus, environment, confinement)


def _hold(worker: Worker | InstanceWorkers, task: CellTask, deadline_s: float) -> None:
    if isinstance(worker, InstanceWorkers):
        worker.hold(task, deadline_s=deadline_s)
    else:
        worker.ask("irbench.worker.run:RunHost", task, hold=True, deadline_s=deadline_s)


def failure_of(stage: Stage, error: CallFailed | WorkerDied, log: Path, deadline: Deadline) -> Failure:
    """Return why a cell has no number, and what helps.

    Args:
        stage: What its worker was asked for.
        error: How that ended.
        log: Where the worker wrote what it printed.
        deadline: How long it was waited for, beyond what it was asked to do.
    """
    remedy = error.hint or None
    if isinstance(error, WorkerTimedOut):
        if deadline.by_budget:
            return Failure(stage, error.message, budget_allowed_s=deadline.seconds)
        remedy = f"If the model is really that slow, give it more time: --deadline {2 * deadline.seconds:.0f}s"
    elif not error.hint:
        remedy = f"What it printed is in {log}" if isinstance(error, WorkerDied) else f"Its traceback is in {log}"
    return Failure(stage, error.message, remedy)


def thread_environment(threads: int | None) -> Mapping[str, str]:
    """Return the variables that keep libraries which size their own pools within the cell's threads."""
    return {} if threads is None else {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
