"""What `irbench bisect` found, as immutable values; its JSON has these keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from irbench.core.record import Failure, OutputError
from irbench.core.row import Speedup, State
from irbench.features.bisect.options import Criterion

Side: TypeAlias = Literal["old", "new", "undecided", "skipped"]
"""``old``: it behaves as the first version does; ``new``: as the last; ``skipped``: it cannot be installed or run."""
Conclusion: TypeAlias = Literal["found", "same", "undecided", "interrupted"]
"""``same``: the first and the last version do not differ; ``undecided``: whether they do could not be decided."""


@dataclass(frozen=True)
class VersionComparison:
    """A version compared with another, its baseline.

    Attributes:
        speedup: How many times as fast the version is; ``None`` where nothing was timed.
        state: Of its row: ``mismatch`` where its outputs differ, ``failed`` where it does not run the model.
        output_error: How far its outputs are from those of the baseline; ``None`` where they were not compared.
        failure: Why its outputs differ, or why it was not compared.
        run_id: The stored run; ``None`` where nothing was timed.
    """

    baseline: str
    version: str
    speedup: Speedup | None = None
    state: State | None = None
    output_error: OutputError | None = None
    failure: Failure | None = None
    run_id: str | None = None


@dataclass(frozen=True)
class Step:
    """A version that was tried, compared with the first one.

    Attributes:
        attempts: How often it was compared: an undecided comparison is repeated with more time.
    """

    comparison: VersionComparison
    side: Side
    attempts: int = 1

    @property
    def version(self) -> str:
        """The version that was tried."""
        return self.comparison.version


@dataclass(frozen=True)
class BisectReport:
    """The document of a search.

    Attributes:
        threshold: Smallest change of speed that counts, as a fraction of 1; for answers the largest relative error that
            does not count, ``None`` for the tolerance of the precision.
        versions: From the first to the last, those that were not tried included.
        steps: What was tried, in order; the first is the last version.
        last_old: The newest version that behaves as the first; ``None`` where nothing was found.
        first_new: The oldest that behaves as the last.
        untested: Versions between these two that could not be judged.
        evidence: ``first_new`` against ``last_old``; ``None`` where nothing was found, or it was interrupted.
        results: The folder where its runs are kept, as the user named it; ``None`` for the usual place.
    """

    model: str
    runtime: str
    backend: str
    by: Criterion
    threshold: float | None
    versions: tuple[str, ...]
    steps: tuple[Step, ...]
    conclusion: Conclusion
    last_old: str | None = None
    first_new: str | None = None
    untested: tuple[str, ...] = ()
    evidence: VersionComparison | None = None
    results: str | None = None
