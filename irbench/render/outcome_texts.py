"""The outcome of a run in a few words, for a listing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from irbench.core.quantities import significant
from irbench.render.verdicts import NO_WINNER_TEXTS
from irbench.store.entries import Outcome, OutcomeKind, RunEntry

if TYPE_CHECKING:
    from irbench.store.table_outcomes import BestOfTables, TableLeader
_OUTCOMES: Mapping[OutcomeKind, str] = {
    **{kind: text.outcome for kind, text in NO_WINNER_TEXTS.items()},
    "winner": "{leader} {ratio:.2f}x {rival}",
    "busy-winner": "{leader} {ratio:.2f}x {rival}, busy machine",
    "busy-same": "{leader} and {rival} the same{figure}, busy machine",
    "only": "only {leader}: {only}",
    "cold-start": "cold start: {leader} {p50_ms:.0f} ms",
    "grows": "{leader}: memory grows",
    "steady": "memory steady",
    "growth-undecided": "{leader}: growth undecided",
    "holds-load": "{leader} holds {rate}",
    "load-undecided": "{leader}: undecided which load it holds",
    "holds-no-load": "no row keeps the service level",
    "served": "loads of requests",
    "mismatch": "mismatch",
    "failed": "failed",
    "interrupted": "interrupted",
    "not-measured": "not measured",
}
_BUSY: Mapping[OutcomeKind, str] = {
    "busy": "machine too busy",
    "busy-winner": "busy machine",
    "busy-same": "busy machine",
}


def outcome_text(outcome: Outcome) -> str:
    """Return who won by how much, or what can be said instead."""
    known = figure_text(outcome)
    facts = {"leader": outcome.leader, "rival": outcome.rival, "ratio": outcome.ratio, "p50_ms": outcome.p50_ms}
    facts["rate"] = f"{significant(outcome.fps)}/s" if outcome.fps else "the load"
    facts |= {"only": known, "figure": f" ({outcome.leader} {known})" if known else ""}
    return f"{_OUTCOMES[outcome.kind].format(**facts)}{', not verified' if outcome.unverified else ''}"


def figure_text(outcome: Outcome) -> str:
    """Return the leader's figure that rows were compared by: ``123 FPS``, ``518 tokens/s``, ``28.1 ms``; or nothing."""
    if outcome.objective == "fps" and outcome.fps is not None:
        return f"{significant(outcome.fps)} {outcome.throughput_unit}"
    return "" if outcome.p50_ms is None else f"{significant(outcome.p50_ms)} ms"


def outcomes_text(entry: RunEntry) -> str:
    """Return what came of each table of a run, and whether it ended by itself."""
    texts = dict.fromkeys(map(outcome_text, entry.outcomes))
    return f"{'; '.join(texts)}{'' if entry.complete else ' (incomplete)'}"


def best_text(best: BestOfTables) -> str:
    """Return which row is best over all tables, what comes next, and that their order has no interval."""
    unit = best.best.outcome.throughput_unit
    lowest = "Shortest median time per generation" if unit == "tokens/s" else "Lowest p50"
    what = f"Highest {unit}" if best.objective == "fps" else lowest
    return (
        f"{what} of {best.tables} tables of {best.model}: {_leader(best.best, best)}; next is"
        f" {_leader(best.second, best)}. The tables were measured one after the other, so there is no interval"
        " for this."
    )


def _leader(leader: TableLeader, best: BestOfTables) -> str:
    unit = leader.outcome.throughput_unit if best.objective == "fps" else "ms"
    doubts = (
        _BUSY.get(leader.outcome.kind, ""),
        "not verified" if leader.outcome.unverified else "",
    )
    facts = (f"{significant(leader.figure(best.objective))} {unit}", *filter(None, doubts))
    return f"{leader.outcome.leader} at {leader.table} ({', '.join(facts)})"
