"""The lines that a search for the smallest graph says while it runs."""

from __future__ import annotations

import math

from irbench.core.quantities import plural
from irbench.features.reduce.outline import GraphOutline
from irbench.features.reduce.report import VERDICT_TEXTS, Candidate, ReductionReport, Verdict
from irbench.features.reduce.view import shown_text, uncuttable_text


def whole_text(report: ReductionReport, verdict: Verdict) -> str:
    """Return in a line what the whole graph showed."""
    shown = "" if report.full is None else shown_text(report.full)
    return f"the whole graph: {VERDICT_TEXTS[verdict]}{shown and f', {shown}'}"


def searching_text(outline: GraphOutline) -> str:
    """Return what a search is about to do."""
    static = len(outline.nodes) - len(outline.searched)
    fixed = f", {static} of which compute fixed shapes and constants" if static else ""
    return f"searching {plural(len(outline.nodes), 'node')}{fixed}"


def searching_on_text(nodes: int) -> str:
    """Return that a part was refuted, and where the search goes on."""
    return f"it does not show it any more: searching on from {plural(nodes, 'node')}"


def short_budget_text(budget_s: float, least_s: float, enough_s: float) -> str:
    """Return that the budget is too small for an interval, and which one is enough.

    Args:
        budget_s: What was given.
        least_s: What measuring one graph takes at least.
        enough_s: A budget for the whole graph, its parts, and the smallest part once more.
    """
    return (
        f"--budget {budget_s:.0f}s is too short: measuring the whole graph takes at least about {least_s:.0f} s;"
        f" give about --budget {math.ceil(enough_s)}s"
    )


def until_interval_text(share_s: float, most_s: float) -> str:
    """Return how long measuring the whole graph may take until it has an interval, without which nothing is decided.

    Args:
        share_s: Its share of the budget.
        most_s: The budget.
    """
    return (
        f"the whole graph is measured for {share_s:.0f} s, or for up to {most_s:.0f} s where it has too few launches"
        " for an interval by then"
    )


def candidate_text(candidate: Candidate) -> str:
    """Return in a line what a part of the graph showed."""
    shown = "" if candidate.evidence is None else shown_text(candidate.evidence)
    if candidate.uncuttable is not None:
        shown = uncuttable_text(candidate.uncuttable)
    elif candidate.failure is not None:
        shown = candidate.failure.message.rstrip(".")
    return f"{plural(candidate.nodes, 'node')}: {VERDICT_TEXTS[candidate.verdict]}{shown and f', {shown}'}"


def confirming_text(nodes: int) -> str:
    """Return that the smallest part is measured once more."""
    return f"measuring the smallest part again ({plural(nodes, 'node')}), as the whole graph was"
