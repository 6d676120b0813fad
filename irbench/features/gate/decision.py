"""Whether the rows of a gate regressed, and when that is decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from irbench.across_runs.changes import CheckedCondition, FigureChange, change_of_values, checked_condition, outcome_of
from irbench.across_runs.measured_cells import CellSamples, ComparedFigure, figure_of
from irbench.across_runs.paired_changes import change_in_pairs, log_ratios
from irbench.core.record import Failure, LaunchRecord
from irbench.core.result import GroupResult, StoppedBy
from irbench.core.row import CellResult, RowName, distinguish
from irbench.features.gate.sides import Pair, Sides
from irbench.options.conditions import Condition
from irbench.runner.launch_schedule import UnforeseenEnd
from irbench.spec import Group, Timing
from irbench.stats.eligibility import Admission
from irbench.stats.intervals import Interval, interval_at, looks_of
from irbench.stats.launch_planning import parts_of
from irbench.stats.observed import Observed, observe, observe_otherwise, reduction_of
from irbench.stats.speedups import holm_intervals
from irbench.stats.stopping_rule import Next, Pace, forecast_s, without_new_cells
from irbench.stats.summary import summarise
from irbench.stats.winner import LeadEstimate, contradiction

RowOutcome: TypeAlias = Literal["passed", "regression", "wrong-outputs", "failed", "undecided", "not-measured"]
"""``wrong-outputs``: NEW's outputs are not those of its reference, or not accurate enough, and BASE's are; ``failed``:
NEW fails, and BASE does not; ``not-measured``: a row of the pair has no figures."""


REGRESSIONS: frozenset[RowOutcome] = frozenset({"regression", "wrong-outputs", "failed"})


@dataclass(frozen=True)
class GatedRow:
    """A row of NEW, compared with that of BASE.

    Attributes:
        name: What both have in common, or both names.
        base: The id of BASE's row.
        new: The id of NEW's row.
        conditions: Each as it was checked; none where a row has no figures.
        failure: Why a row has none, NEW's first.
    """

    name: str
    base: str
    new: str
    outcome: RowOutcome
    conditions: tuple[CheckedCondition, ...] = ()
    failure: Failure | None = None

    @property
    def time(self) -> FigureChange | None:
        """The change of its time, which the first condition is about; ``None`` where it was not measured."""
        return self.conditions[0].change if self.conditions else None

    @property
    def is_begun(self) -> bool:
        """Whether launches say anything of it."""
        return self.outcome != "undecided" or bool(self.conditions)

    @property
    def needs_launches(self) -> bool:
        """Whether another launch may decide one of its conditions."""
        return self.outcome == "undecided" and any(not _is_closed(checked) for checked in self.conditions)


@dataclass(frozen=True)
class GatedTable:
    """A table of a gate, with its launches.

    Attributes:
        table: Its figures.
        tables: Number of tables of the gate.
    """

    group: Group
    table: GroupResult
    records: Sequence[LaunchRecord]
    timing: Timing
    tables: int = 1


def gated_rows(gated: GatedTable, pairs: Sequence[Pair], conditions: Sequence[Condition]) -> tuple[GatedRow, ...]:
    """Return the outcome of each pair, as far as the launches of a table decide it.

    A gate fails if any condition is met in any row: these tests share the error probability, by Holm's procedure within
    a table (:func:`irbench.stats.speedups.holm_intervals`) and in equal parts between tables. It passes only if every
    condition is excluded in every row, an intersection-union test: if one condition is really met, passing requires
    that its interval misses, however many others there are, so that no interval needs a correction.
    Source: Berger, "Multiparameter Hypothesis Testing and Acceptance Sampling", Technometrics 24 (1982).
    """
    launches = observe(gated.group, gated.records, gated.timing)
    samples = {row.id: CellSamples(row, gated.records, launches, gated.timing) for row in gated.table.cells}
    compared = [pair for pair in pairs if all(samples[row].row.state == "ok" for row in (pair.base, pair.new))]
    ratios = {
        (pair, figure.name): values
        for pair in compared
        for figure in dict.fromkeys(figure_of(condition.figure, samples[pair.new].row) for condition in conditions)
        if (values := log_ratios(figure, samples[pair.base], samples[pair.new]))
    }
    of_table = replace(gated.timing, confidence=1 - (1 - gated.timing.confidence) / gated.tables)
    together = holm_intervals(ratios, of_table)
    each = {key: interval_at(values, looks_of(gated.timing), gated.timing.confidence) for key, values in ratios.items()}

    def change(figure: ComparedFigure, pair: Pair, interval: Interval | None) -> FigureChange | None:
        base, new = samples[pair.base], samples[pair.new]
        if interval is not None:
            return change_in_pairs(figure, base, new, interval)
        before, after = figure.of_row(base.row), figure.of_row(new.row)
        if before is None or after is None:
            return None
        once = change_of_values(figure, [before], [after], "values", gated.timing.confidence)
        return replace(once, exact=figure.exact or figure.is_repeatable)

    def checked(condition: Condition, pair: Pair) -> CheckedCondition:
        figure = figure_of(condition.figure, samples[pair.new].row)
        key = (pair, figure.name)
        found = checked_condition(condition, change(figure, pair, each.get(key)))
        found = replace(found, outcome=outcome_of(condition, change(figure, pair, together.get(key))))
        return _with_load(found, gated, launches, pair) if figure.depends_on_load else found

    names = pair_names(gated.group, pairs)
    return tuple(
        judged(GatedRow(names[pair], pair.base, pair.new, "undecided", tuple(checked(c, pair) for c in conditions)))
        if pair in compared
        else _without_figures(names[pair], pair, samples[pair.base].row, samples[pair.new].row)
        for pair in pairs
    )


def judged(row: GatedRow) -> GatedRow:
    """Return a row with its outcome, as its conditions have it."""
    if any(checked.is_met for checked in row.conditions):
        return replace(row, outcome="regression")
    is_passed = all(checked.excluded and checked.unjudged is None for checked in row.conditions)
    return replace(row, outcome="passed") if is_passed else row


def _is_closed(checked: CheckedCondition) -> bool:
    """Whether launches decide no more of a condition: it is excluded, or there is one value of its figure or none."""
    if checked.unjudged is None:
        return checked.excluded
    return checked.change is None or checked.change.counted == "values"


def _without_figures(name: str, pair: Pair, base: CellResult, new: CellResult) -> GatedRow:
    is_wrong = base.state == "ok" and (
        new.state == "mismatch" or (new.failure is not None and new.failure.stage == "accuracy")
    )
    is_broken = base.state == "ok" and new.state == "failed"
    failure = new.failure or base.failure
    # before the first launch no row has figures, and each may get some
    is_open = failure is None and "not-measured" in (base.state, new.state)
    outcome: RowOutcome = "undecided" if is_open else "not-measured"
    outcome = "wrong-outputs" if is_wrong else "failed" if is_broken else outcome
    return GatedRow(name, pair.base, pair.new, outcome, failure=failure)


def _with_load(
    checked: CheckedCondition, gated: GatedTable, launches: Sequence[Observed], pair: Pair
) -> CheckedCondition:
    """Return a condition that is not judged where other programs may be the reason for a change.

    Rows take turns, so that a load that does not look at them is the same for both. It is not where more of it fell
    into the turns of one row, and that is not known on machines that do not tell.
    """
    if checked.unjudged is not None:
        return checked
    if gated.table.uneven_load is not None:
        return replace(checked, unjudged="uneven-load")
    if reduction_of(launches) == "disturbed":
        return replace(checked, unjudged="unknown-load")
    if checked.outcome == "met":
        otherwise = observe_otherwise(gated.group, gated.records, launches, gated.timing)
        if contradiction(LeadEstimate(pair.base, pair.new), launches, otherwise, gated.timing) is not None:
            return replace(checked, unjudged="blocks-disagree")
    return checked


def pair_names(group: Group, pairs: Sequence[Pair]) -> dict[Pair, str]:
    """Return what both rows of each pair have in common, or both names."""
    rows = {
        cell.id: RowName(cell.label, "", cell.load.precision, cell.load.batch, cell.load.threads)
        for cell in group.cells
    }
    names = distinguish(rows)
    both = {pair: dict.fromkeys((names[pair.base], names[pair.new])) for pair in pairs}
    return {pair: " → ".join(of_pair) for pair, of_pair in both.items()}


@dataclass(frozen=True)
class UntilDecided(UnforeseenEnd):
    """Launches pairs until one of them regressed, or all have passed; what is decided is not launched again.

    Attributes:
        tables: Number of tables of the gate.
    """

    sides: Sides
    conditions: tuple[Condition, ...]
    tables: int = 1
    measures_all: bool = True

    def following(
        self, group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission, pace: Pace, /
    ) -> Next:
        """Return the pairs of the next launch, those with the fewest first, or why there is none."""
        pairs = self.sides.pairs_of(group)
        if not records:
            return self._next(group, [pair for pair in pairs if not {pair.base, pair.new} & admission.absent.keys()])
        table = summarise(group, records, timing, admission, stopped_by="unfinished", seconds=pace.elapsed_s)
        rows = gated_rows(GatedTable(group, table, records, timing, self.tables), pairs, self.conditions)
        open_ = [pair for pair, row in zip(pairs, rows, strict=True) if row.needs_launches or not row.is_begun]
        outcomes = {row.outcome for row in rows}
        if outcomes & REGRESSIONS or not open_:
            return Next(stopped_by="failures" if outcomes == {"not-measured"} else "target")
        if len(records) >= timing.max_launches * parts_of(len(group.cells), timing.most_cells):
            return Next(stopped_by="launches")
        following = self._next(group, open_, records, timing)
        needed_s = forecast_s(records, pace.launches_s, following.cells, timing)
        if without_new_cells(records):  # which show how long launches take: the fewest must fit
            missing = {pair: max(0, timing.min_launches - _launched(records, pair)) for pair in open_}
            cells = [row for pair in open_ for row in (pair.base, pair.new) * missing[pair]]
            needed_s = max(needed_s, forecast_s(records, pace.launches_s, cells, timing))
        ended_s = pace.elapsed_s + needed_s + pace.closing_s
        stopped_by: StoppedBy | None = "budget" if ended_s > timing.budget else None
        return Next(stopped_by=stopped_by) if stopped_by else following

    def _next(
        self, group: Group, pairs: Sequence[Pair], records: Sequence[LaunchRecord] = (), timing: Timing | None = None
    ) -> Next:
        if not pairs:
            return Next(stopped_by="failures")
        most = (timing or Timing()).most_cells // 2
        chosen = sorted(pairs, key=lambda pair: _launched(records, pair))[:most]
        rows = {row for pair in chosen for row in (pair.base, pair.new)}
        return Next(tuple(cell.id for cell in group.cells if cell.id in rows))


def _launched(records: Sequence[LaunchRecord], pair: Pair) -> int:
    return sum({pair.base, pair.new} <= {cell.cell for cell in record.cells} for record in records)
