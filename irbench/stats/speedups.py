"""Compare two cells: in pairs within a block, then over the blocks of a launch, then over launches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from irbench.core.row import Speedup, Verdict
from irbench.spec import Timing
from irbench.stats.intervals import Interval, interval_at, looks_of
from irbench.stats.observed import Observed, log_ratio_of_launch

Claim = TypeVar("Claim")
"""What names one of several ratios."""
_LEVELS = (0.8, 0.9, 0.95, 0.98, 0.99, 0.999)


def launch_ratios(launches: Sequence[Observed], cell: str, other: str) -> tuple[float, ...]:
    """Return ln(time of cell / time of other) for each launch that measured both; negative where cell is faster."""
    ratios = (log_ratio_of_launch(launch, cell, other) for launch in launches)
    return tuple(ratio for ratio in ratios if ratio is not None)


def speedups(
    launches: Sequence[Observed],
    cells: Sequence[str],
    baseline: str,
    timing: Timing,
    *,
    all_blocks: Sequence[Observed],
) -> dict[str, Speedup]:
    """Return how much faster each cell is than ``baseline``: exp(-m) of the median log ratio m.

    Whatever is called faster or slower holds together with the protocol's confidence; see :func:`holm_intervals`.

    Args:
        launches: Every launch, reduced.
        cells: Ids of those that are compared with ``baseline``.
        baseline: The id of what they are compared with.
        timing: Confidence, looks, and the band called the same.
        all_blocks: The launches reduced so that every block counts, disturbed ones included.
    """
    ratios = {cell: [-launch_ratio for launch_ratio in launch_ratios(launches, cell, baseline)] for cell in cells}
    ratios = {cell: values for cell, values in ratios.items() if values}
    return {
        cell: _speedup(faster, ratios[cell], _over_all_blocks(all_blocks, cell, baseline, faster, timing), timing)
        for cell, faster in holm_intervals(ratios, timing).items()
    }


def holm_intervals(ratios: Mapping[Claim, Sequence[float]], timing: Timing) -> dict[Claim, Interval]:
    """Return an interval for each of several ratios, so that all that is claimed of them holds together.

    The one that is clearest has to be clear at ``1 - miss / m`` for m ratios, the next at ``1 - miss / (m - 1)``, and
    so on; from the first that is not, all that are left get the confidence it was tried at. An interval is that of the
    confidence at which its ratio was judged. What is claimed is that a ratio leaves 0 out, and on which side.
    Source: Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scand. J. Statist. 6 (1979).
    """
    decided: dict[Claim, Interval] = {}
    left = dict(ratios)
    while left:
        tried = {name: _nested(values, len(left), timing) for name, values in left.items()}
        clear = [name for name, interval in tried.items() if excludes_zero(interval)]
        if not clear:
            return {**decided, **tried}
        clearest = max(clear, key=lambda name: abs(tried[name].value) - tried[name].half_width)
        decided[clearest] = tried[clearest]
        del left[clearest]
    return decided


def _nested(values: Sequence[float], claims: int, timing: Timing) -> Interval:
    """Return the interval of one of several claims, which holds those of fewer claims.

    Holm's argument needs that what is clear at a strict confidence is clear at every laxer one. Order statistics of a
    strict confidence may lie deeper at some look, because they saved their misses for it.
    """
    misses = [(1 - timing.confidence) / count for count in range(1, claims + 1)]
    intervals = [interval_at(values, looks_of(timing), round(1 - miss, 12)) for miss in misses]
    return replace(
        intervals[-1],
        low=min(interval.low for interval in intervals),
        high=max(interval.high for interval in intervals),
    )


def direction_confidence(values: Sequence[float], timing: Timing) -> float | None:
    """Return the highest usual confidence up to which the interval leaves 0 out; ``None`` below 80 %."""
    highest = None
    for confidence in _LEVELS:
        interval = interval_at(values, looks_of(timing), confidence)
        if interval.confidence is None or interval.low <= 0 <= interval.high:
            break
        highest = confidence
    return highest


def excludes_zero(interval: Interval) -> bool:
    """Whether there is an interval, and it leaves 0 out."""
    return interval.confidence is not None and (interval.low > 0 or interval.high < 0)


def verdict(faster: Interval, timing: Timing) -> Verdict:
    """Return what the interval of a log speedup says."""
    if faster.confidence is None:
        return "preview"
    if within_band(faster.low, faster.high, timing.within):
        return "same"
    if faster.low > 0:
        return "faster"
    return "slower" if faster.high < 0 else "undecided"


def within_band(low: float, high: float, within: float) -> bool:
    """Whether a log ratio is practically none: between 1 / (1 + within) and 1 + within.

    Symmetric in the logarithm, so that the verdict does not depend on which cell is the baseline.
    """
    edge = math.log1p(within)
    return -edge <= low and high <= edge


def _over_all_blocks(
    launches: Sequence[Observed], cell: str, baseline: str, counted: Interval, timing: Timing
) -> Interval:
    """Return the interval over every block, disturbed ones included, at the confidence of that over counted blocks."""
    values = [-launch_ratio for launch_ratio in launch_ratios(launches, cell, baseline)]
    confidence = timing.confidence if counted.confidence is None else counted.confidence
    return interval_at(values, looks_of(timing), confidence)


def _speedup(faster: Interval, ratios: Sequence[float], everything: Interval, timing: Timing) -> Speedup:
    return Speedup(
        value=math.exp(faster.value),
        **faster.ends(math.exp),
        verdict=verdict(faster, timing),
        excludes_one=excludes_zero(faster),
        all_blocks_value=math.exp(everything.value),
        all_blocks_verdict=verdict(everything, timing),
        launches=faster.count,
        confidence=faster.confidence,
        table_confidence=None if faster.confidence is None else timing.confidence,
        direction_confidence=direction_confidence(ratios, timing),
        assumes_one_mode=faster.assumes_one_mode,
    )
