"""Warnings about the comparison itself."""

from __future__ import annotations

import bisect
import math
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise

from irbench.core.record import WarmUp
from irbench.notices import Warn
from irbench.notices.doubts import (
    AloneRow,
    AloneUnlikeRounds,
    FpsDiffer,
    LaunchesDepend,
    NotSteady,
    PacedDiffers,
    RatioRow,
    StillWarmingUp,
    SustainedDiffers,
    UnsteadyRow,
    WarmingRow,
    WideInterval,
)
from irbench.notices.warnings import (
    BaselineReplaced,
    ExcludedBlocksMatter,
    ExcludedBlocksRow,
    OrdersDiffer,
    StarvedStreams,
    StarvedStreamsRow,
    TooFewLaunches,
)
from irbench.stats.compare import launch_ratios
from irbench.stats.figures import frames_by_launch, launch_levels, sustained_by_launch
from irbench.stats.modes import mode_warnings
from irbench.stats.notices.doubts import log_ratio_by_launch
from irbench.stats.notices.machine_warnings import machine_warnings
from irbench.stats.notices.scene import Scene
from irbench.stats.notices.starvation import starving
from irbench.stats.observed import Observed, mostly_disturbed
from irbench.stats.orders import as_row, order_conflicts
from irbench.stats.paced import paced_rate_by_launch, reversed_pairs
from irbench.stats.stopping.planning import scatter_of
from irbench.stats.stopping.race import aim_of
from irbench.stats.stopping.rule import launches_to_reach

_ALONE_MOVES = 0.1
"""Frozen neighbours and cold caches make rounds a little slower than a run alone."""
_MOSTLY = 0.5


def warm_up_warnings(scene: Scene) -> Iterator[Warn]:
    """Yield warnings about rows whose warm-up ended too early, and about rows that are unlike their rounds alone."""
    yield from _still_warming(scene)
    yield from _alone_unlike_rounds(scene)


def _still_warming(scene: Scene) -> Iterator[Warn]:
    rows = tuple(row for cell in scene.standing.compared if (row := _cut(scene, cell)) is not None)
    if rows:
        yield StillWarmingUp(rows=rows)


def _cut(scene: Scene, cell: str) -> WarmingRow | None:
    """Return the facts of a row whose calls still got faster at the end of most warm-ups.

    Where the first launch looked until calls got no faster, the calls of later launches are known to be enough.
    """
    warm_ups = [own.warm_up for own in scene.launches_of(cell) if own.warm_up is not None]
    unsteady = [own for own in warm_ups if own.ended_unsteady]
    if not unsteady or len(unsteady) <= _MOSTLY * len(warm_ups) or _knows_when(warm_ups):
        return None
    calls = max(own.calls for own in unsteady)
    return WarmingRow(cell, calls=calls, launches=len(unsteady), of=len(warm_ups))


def _knows_when(warm_ups: list[WarmUp]) -> bool:
    first = warm_ups[0]
    return bool(first.steady_after) and all(own.calls >= (first.steady_after or 0) for own in warm_ups)


def _alone_unlike_rounds(scene: Scene) -> Iterator[Warn]:
    rows: list[AloneRow] = []
    for cell in scene.standing.compared:
        alone = sustained_by_launch(scene.records, cell, 1)
        ratio = log_ratio_by_launch(alone, frames_by_launch(scene.records, scene.launches, cell, 1), scene)
        if ratio is None or ratio.confidence is None:
            continue
        if ratio.low > math.log1p(_ALONE_MOVES) or ratio.high < -math.log1p(_ALONE_MOVES):
            rows.append(AloneRow(cell, faster=math.expm1(ratio.value)))
    if rows:
        yield AloneUnlikeRounds(rows=tuple(rows), seconds=scene.timing.sustain)


_SELDOM = 0.05
_TREND = 0.02
_FEWEST_TRENDS = 4
_FEWEST_NEIGHBOURS = 6
_ORDERS = 10_000


def dependence_warnings(scene: Scene) -> Iterator[Warn]:
    """Yield warnings about launches that resemble their neighbours, and about trends within launches."""
    yield from _neighbours(scene)
    yield from _trends(scene)


def neighbour_chance(values: Sequence[float]) -> float:
    """Return how likely independent values are to follow each other as closely as these do, or more closely.

    By the rank version of von Neumann's ratio: the sum of squared differences between the ranks of neighbours, which is
    small where a value resembles the one before it. Its distribution over all orders, which are equally likely for
    independent values, is taken from random ones, always the same.
    Source: Bartels, "The Rank Version of von Neumann's Ratio Test for Randomness", JASA 77 (1982). At these numbers it
    finds a correlation of neighbours several times as often as a runs test does.
    """
    seen = _roughness([sorted(values).index(value) for value in values])
    usual = _usual_roughness(len(values))
    return bisect.bisect_right(usual, seen) / len(usual)


def _roughness(ranks: Sequence[int]) -> int:
    return sum((later - earlier) ** 2 for earlier, later in pairwise(ranks))


@cache
def _usual_roughness(count: int) -> tuple[int, ...]:
    """Return the roughness of many random orders of so many values, smallest first."""
    draw = random.Random(count)  # noqa: S311 - a simulation
    return tuple(sorted(_roughness(draw.sample(range(count), count)) for _ in range(_ORDERS)))


def trend_of_launch(observed: Observed, cell: str) -> float | None:
    """Return the log of how much slower a cell's later half of blocks was than its earlier; ``None`` below four."""
    logs = [value for block, value in sorted(observed.log_ns.get(cell, {}).items()) if block in observed.counted]
    half = len(logs) // 2
    return None if half < 2 else statistics.median(logs[-half:]) - statistics.median(logs[:half])


def resembles_neighbours(values: Sequence[float], seldom: float) -> bool:
    """Whether launches follow each other so closely as independent ones seldom do."""
    return len(values) >= _FEWEST_NEIGHBOURS and len(set(values)) > 2 and neighbour_chance(values) <= seldom


def _neighbours(scene: Scene) -> Iterator[Warn]:
    aim = aim_of(scene.launches, scene.standing, scene.timing)
    if aim is None:
        return
    leader = aim.cell
    series = {cell: launch_ratios(scene.launches, cell, leader) for cell in scene.standing.compared if cell != leader}
    if not series:
        series = {leader: launch_levels(scene.launches, leader)}
    alike = tuple(cell for cell, values in series.items() if resembles_neighbours(values, _SELDOM / len(series)))
    if alike:
        yield LaunchesDepend(cells=alike)


def _trends(scene: Scene) -> Iterator[Warn]:
    rows: list[UnsteadyRow] = []
    for cell in scene.standing.healthy:
        trends = [trend for trend in (trend_of_launch(launch, cell) for launch in scene.launches) if trend is not None]
        one_way = all(trend > 0 for trend in trends) or all(trend < 0 for trend in trends)
        middle = statistics.median(trends) if trends else 0.0
        if len(trends) >= _FEWEST_TRENDS and one_way and abs(middle) > _TREND:
            rows.append(UnsteadyRow(cell, slower=math.expm1(middle)))
    if rows:
        yield NotSteady(rows=tuple(rows))


_SUSTAINED_MOVES = 0.03
_PACED_MOVES = 0.03
_FPS_MOVE = 0.1
_DOMINATES = 4.0


def find_warnings(scene: Scene) -> tuple[Warn, ...]:
    """Return everything a reader must know before quoting the table.

    Where most blocks were disturbed that is said, and nothing is made of what the disturbance did to the figures.
    """
    first = (
        *_baseline_replaced(scene),
        *_starved_streams(scene),
        *_too_few_launches(scene),
        *machine_warnings(scene),
        *warm_up_warnings(scene),
        *_orders_differ(scene),
    )
    if mostly_disturbed(scene.launches) and scene.launches[0].reduction != "quiet-launches":
        return first
    return (
        *first,
        *mode_warnings(scene),
        *dependence_warnings(scene),
        *_wide_interval(scene),
        *_excluded_blocks_matter(scene),
        *_fps_differ(scene),
        *_sustained_differs(scene),
        *_paced_differs(scene),
    )


def _orders_differ(scene: Scene) -> Iterator[Warn]:
    rows = tuple(as_row(found) for found in order_conflicts(scene))
    if rows:
        launches, is_preview = scene.fewest_launches, scene.fewest_launches < scene.timing.min_launches
        yield OrdersDiffer(rows=rows, launches=launches, preview=is_preview)


def _baseline_replaced(scene: Scene) -> Iterator[Warn]:
    asked, used = scene.group.baseline, scene.standing.baseline
    if scene.records and used is not None and used != asked:
        yield BaselineReplaced(asked=asked, used=used)


def _starved_streams(scene: Scene) -> Iterator[Warn]:
    rows = tuple(
        StarvedStreamsRow(
            cell,
            asked=found.asked,
            found=found.found,
            open_share=found.open_share,
            oldest_ms=found.oldest_ns / 1e6,
        )
        for cell, found in starving(scene.records, scene.launches, scene.group.cells).items()
    )
    if rows:
        yield StarvedStreams(rows=rows)


def _too_few_launches(scene: Scene) -> Iterator[Warn]:
    done, wanted = scene.fewest_launches, scene.timing.min_launches
    taken = sum(len(record.cells) for record in scene.records)
    if scene.stopped_by == "budget" and taken and done < wanted:
        rows = sum(state in ("ok", "not-measured") for state in scene.standing.states.values())
        yield TooFewLaunches(
            launches=done,
            least_launches=wanted,
            needed_s=math.ceil(scene.seconds * 1.1 * wanted * rows / taken),
            over_budget=len(scene.records) == 1 and scene.seconds > scene.timing.budget,
        )


def _wide_interval(scene: Scene) -> Iterator[Warn]:
    aim = aim_of(scene.launches, scene.standing, scene.timing)
    if aim is None or aim.interval.confidence is None:
        return  # the range of a preview is no interval, and has no target
    if aim.interval.half_width <= aim.half_width:
        return
    yield WideInterval(
        cell=aim.cell,
        is_lead=aim.is_lead,
        half_width=aim.interval.half_width,
        target=aim.half_width,
        launches_needed=launches_to_reach(aim.interval, aim.half_width, scene.timing),
        launches_dominate=aim.is_lead and _launches_dominate(scene, aim.cell),
        stopped_by=scene.stopped_by,
    )


def _launches_dominate(scene: Scene, leader: str) -> bool:
    """Whether the variance of some ratio to the leader between launches is well above what their blocks explain."""
    others = (cell for cell in scene.standing.compared if cell != leader)
    return any(
        scatter is not None and scatter.between > _DOMINATES * scatter.within_estimate
        for scatter in (scatter_of(scene.launches, cell, leader) for cell in others)
    )


def _excluded_blocks_matter(scene: Scene) -> Iterator[Warn]:
    rows: list[ExcludedBlocksRow] = []
    for cell in scene.rivals:
        speedup = scene.rows[cell].speedup
        if speedup is None:
            continue
        moves = speedup.moves_with_all_blocks
        if moves or speedup.all_blocks_verdict != speedup.verdict:
            value = speedup.all_blocks_value
            rows.append(ExcludedBlocksRow(cell, moves, value, speedup.verdict, speedup.all_blocks_verdict))
    if rows:
        yield ExcludedBlocksMatter(rows=tuple(rows))


def _fps_differ(scene: Scene) -> Iterator[Warn]:
    if scene.group.goal is not None or scene.group.objective == "fps":
        return  # something else was asked for, or speedups are ratios of throughputs
    rows = _contradicting(scene, lambda cell: frames_by_launch(scene.records, scene.launches, cell, 1), _FPS_MOVE)
    if rows:
        yield FpsDiffer(rows=rows)


def _sustained_differs(scene: Scene) -> Iterator[Warn]:
    if scene.group.goal is not None and scene.group.objective != "fps":
        return  # something else was asked for

    def sustained(cell: str) -> Mapping[int, float]:
        return sustained_by_launch(scene.records, cell, scene.rows[cell].batch)

    rows = _contradicting(scene, sustained, _SUSTAINED_MOVES)
    if rows:
        yield SustainedDiffers(rows=rows, seconds=scene.timing.sustain)


def _paced_differs(scene: Scene) -> Iterator[Warn]:
    if scene.group.objective != "latency":
        return  # there speedups are ratios of something that a pace says nothing of
    rows = _contradicting(scene, lambda cell: paced_rate_by_launch(scene.records, cell), _PACED_MOVES)
    pairs = reversed_pairs(scene)
    if rows or pairs:
        yield PacedDiffers(rows=rows, reversed=pairs, pace_ms=1e3 * scene.timing.pace)


def _contradicting(scene: Scene, figure: Callable[[str], Mapping[int, float]], beyond: float) -> tuple[RatioRow, ...]:
    """Return the rows whose ratio of a throughput to the baseline's surely leaves their speedup's interval.

    Args:
        scene: The group.
        figure: Returns a cell's throughput in each launch.
        beyond: How far the interval of the ratio must lie from that of the speedup, as a fraction.
    """
    baseline = scene.standing.baseline
    found: list[RatioRow] = []
    for cell in scene.rivals if baseline is not None else ():
        row = scene.rows[cell]
        ratio = log_ratio_by_launch(figure(cell), figure(baseline), scene) if baseline is not None else None
        ends = None if row.speedup is None else row.speedup.ends
        if row.speedup is None or ends is None or ratio is None or ratio.confidence is None:
            continue
        above = ratio.low > math.log(ends.high) + math.log1p(beyond)
        if above or ratio.high < math.log(ends.low) - math.log1p(beyond):
            found.append(RatioRow(cell, ratio=math.exp(ratio.value), speedup=row.speedup.value))
    return tuple(found)
