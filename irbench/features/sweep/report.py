"""How far a sweep is, table by table, and the best row over its tables."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from irbench.api.display import Displayable
from irbench.charts.plots import Plottable
from irbench.errors import ExitCode
from irbench.features.plan.expansion import AXES, SweepTable, setting_text
from irbench.features.sweep.execution import curve_points, is_left_out
from irbench.features.sweep.options import SWEEP
from irbench.options.values import ReportForm
from irbench.pages.result import PageResult
from irbench.render.columns.declaration import RowSource
from irbench.render.formats.row_table import row_sources
from irbench.render.outcome_texts import best_text
from irbench.render.views import Sentence, document_of
from irbench.runs.results import Run, run_row
from irbench.runs.run_row import RunRow
from irbench.spec import AskedObjective, Objective, asked_objective
from irbench.store.entries import RunEntry
from irbench.store.folders import results_option
from irbench.store.listing import find_run, list_runs
from irbench.store.runs import load_document
from irbench.store.sweeps import CurveEnd, CurvePoint, StateFile
from irbench.store.table_outcomes import BestOfTables, TableLeader, best_of_tables, has_leader

if TYPE_CHECKING:
    from rich.console import RenderableType

    from irbench.charts.figure import Figure
    from irbench.features.sweep.view import SweepView

TableStatus: TypeAlias = Literal["done", "failed", "interrupted", "left-out", "waiting"]
"""``left-out`` lies beyond the end of its curve, and ``waiting`` was not begun."""
STATUS_TEXTS: Mapping[TableStatus, str] = {
    "done": "measured, but its run was deleted",
    "failed": "not measured: {message}",
    "interrupted": "interrupted",
    "left-out": "left out: the curve ended before",
    "waiting": "not begun",
}
"""What is said of a table instead of its outcome."""

_QUESTION = (
    "models",
    "precision",
    "optimize",
    "io",
    "shape",
    "shapes",
    "data",
    "value",
    "feedback",
    "seed",
    "objective",
    "max-latency",
    "cold",
    "apart",
)
"""Tables that differ in one of these answer different questions; the other settings are what one chooses among."""
_OF_THROUGHPUT = ("batch", "streams", "instances")
"""Tables that differ in one of these are compared by samples per second: latencies are of different amounts of work."""


@dataclass(frozen=True)
class TableOverview:
    """One table of a sweep.

    Attributes:
        run: The id of the run that holds it; empty where none does.
        entry: That run's line in a listing; ``None`` where it is gone.
        exit_code: What ``irbench run`` would have ended with.
        message: Why it could not be measured; empty where it could.
        undecided: Whether a verdict or its winner is undecided; False where that was not recorded.
    """

    table: SweepTable
    status: TableStatus
    run: str = ""
    entry: RunEntry | None = None
    exit_code: int = 0
    message: str = ""
    hint: str = ""
    undecided: bool = False


@dataclass(frozen=True)
class CurveOverview:
    """A curve over batch sizes.

    Attributes:
        points: With growing batch; at least one.
        end: Why it ended; ``None`` where it goes on, or has reached the largest batch of the plan.
    """

    label: str
    points: tuple[CurvePoint, ...]
    stop_gain: float
    end: CurveEnd | None


@dataclass(frozen=True)
class SweepOverview:
    """A sweep.

    Attributes:
        best: The best row over the tables of each model and set of inputs, where several have a leader.
    """

    name: str
    tables: tuple[TableOverview, ...]
    curves: tuple[CurveOverview, ...]
    best: tuple[BestOfTables, ...] = ()


def best_of_sweep(tables: Sequence[TableOverview]) -> tuple[BestOfTables, ...]:
    """Return the best row over the tables of each model and set of inputs; none where fewer than two have a leader.

    Batches of a curve are compared side by side, which tables that were measured one after the other might contradict.
    """
    questions: dict[str, list[TableOverview]] = {}
    for shown in tables:
        if (
            shown.table.step is None
            and len(shown.table.values("models")) == 1
            and "native" not in shown.table.values("precision")
        ):
            questions.setdefault(_question(shown.table), []).append(shown)
    leaders = (_best(shown) for shown in questions.values())
    return tuple(best for best in leaders if best is not None)


def _question(table: SweepTable) -> str:
    return json.dumps([table.values(key) for key in _QUESTION], sort_keys=True)


def _best(tables: Sequence[TableOverview]) -> BestOfTables | None:
    differing = [key for key in AXES if len({json.dumps(shown.table.values(key)) for shown in tables}) > 1]
    leaders = list(_leaders(tables, differing))
    model = setting_text(tables[0].table.values("models"))
    return best_of_tables(model, leaders, _objective(tables[0].table, differing))


def _leaders(tables: Sequence[TableOverview], differing: Sequence[str]) -> Iterator[TableLeader]:
    for shown in tables:
        outcomes = shown.entry.outcomes if shown.status == "done" and shown.entry is not None else ()
        if len(outcomes) == 1 and has_leader(outcomes[0]):
            yield TableLeader(_label(shown.table, differing), outcomes[0])


def _label(table: SweepTable, differing: Sequence[str]) -> str:
    """Return what tells a table from the others; its backends only where nothing else does, as rows name them."""
    keys = [key for key in differing if key != "backends"] or differing
    return " ".join(f"{key}={setting_text(table.values(key))}" for key in keys)


def _objective(table: SweepTable, differing: Sequence[str]) -> Objective | None:
    """Return what was asked for, or what tables differ in leaves; ``None`` for what their rows were compared by."""
    objectives: tuple[AskedObjective, ...] = table.values("objective")
    if objectives:
        return asked_objective(objectives[0])
    by_throughput = table.values("max-latency") or any(key in _OF_THROUGHPUT for key in differing)
    return "fps" if by_throughput else None


def overview_of(tables: Sequence[SweepTable], state: StateFile, name: str, root: Path) -> SweepOverview:
    """Return the tables of a sweep with how they ended, and its curves."""
    entries = {entry.run_id: entry for entry in list_runs(root).entries}
    shown = tuple(_table(table, state, entries) for table in sorted(tables, key=_by_settings))
    return SweepOverview(name, shown, tuple(_curves(tables, state)), best_of_sweep(shown))


def _by_settings(table: SweepTable) -> tuple[tuple[float, str], ...]:
    values = (table.shared.get(key, "") for key in AXES)
    return tuple((value, "") if isinstance(value, int | float) else (math.inf, str(value)) for value in values)


def _table(table: SweepTable, state: StateFile, entries: Mapping[str, RunEntry]) -> TableOverview:
    done, failed = state.progress.done.get(table.id), state.progress.failed.get(table.id)
    if done is not None:
        entry = entries.get(done.run)
        return TableOverview(table, "done", done.run, entry, done.exit_code, undecided=done.undecided)
    if failed is not None:
        return TableOverview(table, "failed", "", None, failed.exit_code, failed.message, failed.hint)
    if is_left_out(table, state):
        return TableOverview(table, "left-out")
    begun = state.progress.begun.get(table.id)
    return TableOverview(table, "waiting") if begun is None else TableOverview(table, "interrupted", begun.run)


def _curves(tables: Sequence[SweepTable], state: StateFile) -> Iterator[CurveOverview]:
    first = {table.step.curve: table for table in reversed(tables) if table.step is not None}
    for curve, table in first.items():
        points = curve_points(tables, state, curve)
        if points and table.step is not None:
            label = replace(table, compare=(*table.compare, "batch")).label
            yield CurveOverview(label, points, table.step.stop_gain, state.progress.ends.get(curve))


class Sweep(Plottable, Displayable):
    """A sweep, as far as it was measured.

    Attributes:
        name: Its name; commands that show, export, report or compare runs take it.
        folder: Where its state is kept.
        overview: Its tables and curves, and how they ended.
    """

    _command = SWEEP

    def __init__(self, folder: Path, overview: SweepOverview) -> None:
        self.name = overview.name
        self.folder = folder
        self.overview = overview

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to measure."""
        return all(table.status in ("done", "left-out") for table in self.overview.tables)

    @property
    def undecided(self) -> bool:
        """Whether a verdict or the winner of some table is undecided."""
        return any(table.undecided for table in self.overview.tables)

    @property
    def exit_code(self) -> int:
        """What ``irbench sweep`` ends with without ``--strict``: the gravest of its tables, 0 where all is well."""
        codes = {table.exit_code for table in self.overview.tables}
        if ExitCode.DIFFERENT in codes:
            return int(ExitCode.DIFFERENT)
        return int(ExitCode.FAILED_CELL if codes - {ExitCode.OK} else ExitCode.OK)

    def runs(self) -> tuple[Run, ...]:
        """Return the run of each measured table, in the order of measurement.

        Raises:
            IrbenchError: A run is gone or damaged.
        """
        root = self.folder.parents[1]
        folders = (find_run(root, table.run) for table in self.overview.tables if table.run and table.status == "done")
        return tuple(Run(load_document(folder), folder) for folder in folders)

    @property
    def rows(self) -> tuple[RunRow, ...]:
        """The rows of speeds of all tables, in the order of the tables; in a curve each batch once."""
        return tuple(map(run_row, self._sources))

    @cached_property
    def _sources(self) -> tuple[RowSource, ...]:
        """The same with their tables and documents, without those of runs that are gone."""
        tables = (shown for shown in self.overview.tables if shown.entry is not None)
        read = ((shown.table, load_document(Path(shown.entry.folder))) for shown in tables if shown.entry is not None)
        return tuple(
            source
            for table, document in read
            for source in row_sources(document)
            if source.kind == "speed" and (table.batch_before is None or source.row.batch == table.batch)
        )

    def to_json(self) -> str:
        """Return its tables with their runs and cells, and its curves with their points, as JSON."""
        from irbench.render.text_formats import json_text

        plain = msgspec.to_builtins(self.overview)
        for shown, table in zip(plain["tables"], self.overview.tables, strict=True):
            shown.update(id=table.table.id, label=table.table.label, table=None)
            shown["cells"] = [{"id": cell.id, "settings": cell.settings} for cell in table.table.cells]
        return json_text(plain, indent=2)

    def to_text(self, form: ReportForm = "table") -> str:
        """Return what ``irbench show`` prints of it, as JSON, or as Markdown."""
        if form == "json":
            return self.to_json()
        return document_of(self.shown().blocks()).as_markdown() if form == "md" else str(self)

    def page_result(self) -> PageResult:
        """Return what a page shows of it."""
        title, *parts = self.shown().blocks()
        assert isinstance(title, Sentence)
        verdict = " ".join(map(best_text, self.overview.best))
        command = f"irbench show {self.name}{results_option(self.folder.parents[1])}"
        shown = (part for part in parts if not (isinstance(part, Sentence) and part.text in verdict))
        return PageResult(self.name, title.text, verdict, tuple(shown), command=command, figures=self._figures)

    def _figures(self) -> Iterator[Figure]:
        from irbench.features.sweep.charts import figures_of_sweep

        return figures_of_sweep(self._sources)

    def __repr__(self) -> str:
        """Return its name and how far it is."""
        done = sum(table.status == "done" for table in self.overview.tables)
        return f"<Sweep {self.name!r}: {done} of {len(self.overview.tables)} tables measured>"

    def __rich__(self) -> RenderableType:
        """Return the overview as ``irbench sweep`` prints it; called by rich."""
        return self.shown()

    def shown(self, *, plot: bool = False) -> SweepView:
        """Return what ``irbench show`` prints; with ``plot``, also throughput against each setting that varies."""
        from irbench.features.sweep.view import SweepView

        return SweepView(self.overview, self._sources, plot)
