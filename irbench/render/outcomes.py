"""The outcome of a run in a few words, for a listing."""

from __future__ import annotations

from irbench.core.quantities import significant
from irbench.store.entries import OUTCOME_TEXTS, Outcome, RunEntry


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
