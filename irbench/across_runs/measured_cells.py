"""The cells of a run, each with its values by launch."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from irbench.across_runs.cell_keys import CellKey, key_of
from irbench.across_runs.figures import FIGURES, CellSamples, ComparedFigure
from irbench.across_runs.reading import CheckedRun
from irbench.result import GroupResult, RunDocument
from irbench.row import CellResult
from irbench.stats.rederive import observed_launches, planned_timing


@dataclass(frozen=True)
class MeasuredCell:
    """One cell in one run.

    Attributes:
        rows: Its rows: one, or several where a table was split and each part had it as the baseline.
        inputs: Digests of the inputs that were given; empty where they were generated.
        on_busy_machine: Whether something outside disturbed more than half of the blocks of one of its tables.
    """

    key: CellKey
    run: CheckedRun
    rows: tuple[CellResult, ...]
    samples: tuple[CellSamples, ...] = field(repr=False)
    inputs: str = ""
    on_busy_machine: bool = False

    @property
    def row(self) -> CellResult:
        """Its first row."""
        return self.rows[0]

    def by_launch(self, figure: ComparedFigure) -> tuple[float, ...]:
        """Return a figure's value in each launch, in the figure's unit; nothing where a run has one value only."""
        return tuple(value for samples in self.samples for value in figure.by_launch(samples))

    def in_run(self, figure: ComparedFigure) -> float | None:
        """Return a figure's value in the run: the median over launches, or what its row shows; ``None`` without."""
        launches = self.by_launch(figure)
        return statistics.median(launches) if launches else figure.of_row(self.row)

    @property
    def is_measured(self) -> bool:
        """Whether it has right outputs, a time, and one model."""
        return self.row.state == "ok" and not self.is_ambiguous and bool(self.by_launch(FIGURES["time"]))

    @property
    def is_ambiguous(self) -> bool:
        """Whether its rows ran different graphs: models of one name, whose times are not of the same thing."""
        return _several_graphs(self.rows)


def measured_cells(run: CheckedRun) -> Mapping[CellKey, MeasuredCell]:
    """Return every cell of a run by what was asked of it, also those without figures."""
    found: dict[CellKey, list[tuple[CellSamples, GroupResult]]] = {}
    for number, table in enumerate(run.document.groups):
        for samples in _samples(run, number, table):
            found.setdefault(key_of(table, samples.row), []).append((samples, table))
    return {key: _cell(key, run, parts) for key, parts in found.items()}


def ambiguous_models(document: RunDocument) -> tuple[str, ...]:
    """Return the names of models of which several are of one name, so that their rows cannot be told apart."""
    return tuple(dict.fromkeys(key.model for key in ambiguous_cells(document)))


def ambiguous_cells(document: RunDocument) -> tuple[CellKey, ...]:
    """Return the cells of which there are several rows that ran different graphs."""
    found: dict[CellKey, list[CellResult]] = {}
    for table in document.groups:
        for row in table.cells:
            found.setdefault(key_of(table, row), []).append(row)
    return tuple(key for key, rows in found.items() if _several_graphs(rows))


def _several_graphs(rows: Iterable[CellResult]) -> bool:
    return len({row.graph_files for row in rows if row.graph_files is not None}) > 1


def _samples(run: CheckedRun, number: int, table: GroupResult) -> Iterator[CellSamples]:
    timing = planned_timing(run.document.plan)
    records = [record for record in run.records if record.group == number]
    yield from (
        CellSamples(row, records, observed_launches(table, row, records, timing), timing) for row in table.cells
    )


def _cell(key: CellKey, run: CheckedRun, parts: Sequence[tuple[CellSamples, GroupResult]]) -> MeasuredCell:
    (first, table), *_ = parts
    return MeasuredCell(
        key=key,
        run=run,
        rows=tuple(samples.row for samples, _ in parts),
        samples=tuple(samples for samples, _ in parts),
        inputs=_inputs(table, first.row),
        on_busy_machine=any(table.is_mostly_disturbed for _, table in parts),
    )


def _inputs(table: GroupResult, row: CellResult) -> str:
    given = row.given_inputs or table.given_inputs
    return "" if given is None else msgspec.json.encode(given.sha256, order="sorted").decode()
