"""The workers of one launch: started together, then one awake at a time, and each failure turned into a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from irbench.measure.clock import now_ns
from irbench.record import Failure
from irbench.spec import Cell
from irbench.worker.cell import CellTask
from irbench.worker.process import CallFailed, Worker, WorkerDied, WorkerTimedOut

__all__ = ["Crew"]

_START_DEADLINE_S = 60.0
"""A worker may take this long to start even where the protocol's deadline is shorter."""


class Crew:
    """Workers by cell id. A cell that fails leaves the crew and is remembered with its reason.

    Attributes:
        failures: Why cells left, by cell id.
        started_ns: From a worker's start until it held its cell, by cell id: interpreter and harness.
    """

    def __init__(self, tasks: Iterable[CellTask], logs: Path, deadline_s: float) -> None:
        self.failures: dict[str, Failure] = {}
        self.started_ns: dict[str, int] = {}
        self._deadline_s = deadline_s
        self._workers: dict[str, Worker] = {}
        self._tasks = {task.cell.id: task for task in tasks}
        self._logs = logs

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that are still healthy, in the order of the plan."""
        return tuple(task.cell for task in self._tasks.values() if task.cell.id in self._workers)

    def start(self, *, side_by_side: bool) -> None:
        """Start a worker for each cell and import its runtime, then leave it frozen.

        Args:
            side_by_side: Import all at once, which is quicker; one at a time, each import's
                duration is its own.
        """
        waiting: list[str] = []
        for cell, task in self._tasks.items():
            self._start_one(cell, task)
            if side_by_side:
                waiting.append(cell)
            else:
                self._finish_import(cell)
        for cell in waiting:
            self._finish_import(cell)

    def ask(self, cell: str, stage: str, method: str, *args: Any, deadline_s: float | None = None) -> Any:
        """Wake one worker, ask it, and freeze it again.

        Args:
            cell: Whose worker.
            stage: What a failure of this call is called in the cell's row.
            method: A method of :class:`irbench.worker.cell.CellHost`.
            args: Its arguments.
            deadline_s: When to give the worker up; the protocol's deadline unless given.

        Returns:
            What the method returned, or ``None`` when the cell failed; see :attr:`failures`.
        """
        worker = self._workers[cell]
        worker.thaw()
        answer = self._try(cell, stage, lambda: worker.ask(method, *args, deadline_s=deadline_s or self._deadline_s))
        if cell in self._workers:
            self._try(cell, stage, worker.freeze)
        return answer if cell in self._workers else None

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
        load = task.cell.load
        deadline_s = max(_START_DEADLINE_S, self._deadline_s)
        start_ns = now_ns()
        worker = Worker(self._logs / f"{cell}.log", cpus=load.cpus, environment=_environment(load.threads))
        self._workers[cell] = worker
        self._try(
            cell,
            "start",
            lambda: worker.ask("irbench.worker.cell:CellHost", task, hold=True, deadline_s=deadline_s),
        )
        self.started_ns[cell] = now_ns() - start_ns
        if cell in self._workers:
            self._try(cell, "import", lambda: worker.send("import_runtime", deadline_s=self._deadline_s))

    def _finish_import(self, cell: str) -> None:
        if cell not in self._workers:
            return
        worker = self._workers[cell]
        self._try(cell, "import", lambda: worker.receive(deadline_s=self._deadline_s))
        if cell in self._workers:
            self._try(cell, "import", worker.freeze)

    def _try(self, cell: str, stage: str, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except (CallFailed, WorkerDied) as error:
            worker = self._workers.pop(cell)
            worker.kill()
            self.failures[cell] = Failure(stage, error.message, self._remedy(error, worker.log))
            return None

    def _remedy(self, error: CallFailed | WorkerDied, log: Path) -> str | None:
        if isinstance(error, WorkerTimedOut):
            return f"If the model is really that slow: irbench run --deadline {2 * self._deadline_s:.0f}s"
        if isinstance(error, WorkerDied) and not error.hint:
            return f"What it printed is in {log}"
        return error.hint or None


def _environment(threads: int | None) -> Mapping[str, str]:
    """Return the variables that keep libraries which size their own pools within the cell's threads."""
    return {} if threads is None else {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
