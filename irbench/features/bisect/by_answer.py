"""Compare the outputs of versions of a runtime with those of the first one; nothing is timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from irbench.core.record import Failure
from irbench.core.row import CellResult
from irbench.features.bisect.report import Step, VersionComparison
from irbench.features.verify.model import answers_of, verified_cells
from irbench.features.verify.report import Trial
from irbench.spec import Cell, PythonEnvironment
from irbench.spi import Outputs
from irbench.worker.failures import CallFailed, WorkerDied


class OutputComparer:
    """Runs a model in the environment of each version, once for each version.

    Args:
        trials: Inputs, with cells of one backend.
        threshold: Largest relative error that does not count; ``None`` for the tolerance of the precision.
        environments: Returns the environments of two versions.
    """

    def __init__(
        self,
        trials: Sequence[Trial],
        threshold: float | None,
        environments: Callable[[str, str], tuple[PythonEnvironment, ...]],
    ) -> None:
        self._trials = trials
        self._threshold = threshold
        self._environments = environments
        self._known: dict[str, tuple[tuple[Outputs, ...], ...] | Failure] = {}

    def ends(self, first: str, last: str) -> tuple[Step, bool | None]:
        """Return the last version's step, and whether its answers differ from those of the first."""
        step = self.side(first, last)
        return step, step.side == "new"

    def side(self, first: str, version: str) -> Step:
        """Return whether a version answers as the first one does: ``old``, or otherwise: ``new``."""
        comparison = self.compare(first, version)
        return Step(comparison, "new" if self._differs(comparison, first) else "old")

    def compare(self, baseline: str, version: str) -> VersionComparison:
        """Compare the answers of a version with those of another."""
        before, after = self._environments(baseline, version)
        expected = self._known.get(baseline)
        if expected is None:
            expected = self._known[baseline] = self._answers(before)
        if isinstance(expected, Failure):
            outputs = self._answers(after)
            if isinstance(outputs, Failure):
                return VersionComparison(baseline, version, state="failed", failure=outputs)
            return VersionComparison(baseline, version, state="ok")
        row = self._row(after, expected)
        return VersionComparison(baseline, version, state=row.state, output_error=row.output_error, failure=row.failure)

    def _differs(self, comparison: VersionComparison, first: str) -> bool:
        failed = comparison.state == "failed"
        if isinstance(self._known[first], Failure) or failed:
            return isinstance(self._known[first], Failure) != failed
        if self._threshold is not None and comparison.output_error is not None:
            return comparison.output_error.max_rel > self._threshold
        return comparison.state != "ok"

    def _answers(self, environment: PythonEnvironment) -> tuple[tuple[Outputs, ...], ...] | Failure:
        try:
            return tuple(answers_of(trial, _cell(trial, environment)).outputs for trial in self._trials)
        except (CallFailed, WorkerDied) as problem:
            return Failure("run", problem.message, problem.hint or None)

    def _row(self, environment: PythonEnvironment, expected: tuple[tuple[Outputs, ...], ...]) -> CellResult:
        trials = [
            replace(trial, cells=(_cell(trial, environment),), expected=outputs)
            for trial, outputs in zip(self._trials, expected, strict=True)
        ]
        (row,) = verified_cells(trials)
        return row


def _cell(trial: Trial, environment: PythonEnvironment) -> Cell:
    (cell,) = trial.cells
    return replace(cell, environment=environment)
