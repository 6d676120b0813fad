"""One cell in a process of its own, with nothing beside it: for what is measured one cell at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from irbench.measure.clock import Stopwatch, now_ns
from irbench.output_check import judge
from irbench.record import Failure, OutputError, Stage
from irbench.runner.answers import fallback, require_answers, worse, worst_error
from irbench.runner.confined_cells import confinement_of
from irbench.runner.other_graph import other_form
from irbench.runner.plan import PlannedGroup
from irbench.runner.reference import Expected, expected_outputs
from irbench.runner.workers import START_DEADLINE_S, failure_of, thread_environment
from irbench.spec import Cell, Deadline, Timing
from irbench.worker.cell import CellTask, Prepared
from irbench.worker.failures import CallFailed, WorkerDied, WorkerTimedOut
from irbench.worker.inputs import takes_turns
from irbench.worker.process import Worker


class CellFailed(Exception):
    """A cell has no number.

    Attributes:
        failure: Why.
        output_error: How far its outputs are from the reference, where that is why.
    """

    def __init__(self, failure: Failure, output_error: OutputError | None = None) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.output_error = output_error


@dataclass(frozen=True)
class Setting:
    """What all workers of a table have in common.

    Attributes:
        planned: The table.
        timing: The protocol's numbers.
        logs: Where workers write what they print.
        expected: The outputs that each cell is compared with.
        watch: Since when the table is measured.
    """

    planned: PlannedGroup
    timing: Timing
    logs: Path
    expected: Expected
    watch: Stopwatch = field(default_factory=Stopwatch)

    @property
    def deadline(self) -> Deadline:
        """How long a worker is waited for from now on."""
        return self.timing.deadline_after(self.watch.elapsed_s)

    def task(self, cell: Cell) -> CellTask:
        """Return what a worker must know of a cell."""
        return CellTask(cell, self.planned.group.workload_of(cell), self.timing)


def setting_of(planned: PlannedGroup, timing: Timing, logs: Path, scratch: Path) -> Setting:
    """Return what all workers of a table have in common, with the expected outputs.

    Args:
        planned: The table.
        timing: The protocol's numbers.
        logs: Where workers write what they print.
        scratch: A folder for copies of the model; it is made.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    watch, group = Stopwatch(), planned.group
    expected = expected_outputs(group.main, group.cells, scratch, timing.deadline_after(0.0).seconds)
    return Setting(planned, timing, logs, expected, watch)


@dataclass
class CellWorker:
    """A worker that is started at once. Use it as a context manager: it ends the process.

    Args:
        cell: Whose worker.
        setting: Of its table.
        environment: Variables to set besides the present ones.

    Attributes:
        spawned_ns: Just before the process was started.
    """

    cell: Cell
    setting: Setting
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self._log = self.setting.logs / f"{self.cell.id}.log"
        environment = {**thread_environment(self.cell.load.threads), **self.environment}
        self.spawned_ns = now_ns()
        cpus, python = self.cell.load.cpus, self.cell.python
        workload = self.setting.task(self.cell).workload
        exported = workload.bundle.artifact(("onnx",))  # operators of its other forms are named after its nodes
        readable = (*workload.feeding.samples, *(() if exported is None else (exported.path,)))
        confinement = confinement_of(self.cell, readable, self.environment)
        self._worker = Worker(self._log, cpus=cpus, environment=environment, python=python, confinement=confinement)

    def hold(self, target: str, *args: Any) -> None:
        """Make the object in the worker that later calls by method name belong to; raises as :meth:`ask` does."""
        self._ask("start", target, args, START_DEADLINE_S, 0.0, hold=True)

    def ask(self, stage: Stage, target: str, *args: Any, extra_s: float = 0.0) -> Any:
        """Call a function, or a method of what is held, and return what it returned.

        Args:
            stage: What a failure of this call is called in the cell's row.
            target: ``module:function``, or a method's name.
            args: Its arguments.
            extra_s: What it may take on top of the protocol's deadline, in seconds.

        Raises:
            CellFailed: It raised, the process ended, or the deadline passed.
        """
        return self._ask(stage, target, args, 0.0, extra_s, hold=False)

    def freeze(self) -> None:
        """Let it stand still until :meth:`thaw`.

        Raises:
            CellFailed: It could not be stopped, and was ended.
        """
        try:
            self._worker.freeze()
        except WorkerDied as error:
            raise CellFailed(failure_of("measure", error, self._log, self.setting.deadline)) from error

    def thaw(self) -> None:
        """Let it run again."""
        self._worker.thaw()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.kill()

    @property
    def process_id(self) -> int:
        """The worker's process id."""
        return self._worker.process_id

    def _ask(
        self, stage: Stage, target: str, args: Sequence[Any], least_s: float, extra_s: float, *, hold: bool
    ) -> Any:
        deadline = self.setting.deadline
        try:
            return self._worker.ask(target, *args, deadline_s=max(least_s, deadline.seconds) + extra_s, hold=hold)
        except (CallFailed, WorkerDied) as error:
            raise CellFailed(failure_of(stage, error, self._log, deadline)) from error


def checked(cell: Cell, prepared: Prepared, setting: Setting, call: int | None = None) -> OutputError | None:
    """Return how far a cell's answers are from the reference; ``None`` where there is none, or a user's code gave none.

    Args:
        cell: It.
        prepared: Its session, with its answers.
        setting: Of its table.
        call: Which of the expected answers its only one is compared with; the answers of all slots with the first
            unless given.

    Raises:
        CellFailed: It runs on another device than was asked for, or its answers are wrong.
    """
    elsewhere = fallback(cell, prepared.effective)
    if elsewhere is not None:
        raise CellFailed(elsewhere)
    if setting.expected.outputs is None:
        return None
    try:
        require_answers(prepared.outputs, cell.load.streams if call is None else 1, cell)
        if not prepared.outputs:
            return None
        expected = setting.expected.outputs[call or 0]
        classifier = setting.planned.group.main.bundle.classifier
        error = worst_error(prepared.outputs, expected, classifier, setting.expected.scale)
    except ValueError as problem:
        raise CellFailed(Failure("verify", str(problem))) from problem
    graph_precision = cell.artifact.precision if cell.artifact is not None else ""
    wrong = judge(error, str(prepared.effective.get("precision")), graph_precision)
    if wrong is not None:
        raise CellFailed(wrong, error)
    return error


def checked_turns(worker: CellWorker, stage: Stage, prepared: Prepared, setting: Setting) -> OutputError | None:
    """Return how far the worst answer to inputs that take turns is from its reference; ``None`` where none do.

    Args:
        worker: Of the cell, which is asked for each answer.
        stage: What a failure of a call is called in the cell's row.
        prepared: Its session.
        setting: Of its table.

    Raises:
        CellFailed: A call failed, or an answer is wrong.
    """
    feeding = setting.planned.group.main.feeding
    if setting.expected.outputs is None or not takes_turns(feeding):
        return None
    found: OutputError | None = None
    for call in range(feeding.checked_calls):
        answered = replace(prepared, outputs=worker.ask(stage, "answer_call", call))
        found = worse(found, checked(worker.cell, answered, setting, call))
    return found


def runnable_form(cell: Cell, failed: CellFailed, setting: Setting) -> Cell | None:
    """Return the cell with the other form of its graph, where its runtime refuses the planned one alone.

    No other is tried where the deadline ended the first one: it would take as long.

    Args:
        cell: As it is planned.
        failed: How it failed.
        setting: Of its table.
    """
    other = other_form(cell, setting.planned.others)
    if other is None or failed.failure.stage != "compile" or isinstance(failed.__cause__, WorkerTimedOut):
        return None
    try:
        with CellWorker(other, setting) as worker:
            worker.hold("irbench.worker.cell:CellHost", setting.task(other))
            worker.ask("import", "import_runtime")
            worker.ask("compile", "prepare", False)
    except CellFailed:
        return None
    return other
