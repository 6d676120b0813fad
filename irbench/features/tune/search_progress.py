"""What is told while a setting is searched for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from irbench.core.quantities import duration_text, plural
from irbench.features.tune.report import ChangedCondition
from irbench.spec import Objective

SEARCHED_TEXTS: Mapping[Objective, str] = {
    "fps": "the most FPS",
    "latency": "the lowest latency",
    "cost": "the least processor time per sample",
}


def searched_text(objective: Objective, *, is_generation: bool = False, is_training: bool = False) -> str:
    """Return what a search looks for."""
    if objective == "fps" and (is_generation or is_training):
        return f"the most {'tokens' if is_generation else 'samples'} per second"
    if objective == "latency" and is_generation:
        return "the shortest time per generation"
    return SEARCHED_TEXTS[objective]


def searching_text(
    settings: int,
    batches: Sequence[int],
    searched_for: str,
    max_latency_ms: float | None,
    budget_s: float,
    samples: int = 0,
    prepared_s: float = 0.0,
) -> str:
    """Return what a search is about to do, and how long it takes.

    Args:
        settings: How many there are.
        batches: Of all settings.
        searched_for: What the best is.
        max_latency_ms: Its limit.
        budget_s: Of the whole command.
        samples: Those of the user's data, 0 without data.
        prepared_s: What preparation used of the budget.
    """
    batch = f"batch {batches[0]}" if len(batches) == 1 else f"any batch of {', '.join(map(str, sorted(batches)))}"
    limit = "" if max_latency_ms is None else f", p90 latency at most {max_latency_ms:g} ms"
    searched = f"searching {plural(settings, 'setting')} for {searched_for} ({batch}{limit})"
    searched += f" on {plural(samples, 'given sample')}" if samples else ""
    used = f", of which preparation took {duration_text(prepared_s)}" if prepared_s >= 1 else ""
    return f"{searched}, then confirming the best; the budget is {duration_text(budget_s)}{used}"


def small_budget_text(budget_s: float, least_s: float) -> str:
    """Return that a budget is too small for a search and its confirmation, and which one is not."""
    return (
        f"warning: `--budget {budget_s:g}s` is too small to confirm a setting: a search and its confirmation take some"
        f" {least_s:.0f} s at least. Give `--budget {math.ceil(least_s / 60)}m` or more"
    )


def measuring_flips_text(count: int, seconds: float) -> str:
    """Return what a flip map is about to do."""
    if not count:
        return "flip map: the confirmation has no other setting to compare with"
    return f"flip map: the best setting and its rival under {plural(count, 'other condition')}, {seconds:.0f} s at most"


def condition_text(condition: ChangedCondition) -> str:
    """Return a condition in words: ``batch 8``, ``1 thread``, ``a busy neighbour``."""
    value = condition.value
    if condition.axis == "neighbour":
        return "a busy neighbour"
    if condition.axis in ("threads", "processors", "streams"):
        return plural(int(value), condition.axis.removesuffix("s"))
    return f"{condition.axis} {value}"
