"""The outputs of a launch's cells against the reference: before anything is timed, and again after the last block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from irbench.record import Failure, OutputError
from irbench.runner.answers import CHANGING, worse, worst_error
from irbench.runner.cell_progress import CellProgress
from irbench.runner.turn import LaunchPlan
from irbench.runner.workers import Workers
from irbench.spec import Cell
from irbench.spi import Outputs
from irbench.worker.inputs import takes_turns

__all__ = ["LaunchCheck"]


class LaunchCheck:
    """Compares what cells answer, and keeps the worst error of each; only the first launch of a group is checked.

    Args:
        plan: The group's, with the expected outputs.
        launch: Counted from 0.
        workers: Those of the launch; a cell whose answer cannot be compared leaves them.
        progress: Of each cell, by its id.
    """

    def __init__(self, plan: LaunchPlan, launch: int, workers: Workers, progress: Mapping[str, CellProgress]) -> None:
        self._plan = plan
        self._launch = launch
        self._workers = workers
        self._progress = progress

    @property
    def wanted(self) -> bool:
        """Whether this launch is checked."""
        return self._launch == 0 and self._plan.reference is not None

    @property
    def answers(self) -> int:
        """How often each cell answers once more after the blocks."""
        return max((cell.load.streams for cell in self._workers.cells), default=0) if self.wanted else 0

    def first(self, cell: Cell, answers: Sequence[Outputs]) -> None:
        """Compare the answers of all streams to the first sample, then those to every other call that is checked."""
        progress = self._progress[cell.id]
        progress.output_error = self._error(cell, answers)
        feeding = self._plan.group.feeding
        if not self.wanted or not takes_turns(feeding):
            return
        for call in range(feeding.checked_calls):
            if cell in self._workers.cells:
                answer = self._workers.ask(cell.id, "verify", "answer_call", call)
                error = self._error(cell, (answer,) if answer else (), call=call)
                progress.output_error = worse(progress.output_error, error)

    def again(self, cell: Cell) -> None:
        """Have a cell answer once more now that it was measured: some answer rightly only at first."""
        if self.wanted and cell in self._workers.cells:
            answers = self._workers.ask(cell.id, "second answer", "answer_again")
            self._progress[cell.id].repeat_error = self._error(cell, answers or (), f"{CHANGING}: ")

    def _error(self, cell: Cell, answers: Sequence[Outputs], preface: str = "", call: int = 0) -> OutputError | None:
        """Compare answers to one call with the reference; a cell whose answer cannot be compared leaves."""
        if self._plan.reference is None or not answers:
            return None
        try:
            classifier = self._plan.group.bundle.classifier
            return worst_error(answers, self._plan.reference[call], classifier, self._plan.scale)
        except ValueError as error:
            self._workers.dismiss(cell.id, Failure("verify", f"{preface}{error}"))
            return None
