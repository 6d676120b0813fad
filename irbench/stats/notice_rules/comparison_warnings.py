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
    NeighboursFallShort,
    NotSteady,
    PacedDiffers,
    RatioRow,
    ShortNeighbour,
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
from irbench.spec import Neighbour
from irbench.stats.figures import frames_by_launch, launch_levels, sustained_by_launch
from irbench.stats.launch_planning import fewest_blocks, scatter_of
from irbench.stats.modes import mode_warnings
from irbench.stats.notice_rules.machine_warnings import machine_warnings, starving
from irbench.stats.notice_rules.table_state import TableState
from irbench.stats.observed import Observed, reduction_of
from irbench.stats.orders import as_row, order_conflicts
from irbench.stats.run_modes.paced import paced_rate_by_launch, reversed_pairs
from irbench.stats.speedups import launch_ratios
from irbench.stats.stopping_rule import aim_of, launches_to_reach
from irbench.stats.winner import log_ratio_by_launch

_ALONE_MOVES = 0.1
"""Frozen neighbours and cold caches make rounds a little slower than a run alone."""
_MOSTLY = 0.5


def warm_up_warnings(state: TableState) -> Iterator[Warn]:
    """Yield warnings about rows whose warm-up ended too early, and about rows that are unlike their rounds alone."""
    yield from _still_warming(state)
    yield from _alone_unlike_rounds(state)


def _still_warming(state: TableState) -> Iterator[Warn]:
    rows = tuple(row for cell in state.eligibility.compared if (row := _cut(state, cell)) is not None)
    if rows:
        yield StillWarmingUp(rows=rows)


def _cut(state: TableState, cell: str) -> WarmingRow | None:
    """Return the facts of a row whose calls still got faster at the end of most warm-ups.

    Where the first launch looked until calls got no faster, the calls of later launches are known to be enough.
    """
    warm_ups = [own.warm_up for own in state.launches_of(cell) if own.warm_up is not None]
    unsteady = [own for own in warm_ups if own.ended_unsteady]
    if not unsteady or len(unsteady) <= _MOSTLY * len(warm_ups) or _knows_when(warm_ups):
        return None
    calls = max(own.calls for own in unsteady)
    return WarmingRow(cell, calls=calls, launches=len(unsteady), of=len(warm_ups))


def _knows_when(warm_ups: list[WarmUp]) -> bool:
    first = warm_ups[0]
    return bool(first.steady_after) and all(own.calls >= (first.steady_after or 0) for own in warm_ups)


def _alone_unlike_rounds(state: TableState) -> Iterator[Warn]:
    rows: list[AloneRow] = []
    for cell in state.eligibility.compared:
        alone = sustained_by_launch(state.counted_records(cell), cell, 1)
        ratio = log_ratio_by_launch(alone, frames_by_launch(state.records, state.launches, cell, 1), state)
        if ratio is None or ratio.confidence is None:
            continue
        if ratio.low > math.log1p(_ALONE_MOVES) or ratio.high < -math.log1p(_ALONE_MOVES):
            rows.append(AloneRow(cell, faster=math.expm1(ratio.value)))
    if rows:
        yield AloneUnlikeRounds(rows=tuple(rows), seconds=state.timing.sustain)


_SELDOM = 0.05
_TREND = 0.02
_FEWEST_TRENDS = 4
_FEWEST_NEIGHBOURS = 6
_ORDERS = 10_000


def dependence_warnings(state: TableState) -> Iterator[Warn]:
    """Yield warnings about launches that resemble their neighbours, and about trends within launches."""
    yield from _neighbours(state)
    yield from _trends(state)


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
    own = observed.log_ns[cell] if observed.counts_for(cell) else {}
    logs = [value for block, value in sorted(own.items()) if block in observed.counted]
    half = len(logs) // 2
    return None if half < 2 else statistics.median(logs[-half:]) - statistics.median(logs[:half])


def resembles_neighbours(values: Sequence[float], seldom: float) -> bool:
    """Whether launches follow each other so closely as independent ones seldom do."""
    return len(values) >= _FEWEST_NEIGHBOURS and len(set(values)) > 2 and neighbour_chance(values) <= seldom


def _neighbours(state: TableState) -> Iterator[Warn]:
    aim = aim_of(state.launches, state.eligibility, state.timing)
    if aim is None:
        return
    leader = aim.cell
    series = {
        cell: launch_ratios(state.launches, cell, leader) for cell in state.eligibility.compared if cell != leader
    }
    if not series:
        series = {leader: launch_levels(state.launches, leader)}
    alike = tuple(cell for cell, values in series.items() if resembles_neighbours(values, _SELDOM / len(series)))
    if alike:
        yield LaunchesDepend(cells=alike)


def _trends(state: TableState) -> Iterator[Warn]:
    rows: list[UnsteadyRow] = []
    for cell in state.eligibility.healthy:
        trends = [trend for trend in (trend_of_launch(launch, cell) for launch in state.launches) if trend is not None]
        one_way = all(trend > 0 for trend in trends) or all(trend < 0 for trend in trends)
        middle = statistics.median(trends) if trends else 0.0
        if len(trends) >= _FEWEST_TRENDS and one_way and abs(middle) > _TREND:
            rows.append(UnsteadyRow(cell, slower=math.expm1(middle)))
    if rows:
        beside = {cell.id: cell.load.beside for cell in state.group.cells}
        late = any(row.slower > 0 and (own := beside[row.cell]) and own.kind == "command" for row in rows)
        yield NotSteady(rows=tuple(rows), beside_commands=late)


_SUSTAINED_MOVES = 0.03
_PACED_MOVES = 0.03
_FPS_MOVE = 0.1
_DOMINATES = 4.0
_ENOUGH_PRESSURE = 0.8
"""Of what was asked of a neighbour; its program's own overhead takes some 5 % of the time."""


def find_warnings(state: TableState) -> tuple[Warn, ...]:
    """Return everything a reader must know before quoting the table.

    Where disturbed blocks count that is said, and nothing is made of what the disturbance did to the figures.
    """
    first = (
        *_baseline_replaced(state),
        *_starved_streams(state),
        *_too_few_launches(state),
        *machine_warnings(state),
        *warm_up_warnings(state),
        *_orders_differ(state),
        *_neighbours_fall_short(state),
    )
    if reduction_of(state.launches) != "undisturbed":
        return first
    return (
        *first,
        *mode_warnings(state),
        *dependence_warnings(state),
        *_wide_interval(state),
        *_excluded_blocks_matter(state),
        *_fps_differ(state),
        *_sustained_differs(state),
        *_paced_differs(state),
    )


def _neighbours_fall_short(state: TableState) -> Iterator[Warn]:
    """Yield a warning of neighbours that nothing was to hold back, and that did less than was asked of them."""
    short: dict[ShortNeighbour, Neighbour] = {}
    for cell in state.group.cells:
        beside, did = cell.load.beside, state.rows[cell.id].neighbour
        share = None if did is None else did.achieved_share
        if beside is None or beside.asked is None or beside.controls or share is None or share >= _ENOUGH_PRESSURE:
            continue
        unit = "processors" if beside.rate is None else "calls/s"
        short[ShortNeighbour(cell.id, beside.asked, share * beside.asked, unit)] = beside
    if short:
        shares = all(beside.shares_processors for beside in short.values())
        yield NeighboursFallShort(rows=tuple(short), share_processors=shares)


def _orders_differ(state: TableState) -> Iterator[Warn]:
    if state.eligibility.beside:
        return  # nobody asks which condition is the fastest
    rows = tuple(as_row(conflict) for conflict in order_conflicts(state))
    if rows:
        launches, is_preview = state.fewest_launches, state.fewest_launches < state.timing.min_launches
        yield OrdersDiffer(rows=rows, launches=launches, preview=is_preview)


def _baseline_replaced(state: TableState) -> Iterator[Warn]:
    requested, used = state.group.baseline, state.eligibility.baseline
    if state.records and used is not None and used != requested:
        yield BaselineReplaced(asked=requested, used=used)


def _starved_streams(state: TableState) -> Iterator[Warn]:
    rows = tuple(
        StarvedStreamsRow(
            cell,
            asked=in_flight.asked,
            found=in_flight.found,
            open_share=in_flight.open_share,
            oldest_ms=in_flight.oldest_ns / 1e6,
        )
        for cell, in_flight in starving(state.records, state.launches, state.group.cells).items()
    )
    if rows:
        yield StarvedStreams(rows=rows)


def _too_few_launches(state: TableState) -> Iterator[Warn]:
    done, needed = state.fewest_launches, state.timing.min_launches
    taken = sum(len(record.cells) for record in state.records)
    if state.stopped_by == "budget" and taken and done < needed:
        rows = sum(state in ("ok", "not-measured") for state in state.eligibility.states.values())
        yield TooFewLaunches(
            launches=done,
            least_launches=needed,
            needed_s=math.ceil(
                state.timing.before_s + (state.seconds + _missing_s(state)) * 1.1 * needed * rows / taken
            ),
            over_budget=len(state.records) == 1 and state.seconds > state.timing.budget,
        )


def _missing_s(state: TableState) -> float:
    """Return how long the blocks would have taken that a first launch left out because the budget was over."""
    blocks = state.records[0].blocks
    missing = fewest_blocks(state.timing) + state.timing.burn_in_blocks - len(blocks)
    return max(0, missing) * max((block.wall_ns for block in blocks), default=0) / 1e9


def _wide_interval(state: TableState) -> Iterator[Warn]:
    aim = aim_of(state.launches, state.eligibility, state.timing)
    if aim is None or aim.interval.confidence is None:
        return  # the range of a preview is not an interval, and has no target
    if aim.interval.half_width <= aim.half_width:
        return
    yield WideInterval(
        cell=aim.cell,
        is_lead=aim.is_lead,
        half_width=aim.interval.half_width,
        target=aim.half_width,
        launches_needed=launches_to_reach(aim.interval, aim.half_width, state.timing),
        launches_dominate=aim.is_lead and _launches_dominate(state, aim.cell),
        stopped_by=state.stopped_by,
    )


def _launches_dominate(state: TableState, leader: str) -> bool:
    """Whether the variance of some ratio to the leader between launches is well above what their blocks explain."""
    others = (cell for cell in state.eligibility.compared if cell != leader)
    return any(
        scatter is not None and scatter.between > _DOMINATES * scatter.within_estimate
        for scatter in (scatter_of(state.launches, cell, leader) for cell in others)
    )


def _excluded_blocks_matter(state: TableState) -> Iterator[Warn]:
    """Yield a warning of the speedups that all blocks would change.

    Where launches are left out, intervals over all blocks are wider, which is why they are left out. A wider interval
    alone is no reason for a warning there, but a value that moves is, and so is a reversed order.
    """
    rows: list[ExcludedBlocksRow] = []
    are_left_out = any(launch.left_out for launch in state.launches)
    for cell in state.rivals:
        speedup = state.rows[cell].speedup
        if speedup is None:
            continue
        moves = speedup.moves_with_all_blocks
        is_reversed = (speedup.all_blocks_value < 1) != (speedup.value < 1)
        if moves or (is_reversed if are_left_out else speedup.all_blocks_verdict != speedup.verdict):
            value = speedup.all_blocks_value
            rows.append(ExcludedBlocksRow(cell, moves, value, speedup.verdict, speedup.all_blocks_verdict))
    if rows:
        yield ExcludedBlocksMatter(rows=tuple(rows))


def _fps_differ(state: TableState) -> Iterator[Warn]:
    if state.group.goal is not None or state.group.objective == "fps":
        return  # something else was asked for, or speedups are ratios of throughputs

    def frames(cell: str, beside: str) -> Mapping[int, float]:
        return frames_by_launch(state.records, state.launches, cell, 1, beside)

    rows = _contradicting(state, frames, _FPS_MOVE)
    if rows:
        yield FpsDiffer(rows=rows)


def _sustained_differs(state: TableState) -> Iterator[Warn]:
    if state.group.goal is not None and state.group.objective != "fps":
        return  # something else was asked for

    def sustained(cell: str, beside: str) -> Mapping[int, float]:
        return sustained_by_launch(state.counted_records(cell, beside), cell, state.rows[cell].batch)

    rows = _contradicting(state, sustained, _SUSTAINED_MOVES)
    if rows:
        yield SustainedDiffers(rows=rows, seconds=state.timing.sustain)


def _paced_differs(state: TableState) -> Iterator[Warn]:
    if state.group.objective != "latency":
        return  # there speedups are ratios of something that a pace says nothing of

    def paced(cell: str, beside: str) -> Mapping[int, float]:
        return paced_rate_by_launch(state.counted_records(cell, beside), cell)

    rows = _contradicting(state, paced, _PACED_MOVES)
    pairs = reversed_pairs(state)
    if rows or pairs:
        yield PacedDiffers(rows=rows, reversed=pairs, pace_ms=1e3 * state.timing.pace)


def _contradicting(
    state: TableState, figure: Callable[[str, str], Mapping[int, float]], beyond: float
) -> tuple[RatioRow, ...]:
    """Return the rows whose ratio of a throughput to the baseline's surely leaves their speedup's interval.

    Args:
        state: The group.
        figure: Returns a cell's throughput in each launch that counts for its comparison with another one.
        beyond: How far the interval of the ratio must lie from that of the speedup, as a fraction.
    """
    baseline = state.eligibility.baseline
    contradictions: list[RatioRow] = []
    for cell in state.rivals if baseline is not None else ():
        row = state.rows[cell]
        if baseline is None:
            continue
        ratio = log_ratio_by_launch(figure(cell, baseline), figure(baseline, cell), state)
        ends = None if row.speedup is None else row.speedup.ends
        if row.speedup is None or ends is None or ratio is None or ratio.confidence is None:
            continue
        above = ratio.low > math.log(ends.high) + math.log1p(beyond)
        if above or ratio.high < math.log(ends.low) - math.log1p(beyond):
            contradictions.append(RatioRow(cell, ratio=math.exp(ratio.value), speedup=row.speedup.value))
    return tuple(contradictions)
