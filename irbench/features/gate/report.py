"""What a gate decided, as immutable values; its JSON has these keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from irbench.api.display import Displayable
from irbench.core.result import StoppedBy
from irbench.errors import ExitCode
from irbench.features.gate.decision import REGRESSIONS, GatedRow
from irbench.features.gate.options import GATE
from irbench.options.values import ReportForm
from irbench.render.text_formats import json_text
from irbench.runs.results import Run

if TYPE_CHECKING:
    from irbench.render.views import PlainView

GateOutcome: TypeAlias = Literal["passed", "regression", "undecided", "interrupted"]
"""``passed``: no condition is met in any row, and the interval of each excludes it; ``regression``: a row meets one, or
NEW fails or has wrong outputs; ``undecided``: neither is known."""


@dataclass(frozen=True)
class GateReport:
    """The document of a gate.

    Attributes:
        base: What NEW was compared with, as the user named it.
        new: What may have regressed.
        limit: The smallest slowdown that matters, as a fraction of BASE's time.
        conditions: What must not happen; the first is about the time.
        rows: A row of NEW each, compared with that of BASE.
        run: Id of the run that measured both.
        is_interrupted: Whether an interrupt ended it.
        is_as_loaded: Whether other programs disturbed most of it, so that what it says holds under that load.
        seconds: Wall time of all launches.
        stopped_by: Why the launches of each table ended.
        confidence: Of a regression in any row together, of a pass, and of each interval.
        needed_s: Which budget the launches of an interval need, where a table had too few; ``None`` if none had.
        results: The folder where its run is kept, as the user named it; ``None`` for the usual place.
    """

    base: str
    new: str
    limit: float
    conditions: tuple[str, ...]
    rows: tuple[GatedRow, ...]
    run: str
    is_interrupted: bool
    is_as_loaded: bool
    seconds: float
    stopped_by: tuple[StoppedBy, ...]
    confidence: float
    needed_s: int | None = None
    results: str | None = None

    @property
    def outcome(self) -> GateOutcome:
        """What was decided; a regression that was found before an interrupt is one."""
        outcomes = {row.outcome for row in self.rows}
        if outcomes & REGRESSIONS:
            return "regression"
        if self.is_interrupted:
            return "interrupted"
        return "passed" if outcomes == {"passed"} else "undecided"

    @property
    def excluded_above(self) -> float | None:
        """Above which fraction slowdowns are excluded in every row; ``None`` where a row is not judged by its time.

        The largest upper end of the rows' own intervals, which is too small only if that of the slowest row misses.
        """
        if any(not row.conditions or row.conditions[0].unjudged is not None for row in self.rows):
            return None
        shifts = [row.time.relative if row.time is not None else None for row in self.rows]
        known = [shift.high for shift in shifts if shift is not None and shift.confidence is not None]
        return max(known) if known and len(known) == len(shifts) else None


class Gate(Displayable):
    """Whether a model or a setting is slower than another one.

    Attributes:
        report: Everything that was found.
        run: The run that measured both.
    """

    _command = GATE

    def __init__(self, report: GateReport, run: Run) -> None:
        self.report = report
        self.run = run

    @property
    def rows(self) -> tuple[GatedRow, ...]:
        """The rows of NEW, each compared with that of BASE."""
        return self.report.rows

    @property
    def passed(self) -> bool:
        """Whether every condition is excluded in every row."""
        return self.report.outcome == "passed"

    @property
    def regressed(self) -> bool:
        """Whether a row meets a condition, fails or has wrong outputs."""
        return self.report.outcome == "regression"

    @property
    def exit_code(self) -> ExitCode:
        """What ``irbench gate`` exits with."""
        return _CODES[self.report.outcome]

    def to_text(self, form: ReportForm = "table") -> str:
        """Return it as a person reads it, as JSON, or as Markdown for a pull request."""
        if form == "json":
            document: dict[str, Any] = {
                "outcome": self.report.outcome,
                "excluded_above": self.report.excluded_above,
                "gate": self.report,
            }
            return json_text(document)
        return self.__rich__().as_markdown() if form == "md" else str(self)

    def __repr__(self) -> str:
        """Return what was compared with what, and what was decided."""
        return f"<Gate {self.report.base} {self.report.new}: {self.report.outcome}>"

    def __rich__(self) -> PlainView:
        """Return the table as ``irbench gate`` prints it; called by rich."""
        from irbench.features.gate.view import gate_view

        return gate_view(self.report)


_CODES = {
    "passed": ExitCode.OK,
    "regression": ExitCode.DIFFERENT,
    "undecided": ExitCode.NOT_JUDGED,
    "interrupted": ExitCode.INTERRUPTED,
}
