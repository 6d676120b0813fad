"""How long a table will still take, as far as its launches show it.

Launches are taken to scatter as they have, and their differences to stay what they are: intervals narrow as more
launches follow, and the stopping rule (:mod:`irbench.stats.stopping_rule`) leaves out the cells that are decided.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from irbench.core.record import LaunchRecord
from irbench.spec import Group, Timing
from irbench.stats.eligibility import Admission, Eligibility, decide_eligibility
from irbench.stats.figures import within_max_latency
from irbench.stats.launch_planning import SIDE_BY_SIDE, fewest_blocks, launch_limits
from irbench.stats.observed import Observed, log_level, observe
from irbench.stats.speedups import launch_ratios
from irbench.stats.stopping_rule import (
    Pace,
    contenders,
    half_width_wanted,
    launch_counts,
    launches_planned,
    spare_s,
    unit_half_width,
    work_of,
)
from irbench.stats.winner import find_winner, lead_miss

_USUAL_SD = 0.01
"""Standard deviation of a log ratio over launches before it was seen."""
_USUAL_WEIGHT = 1.0
"""Of that, as a number of launches."""


@dataclass(frozen=True)
class LaunchTimes:
    """What a launch of a table takes, in seconds, and storing it.

    Attributes:
        usual_s: As launches are usually sized.
        least_s: With the fewest blocks.
    """

    usual_s: float
    least_s: float


def expected_launches(cells: int, timing: Timing) -> list[float]:
    """Return what launches of so many cells are expected before any is known, each as a share of a full one."""
    least, most = launch_limits(cells, timing)
    return [1.0] * min(most, max(least, round(launches_planned(cells, timing))))


def expected_seconds(starts_s: Sequence[float], timing: Timing) -> float:
    """Return how long a table is expected to take before anything is known of it but the usual starts of its cells."""
    rounds_s = (timing.round_seconds + timing.settle) * (timing.blocks + timing.burn_in_blocks)
    least_rounds_s = (
        rounds_s * (fewest_blocks(timing) + timing.burn_in_blocks) / (timing.blocks + timing.burn_in_blocks)
    )
    paced_s = max(timing.pace_seconds, timing.pace_calls * timing.pace) if timing.pace else 0.0
    alone_s = timing.warm_up + timing.sustain + paced_s
    cells = min(len(starts_s), timing.most_cells)
    start_s = cells * statistics.fmean(starts_s)
    later_s = SIDE_BY_SIDE * start_s + cells * alone_s
    times = LaunchTimes(later_s + cells * rounds_s, later_s + cells * least_rounds_s)
    first_s = start_s + cells * (alone_s + rounds_s)
    planned = launches_planned(len(starts_s), timing)
    ahead = expected_launches(len(starts_s), timing)[1:]
    return first_s + seconds_left(ahead, times, Pace(first_s, [first_s]), timing, planned)


def launches_ahead(
    group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission
) -> tuple[float, ...]:
    """Return the work of each launch that is expected to follow, as a share of that of a launch of all cells.

    Empty where everything is decided; at least one launch is expected where something is not.
    """
    launches = observe(group, records, timing)
    eligibility = within_max_latency(decide_eligibility(group, records, admission), group, records, launches)
    begun = {own.cell for record in records for own in record.cells} | admission.absent.keys()
    begun |= {failed for record in records for failed in record.failures}
    waiting = {cell.id: timing.min_launches for cell in group.cells if cell.id not in begun}
    counts = launch_counts(launches, eligibility)
    needed = _needed(launches, eligibility, timing)
    left = waiting | {cell: max(1, count - counts[cell]) for cell, count in needed.items()}
    if not left:
        return ()
    work = work_of(records) or dict.fromkeys(left, 1.0)
    full = min(len(eligibility.healthy) + len(waiting), timing.most_cells) * statistics.fmean(work.values())
    return tuple(_shares(left, work, timing.most_cells, full, eligibility.baseline))


def _shares(
    left: Mapping[str, int], work: Mapping[str, float], most_cells: int, full: float, baseline: str | None
) -> Iterator[float]:
    """Yield the share of each launch, in which cells take turns where there are too many."""
    waiting = dict(left)
    usual = statistics.fmean(work.values())
    while waiting:
        first = sorted(waiting, key=lambda cell: (cell != baseline, -waiting[cell]))[:most_cells]
        yield sum(work.get(cell, usual) for cell in first) / full
        others = len(waiting) > most_cells
        for cell in first:
            if others and cell == baseline:
                continue  # beside all that follow
            waiting[cell] -= 1
        waiting = {cell: count for cell, count in waiting.items() if count > 0}


def _needed(launches: Sequence[Observed], eligibility: Eligibility, timing: Timing) -> dict[str, int]:
    """Return how many launches each cell needs that is launched again."""
    wanted = contenders(launches, eligibility, timing)
    needed: dict[str, int] = {}
    for cells, values, target, miss in _claims(launches, eligibility, timing):
        count = _launches_until(values, target, miss, timing)
        for cell in cells:
            needed[cell] = max(needed.get(cell, 0), count)
    finding = find_winner(launches, eligibility.candidates, timing, eligibility.link)
    most = max((needed.get(cell, timing.min_launches) for cell in wanted), default=0)
    needed |= {cell: most for cell in (finding.leader, finding.rival) if cell is not None}
    return {cell: needed.get(cell, timing.min_launches) for cell in wanted}


def _claims(
    launches: Sequence[Observed], eligibility: Eligibility, timing: Timing
) -> Iterator[tuple[Collection[str], Sequence[float], float, float]]:
    """Yield what is to be found out: of which cells, the values so far, the half-width wanted, and the miss allowed."""
    within = math.log1p(timing.within)
    if len(eligibility.compared) < 2:
        for cell in eligibility.healthy:
            levels = [level for launch in launches if (level := log_level(launch, cell)) is not None]
            yield (cell,), levels, timing.target, 1 - timing.confidence
        return

    def decided_at(values: Sequence[float]) -> float:
        middle = abs(statistics.median(values))
        return max(middle, within - middle)

    finding = find_winner(launches, eligibility.candidates, timing, eligibility.link)
    miss = lead_miss(len(eligibility.candidates), timing)
    leader = finding.leader
    for cell in finding.rivals if leader is not None else ():
        values = launch_ratios(launches, cell, leader or "")
        if not values:
            continue
        target = decided_at(values)
        if cell == finding.rival and finding.ratio is not None:
            target = min(target, half_width_wanted(finding.ratio, timing))
        yield {cell, leader or cell}, values, target, miss
    baseline = eligibility.baseline
    others = [cell for cell in eligibility.compared if cell != baseline]
    for cell in others if baseline is not None else ():
        values = launch_ratios(launches, cell, baseline or "")
        if values:
            yield {cell, baseline or cell}, values, decided_at(values), (1 - timing.confidence) / len(others)


def _launches_until(values: Sequence[float], target: float, miss: float, timing: Timing) -> int:
    """Return after how many launches an interval should be narrow enough, at most ``timing.max_launches``."""
    if not values:
        return timing.min_launches
    middle = statistics.fmean(values)
    squares = _USUAL_WEIGHT * _USUAL_SD**2 + sum((value - middle) ** 2 for value in values)
    scatter = math.sqrt(squares / (_USUAL_WEIGHT + len(values) - 1))
    for count in range(timing.min_launches, timing.max_launches):
        unit = unit_half_width(count, timing, 1 - miss)
        if unit is not None and scatter * unit <= target:
            return count
    return timing.max_launches


def times_of(
    records: Sequence[LaunchRecord], launches_s: Sequence[float], timing: Timing, first_extra_s: float
) -> LaunchTimes:
    """Return what a launch of all cells takes, as the last ones did; ``first_extra_s`` is what the first one took more.

    The first one counts only while it is the only one.
    """
    timed = list(zip(records, launches_s, strict=True))
    if len(timed) == 1:
        usual_s = max(0.0, launches_s[0] - first_extra_s)
        return LaunchTimes(usual_s, max(0.0, usual_s - spare_s(records[0], timing)))
    work = work_of(records)
    if not work:  # every cell failed
        return LaunchTimes(launches_s[-1], launches_s[-1])
    most = max(len(record.cells) for record in records)
    full = most * statistics.fmean(work.values())
    shares = [(sum(work[own.cell] for own in record.cells) / full, record, took_s) for record, took_s in timed[1:]]
    known = [(share, record, took_s) for share, record, took_s in shares if share > 0][-3:]
    if not known:
        return LaunchTimes(launches_s[-1], launches_s[-1])
    usual_s = statistics.fmean(took_s / share for share, _, took_s in known)
    least_s = max((took_s - spare_s(record, timing)) / share for share, record, took_s in known[-2:])
    return LaunchTimes(usual_s, min(usual_s, least_s))


def seconds_left(shares: Sequence[float], times: LaunchTimes, pace: Pace, timing: Timing, planned: float) -> float:
    """Return how long launches are expected to take until the table ends, in seconds.

    Args:
        shares: Those ahead; the budget may end them before.
        times: What a full launch takes.
        pace: Where the table stands.
        timing: The protocol's numbers.
        planned: For how many launches the budget is to have room, those that ended included.
    """
    now_s = pace.elapsed_s
    for place, share in enumerate(shares):
        least_s = share * times.least_s
        if now_s + least_s + pace.closing_s > timing.budget:
            break
        ahead = max(1.0, planned - len(pace.launches_s) - place)
        has_interval = len(pace.launches_s) + place >= timing.min_launches
        room_s = (timing.sized_for_s(has_interval=has_interval) - now_s - pace.closing_s) / ahead
        now_s += max(least_s, min(share * times.usual_s, room_s))
    return max(0.0, now_s + pace.closing_s - pace.elapsed_s)
