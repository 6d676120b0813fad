"""When a group has been launched often enough, and what more launches would bring.

Looking at the width before deciding to go on costs coverage: a run ends early where its launches happen to agree.
In simulated regimes (quiet, drift, steps, bursts, heavy tails, slow launches, two modes; launch scatter 0.1 to 3 %)
the interval at which a run ends covers the truth in 93 to 98 % of all runs, and a backend differs from itself in 4 to
6 %; Student's interval under the same rule falls to 72 % with two modes. Of the runs that end at the first chance,
fewer are right where launches scatter more than the target allows: 85 % of the 14 % that do so in the quiet regime
(scatter 0.8 %).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from irbench.phrases import percent
from irbench.record import LaunchRecord
from irbench.result import StoppedBy, tell_apart
from irbench.spec import Group, Timing
from irbench.stats.compare import launch_ratios
from irbench.stats.intervals import Interval, deepest_rank, median_interval
from irbench.stats.observed import Observed, log_level, observe
from irbench.stats.standing import Admission, Standing, stand

__all__ = [
    "Pace",
    "Width",
    "half_width_of_unit_scatter",
    "launches_to_reach",
    "outlook",
    "ratio_width",
    "should_stop",
    "widest",
    "widths",
]

_FARTHEST_LAUNCHES = 60


@dataclass(frozen=True)
class Pace:
    """Where a group stands in time, in seconds.

    Attributes:
        elapsed_s: Since the group began.
        next_launch_s: What another launch is expected to take.
    """

    elapsed_s: float
    next_launch_s: float


@dataclass(frozen=True)
class Width:
    """How narrow a cell's interval is and should be, as fractions.

    Attributes:
        cell: Whose.
        interval: Of its log ratio to the baseline; without anything to compare, of its own log time.
        target: The half-width at which it is narrow enough.
    """

    cell: str
    interval: Interval
    target: float

    @property
    def excess(self) -> float:
        """The half-width as a multiple of its target."""
        return self.interval.half_width / self.target


def should_stop(
    group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission, pace: Pace
) -> StoppedBy | None:
    """Return why the group ends after these launches, or ``None`` where another one is wanted.

    It ends at ``target`` from ``timing.min_launches`` on, when every half-width is at most ``timing.target`` or a
    tenth of its log ratio; at ``failures`` when no cell with right answers is left; at ``launches`` after
    ``timing.max_launches``; at ``budget`` when one more launch and the sustained runs would end after
    ``timing.budget``.

    Args:
        group: What is compared.
        records: Its launches so far.
        timing: The protocol's numbers.
        admission: Who may be compared.
        pace: Where the group stands in time.
    """
    standing = stand(group, records, admission)
    found = widths(observe(group, records, timing), standing, timing)
    if len(records) >= timing.min_launches and found and all(one.excess <= 1 for one in found):
        return "target"
    measured = records[-1].cells if records else ()
    if records and not (measured and standing.healthy):
        return "failures"
    if len(records) >= timing.max_launches:
        return "launches"
    closing_s = timing.sustain * len(measured)
    return "budget" if pace.elapsed_s + pace.next_launch_s + closing_s > timing.budget else None


def widths(launches: Sequence[Observed], standing: Standing, timing: Timing) -> tuple[Width, ...]:
    """Return the intervals that the stopping rule looks at.

    Of every compared cell's log ratio to the baseline; where fewer than two cells are compared, of each
    measured cell's own log time.
    """
    if standing.baseline is None:
        return ()
    baseline = standing.baseline
    if len(standing.compared) > 1:
        others = (cell for cell in standing.compared if cell != baseline)
        ratios = {cell: launch_ratios(launches, cell, baseline) for cell in others}
        return tuple(ratio_width(cell, values, timing) for cell, values in ratios.items() if values)
    levels = {cell: [log_level(one, cell) for one in launches] for cell in standing.healthy}
    known = {cell: [one for one in values if one is not None] for cell, values in levels.items()}
    return tuple(
        Width(cell, median_interval(values, timing.confidence), timing.target)
        for cell, values in known.items()
        if values
    )


def ratio_width(cell: str, ratios: Sequence[float], timing: Timing) -> Width:
    """Return the width of a cell's interval, given its log ratio in each launch.

    A tenth of the ratio itself is always narrow enough: nobody needs 3.00x to be told from 3.03x.
    """
    interval = median_interval(ratios, timing.confidence)
    return Width(cell, interval, max(timing.target, abs(interval.value) / 10))


def widest(found: Sequence[Width]) -> Width | None:
    """Return the interval that is farthest from its target."""
    return max(found, key=lambda one: one.excess, default=None)


def launches_to_reach(width: Width, confidence: float) -> int | None:
    """Return after how many launches the interval is expected to be narrow enough; ``None`` beyond sight.

    Launches are taken to scatter as they have so far: a half-width of order statistics is the scatter times a number
    that depends on their ranks, by Blom's approximation of normal order statistics.
    Source: Blom, "Statistical Estimates and Transformed Beta-Variables" (1958).
    """
    now = width.interval
    if now.count < 2:
        return None
    scatter = now.half_width / half_width_of_unit_scatter(now.count, now.rank)
    for count in range(now.count, _FARTHEST_LAUNCHES + 1):
        rank = deepest_rank(count, (1 - confidence) / 2)
        if rank and scatter * half_width_of_unit_scatter(count, rank) <= width.target:
            return count
    return None


def outlook(group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission) -> str:
    """Return one line on how the widest interval narrows, or an empty one where nothing can be said."""
    standing = stand(group, records, admission)
    width = widest(widths(observe(group, records, timing), standing, timing))
    if width is None or width.interval.count < 2:
        return ""
    labels = tell_apart({cell.id: (cell.label, cell.load.precision) for cell in group.cells})
    state = f"{labels[width.cell]} ±{percent(width.interval.half_width)}, target ±{percent(width.target)}"
    if width.excess <= 1 and len(records) >= timing.min_launches:
        return f"{state}: within it"
    wanted = timing.min_launches if width.excess <= 1 else launches_to_reach(width, timing.confidence)
    if wanted is None or wanted > timing.max_launches:
        return f"{state}: out of reach of {timing.max_launches} launches"
    more = max(wanted, timing.min_launches) - len(records)
    return f"{state}: about {max(1, more)} more launch{'es' if more > 1 else ''}"


def half_width_of_unit_scatter(count: int, rank: int) -> float:
    """Return the expected half-width between the ``rank``-th smallest and largest of ``count`` standard normal values.

    Source: Blom, "Statistical Estimates and Transformed Beta-Variables" (1958).
    """
    return -NormalDist().inv_cdf((rank - 0.375) / (count + 0.25))
