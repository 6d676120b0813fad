"""The outputs of a launch's cells against the reference: before anything is timed, and again after the last block."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from irbench.record import Failure, OutputError
from irbench.runner.answers import CHANGING, require_answers, worse, worst_error
from irbench.runner.cell_progress import CellProgress
from irbench.runner.turn import LaunchPlan
from irbench.runner.workers import Workers
from irbench.spec import Cell
from irbench.spi import Outputs
from irbench.worker.inputs import takes_turns


class LaunchCheck:
    """Compares what cells answer, and keeps the worst error of each; only the first launch of a cell is checked.

    Args:
        plan: The group's, with the expected outputs.
        new: Ids of the cells whose first launch it is.
        workers: Those of the launch; a cell whose answer cannot be compared leaves them.
        progress: Of each cell, by its id.
    """

    def __init__(
        self, plan: LaunchPlan, new: Collection[str], workers: Workers, progress: Mapping[str, CellProgress]
    ) -> None:
        self._plan = plan
        self._new = new
        self._workers = workers
        self._progress = progress

    def wants(self, cell: Cell) -> bool:
        """Whether the answers of a cell are compared in this launch."""
        return cell.id in self._new and self._plan.expected[cell.workload].outputs is not None

    @property
    def answers(self) -> int:
        """How often each cell answers once more after the blocks."""
        return max((cell.load.concurrency for cell in self._workers.cells if self.wants(cell)), default=0)

    def first(self, cell: Cell, answers: Sequence[Outputs]) -> None:
        """Compare the answers of all streams to the first sample, then those to every other call that is checked."""
        if not self.wants(cell):
            return
        progress = self._progress[cell.id]
        progress.output_error = self._error(cell, answers, cell.load.concurrency)
        feeding = self._plan.group.workload_of(cell).feeding
        for call in range(feeding.checked_calls if takes_turns(feeding) else 0):
            if cell in self._workers.cells:
                answered = self._workers.ask(cell.id, "verify", "answer_call", call)
                error = self._error(cell, answered, cell.load.instances, call=call)
                progress.output_error = worse(progress.output_error, error)

    def again(self, cell: Cell) -> None:
        """Have a cell answer once more now that it was measured: some answer rightly only at first."""
        if self.wants(cell) and cell in self._workers.cells:
            answers = self._workers.ask(cell.id, "second answer", "answer_again")
            error = self._error(cell, answers, cell.load.concurrency, f"{CHANGING}: ")
            self._progress[cell.id].repeat_error = error

    def _error(
        self, cell: Cell, answers: Sequence[Outputs] | None, asked: int, preface: str = "", call: int = 0
    ) -> OutputError | None:
        """Compare answers to one call with the reference; a cell whose answers cannot be compared leaves.

        Args:
            cell: It.
            answers: What it gave; ``None`` where it failed.
            asked: How many were asked for.
            preface: What a failure begins with.
            call: Which of the expected answers they are compared with.
        """
        expected = self._plan.expected[cell.workload]
        if expected.outputs is None or answers is None:
            return None
        try:
            require_answers(answers, asked, cell)
            classifier = self._plan.group.workload_of(cell).bundle.classifier
            return worst_error(answers, expected.outputs[call], classifier, expected.scale) if answers else None
        except ValueError as error:
            self._workers.dismiss(cell.id, Failure("verify", f"{preface}{error}"))
            return None
