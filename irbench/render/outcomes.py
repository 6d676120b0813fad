"""The outcome of a run in a few words, for a listing."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.store.entries import Outcome, OutcomeKind, RunEntry

__all__ = ["OUTCOME_TEXTS", "outcome_text", "outcomes_text"]

_CONTRADICTORY = "{leader} or {rival}: contradictory"

OUTCOME_TEXTS: Mapping[OutcomeKind, str] = {
    "winner": "{leader} {ratio:.2f}x {rival}",
    "preview": "preview: {leader} {ratio:.2f}x {rival}",
    "same": "{leader} and {rival} the same",
    "undecided": "{leader} and {rival} undecided",
    "busy": "machine too busy",
    "all-blocks-disagree": _CONTRADICTORY,
    "throughput-disagrees": _CONTRADICTORY,
    "sustained-disagrees": _CONTRADICTORY,
    "only": "only {leader}: {p50_ms:.3g} ms",
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
    facts = {"leader": outcome.leader, "rival": outcome.rival, "ratio": outcome.ratio, "p50_ms": outcome.p50_ms}
    return f"{OUTCOME_TEXTS[outcome.kind].format(**facts)}{', not verified' if outcome.unverified else ''}"


def outcomes_text(entry: RunEntry) -> str:
    """Return what came of each table of a run, and whether it ended by itself."""
    texts = dict.fromkeys(map(outcome_text, entry.outcomes))
    return f"{'; '.join(texts)}{'' if entry.complete else ' (incomplete)'}"
