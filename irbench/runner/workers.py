"""The workers of one launch, a cell each: started together, resumed one at a time; each failure becomes a row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from irbench.core.record import Failure, OutputError, Stage
from irbench.measure.clock import Stopwatch, now_ns
from irbench.runner.instances import InstanceWorkers
from irbench.runner.plan import PlannedGroup, other_form
from irbench.runner.reference import (
    ReferenceOutputs,
    expected_outputs,
    fallback,
    require_answers,
    worse,
    worst_error,
    wrongness,
)
from irbench.spec import Cell, Deadline, Scalar, Timing
from irbench.spi import Outputs
from irbench.system import host
from irbench.worker.cell import CellTask, PreparedSession
from irbench.worker.failures import CallFailed, WorkerDied, WorkerTimedOut
from irbench.worker.feed_turns import takes_turns
from irbench.worker.process import Worker
from irbench.worker.requested_confinement import confinement_of

T = TypeVar("T")
START_DEADLINE_S = 60.0
"""A worker may take this long to start even where the protocol's deadline is shorter."""


class CellFailed(Exception):
    """A cell has no number."""

    def __init__(self, failure: Failure, output_error: OutputError | None = None) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.output_error = output_error


@dataclass(frozen=True)
class Setting:
    """What all workers of a table have in common.

    Attributes:
        watch: Since when the table is measured.
    """

    planned: PlannedGroup
    timing: Timing
    logs: Path
    expected: ReferenceOutputs
    watch: Stopwatch = field(default_factory=Stopwatch)

    @property
    def deadline(self) -> Deadline:
        """How long a worker is waited for from now on."""
        return self.timing.deadline_after(self.watch.elapsed_s)

    def worker(self, cell: Cell, environment: Mapping[str, str] | None = None) -> CellWorker:
        """Start the worker of a cell, with variables besides the present ones."""
        task = CellTask(cell, self.planned.group.workload_of(cell), self.timing)
        exported = task.workload.bundle.artifact(("onnx",))  # operators of its other forms are named after its nodes
        readable = () if exported is None else (exported.path,)
        return CellWorker(task, self.logs, lambda: self.deadline, environment, readable)


def setting_of(planned: PlannedGroup, timing: Timing, logs: Path, scratch: Path) -> Setting:
    """Return what all workers of a table have in common, with the expected outputs."""
    scratch.mkdir(parents=True, exist_ok=True)
    watch, group = Stopwatch(), planned.group
    expected = expected_outputs(group.main, group.cells, scratch, timing.deadline_after(0.0).seconds)
    return Setting(planned, timing, logs, expected, watch)


class CellWorker:
    """The process of one cell, or the processes that run it side by side, started at once.

    What goes wrong in it is a failure of the cell. Use it as a context manager: that ends it.

    Attributes:
        spawned_ns: Just before the process was started.
    """

    def __init__(
        self,
        task: CellTask,
        logs: Path,
        deadline: Callable[[], Deadline],
        environment: Mapping[str, str] | None = None,
        readable: Iterable[Path] = (),
    ) -> None:
        self.cell = cell = task.cell
        self._task, self._deadline = task, deadline
        self.spawned_ns = now_ns()
        load = cell.load
        variables = {**thread_environment(load.threads), **(environment or {})}
        confinement = confinement_of(cell, (*task.workload.feeding.samples, *readable), environment)
        self._process: Worker | InstanceWorkers
        if load.instances == 1:
            log = logs / f"{cell.id}.log"
            self._process = Worker(
                log, cpus=load.cpus, environment=variables, python=cell.python, confinement=confinement
            )
        else:
            self._process = InstanceWorkers(cell, logs, host.allowance(load.cpus).cpus, variables, confinement)

    @property
    def process_id(self) -> int:
        """The process id, of a cell that has one process."""
        assert isinstance(self._process, Worker)
        return self._process.process_id

    def hold(self, host_class: str) -> None:
        """Make the object that later calls by method name belong to; raises as :meth:`ask` does.

        Args:
            host_class: ``module:class``, which is called with the task; instances have one of their own.
        """
        process = self._process
        if isinstance(process, InstanceWorkers):
            self._try("start", lambda own_s: process.hold(self._task, deadline_s=max(START_DEADLINE_S, own_s)))
        else:
            self._try(
                "start",
                lambda own_s: process.ask(host_class, self._task, hold=True, deadline_s=max(START_DEADLINE_S, own_s)),
            )

    def ask(self, stage: Stage, method: str, *args: Any, extra_s: float = 0.0, deadline_s: float | None = None) -> Any:
        """Call a method of what is held, and return what it returned.

        Raises:
            CellFailed: It raised, the process ended, or the deadline passed.
        """
        return self._try(
            stage, lambda own_s: self._process.ask(method, *args, deadline_s=(deadline_s or own_s) + extra_s)
        )

    def send(self, stage: Stage, method: str, *args: Any) -> None:
        """Call a method without waiting for its answer; raises as :meth:`ask` does."""
        self._try(stage, lambda own_s: self._process.send(method, *args, deadline_s=own_s))

    def receive(self, stage: Stage, deadline_s: float) -> Any:
        """Return the answer to what was sent first; raises as :meth:`ask` does."""
        return self._try(stage, lambda _: self._process.receive(deadline_s=deadline_s))

    def freeze(self, stage: Stage = "measure") -> None:
        """Let it stand still until :meth:`thaw`."""
        self._try(stage, lambda _: self._process.freeze())

    def thaw(self) -> None:
        """Let it run again."""
        self._process.thaw()

    def kill(self) -> None:
        """End it and everything it started, frozen or not."""
        self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _try(self, stage: Stage, action: Callable[[float], Any]) -> Any:
        deadline = self._deadline()  # of before the wait
        try:
            return action(deadline.seconds)
        except (CallFailed, WorkerDied) as error:
            raise CellFailed(failure_of(stage, error, self._process.log, deadline)) from error


def failure_of(stage: Stage, error: CallFailed | WorkerDied, log: Path, deadline: Deadline) -> Failure:
    """Return why a cell has no number, and what helps."""
    remedy = error.hint or None
    if isinstance(error, WorkerTimedOut):
        if deadline.by_budget:
            return Failure(stage, error.message, budget_allowed_s=deadline.seconds)
        remedy = more_time(deadline.seconds)
    elif not error.hint:
        remedy = f"What it printed is in {log}" if isinstance(error, WorkerDied) else f"Its traceback is in {log}"
    return Failure(stage, error.message, remedy)


def more_time(deadline_s: float) -> str:
    """Return what helps where this deadline was too short, as a sentence."""
    return f"If the model is really that slow, give it more time: --deadline {2 * deadline_s:.0f}s"


def thread_environment(threads: int | None) -> Mapping[str, str]:
    """Return the variables that keep libraries which size their own pools within the cell's threads."""
    return {} if threads is None else {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}


def checked(cell: Cell, prepared: PreparedSession, setting: Setting, call: int | None = None) -> OutputError | None:
    """Return how far a cell's answers are from the reference; ``None`` where there is none, or a user's code gave none.

    Raises:
        CellFailed: It runs on another device than was asked for, or its answers are wrong.
    """
    elsewhere = fallback(cell, prepared.effective)
    if elsewhere is not None:
        raise CellFailed(elsewhere)
    if setting.expected.outputs is None:
        return None
    try:
        require_answers(prepared.outputs, cell.load.concurrency if call is None else cell.load.instances, cell)
    except ValueError as problem:
        raise CellFailed(Failure("verify", str(problem))) from problem
    return compared(cell, prepared.outputs, prepared.effective, setting, call or 0) if prepared.outputs else None


def compared(
    cell: Cell, answers: Sequence[Outputs], effective: Mapping[str, Scalar], setting: Setting, call: int = 0
) -> OutputError:
    """Return how far the worst of a cell's answers to a call is from the reference, which there is.

    Raises:
        CellFailed: It is wrong.
    """
    expected = setting.expected
    assert expected.outputs is not None
    try:
        error = worst_error(answers, expected.outputs[call], setting.planned.group.main.bundle, expected.scale)
    except ValueError as problem:
        raise CellFailed(Failure("verify", str(problem))) from problem
    wrong = wrongness(error, cell, effective)
    if wrong is not None:
        raise CellFailed(wrong, error)
    return error


def checked_turns(worker: CellWorker, stage: Stage, prepared: PreparedSession, setting: Setting) -> OutputError | None:
    """Return how far the worst answer to inputs that take turns is from its reference; ``None`` where none do."""
    feeding = setting.planned.group.main.feeding
    if setting.expected.outputs is None or not takes_turns(feeding):
        return None
    worst: OutputError | None = None
    for call in range(feeding.checked_calls):
        answered = replace(prepared, outputs=worker.ask(stage, "answer_call", call))
        worst = worse(worst, checked(worker.cell, answered, setting, call))
    return worst


def runnable_form(cell: Cell, failed: CellFailed, setting: Setting) -> Cell | None:
    """Return the cell with the other form of its graph, where its runtime refuses the planned one alone.

    No other is tried where the deadline ended the first one: it would take as long.
    """
    other = other_form(cell, setting.planned.others)
    if other is None or failed.failure.stage != "compile" or isinstance(failed.__cause__, WorkerTimedOut):
        return None
    try:
        with setting.worker(other) as worker:
            worker.hold("irbench.worker.cell:CellHost")
            worker.ask("import", "import_runtime")
            worker.ask("compile", "prepare", False)
    except CellFailed:
        return None
    return other


_LEAST_LEFT_S = 1.0
"""How long a worker is waited for at least that has worked beside others, which used up the time of all."""


class Workers:
    """Workers by cell id. A cell that fails leaves them and is remembered with its reason.

    Cells of one session share its worker, and fail together.
    """

    def __init__(self, tasks: Iterable[CellTask], logs: Path, deadline: Callable[[], Deadline]) -> None:
        self._deadline = deadline
        self._logs = logs
        planned = tuple(tasks)
        self._cells = tuple(task.cell for task in planned)
        self._session_of = {cell.id: cell.session for cell in self._cells}
        self._tasks: dict[str, CellTask] = {}
        """By session, as all that follows: those of the first cell of each, in the order of cells."""
        for task in planned:
            self._tasks.setdefault(task.cell.session, task)
        self._workers: dict[str, CellWorker] = {}
        self._failures: dict[str, Failure] = {}
        self._started_ns: dict[str, int] = {}
        self._timed_out: set[str] = set()

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that are still healthy, in the order of the plan."""
        return tuple(cell for cell in self._cells if cell.session in self._workers)

    @property
    def failures(self) -> Mapping[str, Failure]:
        """Why cells left, by cell id."""
        return self._by_cell(self._failures)

    @property
    def started_ns(self) -> Mapping[str, int]:
        """From a worker's start until it held its session, by cell id: interpreter and harness."""
        return self._by_cell(self._started_ns)

    def start(self, together: Collection[str] = ()) -> None:
        """Start a worker for each session, and leave it frozen once its runtime is imported.

        One after the other, so that the time of each import is that of an import alone; those of cells that are
        ``together`` side by side.
        """
        sessions = {self._session_of[cell] for cell in together}
        for session, task in self._tasks.items():
            self._start_one(session, task)
            if session not in sessions:
                self._finish(session, "import", self._deadline().seconds)
        left_s = self._wait_together(len(sessions))
        for session in self._tasks:
            if session in sessions:
                self._finish(session, "import", left_s())

    def start_and_prepare(self, together: Collection[str]) -> Mapping[str, Any]:
        """Start all workers, and let these import, load and compile side by side; leave each frozen when it is done.

        Args:
            together: Ids of cells.

        Returns:
            What ``prepare`` returned, by the ids of the cells that prepared.
        """
        sessions = {self._session_of[cell] for cell in together}
        for session, task in self._tasks.items():
            self._start_one(session, task)
            if session in sessions and session in self._workers:
                # waits in the worker until the import is done
                self._try(session, partial(self._workers[session].send, "import", "prepare", False))
        prepared: dict[str, Any] = {}
        left_s = self._wait_together(len(sessions))
        for session in self._tasks:
            if session not in sessions:
                self._finish(session, "import", self._deadline().seconds)
                continue
            if session in self._workers:
                self._try(session, partial(self._workers[session].receive, "import", left_s()))
            prepared[session] = self._finish(session, "compile", left_s())
        return self._by_cell({session: answer for session, answer in prepared.items() if session in self._workers})

    def ask(self, cell: str, stage: Stage, method: str, *args: Any, deadline_s: float | None = None) -> Any:
        """Wake one worker, ask it, and freeze it again.

        Returns:
            What the method returned, or ``None`` when the cell failed; see :attr:`failures`.
        """
        session = self._session_of[cell]
        worker = self._workers.get(session)
        if worker is None:
            return None  # it died between two questions
        worker.thaw()
        answer = self._try(session, lambda: worker.ask(stage, method, *args, deadline_s=deadline_s))
        self._try(session, lambda: worker.freeze(stage))
        return answer if session in self._workers else None

    def can_prepare(self, task: CellTask) -> bool:
        """Whether a worker of its own prepares another task for a cell that failed; the cell stays failed.

        No other is tried where the deadline ended the first one: it would take as long.
        """
        session = task.cell.session
        failure = self._failures[session]
        if failure.stage != "compile" or session in self._timed_out:
            return False
        self._start_one(session, task)
        self._finish(session, "import", self._deadline().seconds)
        prepared = self.ask(task.cell.id, "compile", "prepare", False) if session in self._workers else None
        if session in self._workers:
            self._workers.pop(session).kill()
        self._failures[session] = failure
        return prepared is not None

    def dismiss(self, cell: str, failure: Failure) -> None:
        """Let a healthy cell go, for a reason its worker does not know."""
        session = self._session_of[cell]
        self._failures[session] = failure
        self._workers.pop(session).kill()

    def close(self) -> None:
        """End every worker, frozen or not."""
        for worker in self._workers.values():
            worker.kill()
        self._workers.clear()

    def _wait_together(self, workers: int) -> Callable[[], float]:
        """Return what tells how long workers are still waited for that share the processors from now on."""
        watch, seconds = Stopwatch(), self._deadline().together(workers)
        return lambda: max(_LEAST_LEFT_S, seconds - watch.elapsed_s)

    def _by_cell(self, by_session: Mapping[str, T]) -> dict[str, T]:
        return {cell: by_session[session] for cell, session in self._session_of.items() if session in by_session}

    def _start_one(self, session: str, task: CellTask) -> None:
        self._workers[session] = worker = CellWorker(task, self._logs, self._deadline)
        self._try(session, lambda: worker.hold("irbench.worker.cell_hosts:RunHost"))
        self._started_ns[session] = now_ns() - worker.spawned_ns
        self._try(session, lambda: worker.send("import", "import_runtime"))

    def _finish(self, session: str, stage: Stage, deadline_s: float) -> Any:
        """Return the answer to what was sent to a worker, and freeze it; ``None`` where it failed."""
        if session not in self._workers:
            return None
        worker = self._workers[session]
        answer = self._try(session, lambda: worker.receive(stage, deadline_s))
        self._try(session, lambda: worker.freeze(stage))
        return answer

    def _try(self, session: str, action: Callable[[], Any]) -> Any:
        """Return what an action returns; ``None`` where the session has failed before, or fails and leaves."""
        if session not in self._workers:
            return None
        try:
            return action()
        except CellFailed as failed:
            self._workers.pop(session).kill()
            if isinstance(failed.__cause__, WorkerTimedOut):
                self._timed_out.add(session)
            self._failures[session] = failed.failure
            return None
