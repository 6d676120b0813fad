"""A profile as Python has it: its parts, its tables and its files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.api.arguments import given_path, require_form, require_rows
from irbench.api.display import Displayable, as_text
from irbench.charts.plots import Plottable
from irbench.core.plain_text import plain
from irbench.errors import ExitCode
from irbench.features.profile.derivation import derive_report
from irbench.features.profile.interchange import ProfileRow, profile_rows, rows_as_csv, rows_to_pandas
from irbench.features.profile.options import PROFILE
from irbench.features.profile.profile_document import (
    ProfileCounters,
    ProfileDocument,
    encode_profile,
)
from irbench.features.profile.report import By, ClassCounters, ProfileReport
from irbench.options.values import ReportWithRowsForm
from irbench.pages.result import PageResult, result_of_view
from irbench.store.profiles import profile_argument

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType

    from irbench.charts.figure import Figure
    from irbench.features.profile.view import ProfileView


TOP = 20
"""Rows of a table of nodes or operators."""


class Profile(Plottable, Displayable):
    """Where the time of an inference goes.

    Attributes:
        document: All that was recorded, as its file holds it.
        folder: Where it is stored; ``None`` where it was read from another file.
    """

    _command = PROFILE

    def __init__(self, document: ProfileDocument, folder: Path | None = None, file: Path | None = None) -> None:
        self.document = document
        self.folder = folder
        self._call = "" if file is None else f"irbench profile --show {profile_argument(file)}"

    @cached_property
    def report(self) -> ProfileReport:
        """All figures, derived from the document."""
        return derive_report(self.document)

    @property
    def id(self) -> str:
        """Its ULID."""
        return self.document.profile_id

    @property
    def counters(self) -> tuple[ClassCounters, ...]:
        """What counters saw of each class of work in each backend, and of its whole model; empty without counters."""
        return self.report.counters

    @property
    def interrupted(self) -> bool:
        """Whether it was ended by Ctrl-C or a request to end."""
        return self.document.stopped_by == "interrupt"

    @property
    def exit_code(self) -> ExitCode:
        """What ``irbench profile`` exits with."""
        failures = [cell.failure for cell in self.document.cells if cell.failure is not None]
        if self.interrupted:
            return ExitCode.INTERRUPTED
        if any(failure.stage == "verify" for failure in failures):
            return ExitCode.DIFFERENT
        return ExitCode.FAILED_CELL if failures or _has_uncounted_cell(self.document.counters) else ExitCode.OK

    def rows(self, by: By = "class") -> tuple[ProfileRow, ...]:
        """Return a row for each part of an inference in each backend.

        Args:
            by: What parts are: classes of work, operator types, or groups of nodes.

        Raises:
            IrbenchError: There are no such parts.
        """
        require_rows(by, By)
        return profile_rows(self.document, self.report, by)

    def to_pandas(self, by: By = "class") -> pd.DataFrame:
        """Return the rows as a DataFrame.

        Raises:
            IrbenchError: pandas is not installed, or there are no such parts.
        """
        return rows_to_pandas(self.rows(by))

    def to_text(self, form: ReportWithRowsForm = "table", *, by: By = "class", top: int = TOP) -> str:
        """Return the profile as text: tables as people read them, the document as JSON, or rows as CSV.

        Args:
            form: Which of them.
            by: What rows of the tables are.
            top: How many rows a table of operators or nodes has at most.

        Raises:
            IrbenchError: There is no such form, or there are no such parts.
        """
        require_form(form, ReportWithRowsForm)
        require_rows(by, By)
        if form == "json":
            from irbench.render.text_formats import without_control_characters

            return without_control_characters(encode_profile(self.document).decode())
        if form == "csv":
            return rows_as_csv(self.rows(by))
        view = self.view(by, top)
        return view.as_markdown() if form == "md" else as_text(view)

    def trace(self, output: str | PathLike[str]) -> None:
        """Write the timeline of one inference of each backend as a Chrome trace, which Perfetto opens.

        Raises:
            IrbenchError: The file cannot be written.
        """
        from irbench.features.profile.interchange import write_trace

        write_trace(self.document, given_path("output", output))

    def view(self, by: By = "class", top: int = TOP) -> ProfileView:
        """Return what ``irbench profile`` prints.

        Raises:
            IrbenchError: There are no such parts.
        """
        require_rows(by, By)
        from irbench.features.profile.view import ProfileView

        return ProfileView(self.document, self.report, by, top, self._call)

    def page_result(self) -> PageResult:
        """Return what a page shows of it."""
        name = f"{self.document.model} profiled"
        return result_of_view(name, self.view(), self._figures, self._call)

    def _figures(self) -> Iterator[Figure]:
        from irbench.features.profile.charts import figures_of_profile

        return figures_of_profile(self.document, self.report)

    def __repr__(self) -> str:
        """Return the profile's id, its model and its backends."""
        labels = ", ".join(cell.label for cell in self.document.cells)
        return plain(f"<Profile {self.id}: {self.document.model} on {labels}>")

    def __rich__(self) -> RenderableType:
        """Return the tables as ``irbench profile`` prints them; called by rich."""
        return self.view()


def _has_uncounted_cell(counters: ProfileCounters | None) -> bool:
    """Whether every model of some cell failed to be counted, or its operators could not be cut out."""
    if counters is None:
        return False
    launched = [part for part in counters.parts if part.uncuttable is None]
    able = {part.cell for part in launched if part.failure is None or part.launches}
    return bool(counters.failures) or any(part.cell not in able for part in launched)
