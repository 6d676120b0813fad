"""What `irbench bisect` found, as immutable values; its JSON has these keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from irbench.api.display import DisplayedReport
from irbench.core.record import Failure, OutputError
from irbench.core.row import Speedup, State
from irbench.errors import ExitCode
from irbench.features.bisect.options import BISECT, Criterion

if TYPE_CHECKING:
    from irbench.api.progress import Say
    from irbench.render.views import Document

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


class Bisection(DisplayedReport[BisectReport]):
    """The result of a search for the version that changed a model's speed or outputs.

    Attributes:
        report: Its document.
    """

    _command = BISECT

    @property
    def changed_by(self) -> str | None:
        """The version that changed the speed or the answers; ``None`` where none is known to have."""
        return self.report.first_new

    @property
    def exit_code(self) -> ExitCode:
        """What ``irbench bisect`` exits with."""
        codes = {"undecided": ExitCode.UNDECIDED, "interrupted": ExitCode.INTERRUPTED}
        return codes.get(self.report.conclusion, ExitCode.OK)

    def __repr__(self) -> str:
        """Return what was searched and what came out."""
        report = self.report
        outcome = f"changed by {report.first_new}" if report.first_new else report.conclusion
        return f"<Bisection of {report.runtime} {report.versions[0]} to {report.versions[-1]}: {outcome}>"

    def __rich__(self) -> Document:
        """Return the report as ``irbench bisect`` prints it; called by rich."""
        from irbench.features.bisect.view import bisection_view

        return bisection_view(self.report)


def told_in_words(say: Say) -> Callable[[VersionComparison], None]:
    """Return what says comparisons as lines."""
    from irbench.features.bisect.view import comparison_text

    return lambda comparison: say(comparison_text(comparison))
