"""Measure versions of a runtime against the first one, each in a run of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from irbench.api.progress import Reporter
from irbench.core.record import Failure
from irbench.core.row import ENDED_EARLY, CellResult
from irbench.errors import IrbenchError
from irbench.features.bisect.halving import ends_differ, side_by_speed
from irbench.features.bisect.report import Side, Step, VersionComparison
from irbench.options.run import RunOptions
from irbench.runs.measurement import measure
from irbench.spec import PythonEnvironment
from irbench.store.folders import default_root, results_option

T = TypeVar("T")

_MOST_ATTEMPTS = 3
_USUAL_BUDGET_S = 90.0


class SpeedComparer:
    """Measures pairs of versions as ``irbench ab`` does; an undecided pair again, each time with twice the time.

    Args:
        options: What is measured and how; ``within`` is the smallest change that counts.
        environments: Returns the environments of two versions.
        reporter: Receives progress.
    """

    def __init__(
        self,
        options: RunOptions,
        environments: Callable[[str, str], tuple[PythonEnvironment, ...]],
        reporter: Reporter,
    ) -> None:
        assert options.within is not None
        self._options = options
        self._threshold = options.within
        self._environments = environments
        self._reporter = reporter
        self._whole = 1.0

    def ends(self, first: str, last: str) -> tuple[Step, bool | None]:
        """Return the last version's step, and whether it differs from the first; ``None`` where that is undecided."""
        comparison, differ, attempts = self._repeated(first, last, self._ends_differ)
        if comparison.speedup is None:
            reason = comparison.failure.message if comparison.failure is not None else "it has no speedup"
            named = results_option(self._options.results or default_root())
            raise IrbenchError(
                f"{first} and {last} cannot be compared by speed: {reason}.",
                hint=f"See the stored run: irbench show{named}. With --by answer, versions may fail.",
            )
        self._whole = comparison.speedup.value
        side: Side = "undecided" if differ is None else "new" if differ else "old"
        return Step(comparison, side, attempts), differ

    def side(self, first: str, version: str) -> Step:
        """Return which end a version is like; one that does not run is skipped."""
        decided: Side | None
        comparison, decided, attempts = self._repeated(first, version, self._side)
        return Step(comparison, decided or "undecided", attempts)

    def compare(self, baseline: str, version: str, attempt: int = 0) -> VersionComparison:
        """Measure a version against another; each further attempt takes twice as long as the last one."""
        options = replace(
            self._options,
            environments=self._environments(baseline, version),
            budget=(self._options.budget or _USUAL_BUDGET_S) * 2**attempt,
        )
        document = measure(options, self._reporter).document
        (table,) = document.groups
        if table.stopped_by in ENDED_EARLY:
            raise KeyboardInterrupt
        rows = {row.environment.key: row for row in table.cells if row.environment is not None}
        keys = [environment.key for environment in options.environments]
        return _comparison(baseline, version, rows[keys[0]], rows[keys[1]], document.run_id)

    def _ends_differ(self, comparison: VersionComparison) -> bool | None:
        return ends_differ(comparison.speedup, self._threshold) if comparison.speedup is not None else False

    def _side(self, comparison: VersionComparison) -> Side | None:
        if comparison.speedup is None:
            return "skipped"
        side = side_by_speed(comparison.speedup, self._whole)
        return None if side == "undecided" else side

    def _repeated(
        self, baseline: str, version: str, decide: Callable[[VersionComparison], T | None]
    ) -> tuple[VersionComparison, T | None, int]:
        """Compare until the decision is not ``None``, three times at most; also return how often."""
        attempt = 0
        while True:
            comparison = self.compare(baseline, version, attempt)
            decision = decide(comparison)
            attempt += 1
            if decision is not None:
                return comparison, decision, attempt
            self._reporter.say(f"{version} against {baseline}: undecided after {attempt} of {_MOST_ATTEMPTS} tries")
            if attempt == _MOST_ATTEMPTS:
                return comparison, None, attempt


def _comparison(baseline: str, version: str, old: CellResult, new: CellResult, run_id: str) -> VersionComparison:
    failure = new.failure or old.failure
    if new.speedup is None and failure is None:
        failure = Failure("measure", "there is no speedup, because the two compute in different precision")
    return VersionComparison(baseline, version, new.speedup, new.state, new.output_error, failure, run_id)
