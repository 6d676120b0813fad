"""The end of a search: its best settings measured again beside what runs without tuning, and what follows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from irbench.core.record import LaunchRecord
from irbench.core.result import GroupResult
from irbench.core.row import CellResult, cell_names, is_too_slow
from irbench.features.tune.decision import Decision, decide, pareto_front
from irbench.features.tune.evidence import confirmation_notes, deciding_budget_s, pair_evidence
from irbench.features.tune.report import (
    Alternative,
    FrontPoint,
    Gain,
    ReferenceKind,
    RowFigures,
    TunedSetting,
    TuningNote,
)
from irbench.features.tune.rows import TuningRows
from irbench.features.tune.settings import setting_of
from irbench.runner.plan import PlannedGroup, with_rows
from irbench.runs.measurement import StoredRun
from irbench.spec import Cell, Group
from irbench.stats.eligibility import decide_eligibility
from irbench.stats.figures import within_max_latency
from irbench.stats.notices.table_state import TableState
from irbench.stats.observed import observe
from irbench.stats.rederive import planned_mixing, planned_timing, stored_admission
from irbench.stats.winner import LeadEstimate, find_winner
from irbench.store.reading import read_launches


@dataclass(frozen=True)
class Finalists:
    """What is measured in the end.

    Attributes:
        planned: The table.
        references: Which of its rows are what, by id.
    """

    planned: PlannedGroup
    references: Mapping[str, ReferenceKind]

    @classmethod
    def of(cls, rows: TuningRows, best: Sequence[str]) -> Finalists:
        """Return the best rows of a search with the references of the best; the first reference is the baseline.

        Args:
            rows: Those of the search.
            best: The ids of its best settings, the best first; none where no setting can be recommended.
        """
        cells = {cell.id: cell for cell in rows.planned.group.cells}
        leader = cells[best[0]] if best else rows.defaults[0]
        references = rows.references(leader.load.batch)
        kept = with_rows(rows.planned, {*best, *references})
        return cls(replace(kept, group=replace(kept.group, baseline=rows.default_of(leader))), references)


@dataclass(frozen=True)
class Confirmed:
    """What the confirmation says.

    Attributes:
        decision: Which row is recommended.
        settings: The rows, by id.
        alternatives: Every row but the leader, against it.
        deciding_budget_s: See :func:`irbench.features.tune.evidence.deciding_budget_s`.
        notes: What must be known of its figures.
    """

    decision: Decision
    settings: Mapping[str, TunedSetting]
    alternatives: tuple[Alternative, ...]
    deciding_budget_s: float | None = None
    notes: tuple[TuningNote, ...] = ()

    @classmethod
    def of(cls, finalists: Finalists, stored: StoredRun, before_s: float) -> Confirmed:
        """Return what follows from a stored confirmation, before which so many seconds are spent, with time enough."""
        group = finalists.planned.group
        table = stored.document.groups[0]
        records = tuple(read_launches(stored.folder, stored.document))
        state, found = _lead(group, table, stored, records)
        able = [row for row in state.eligibility.candidates if row not in state.eligibility.too_slow]
        evidence = pair_evidence(state, found)
        decision = decide(found, able, finalists.references, evidence, state.timing.within)
        names = cell_names(group)
        settings = {cell.id: setting_of(cell, names[cell.id]) for cell in group.cells}
        others = (row for row in table.cells if row.id != decision.leader)
        return cls(
            decision,
            settings,
            tuple(_alternative(row, settings[row.id], found, finalists.references.get(row.id)) for row in others),
            deciding_budget_s(state, found, decision.reservations, before_s),
            confirmation_notes(table, decision.reservations),
        )


def front_of(
    search: Mapping[str, Cell], tables: Sequence[tuple[GroupResult, bool]], within: float
) -> tuple[FrontPoint, ...]:
    """Return the measured settings than which none has both lower latency and more frames per second.

    Args:
        search: Every row by its id.
        tables: Each with whether it was measured under the full protocol; a row of a later one replaces an earlier.
        within: Frames per second that differ by this share count as the same.
    """
    points: dict[str, FrontPoint] = {}
    for table, confirmed in tables:
        wrong = {row.id for row in table.cells if row.state in ("failed", "mismatch")}
        points = {row: point for row, point in points.items() if row not in wrong}
        points |= {point.setting.row: point for point in _points(search, table, confirmed=confirmed)}
    return pareto_front(points.values(), within)


def figures_of(table: GroupResult) -> dict[str, RowFigures]:
    """Return what the rows of a table measured, by their ids."""
    return {
        row.id: RowFigures(row.latency_ms.p50, row.fps)
        for row in table.cells
        if row.latency_ms is not None and row.fps is not None
    }


def _points(search: Mapping[str, Cell], table: GroupResult, *, confirmed: bool) -> Iterator[FrontPoint]:
    for row in table.cells:
        if row.state == "ok" and row.latency_ms is not None and row.fps is not None and row.id in search:
            yield FrontPoint(setting_of(search[row.id]), row.latency_ms.p50, row.fps, confirmed)


def _lead(
    group: Group, table: GroupResult, stored: StoredRun, records: Sequence[LaunchRecord]
) -> tuple[TableState, LeadEstimate]:
    """Return the table as measured, and the best row that may be chosen against each other, as the table has it."""
    plan = stored.document.plan
    timing = planned_timing(plan)
    launches = observe(group, records, timing)
    admission = stored_admission(table, records, allow_mixed=planned_mixing(plan))
    eligibility = within_max_latency(decide_eligibility(group, records, admission), group, records, launches)
    rows = {row.id: row for row in table.cells}
    state = TableState(
        group, records, launches, eligibility, rows, timing, table.stopped_by, table.seconds, table.uneven_load
    )
    return state, find_winner(launches, eligibility.candidates, timing, eligibility.link)


def _alternative(
    row: CellResult, setting: TunedSetting, found: LeadEstimate, kind: ReferenceKind | None
) -> Alternative:
    behind = found.rivals.get(row.id)
    if behind is None:
        return Alternative(
            setting,
            kind,
            failure=None if row.failure is None else row.failure.message,
            is_too_slow=is_too_slow(row),
        )
    gain = Gain(math.exp(behind.value), is_preview=behind.confidence is None, **behind.ends(math.exp))
    return Alternative(setting, kind, gain)
