"""The outcome of a run in a few words, for a listing."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.quantities import significant
from irbench.store.entries import Outcome, OutcomeKind, RunEntry

_CONTRADICTORY = "{leader} or {rival}: contradictory{figure}"

OUTCOME_TEXTS: Mapping[OutcomeKind, str] = {
    "winner": "{leader} {ratio:.2f}x {rival}",
    "busy-winner": "{leader} {ratio:.2f}x {rival}, busy machine",
    "preview": "preview: {leader} {ratio:.2f}x {rival}",
    "same": "{leader} and {rival} the same{figure}",
    "busy-same": "{leader} and {rival} the same{figure}, busy machine",
    "undecided": "{leader} and {rival} undecided{figure}",
    "busy": "machine too busy{figure}",
    "uneven-load": "machine unevenly busy{figure}",
    "all-blocks-disagree": _CONTRADICTORY,
    "throughput-disagrees": _CONTRADICTORY,
    "sustained-disagrees": _CONTRADICTORY,
    "p50-disagrees": _CONTRADICTORY,
    "only": "only {leader}: {only}",
    "cold-start": "cold start: {leader} {p50_ms:.0f} ms",
    "grows": "{leader}: memory grows",
    "steady": "memory steady",
    "growth-undecided": "{leader}: growth undecided",
    "mismatch": "mismatch",
    "failed": "failed",
    "interrupted": "interrupted",
    "not-measured": "not measured",
}


def outcome_text(outcome: Outcome) -> str:
    """Return who won by how much, or what can be said instead."""
    known = figure_text(outcome)
    facts = {"leader": outcome.leader, "rival": outcome.rival, "ratio": outcome.ratio, "p50_ms": outcome.p50_ms}
    facts |= {"only": known, "figure": f" ({outcome.leader} {known})" if known else ""}
    return f"{OUTCOME_TEXTS[outcome.kind].format(**facts)}{', not verified' if outcome.unverified else ''}"


def figure_text(outcome: Outcome) -> str:
    """Return the leader's figure that rows were compared by: ``123 FPS`` or ``28.1 ms``; empty where none is known."""
    if outcome.objective == "fps" and outcome.fps is not None:
        return f"{significant(outcome.fps)} FPS"
    return "" if outcome.p50_ms is None else f"{significant(outcome.p50_ms)} ms"


def outcomes_text(entry: RunEntry) -> str:
    """Return what came of each table of a run, and whether it ended by itself."""
    texts = dict.fromkeys(map(outcome_text, entry.outcomes))
    return f"{'; '.join(texts)}{'' if entry.complete else ' (incomplete)'}"
