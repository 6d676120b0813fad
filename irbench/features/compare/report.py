"""Two sides compared: what was found, as values, texts and an exit code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irbench.across_runs.changes import Unjudged
from irbench.across_runs.side_comparison import ComparedRow, RunComparison
from irbench.api.display import Displayable
from irbench.charts.plots import Plottable
from irbench.errors import ExitCode
from irbench.features.compare.confirmed_regressions import (
    Confirmation,
    has_regressed,
    rows_as_measured_last,
    unjudged_of,
)
from irbench.features.compare.options import COMPARE
from irbench.options.values import ReportForm
from irbench.pages.result import PageResult, result_of_view
from irbench.render.text_formats import json_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from irbench.charts.figure import Figure


class ComparedRuns(Plottable, Displayable):
    """Two sides, compared.

    Attributes:
        comparison: Everything that was found.
        confirmation: What a second measurement said of its regressions; ``None`` where there was none.
    """

    _command = COMPARE

    def __init__(self, comparison: RunComparison, confirmation: Confirmation | None = None) -> None:
        self.comparison = comparison
        self.confirmation = confirmation

    @property
    def rows(self) -> tuple[ComparedRow, ...]:
        """The cells that both sides have, those that were measured again as they were then."""
        return rows_as_measured_last(self.comparison, self.confirmation)

    @property
    def regressed(self) -> bool:
        """Whether a row meets a condition, and no second measurement spoke against it."""
        return has_regressed(self.comparison, self.confirmation)

    @property
    def undecided(self) -> bool:
        """Whether a condition, or the second measurement, is undecided."""
        if self.confirmation is not None and self.confirmation.outcome == "undecided":
            return True
        return self.comparison.undecided

    @property
    def unjudged(self) -> tuple[Unjudged, ...]:
        """The conditions that could not be judged: too little was measured, or not the right thing."""
        return unjudged_of(self.comparison, self.confirmation)

    def exit_code(self, *, strict: bool = False) -> ExitCode:
        """Return what ``irbench compare`` exits with; ``strict`` has a code for what is undecided."""
        if self.confirmation is not None and self.confirmation.interrupted:
            return ExitCode.INTERRUPTED
        if self.regressed:
            return ExitCode.DIFFERENT
        if not self.comparison.rows:  # a gate that compares nothing must not pass
            return ExitCode.USAGE
        if self.unjudged:
            return ExitCode.NOT_JUDGED
        return ExitCode.UNDECIDED if strict and self.undecided else ExitCode.OK

    def to_text(self, form: ReportForm = "table") -> str:
        """Return the comparison as a person reads it, as JSON, or as Markdown for a pull request."""
        from irbench.features.compare.view import comparison_markdown

        if form == "json":
            whole = {
                "comparison": self.comparison,
                "confirmation": self.confirmation,
                "regressed": self.regressed,
                "unjudged": self.unjudged,
            }
            return json_text(whole)
        return comparison_markdown(self.comparison, self.confirmation) if form == "md" else str(self)

    def page_result(self) -> PageResult:
        """Return what a page shows of it."""
        from irbench.features.compare.view import comparison_view

        name = f"{self.comparison.base.name} and {self.comparison.new.name}"
        return result_of_view(name, comparison_view(self.comparison, self.confirmation), self._figures)

    def _figures(self) -> Iterator[Figure]:
        from irbench.features.compare.charts import figures_of_comparison

        return figures_of_comparison(self.comparison, self.rows)

    def __repr__(self) -> str:
        """Return what was compared and whether something regressed."""
        sides = f"{self.comparison.base.name} {self.comparison.new.name}"
        return f"<ComparedRuns {sides}: {'regressed' if self.regressed else 'not regressed'}>"

    def __rich__(self) -> RenderableType:
        """Return the table as ``irbench compare`` prints it; called by rich."""
        from irbench.features.compare.view import comparison_view

        return comparison_view(self.comparison, self.confirmation)
