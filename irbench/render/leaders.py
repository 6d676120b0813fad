"""The best row over several tables, in a sentence that does not promise an interval."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.core.quantities import significant
from irbench.store.entries import OutcomeKind
from irbench.store.leaders import BestOfTables, TableLeader

_BUSY: Mapping[OutcomeKind, str] = {
    "busy": "machine too busy",
    "busy-winner": "busy machine",
    "busy-same": "busy machine",
}


def best_text(found: BestOfTables) -> str:
    """Return which row is best over all tables, what comes next, and that their order has no interval."""
    what = "Highest FPS" if found.objective == "fps" else "Lowest p50"
    return (
        f"{what} of {found.tables} tables of {found.model}: {_leader(found.best, found)}; next is"
        f" {_leader(found.second, found)}. The tables were measured one after the other, so there is no interval"
        " for this."
    )


def _leader(leader: TableLeader, found: BestOfTables) -> str:
    unit = "FPS" if found.objective == "fps" else "ms"
    doubts = (
        _BUSY.get(leader.outcome.kind, ""),
        "not verified" if leader.outcome.unverified else "",
    )
    facts = (f"{significant(leader.figure(found.objective))} {unit}", *filter(None, doubts))
    return f"{leader.outcome.leader} at {leader.table} ({', '.join(facts)})"
