"""Which cells are compared, which are not, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from irbench.core.record import CellLaunch, Failure, LaunchRecord
from irbench.core.row import State
from irbench.notices.marks import AboveMaxLatency, OtherPrecision
from irbench.spec import Cell, Disagreement, Group, Scalar

_LEFT_TO_THE_RUNTIME = "native"


@dataclass(frozen=True)
class RowPrecision:
    """The precision of a row, as it was asked for and as its runtime reported it.

    Attributes:
        asked: What its session was opened with: that of ``--precision`` or of a conversion, that of the graph where
            nobody asked for one, or ``native``.
        graph: The narrowest that its ONNX graph holds; empty where nobody looked, or where there is no such graph.
        computed: What its runtime computes in.
    """

    asked: str
    graph: str
    computed: str

    @property
    def named(self) -> str:
        """What the user named for the row: by an option, or by a file; ``native`` alone leaves it to what is held."""
        return self.graph if self.asked == _LEFT_TO_THE_RUNTIME else self.asked

    def is_comparable(self, baseline: RowPrecision) -> bool:
        """Whether a speedup over ``baseline`` answers what was asked.

        It does where both compute in one precision, or each in the one that was named for it: who names an fp32 and an
        int8 file asks for their comparison. What a runtime chose by itself nobody asked for.
        """
        return self.computed == baseline.computed or (self._is_as_named and baseline._is_as_named)

    @property
    def _is_as_named(self) -> bool:
        return self.computed == self.named


def compares_all(precisions: Sequence[str] | None, *, allow_mixed: bool) -> bool:
    """Whether rows are compared whatever precisions their runtimes chose by themselves.

    They are with ``--allow-mixed``, and where ``native`` was named beside another precision: what runtimes choose is
    then what was asked about, and each other row computes in the one that was named for it.
    """
    return allow_mixed or (precisions is not None and _LEFT_TO_THE_RUNTIME in precisions and len(set(precisions)) > 1)


def changing(records: Sequence[LaunchRecord], cell: str) -> Mapping[str, tuple[Scalar, ...]]:
    """Return the properties of a cell that are not the same in all of its launches, each with its different values.

    Values stand in the order in which they were first seen; one that a launch did not read back is ``None``.
    """
    read_back = [row.effective for record in records for row in record.cells if row.cell == cell]
    names = dict.fromkeys(name for effective in read_back for name in effective)
    seen = {name: tuple(dict.fromkeys(effective.get(name) for effective in read_back)) for name in names}
    return {name: values for name, values in seen.items() if len(values) > 1}


@dataclass(frozen=True)
class Admission:
    """What decides on a cell's part besides its measurements.

    Attributes:
        absent: Cells that are not launched, with the reason that their row shows: at stage ``plan`` their backend
            reads no graph, at ``accuracy`` their answers are not as good as was asked for, and at any other one the
            graph could not be made.
        allow_mixed: Whether cells are compared whose runtimes chose different precisions by themselves.
    """

    absent: Mapping[str, Failure] = field(default_factory=dict[str, Failure])
    mismatches: Mapping[str, Failure] = field(default_factory=dict[str, Failure])
    allow_mixed: bool = False


@dataclass(frozen=True)
class Eligibility:
    """Every cell's part, decided.

    Attributes:
        states: By cell id, in the group's order.
        precisions: Effective precision of every cell that measured.
        baseline: The cell that speedups are relative to; ``None`` when none is ``ok``.
        compared: The baseline and every cell that may be compared with it, in the group's order.
        disagreements: In what a cell's graph falls short of the model it was converted from, where it does.
        in_parts: Whether there are more cells than one launch held.
        too_slow: Cells whose p90 latency is above what was asked for, with the mark that says so; see
            :func:`irbench.stats.figures.within_max_latency`.
        accurate: Cells that keep the limit that the user gave for the accuracy of their answers.
        beside: Cells that something runs beside: what is asked of these is by how much that slows them down.
    """

    states: Mapping[str, State]
    failures: Mapping[str, Failure]
    precisions: Mapping[str, str]
    baseline: str | None
    compared: tuple[str, ...]
    disagreements: Mapping[str, Disagreement] = field(default_factory=dict[str, Disagreement])
    in_parts: bool = False
    too_slow: Mapping[str, AboveMaxLatency] = field(default_factory=dict[str, AboveMaxLatency])
    accurate: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()

    @property
    def link(self) -> str | None:
        """The cell through which pairs are compared that no launch measured together; ``None`` where there are none."""
        return self.baseline if self.in_parts else None

    @property
    def healthy(self) -> tuple[str, ...]:
        """Cells with right answers and no failure."""
        return tuple(cell for cell, state in self.states.items() if state == "ok")

    @property
    def candidates(self) -> tuple[str, ...]:
        """Those of the compared cells that may be called the fastest.

        A cell whose graph no longer answers like the model may only where the baseline's does not either, or where it
        keeps the limit that the user gave. One that answers later than was asked for may not. Where something runs
        beside a cell, none is looked for.
        """
        if self.beside:
            return ()
        differing = self.disagreements.keys() - self.accurate
        able = [cell for cell in self.compared if cell not in self.too_slow]
        return tuple(cell for cell in able if cell not in differing or self.baseline in differing)

    def mixed(self, cell: str) -> OtherPrecision | None:
        """Return the mark of a comparison with the baseline, or ``None`` where precisions agree."""
        if self.baseline is None or cell not in self.precisions:
            return None
        own, other = self.precisions[cell], self.precisions[self.baseline]
        return None if own == other else OtherPrecision(precision=own, baseline_precision=other)


def decide_eligibility(group: Group, records: Sequence[LaunchRecord], admission: Admission) -> Eligibility:
    """Decide every cell's part after these launches.

    The baseline is the group's own where it is ``ok``, otherwise the next cell in the group's order that is.
    A cell in another precision is compared where :meth:`.RowPrecision.is_comparable` says so, or mixing is allowed.
    """
    judged = {cell.id: _state(cell, records, admission) for cell in group.cells}
    states: dict[str, State] = {cell: state for cell, (state, _) in judged.items()}
    healthy = [cell for cell, state in states.items() if state == "ok"]
    baseline = group.baseline if group.baseline in healthy else next(iter(healthy), None)
    precisions = {cell.id: _precision(cell, records) for cell in group.cells if first_launch(records, cell.id)}
    artifacts = {cell.id: cell.artifact for cell in group.cells if cell.artifact is not None}
    return Eligibility(
        states=states,
        failures={cell: failure for cell, (_, failure) in judged.items() if failure is not None},
        precisions={cell: precision.computed for cell, precision in precisions.items()},
        baseline=baseline,
        compared=tuple(
            cell
            for cell in healthy
            if baseline is not None and (admission.allow_mixed or precisions[cell].is_comparable(precisions[baseline]))
        ),
        disagreements={
            cell: row_precision.disagreement
            for cell, row_precision in artifacts.items()
            if row_precision.disagreement is not None
        },
        in_parts=_in_parts(records),
        accurate=frozenset(
            cell.id for cell in group.cells if cell.accuracy is not None and cell.accuracy.is_within_limit
        ),
        beside=frozenset(cell.id for cell in group.cells if cell.load.beside is not None),
    )


def _in_parts(records: Sequence[LaunchRecord]) -> bool:
    """Whether a cell was launched for the first time after others had been."""
    first = {cell.cell for record in records[:1] for cell in record.cells}
    return any(cell.cell not in first for record in records for cell in record.cells)


def first_launch(records: Sequence[LaunchRecord], cell: str) -> CellLaunch | None:
    """Return what a cell measured in the first launch in which it did."""
    return next((measured for record in records for measured in record.cells if measured.cell == cell), None)


def _state(cell: Cell, records: Sequence[LaunchRecord], admission: Admission) -> tuple[State, Failure | None]:
    if cell.id in admission.absent:
        absence = admission.absent[cell.id]
        return _state_of_absent(cell, absence), absence
    failure = next((record.failures[cell.id] for record in records if cell.id in record.failures), None)
    if failure is not None:
        return ("mismatch" if failure.stage == "verify" else "failed"), failure
    if first_launch(records, cell.id) is None:
        return ("not-measured" if records else "interrupted"), None
    precisions = changing(records, cell.id).get("precision")
    if precisions is not None:
        return "failed", _changed_precision(precisions)
    if cell.id in admission.mismatches:
        return "mismatch", admission.mismatches[cell.id]
    return "ok", None


def _state_of_absent(cell: Cell, absence: Failure) -> State:
    if absence.stage == "plan":
        return "not-applicable"
    return "mismatch" if absence.stage == "accuracy" and cell.accuracy is not None else "failed"


def _changed_precision(precisions: Sequence[Scalar]) -> Failure:
    return Failure(
        "precision",
        f"it computed in {' and in '.join(str(precision) for precision in precisions)} in different launches",
        "Its launches cannot be compared with each other: pin one with --precision.",
    )


def _precision(cell: Cell, records: Sequence[LaunchRecord]) -> RowPrecision:
    launch = first_launch(records, cell.id)
    read_back = launch.effective.get("precision") if launch is not None else None
    graph_precision = cell.artifact.precision if cell.artifact is not None else ""
    return RowPrecision(
        cell.load.precision, graph_precision, cell.load.precision if read_back is None else str(read_back)
    )
