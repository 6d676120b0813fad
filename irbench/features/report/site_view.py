"""The pages of a site: their words and tables, made of the cells of machines and how these compare."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from irbench.across_runs.differences import fingerprint, machine_facts
from irbench.across_runs.machine_comparison import ComparedMachine, MachineCell, MachineComparison
from irbench.across_runs.texts import difference_text
from irbench.across_runs.timed_runs import TimedRun
from irbench.core.plain_text import plain
from irbench.core.quantities import NOT_MEASURED, percent, plural, significant
from irbench.core.row import Ends, Spans
from irbench.features.report.site import (
    INDEX,
    ROWS,
    SitePage,
    archive_file,
    page_files,
    run_file,
)
from irbench.pages.values import Bar, ColumnChoice, Heading, PageCell, PageGrid, PageRow
from irbench.render.figure_texts import ends_text, ratio_with_ends
from irbench.render.interval_plot import speedup_span
from irbench.render.table_title import command_text, machine_text, versions

MOST_ROWS = 5000
"""Of a table: browsers search and sort so many without a pause that is felt."""
_AGAIN = "measure it again"
_COMPARED = ("model", "backend", "machine", "p50 ms", "precision", "setting")
_SHORT_FINGERPRINT = 6
_OF_EVERY_NAME = re.compile(r"\((?:R|TM)\)|\b(?:CPU|Processor|\d+-Core)\b|@ [\d.]+GHz", re.IGNORECASE)
_NOT_SHOWN = ("instructions",)
"""Facts of a machine that take hundreds of words."""
_INTERVALS = (
    "Brackets are confidence intervals over launches, of 95 % unless the page of the run says otherwise, or the range"
    " of too few launches for one."
)
_EQUAL = (
    "Machines are compared where the model and its graph, backend, variant, effective precision, batch, threads,"
    " streams and inputs are equal. The speedup is that of the time of a batch, or of a sample with several streams or"
    " instances; launches of both machines are two independent samples. Its 95 % interval holds for its row alone."
)
_COLOURS = "Green and red are verdicts: the whole interval is above or below 1, and not within {within} of it."
_BUSY = "not judged: the machine was busy"


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
    yield from map(view.model_page, view.models)
    yield from map(view.machine_page, view.machines)
    yield from map(view.backend_page, view.backends)


def older_text(older_runs: int, shown: int) -> str:
    """Return that runs were left out because there are too many; empty where none were."""
    if not older_runs:
        return ""
    return f"{plural(older_runs, 'older run')} {_are(older_runs)} left out: a site has the newest {shown}. Name others."


_Column: TypeAlias = "tuple[str, bool, Callable[[MachineCell], PageCell]]"


class _View:
    def __init__(self, content: SiteContent) -> None:
        self._content = content
        self.models = page_files("model", (cell.setting.key.model for cell in content.cells))
        self.backends = page_files("backend", map(_backend, content.cells))
        self._newest = {fingerprint(run.document.environment): run for run in reversed(content.runs)}
        self.machines = page_files("machine", self._newest)

    @cached_property
    def _machine_names(self) -> Mapping[str, str]:
        names = {machine: _machine_name(run) for machine, run in self._newest.items()}
        counts = Counter(names.values())
        return {
            machine: name if counts[name] == 1 else f"{machine[:_SHORT_FINGERPRINT]} {name}"
            for machine, name in names.items()
        }

    def index(self) -> SitePage:
        content = self._content
        moment = content.runs[0].document.created[:10] if content.runs else ""
        counts = (
            plural(len(content.cells), "cell"),
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
                ("Data", (PageCell("all rows as CSV", ROWS),)),
            ),
            tables=tuple(
                filter(
                    None,
                    (
                        self._machine_table(),
                        self._compared("Machines compared", content.comparisons),
                        self._cells("Newest figures", content.cells),
                    ),
                )
            ),
            left_out=(
                *filter(None, (older_text(content.older_runs, len(content.runs)),)),
                *map(plain, content.problems),
            ),
        )

    def model_page(self, model: str) -> SitePage:
        cells = [cell for cell in self._content.cells if cell.setting.key.model == model]
        compared = [found for found in self._content.comparisons if found.base.setting.key.model == model]
        return SitePage(
            file=self.models[model],
            title=plain(model),
            kind="model",
            tables=self._tables(cells, compared, "model"),
        )

    def backend_page(self, backend: str) -> SitePage:
        cells = [cell for cell in self._content.cells if _backend(cell) == backend]
        compared = [found for found in self._content.comparisons if _backend(found.base) == backend]
        return SitePage(
            file=self.backends[backend],
            title=plain(backend),
            kind="backend",
            tables=self._tables(cells, compared),
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
            tables=(*self._tables(cells, compared, "machine"), self._runs(runs)),
        )

    def _tables(
        self, cells: Sequence[MachineCell], compared: Sequence[MachineComparison], without: str = ""
    ) -> tuple[PageGrid, ...]:
        found = self._compared("Machines compared", compared, without)
        cells_table = self._cells("Newest figures", cells, without)
        return (cells_table,) if found is None else (found, cells_table)

    def _machine_table(self) -> PageGrid:
        cells = Counter(cell.machine for cell in self._content.cells)
        runs = Counter(fingerprint(run.document.environment) for run in self._content.runs)
        rows = tuple(
            PageRow(
                (
                    PageCell(self._machine_names[machine], file),
                    PageCell(str(cells[machine])),
                    PageCell(str(runs[machine])),
                    PageCell(self._newest[machine].document.created[:10]),
                )
            )
            for machine, file in self.machines.items()
        )
        headings = _headings(("machine", True), ("cells", False), ("runs", False), ("newest", True))
        return PageGrid("machines", headings, rows, "Machines")

    def _cells(self, title: str, cells: Sequence[MachineCell], without: str = "") -> PageGrid:
        columns = [column for column in self._columns() if column[0] != without]
        shown = cells[:MOST_ROWS]
        rows = tuple(
            PageRow(tuple(write(cell) for _, _, write in columns), "" if cell.row.state == "ok" else cell.row.state)
            for cell in shown
        )
        return PageGrid(
            key="cells",
            title=title,
            headings=_headings(*((name, is_words) for name, is_words, _ in columns)),
            rows=rows,
            notes=tuple(filter(None, (_INTERVALS, _left_out(len(cells), ROWS)))),
            choices=tuple(_choices(columns, rows)),
            is_filtered=True,
        )

    def _columns(self) -> Iterator[_Column]:
        yield "model", True, lambda cell: PageCell(plain(_model(cell)), self.models[_model(cell)])
        yield "backend", True, lambda cell: PageCell(plain(cell.row.label), self.backends[_backend(cell)])
        yield "p50 ms", False, _p50
        yield "FPS", False, _fps
        yield "precision", True, lambda cell: PageCell(plain(cell.setting.precision))
        yield "setting", True, lambda cell: PageCell(_setting_text(cell))
        yield "machine", True, lambda cell: PageCell(self._machine_names[cell.machine], self.machines[cell.machine])
        yield "measured (UTC)", True, _run_cell
        yield _AGAIN, True, lambda cell: PageCell("", code=_command(cell.run))

    def _compared(self, title: str, found: Sequence[MachineComparison], without: str = "") -> PageGrid | None:
        if not found:
            return None
        columns = {name: (name, is_words, write) for name, is_words, write in self._columns()}
        names = [name for name in _COMPARED if name != without or name == "machine"]
        axis = speedup_span(*_extremes(found))
        rows = [row for comparison in found for row in self._rows(comparison, [columns[name] for name in names], axis)]
        headings = [(name, columns[name][1]) for name in names]
        place = names.index("machine") + 1
        headings[place:place] = [("speedup", False), ("verdict", True)]
        return PageGrid(
            key="compared",
            title=title,
            headings=_headings(*headings, ("differs besides", True), (_AGAIN, True)),
            rows=tuple(rows[:MOST_ROWS]),
            notes=tuple(
                filter(
                    None, (_EQUAL, _COLOURS.format(within=percent(self._content.within, 0)), _left_out(len(rows), ""))
                )
            ),
            is_filtered=True,
        )

    def _rows(
        self, comparison: MachineComparison, columns: Sequence[_Column], axis: tuple[float, float]
    ) -> Iterator[PageRow]:
        base = comparison.base
        yield _compared_row(base, columns, PageCell("1 baseline"), "", "")
        for other in comparison.others:
            value, ends = other.speedup
            shown, brackets = ratio_with_ends(value, ends, marks_ranges=True)
            speedup = PageCell(f"{shown}{brackets}", bar=_bar(value, ends, axis))
            differences = plain("; ".join(map(difference_text, other.differences)))
            yield _compared_row(other.cell, columns, speedup, other.verdict if other.is_judged else "", differences)

    def _runs(self, runs: Sequence[TimedRun]) -> PageGrid:
        rows = tuple(
            PageRow(
                (
                    PageCell(_name(run), run_file(run.document.run_id)),
                    PageCell(_moment(run)),
                    PageCell(plain(", ".join(dict.fromkeys(table.model for table in run.document.groups)))),
                    PageCell("raw samples", archive_file(run.document.run_id)),
                    PageCell("", code=_command(run)),
                )
            )
            for run in runs[:MOST_ROWS]
        )
        headings = _headings(
            ("run", True), ("measured (UTC)", True), ("models", True), ("download", True), (_AGAIN, True)
        )
        return PageGrid("runs", headings, rows, "Runs")


def _compared_row(
    cell: MachineCell, columns: Sequence[_Column], speedup: PageCell, verdict: str, differences: str
) -> PageRow:
    written = [(name, write(cell)) for name, _, write in columns]
    place = [name for name, _ in written].index("machine") + 1
    said = verdict or (_BUSY if speedup.bar is not None else "")
    cells = [shown for _, shown in written]
    cells[place:place] = [speedup, PageCell(said)]
    return PageRow((*cells, PageCell(differences), PageCell("", code=_command(cell.run))), verdict)


def _with_machine(comparison: MachineComparison, machine: str) -> Iterator[MachineComparison]:
    """Yield what a comparison says of a machine: against all others where it is the baseline, else against that."""
    if comparison.base.machine == machine:
        yield comparison
    others = tuple(other for other in comparison.others if other.cell.machine == machine)
    if others:
        yield MachineComparison(comparison.base, others)


def _machine_name(run: TimedRun) -> str:
    """Return ``Intel Xeon Platinum 8370C, 2 processors``: the processor without what all names of its maker have."""
    environment = run.document.environment
    cpu, count = environment.get("cpu"), environment.get("cpus_allowed")
    name = str(cpu.get("Model name") or "") if isinstance(cpu, Mapping) else ""
    parts = (
        " ".join(_OF_EVERY_NAME.sub(" ", name).split()),
        plural(count, "processor") if isinstance(count, int) else "",
    )
    return plain(", ".join(filter(None, parts))) or "unknown machine"


def _headings(*columns: tuple[str, bool]) -> tuple[Heading, ...]:
    return tuple(Heading(name, is_words) for name, is_words in columns)


def _choices(columns: Sequence[_Column], rows: Sequence[PageRow]) -> Iterator[ColumnChoice]:
    """Yield what a reader may choose: of columns that are alike in many rows, and not in all."""
    for place, (name, _, _) in enumerate(columns):
        if name in ("model", "machine", "backend", "precision"):
            values = sorted({row.cells[place].text for row in rows})
            if len(values) > 1:
                yield ColumnChoice(place, name, tuple(values))


def _left_out(count: int, file: str) -> str:
    if count <= MOST_ROWS:
        return ""
    where = f"; {file} has all of the index" if file else ""
    return f"{count - MOST_ROWS:,} of {count:,} rows are left out here: a table has the newest {MOST_ROWS:,}{where}."


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _model(cell: MachineCell) -> str:
    return cell.setting.key.model


def _backend(cell: MachineCell) -> str:
    key = cell.setting.key
    return key.backend if key.device == "cpu" else f"{key.backend}:{key.device}"


def _setting_text(cell: MachineCell) -> str:
    key, threads = cell.setting.key, cell.setting.threads
    parts = (
        f"batch {key.batch}",
        "native threads" if threads is None else plural(threads, "thread"),
        plural(key.streams, "stream") if key.streams > 1 else "",
        f"{key.instances} instances" if key.instances > 1 else "",
        "without copies" if key.io == "bound" else "",
        ", ".join(f"{name}={value}" for name, value in key.options),
    )
    return plain(", ".join(filter(None, parts)))


def _p50(cell: MachineCell) -> PageCell:
    if cell.row.state != "ok":
        return PageCell(cell.row.state.replace("-", " "))
    latency = cell.row.latency_ms
    return PageCell(_figure(cell.row.p50_over_launches, latency.p50 if latency is not None else None))


def _fps(cell: MachineCell) -> PageCell:
    return PageCell(_figure(cell.row.fps_over_launches, cell.row.fps) if cell.row.state == "ok" else NOT_MEASURED)


def _figure(spans: Spans | None, value: float | None) -> str:
    if spans is None:
        return significant(value)
    return f"{significant(spans.value)}{ends_text(spans.ends, marks_ranges=True)}"


def _run_cell(cell: MachineCell) -> PageCell:
    several = f" ({cell.runs} runs)" if cell.runs > 1 else ""
    return PageCell(f"{_moment(cell.run)}{several}", run_file(cell.run.document.run_id))


def _moment(run: TimedRun) -> str:
    return run.document.created[: len("yyyy-mm-ddThh:mm")].replace("T", " ")


def _name(run: TimedRun) -> str:
    return plain(str(run.document.plan.get("name") or run.document.run_id))


def _command(run: TimedRun) -> str:
    return plain(command_text(run.document))


def _extremes(found: Iterable[MachineComparison]) -> tuple[list[float], list[float]]:
    speedups = [_speedup(other) for comparison in found for other in comparison.others]
    return [value for value, _ in speedups], [end for _, ends in speedups for end in (ends.low, ends.high)]


def _speedup(other: ComparedMachine) -> tuple[float, Ends]:
    return other.speedup


def _bar(value: float, ends: Ends, axis: tuple[float, float]) -> Bar:
    return Bar(*(_place(number, axis) for number in (ends.low, value, ends.high, 1.0)))


def _place(number: float, axis: tuple[float, float]) -> float:
    """Return where a ratio lies on a logarithmic axis, between 0 and 1."""
    low, high = axis
    share = math.log(max(number, low) / low) / math.log(high / low)
    return round(min(max(share, 0.0), 1.0), 3)
