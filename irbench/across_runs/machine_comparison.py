"""Machines compared at equal settings: the newest figures of each cell on each machine, and how their times differ."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from irbench.across_runs.changes import FEWEST_RUNS, FigureChange, change_of_values, verdict_of
from irbench.across_runs.differences import RunDifference, differences_between, fingerprint, setup_of
from irbench.across_runs.measured_cells import FIGURES, CellKey, inputs_digest, key_of
from irbench.across_runs.timed_runs import TimedRun
from irbench.core.result import GroupResult
from irbench.core.row import CellResult, Ends, Verdict
from irbench.spec import Program


@dataclass(frozen=True)
class ComparedSetting:
    """What is equal where machines are compared.

    Attributes:
        precision: What the runtime computed in; what was asked for where that is not known.
        threads: Of all processes, as the runtime reports them, or as they were asked for; ``None`` where it chose.
        inputs: Digest of the inputs that were given; empty where they were generated.
        graph: Digest of the graph; empty where it is not known.
    """

    key: CellKey
    precision: str
    threads: int | None
    inputs: str
    graph: str
    program: Program | None


@dataclass(frozen=True)
class MachineCell:
    """A cell on one machine.

    Attributes:
        machine: Its fingerprint.
        run: The newest that has the cell.
        row: Of that run.
        launches_ms: Its times in each launch, of that run and of those that only repeat it, newest first; empty where
            it has no right outputs, or several models of the run have one name.
        is_busy: Whether something outside disturbed most blocks of one of these runs.
        runs: How many runs of this machine have the cell.
    """

    setting: ComparedSetting
    machine: str
    run: TimedRun
    row: CellResult
    launches_ms: tuple[tuple[float, ...], ...]
    is_busy: bool
    runs: int


@dataclass(frozen=True)
class ComparedMachine:
    """A machine beside the one that it is compared with.

    Attributes:
        change: Of its time, from that of the other.
        verdict: What the interval says of this machine.
        is_judged: Whether no busy machine stands in the way of the verdict.
        differences: Versions, settings and inputs in which the runs differ besides.
    """

    cell: MachineCell
    change: FigureChange
    verdict: Verdict
    is_judged: bool
    differences: tuple[RunDifference, ...]

    @property
    def speedup(self) -> tuple[float, Ends]:
        """How many times as fast as the other it is, with the interval, or the range of too few launches for one."""
        shift = self.change.relative
        assert shift is not None, "times are above 0"
        ends = Ends(1 / (1 + shift.high), 1 / (1 + shift.low), is_range=shift.confidence is None)
        return 1 / (1 + shift.value), ends


@dataclass(frozen=True)
class MachineComparison:
    """Machines that measured one cell, the first of which the others are compared with."""

    base: MachineCell
    others: tuple[ComparedMachine, ...]


def cells_of_machines(runs: Sequence[TimedRun]) -> tuple[MachineCell, ...]:
    """Return the newest row of each cell on each machine; ``runs`` and what is returned are newest first.

    Of a table that was split, a cell has several rows, and the first of them is shown.
    """
    occurrences_by_setting: dict[tuple[ComparedSetting, str], list[_Occurrence]] = {}
    for run in runs:
        machine = fingerprint(run.document.environment)
        for setting, occurrence in _occurrences(run).items():
            occurrences_by_setting.setdefault((setting, machine), []).append(occurrence)
    return tuple(
        _cell(setting, machine, occurrences) for (setting, machine), occurrences in occurrences_by_setting.items()
    )


def compare_machines(
    cells: Iterable[MachineCell], within: float, confidence: float = 0.95
) -> tuple[MachineComparison, ...]:
    """Return how times differ between machines that have the same cell.

    The machine that shares the most cells with others is the one that they are compared with; of several the one whose
    fingerprint comes first, so that it stays the same.
    """
    by_setting: dict[ComparedSetting, list[MachineCell]] = {}
    for cell in cells:
        if cell.launches_ms:
            by_setting.setdefault(cell.setting, []).append(cell)
    shared = [alike for alike in by_setting.values() if len(alike) > 1]
    counts = Counter(cell.machine for alike in shared for cell in alike)
    ordered = (sorted(alike, key=lambda cell: (-counts[cell.machine], cell.machine)) for alike in shared)
    return tuple(
        MachineComparison(base, tuple(compare_cells(base, other, within, confidence) for other in others))
        for base, *others in ordered
    )


def compare_cells(base: MachineCell, new: MachineCell, within: float, confidence: float = 0.95) -> ComparedMachine:
    """Return how the time of a cell on one machine differs from that on another.

    Their launches are two independent samples; with four runs on both sides runs are counted, and load that comes and
    goes is part of their scatter.
    """
    change = _change(base.launches_ms, new.launches_ms, confidence)
    return ComparedMachine(
        cell=new,
        change=change,
        verdict=verdict_of(change, within),
        is_judged=change.counted == "runs" or not (base.is_busy or new.is_busy),
        differences=tuple(
            difference
            for difference in differences_between([base.run.document], [new.run.document])
            if not difference.blocks
        ),
    )


def _change(base: Sequence[Sequence[float]], new: Sequence[Sequence[float]], confidence: float) -> FigureChange:
    if min(len(base), len(new)) >= FEWEST_RUNS:
        values = [[statistics.median(launches) for launches in side] for side in (base, new)]
        return change_of_values(FIGURES["time"], values[0], values[1], "runs", confidence)
    values = [[time for launches in side for time in launches] for side in (base, new)]
    return change_of_values(FIGURES["time"], values[0], values[1], "launches", confidence)


@dataclass(frozen=True)
class _Occurrence:
    run: TimedRun
    row: CellResult
    is_busy: bool
    inputs: str

    def repeats(self, newest: _Occurrence) -> bool:
        return self is newest or self._setup() == newest._setup()

    def _setup(self) -> tuple[object, ...]:
        return setup_of(self.run.document, self.row, self.inputs)


def _occurrences(run: TimedRun) -> Mapping[ComparedSetting, _Occurrence]:
    occurrences: dict[ComparedSetting, _Occurrence] = {}
    for table in run.document.groups:
        for setting, row in _settings(table):
            before = occurrences.get(setting)
            is_busy = table.is_mostly_disturbed or (before is not None and before.is_busy)
            occurrences[setting] = _Occurrence(run, row if before is None else before.row, is_busy, setting.inputs)
    return occurrences


def _settings(table: GroupResult) -> Iterator[tuple[ComparedSetting, CellResult]]:
    for row in table.cells:
        yield (
            ComparedSetting(
                key=key_of(table, row),
                precision=str(row.effective.get("precision") or row.requested.precision),
                threads=row.all_threads or row.requested.all_threads,
                inputs=inputs_digest(table, row),
                graph=row.graph_files.sha256 if row.graph_files is not None else "",
                program=row.program,
            ),
            row,
        )


def _cell(setting: ComparedSetting, machine: str, occurrences: Sequence[_Occurrence]) -> MachineCell:
    newest, key = occurrences[0], setting.key
    repeated = [occurrence for occurrence in occurrences if key in occurrence.run.times and occurrence.repeats(newest)]
    return MachineCell(
        setting=setting,
        machine=machine,
        run=newest.run,
        row=newest.row,
        launches_ms=tuple(occurrence.run.times[key] for occurrence in repeated) if newest.row.state == "ok" else (),
        is_busy=any(occurrence.is_busy for occurrence in repeated),
        runs=len(occurrences),
    )
