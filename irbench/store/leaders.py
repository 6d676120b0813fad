"""The best row over tables that were measured one after the other: which it is, and what comes next.

Rows of different tables share no block and no launch, so nothing says how sure their order is: it has no interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from irbench.core.result import GroupResult, RunDocument
from irbench.spec import Objective
from irbench.store.entries import Outcome, OutcomeKind
from irbench.store.outcomes import outcome_of

_WITH_LEADER: tuple[OutcomeKind, ...] = (
    "winner",
    "busy-winner",
    "preview",
    "same",
    "busy-same",
    "undecided",
    "busy",
    "only",
)
"""Other tables have no row that could stand for them: none has figures, or figures contradict each other."""


@dataclass(frozen=True)
class TableLeader:
    """The row that is, or looks, fastest in a table.

    Attributes:
        table: What tells the table from the others: ``batch 8``.
        outcome: Of the table.
    """

    table: str
    outcome: Outcome

    def figure(self, objective: Objective) -> float | None:
        """Return what tables are compared by: samples per second, or the median latency in ms."""
        return self.outcome.fps if objective == "fps" else self.outcome.p50_ms


@dataclass(frozen=True)
class BestOfTables:
    """The best row over several tables of one model with the same inputs.

    Attributes:
        model: Its name.
        objective: What their leaders were compared by.
        tables: How many tables have a leader.
        best: The leader with the best figure.
        second: The leader of another table that comes next.
    """

    model: str
    objective: Objective
    tables: int
    best: TableLeader
    second: TableLeader


def has_leader(outcome: Outcome) -> bool:
    """Return whether some row can stand for its table."""
    return outcome.kind in _WITH_LEADER


def best_of_tables(model: str, leaders: Sequence[TableLeader], objective: Objective | None) -> BestOfTables | None:
    """Return which table's leader is best; ``None`` where there are no two that can be compared.

    Args:
        model: Its name.
        leaders: Of tables of this model with the same inputs.
        objective: What was asked for; ``None`` for what their own rows were compared by.
    """
    if not leaders:
        return None
    compared_by = leaders[0].outcome.objective if objective is None else objective
    if compared_by == "cost":  # the processor time of a row is not stored apart from its table's ratios
        return None
    figures = [(figure, found) for found in leaders if (figure := found.figure(compared_by)) is not None]
    if len(figures) < 2:
        return None
    ranked = sorted(figures, key=lambda known: known[0], reverse=compared_by == "fps")
    return BestOfTables(model, compared_by, len(ranked), ranked[0][1], ranked[1][1])


def best_of_run(document: RunDocument) -> tuple[BestOfTables, ...]:
    """Return the best row over the batches of each model of a run; none where its tables ask different questions."""
    plan = document.plan
    if plan.get("sweep") or plan.get("environments"):
        return ()
    by_model: dict[str, list[GroupResult]] = {}
    for table in document.groups:
        if all(row.model in (None, table.model) for row in table.cells):
            by_model.setdefault(table.model, []).append(table)
    found = (_best_of_model(model, tables, plan.get("goal") or {}) for model, tables in by_model.items())
    return tuple(best for best in found if best is not None)


def _best_of_model(model: str, tables: Sequence[GroupResult], goal: dict[str, Any]) -> BestOfTables | None:
    if len({table.batch for table in tables}) < len(tables) or len(set(_precisions(tables))) > 1:
        return None
    leaders = [TableLeader(f"batch {table.batch}", outcome_of(table)) for table in tables]
    return best_of_tables(
        model, [found for found in leaders if has_leader(found.outcome)], goal.get("objective", "fps")
    )


def _precisions(tables: Sequence[GroupResult]) -> Iterator[str]:
    """Yield what the leader of each table computes in: another precision would be another comparison."""
    for table in tables:
        leading = None if table.lead is None else table.lead.cell
        rows = (row for row in table.cells if leading in (None, row.id) and row.latency_ms is not None)
        yield from (str(row.effective.get("precision")) for row in list(rows)[:1])
