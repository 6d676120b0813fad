"""The workers of one launch: started together, resumed one at a time; each failure becomes a row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from irbench.core.record import Failure, Stage
from irbench.measure.clock import now_ns
from irbench.runner.cell_worker import CellFailed, CellWorker
from irbench.spec import Cell, Deadline
from irbench.worker.cell import CellTask
from irbench.worker.failures import WorkerTimedOut


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
        self._workers: dict[str, CellWorker] = {}
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
                self._try(cell, partial(self._workers[cell].send, "import", "prepare", False))
        prepared: dict[str, Any] = {}
        shared_s = self._deadline().together(len(together))
        for cell in self._tasks:
            if cell not in together:
                self._finish(cell, "import", self._deadline().seconds)
                continue
            if cell in self._workers:
                self._try(cell, partial(self._workers[cell].receive, "import", shared_s))
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
        answer = self._try(cell, lambda: worker.ask(stage, method, *args, deadline_s=deadline_s))
        self._try(cell, lambda: worker.freeze(stage))
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
        self._workers[cell] = worker = CellWorker(task, self._logs, self._deadline)
        self._try(cell, lambda: worker.hold("irbench.worker.run:RunHost"))
        self.started_ns[cell] = now_ns() - worker.spawned_ns
        self._try(cell, lambda: worker.send("import", "import_runtime"))

    def _finish(self, cell: str, stage: Stage, deadline_s: float) -> Any:
        """Return the answer to what was sent to a worker, and freeze it; ``None`` where it failed."""
        if cell not in self._workers:
            return None
        worker = self._workers[cell]
        answer = self._try(cell, lambda: worker.receive(stage, deadline_s))
        self._try(cell, lambda: worker.freeze(stage))
        return answer

    def _try(self, cell: str, action: Callable[[], Any]) -> Any:
        """Return what an action returns; ``None`` where the cell has failed before, or fails and leaves."""
        if cell not in self._workers:
            return None
        try:
            return action()
        except CellFailed as failed:
            self._workers.pop(cell).kill()
            if isinstance(failed.__cause__, WorkerTimedOut):
                self._timed_out.add(cell)
            self.failures[cell] = failed.failure
            return None
