"""The pages of a site: their words and tables, made of the cells of machines and how these compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

from irbench.across_runs.differences import fingerprint, machine_facts
from irbench.across_runs.machine_comparison import ComparedMachine, MachineCell, MachineComparison
from irbench.across_runs.timed_runs import TimedRun
from irbench.core.plain_text import plain
from irbench.core.quantities import percent, plural
from irbench.core.row import Generated, Spans
from irbench.features.report.site import (
    INDEX,
    KIND_TITLES,
    KINDS,
    ROWS,
    Kind,
    SitePage,
    archive_file,
    kind_file,
    page_files,
    run_file,
)
from irbench.features.report.site_cells import (
    Axis,
    backend_of,
    best_backends,
    command_cell,
    differences_text,
    fastest_by_backend,
    fps_cell,
    kind_of,
    machine_name,
    model_of,
    models_text,
    moment_of,
    p50_cell,
    run_cell,
    run_name,
    setting_text,
    slowdown_cell,
    spans_cell,
    speedup_axis,
    speedup_cell,
    verdict_text,
)
from irbench.pages.values import ColumnChoice, Heading, PageCell, PageGrid, PageRow
from irbench.render.table_title import machine_text, sizes_text, versions

MOST_ROWS = 5000
"""Of a table: browsers search and sort so many without a pause that is felt."""
_SHORT_FINGERPRINT = 6
_NOT_SHOWN = ("instructions",)
"""Facts of a machine that take hundreds of words."""
_INTERVALS = (
    "Brackets are confidence intervals over launches, of 95 % unless the page of the run says otherwise, or the range"
    " of too few launches for one."
)
_MATRIX = (
    "Each cell is the p50 of an inference in milliseconds, of the fastest setting of the backend with one inference in"
    " flight. A star marks the fastest backend of a row, and all that cannot be distinguished from it. Launches are"
    " compared as independent samples here: the page of a run, whose rows take turns, can distinguish more."
)
_EQUAL = (
    "Machines are compared where the model and its graph, backend, variant, effective precision, batch, threads,"
    " streams and inputs are equal. The speedup is that of the time of a batch, or of a sample with several streams or"
    " instances; launches of both machines are two independent samples. Its 95 % interval holds for its row alone."
)
_COLOURS = "Green and red are verdicts: the whole interval is above or below 1, and not within {within} of it."


@dataclass(frozen=True)
class SiteContent:
    """What a site shows.

    Attributes:
        runs: Newest first.
        cells: The newest row of each cell on each machine, newest first.
        problems: Why runs are left out or used in part.
        older_runs: How many were left out because there are more than a site has.
        within: Half the width of the band around 1 that is called the same.
    """

    runs: Sequence[TimedRun]
    cells: Sequence[MachineCell]
    comparisons: Sequence[MachineComparison]
    problems: Sequence[str]
    older_runs: int
    within: float


def site_pages(content: SiteContent) -> Iterator[SitePage]:
    """Yield the pages of a site but for those of its runs."""
    view = _View(content)
    yield view.index()
    yield from map(view.kind_page, view.other_kinds)
    yield from map(view.model_page, view.models)
    yield from map(view.machine_page, view.machines)
    yield from map(view.backend_page, view.backends)


def older_text(older_runs: int, shown: int) -> str:
    """Return that runs were left out because there are too many; empty where none were."""
    if not older_runs:
        return ""
    return f"{plural(older_runs, 'older run')} {_are(older_runs)} left out: a site has the newest {shown}. Name others."


_Shown = TypeVar("_Shown")


@dataclass(frozen=True)
class _Column(Generic[_Shown]):
    """A column of a table.

    Attributes:
        heading: Its name.
        cell: Makes its cell in the row of something.
        is_words: Whether it holds words, which stand to the left.
        is_chosen: Whether a reader may choose one of its values, where these are several.
    """

    heading: str
    cell: Callable[[_Shown], PageCell]
    is_words: bool = True
    is_chosen: bool = False


@dataclass(frozen=True)
class _Entry:
    """What a row shows: a cell of a machine; where machines are compared, also the comparison, but of the baseline.

    Attributes:
        axis: Of the speedups of its table.
    """

    cell: MachineCell
    compared: ComparedMachine | None = None
    axis: Axis = (1.0, 1.0)

    @property
    def state(self) -> str:
        """What colours the row."""
        if self.compared is not None and self.compared.is_judged:
            return self.compared.verdict
        return "" if self.cell.row.state == "ok" else self.cell.row.state


_P50: _Column[_Entry] = _Column("p50 ms", lambda entry: p50_cell(entry.cell.row), is_words=False)
_FPS: _Column[_Entry] = _Column("FPS", lambda entry: fps_cell(entry.cell.row), is_words=False)
_SAMPLES: _Column[_Entry] = _Column("samples/s", lambda entry: fps_cell(entry.cell.row), is_words=False)
_SLOWDOWN: _Column[_Entry] = _Column("slowdown", lambda entry: slowdown_cell(entry.cell.row), is_words=False)


def _of_texts(heading: str, figure: Callable[[Generated], Spans | None]) -> _Column[_Entry]:
    def cell(entry: _Entry) -> PageCell:
        row = entry.cell.row
        return spans_cell(row, None if row.generation is None else figure(row.generation))

    return _Column(heading, cell, is_words=False)


_FIGURES: Mapping[Kind, Sequence[_Column[_Entry]]] = {
    "inference": (_P50, _FPS),
    "generation": (
        _of_texts("tokens/s", lambda texts: texts.tokens_per_s),
        _of_texts("first token ms", lambda texts: texts.first_token_ms),
        _of_texts("token ms", lambda texts: texts.token_ms),
        replace(_P50, heading="text ms"),
    ),
    "training": (replace(_P50, heading="step ms"), _SAMPLES),
    "corun": (_SLOWDOWN, _P50, _FPS),
}
"""The figures of cells of a kind."""
_PRECISION: _Column[_Entry] = _Column(
    "precision", lambda entry: PageCell(plain(entry.cell.setting.precision)), is_chosen=True
)
_SETTING: _Column[_Entry] = _Column("setting", lambda entry: PageCell(setting_text(entry.cell.setting)))
_MEASURED: _Column[_Entry] = _Column("measured (UTC)", lambda entry: run_cell(entry.cell))
_AGAIN: _Column[_Entry] = _Column("measure it again", lambda entry: command_cell(entry.cell.run))
_SPEEDUP: _Column[_Entry] = _Column("speedup", lambda entry: speedup_cell(entry.compared, entry.axis), is_words=False)
_VERDICT: _Column[_Entry] = _Column("verdict", lambda entry: PageCell(verdict_text(entry.compared)))
_DIFFERENCES: _Column[_Entry] = _Column("differs besides", lambda entry: PageCell(differences_text(entry.compared)))
_RUN_COLUMNS: Sequence[_Column[TimedRun]] = (
    _Column("run", lambda run: PageCell(run_name(run), run_file(run.document.run_id))),
    _Column("measured (UTC)", lambda run: PageCell(moment_of(run))),
    _Column("models", lambda run: PageCell(models_text(run))),
    _Column("download", lambda run: PageCell("raw samples", archive_file(run.document.run_id))),
    _Column(_AGAIN.heading, command_cell),
)


class _View:
    def __init__(self, content: SiteContent) -> None:
        self._content = content
        self.models = page_files("model", map(model_of, content.cells))
        self.backends = page_files("backend", map(backend_of, content.cells))
        self.other_kinds: list[Kind] = [kind for kind in KINDS if kind != "inference" and self._of_kind(kind)]
        self._newest = {fingerprint(run.document.environment): run for run in reversed(content.runs)}
        self.machines = page_files("machine", self._newest)

    @cached_property
    def _machine_names(self) -> Mapping[str, str]:
        names = {machine: machine_name(run) for machine, run in self._newest.items()}
        counts = Counter(names.values())
        return {
            machine: name if counts[name] == 1 else f"{machine[:_SHORT_FINGERPRINT]} {name}"
            for machine, name in names.items()
        }

    def _of_kind(self, kind: Kind) -> list[MachineCell]:
        return [cell for cell in self._content.cells if kind_of(cell) == kind]

    def _compared_of_kind(self, kind: Kind) -> list[MachineComparison]:
        return [found for found in self._content.comparisons if kind_of(found.base) == kind]

    def kind_page(self, kind: Kind) -> SitePage:
        *compared, figures = self._tables(self._of_kind(kind), self._compared_of_kind(kind))
        tables = (*compared, replace(figures, title=KIND_TITLES["inference"]))
        return SitePage(file=kind_file(kind), title=KIND_TITLES[kind], tables=tables)

    def index(self) -> SitePage:
        content = self._content
        moment = content.runs[0].document.created[:10] if content.runs else ""
        counts = (
            plural(len(content.cells), "row"),
            plural(len(self.models), "model"),
            plural(len(content.runs), "run"),
            plural(len(self.machines), "machine"),
        )
        return SitePage(
            file=INDEX,
            title="Results",
            summary="{} of {}, measured in {} on {}; the newest is of {}.".format(*counts, moment),
            lists=(
                ("Models", tuple(PageCell(plain(name), file) for name, file in self.models.items())),
                ("Backends", tuple(PageCell(plain(name), file) for name, file in self.backends.items())),
                ("Others", tuple(PageCell(KIND_TITLES[kind], kind_file(kind)) for kind in self.other_kinds)),
                ("Data", (PageCell("all rows as CSV", ROWS),)),
            ),
            tables=(
                *self._matrix(),
                self._machine_table(),
                *self._tables(self._of_kind("inference"), self._compared_of_kind("inference")),
            ),
            left_out=(
                *filter(None, (older_text(content.older_runs, len(content.runs)),)),
                *map(plain, content.problems),
            ),
        )

    def model_page(self, model: str) -> SitePage:
        cells = [cell for cell in self._content.cells if model_of(cell) == model]
        compared = [found for found in self._content.comparisons if model_of(found.base) == model]
        return SitePage(
            file=self.models[model],
            title=plain(model),
            kind="model",
            tables=tuple(self._tables(cells, compared, self._model)),
        )

    def backend_page(self, backend: str) -> SitePage:
        cells = [cell for cell in self._content.cells if backend_of(cell) == backend]
        compared = [found for found in self._content.comparisons if backend_of(found.base) == backend]
        return SitePage(
            file=self.backends[backend],
            title=plain(backend),
            kind="backend",
            tables=tuple(self._tables(cells, compared)),
        )

    def machine_page(self, machine: str) -> SitePage:
        cells = [cell for cell in self._content.cells if cell.machine == machine]
        compared = [found for whole in self._content.comparisons for found in _with_machine(whole, machine)]
        runs = [run for run in self._content.runs if fingerprint(run.document.environment) == machine]
        newest = self._newest[machine].document
        known = machine_facts(newest.environment).items()
        software = ", ".join(f"{name} {version}" for name, version in versions(newest).items())
        return SitePage(
            file=self.machines[machine],
            title=plain(machine_text(self._newest[machine].document)) or machine,
            kind="machine",
            facts=(
                ("fingerprint", machine),
                *((plain(name), plain(value)) for name, value in known if name not in _NOT_SHOWN),
                ("versions of its newest run", plain(software)),
            ),
            tables=(*self._tables(cells, compared, self._machine), _grid("runs", "Runs", _RUN_COLUMNS, runs)),
        )

    def _tables(
        self,
        cells: Sequence[MachineCell],
        compared: Sequence[MachineComparison],
        without: _Column[_Entry] | None = None,
    ) -> Iterator[PageGrid]:
        """Yield a table for each kind of cells, and how they compare, but for a column of which all are the same."""
        yield from self._compared(compared, without)
        for kind in KINDS:
            shown = [cell for cell in cells if kind_of(cell) == kind]
            if not shown:
                continue
            columns = [column for column in self._cell_columns(kind) if column is not without]
            notes = (_INTERVALS, _left_out(len(shown), ROWS))
            key = "cells" if kind == "inference" else f"cells-{kind}"
            grid = _filtered(key, KIND_TITLES[kind], columns, [_Entry(cell) for cell in shown], notes)
            yield replace(grid, choices=tuple(_choices(columns, grid.rows)))

    def _compared(
        self, comparisons: Sequence[MachineComparison], without: _Column[_Entry] | None
    ) -> Iterator[PageGrid]:
        if not comparisons:
            return
        columns = [column for column in self._compared_columns if column is not without or column is self._machine]
        entries = list(_entries(comparisons))
        colours = _COLOURS.format(within=percent(self._content.within, 0))
        notes = (_EQUAL, colours, _left_out(len(entries)))
        yield _filtered("compared", "Machines compared", columns, entries, notes)

    def _matrix(self) -> Iterator[PageGrid]:
        """Yield the fastest row of each model on each backend; the columns are backends."""
        rows = fastest_by_backend(self._content.cells)
        if not rows:
            return
        backends = sorted({backend for row in rows.values() for backend in row})
        headings = ("model", "input", "precision", "machine")
        yield PageGrid(
            key="matrix",
            headings=tuple(Heading(name, name in headings) for name in (*headings, *backends)),
            rows=tuple(
                PageRow(
                    (
                        PageCell(plain(place.model), self.models[place.model]),
                        PageCell(plain(sizes_text(dict(place.shapes)))),
                        PageCell(plain(place.precision)),
                        self._machine_link(place.machine),
                        *self._of_backends(row, backends),
                    )
                )
                for place, row in list(rows.items())[:MOST_ROWS]
            ),
            title="Models and backends",
            stacks=True,
            notes=(_MATRIX, _INTERVALS, *filter(None, (_left_out(len(rows)),))),
        )

    def _of_backends(self, row: Mapping[str, MachineCell], backends: Sequence[str]) -> Iterator[PageCell]:
        best = best_backends(row, self._content.within)
        for backend in backends:
            cell = row.get(backend)
            yield PageCell("") if cell is None else replace(p50_cell(cell.row), is_best=backend in best)

    def _machine_table(self) -> PageGrid:
        cells = Counter(cell.machine for cell in self._content.cells)
        runs = Counter(fingerprint(run.document.environment) for run in self._content.runs)
        columns: list[_Column[str]] = [
            _Column("machine", self._machine_link),
            _Column("rows", lambda machine: PageCell(str(cells[machine])), is_words=False),
            _Column("runs", lambda machine: PageCell(str(runs[machine])), is_words=False),
            _Column("newest", lambda machine: PageCell(self._newest[machine].document.created[:10])),
        ]
        return _grid("machines", "Machines", columns, list(self.machines))

    def _machine_link(self, machine: str) -> PageCell:
        return PageCell(self._machine_names[machine], self.machines[machine])

    @cached_property
    def _model(self) -> _Column[_Entry]:
        def cell(entry: _Entry) -> PageCell:
            model = model_of(entry.cell)
            return PageCell(plain(model), self.models[model])

        return _Column("model", cell, is_chosen=True)

    @cached_property
    def _backend(self) -> _Column[_Entry]:
        def cell(entry: _Entry) -> PageCell:
            return PageCell(plain(entry.cell.row.label), self.backends[backend_of(entry.cell)])

        return _Column("backend", cell, is_chosen=True)

    @cached_property
    def _machine(self) -> _Column[_Entry]:
        return _Column("machine", lambda entry: self._machine_link(entry.cell.machine), is_chosen=True)

    def _cell_columns(self, kind: Kind) -> Sequence[_Column[_Entry]]:
        machine = (self._machine,) if len(self.machines) > 1 else ()
        facts = (_PRECISION, _SETTING, *machine, _MEASURED, _AGAIN)
        return (self._model, self._backend, *_FIGURES[kind], *facts)

    @cached_property
    def _compared_columns(self) -> Sequence[_Column[_Entry]]:
        ratio = _SPEEDUP, _VERDICT
        return (self._model, self._backend, self._machine, *ratio, _P50, _PRECISION, _SETTING, _DIFFERENCES, _AGAIN)


def _left_out(count: int, file: str = "") -> str:
    if count <= MOST_ROWS:
        return ""
    where = f"; {file} has all of the index" if file else ""
    return f"{count - MOST_ROWS:,} of {count:,} rows are left out here: a table has the newest {MOST_ROWS:,}{where}."


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _entries(comparisons: Sequence[MachineComparison]) -> Iterator[_Entry]:
    """Yield the rows of comparisons: each baseline, and below it the others, on one axis."""
    axis = speedup_axis([other for comparison in comparisons for other in comparison.others])
    for comparison in comparisons:
        yield _Entry(comparison.base)
        yield from (_Entry(other.cell, other, axis) for other in comparison.others)


def _grid(key: str, title: str, columns: Sequence[_Column[_Shown]], shown: Sequence[_Shown]) -> PageGrid:
    """Return a table with a row for each of what is shown, but for those beyond the most that a table has."""
    rows = tuple(PageRow(tuple(column.cell(each) for column in columns)) for each in shown[:MOST_ROWS])
    return PageGrid(key, tuple(Heading(column.heading, column.is_words) for column in columns), rows, title)


def _filtered(
    key: str, title: str, columns: Sequence[_Column[_Entry]], entries: Sequence[_Entry], notes: Sequence[str]
) -> PageGrid:
    """Return a table of cells, which can be searched; notes that are empty are left out."""
    grid = _grid(key, title, columns, entries)
    return replace(
        grid,
        rows=tuple(replace(row, state=entry.state) for row, entry in zip(grid.rows, entries, strict=False)),
        notes=tuple(filter(None, notes)),
        is_filtered=True,
    )


def _choices(columns: Sequence[_Column[_Entry]], rows: Sequence[PageRow]) -> Iterator[ColumnChoice]:
    """Yield what a reader may choose: of columns that are alike in many rows, and not in all."""
    for place, column in enumerate(columns):
        values = sorted({row.cells[place].text for row in rows}) if column.is_chosen else []
        if len(values) > 1:
            yield ColumnChoice(place, column.heading, tuple(values))


def _with_machine(comparison: MachineComparison, machine: str) -> Iterator[MachineComparison]:
    """Yield what a comparison says of a machine: against all others where it is the baseline, else against that."""
    if comparison.base.machine == machine:
        yield comparison
    others = tuple(other for other in comparison.others if other.cell.machine == machine)
    if others:
        yield MachineComparison(comparison.base, others)
