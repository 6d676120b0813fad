"""The end of a search: its best settings measured again beside what runs without tuning, and what follows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from irbench.api.measurement import StoredRun
from irbench.api.tuning.rows import TuningRows
from irbench.api.tuning.settings import setting_of
from irbench.record import LaunchRecord
from irbench.result import CellResult, GroupResult
from irbench.row import is_too_slow
from irbench.row_names import cell_names
from irbench.runner.plan import PlannedGroup, with_rows
from irbench.spec import Cell, Group
from irbench.stats.observed import observe
from irbench.stats.rederive import planned_timing
from irbench.stats.winner import LeadEstimate, find_winner
from irbench.store.reading import read_launches
from irbench.tuning.decision import Decision, decide, pareto_front
from irbench.tuning.report import Alternative, FrontPoint, Gain, ReferenceKind, TunedSetting

__all__ = ["Confirmed", "Finalists", "front_of"]

_SETTINGS = 3
"""How many settings of a search are confirmed."""


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
        """Return the best rows of a search with the references of the best; the first reference is the baseline."""
        cells = {cell.id: cell for cell in rows.planned.group.cells}
        leader = cells[best[0]]
        references = rows.references(leader.load.batch)
        kept = with_rows(rows.planned, {*best[:_SETTINGS], *references})
        baseline = rows.default_of(leader)
        return cls(replace(kept, group=replace(kept.group, baseline=baseline)), references)


@dataclass(frozen=True)
class Confirmed:
    """What the confirmation says.

    Attributes:
        decision: Which row is recommended.
        settings: The rows, by id.
        alternatives: Every row but the leader, against it.
    """

    decision: Decision
    settings: Mapping[str, TunedSetting]
    alternatives: tuple[Alternative, ...]

    @classmethod
    def of(cls, finalists: Finalists, stored: StoredRun) -> Confirmed:
        """Return what follows from a stored confirmation."""
        group = finalists.planned.group
        table = stored.document.groups[0]
        able = [row.id for row in table.cells if row.state == "ok" and not is_too_slow(row)]
        found = _lead(group, able, stored, tuple(read_launches(stored.folder, stored.document)))
        decision = decide(found, able, finalists.references)
        names = cell_names(group)
        settings = {cell.id: setting_of(cell, names[cell.id]) for cell in group.cells}
        others = (row for row in table.cells if row.id != decision.leader)
        return cls(
            decision,
            settings,
            tuple(_alternative(row, settings[row.id], found, finalists.references.get(row.id)) for row in others),
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
        points |= {point.setting.row: point for point in _points(search, table, confirmed=confirmed)}
    return pareto_front(points.values(), within)


def _points(search: Mapping[str, Cell], table: GroupResult, *, confirmed: bool) -> Iterator[FrontPoint]:
    for row in table.cells:
        if row.state == "ok" and row.latency_ms is not None and row.fps is not None and row.id in search:
            yield FrontPoint(setting_of(search[row.id]), row.latency_ms.p50, row.fps, confirmed)


def _lead(group: Group, able: Sequence[str], stored: StoredRun, records: Sequence[LaunchRecord]) -> LeadEstimate:
    timing = planned_timing(stored.document.plan)
    return find_winner(observe(group, records, timing), able, timing)


def _alternative(
    row: CellResult, setting: TunedSetting, found: LeadEstimate, kind: ReferenceKind | None
) -> Alternative:
    behind = found.rivals.get(row.id)
    if behind is None:
        return Alternative(setting, kind, failure=None if row.failure is None else row.failure.message)
    value, low, high = map(math.exp, (behind.value, behind.low, behind.high))
    return Alternative(setting, kind, Gain(value, low, high, is_preview=behind.confidence is None))
