"""When a group has been launched often enough, and which cells another launch would teach something about.

A launch costs every cell a start, a compilation and a warm-up. After the first few launches most pairs are decided, so
only those run on whose order is still open, together with the leader and its nearest rival, whose difference the
headline states. The intervals that decide hold at all looks together (:mod:`irbench.stats.intervals`), so that leaving
early, and because of what was seen, costs no confidence.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

from irbench.core.activity import Outlook
from irbench.core.record import LaunchRecord
from irbench.core.result import StoppedBy
from irbench.core.row import cell_names
from irbench.spec import Group, Timing
from irbench.stats.eligibility import Admission, Eligibility, decide_eligibility
from irbench.stats.figures import within_max_latency
from irbench.stats.intervals import Interval, Looks, bounds, interval_at, looks_of
from irbench.stats.launch_planning import Scatter, fewest_blocks, parts_of, scatter_of
from irbench.stats.observed import Observed, is_as_loaded, log_level, observe, observe_otherwise
from irbench.stats.speedups import holm_intervals, launch_ratios, verdict, within_band
from irbench.stats.winner import contradiction, find_winner, lead_miss


def contenders(launches: Sequence[Observed], eligibility: Eligibility, timing: Timing) -> frozenset[str]:
    """Return the cells to launch again; none where everything is decided.

    Every cell runs in ``timing.min_launches`` launches at first, with the baseline. Afterwards

    1. the leader and its nearest rival, until the interval of their ratio excludes 1 or lies within the band called the
       same, and is at most :func:`half_width_wanted` wide;
    2. every other cell that may still be faster than the leader, with the leader;
    3. the baseline and every cell of which it is not known whether it is faster, slower or the same;
    4. the leader and its rival for as long as anybody else runs.

    Where nothing can be compared, the cells whose own time is not known well enough.
    """
    counts = launch_counts(launches, eligibility)
    short = {cell for cell in eligibility.healthy if counts[cell] < timing.min_launches}
    if short:
        return frozenset(short | ({eligibility.baseline} if eligibility.baseline is not None else set()))
    if len(eligibility.compared) < 2:
        levels = level_intervals(launches, eligibility, timing)
        return frozenset(cell for cell, level in levels.items() if level.half_width > timing.target)
    finding = find_winner(launches, eligibility.candidates, timing, eligibility.link)
    open_ones = {cell for pair in _open_rows(launches, eligibility, timing) for cell in pair}
    if finding.leader is None or finding.rival is None or finding.ratio is None:
        return frozenset(open_ones)
    first = {finding.leader, finding.rival}
    wide = finding.ratio.half_width > half_width_wanted(finding.ratio, timing)
    if finding.reason in ("preview", "undecided") or (finding.reason is None and wide):
        open_ones |= first | {cell for cell, rival in finding.rivals.items() if _is_open(rival, timing)}
    return frozenset(open_ones | first if open_ones else ())


def most_urgent(
    candidates: Collection[str], launches: Sequence[Observed], eligibility: Eligibility, timing: Timing
) -> frozenset[str]:
    """Return those of the wanted cells that the next launch takes, where it cannot take them all.

    While some cell has too few launches, the baseline and those with the fewest. Afterwards the leader and the cells
    that may still be faster, the least sure first; then the baseline, with rows that are open.
    """
    if len(candidates) <= timing.most_cells:
        return frozenset(candidates)
    counts = launch_counts(launches, eligibility)
    has_new = any(counts.get(cell, 0) < timing.min_launches for cell in candidates)
    ahead = () if has_new else _open_lead(launches, eligibility, timing)
    rest = sorted(candidates, key=lambda cell: counts.get(cell, 0))
    order = dict.fromkeys(
        cell for cell in (*ahead, eligibility.baseline, *rest) if cell is not None and cell in candidates
    )
    return frozenset(tuple(order)[: timing.most_cells])


def _open_lead(launches: Sequence[Observed], eligibility: Eligibility, timing: Timing) -> tuple[str | None, ...]:
    """Return the leader, its nearest rival, and every other cell that may be faster, the least sure first."""
    finding = find_winner(launches, eligibility.candidates, timing, eligibility.link)
    may_be_faster = sorted((behind.low, cell) for cell, behind in finding.rivals.items() if behind.low <= 0)
    return finding.leader, *(cell for _, cell in may_be_faster), finding.rival


def launch_counts(launches: Sequence[Observed], eligibility: Eligibility) -> dict[str, int]:
    """Return in how many launches each healthy cell can be compared: with the baseline, where it ever is."""
    link = eligibility.link
    return {cell: sum(launch.counts_for(cell, link or cell) for launch in launches) for cell in eligibility.healthy}


@dataclass(frozen=True)
class Aim:
    """What a run is to find out, and how well it is known.

    Attributes:
        cell: The leader; where nothing leads, the cell whose own time is known least well.
        interval: Of the leader's log lead over its rival, or of the cell's own log time.
        is_lead: Whether it is the former.
        half_width: At which it is known well enough.
    """

    cell: str
    interval: Interval
    is_lead: bool
    half_width: float


def half_width_wanted(ratio: Interval, timing: Timing) -> float:
    """Return the half-width at which a log ratio is known well enough.

    A tenth of the ratio itself always is: nobody needs 3.00x to be told from 3.03x.
    """
    return max(timing.target, abs(ratio.value) / 10)


def aim_of(launches: Sequence[Observed], eligibility: Eligibility, timing: Timing) -> Aim | None:
    """Return the lead of the fastest candidate; without two of them a cell's own time; ``None`` without any launch."""
    finding = find_winner(launches, eligibility.candidates, timing, eligibility.link)
    if finding.leader is not None and finding.ratio is not None:
        return Aim(finding.leader, finding.ratio, is_lead=True, half_width=half_width_wanted(finding.ratio, timing))
    levels = level_intervals(launches, eligibility, timing)
    if not levels:
        return None
    cell = max(levels, key=lambda name: levels[name].half_width)
    return Aim(cell, levels[cell], is_lead=False, half_width=timing.target)


def level_intervals(launches: Sequence[Observed], eligibility: Eligibility, timing: Timing) -> dict[str, Interval]:
    """Return the interval of each healthy cell's own log time, ln(ns)."""
    levels = {cell: [log_level(launch, cell) for launch in launches] for cell in eligibility.healthy}
    known = {cell: [value for value in values if value is not None] for cell, values in levels.items()}
    return {cell: interval_at(values, looks_of(timing), timing.confidence) for cell, values in known.items() if values}


def _open_rows(launches: Sequence[Observed], eligibility: Eligibility, timing: Timing) -> Iterator[tuple[str, str]]:
    baseline = eligibility.baseline
    if baseline is None:
        return
    others = [cell for cell in eligibility.compared if cell != baseline]
    ratios = {cell: [-launch_ratio for launch_ratio in launch_ratios(launches, cell, baseline)] for cell in others}
    known = {cell: values for cell, values in ratios.items() if values}
    for cell, interval in holm_intervals(known, timing).items():
        if verdict(interval, timing) in ("preview", "undecided"):
            yield cell, baseline


def _is_open(behind: Interval, timing: Timing) -> bool:
    """Whether a cell may still be faster than the leader: neither surely slower nor surely the same."""
    return behind.low <= 0 and not within_band(behind.low, behind.high, timing.within)


_LAUNCHES_TO_TRY: tuple[int, ...] = (*range(2, 21), 25, 30, 40, 50)


@dataclass(frozen=True)
class Pace:
    """Where a group stands in time.

    Attributes:
        launches_s: Wall time of each launch so far.
        closing_s: What the end of a run takes after its last launch.
    """

    elapsed_s: float
    launches_s: Sequence[float]
    closing_s: float = 0.0


@dataclass(frozen=True)
class Next:
    """What is to be done after some launches.

    Attributes:
        cells: Which to launch, the baseline first; none at the end.
        stopped_by: Why the group ends; ``None`` where it goes on.
    """

    cells: tuple[str, ...] = ()
    stopped_by: StoppedBy | None = None


def next_launch(
    group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission, pace: Pace
) -> Next:
    """Return the cells of the next launch, or why there is none.

    Where there are more than one launch takes, the baseline is in every launch of cells that are new or open, so that
    each is compared with it; after ``timing.min_launches`` of each, :func:`irbench.stats.stopping_rule.most_urgent`
    chooses.

    The group ends at ``target`` when no cell is left to launch again (:func:`irbench.stats.stopping_rule.contenders`);
    at ``failures`` when no cell with right answers is left; at ``launches`` after ``timing.max_launches`` of each; at
    ``budget`` when even the smallest launch but the first would end after ``timing.budget``.
    """
    launches = observe(group, records, timing)
    eligibility = within_max_latency(decide_eligibility(group, records, admission), group, records, launches)
    new = _never_launched(group, records, admission)
    if not eligibility.healthy and not new:
        return Next(stopped_by="failures")
    candidates = _wanted(group, launches, eligibility, timing, new)
    if not candidates:
        return Next(stopped_by="target")
    urgent = most_urgent(candidates, launches, eligibility, timing)
    cells = tuple(cell for cell in candidates if cell in urgent)
    if len(records) >= timing.max_launches * parts_of(len(group.cells) - len(admission.absent), timing.most_cells):
        return Next(stopped_by="launches")
    ended_s = pace.elapsed_s + forecast_s(records, pace.launches_s, cells, timing) + pace.closing_s
    return Next(stopped_by="budget") if records and ended_s > timing.budget else Next(cells)


def _never_launched(group: Group, records: Sequence[LaunchRecord], admission: Admission) -> frozenset[str]:
    known = {cell.cell for record in records for cell in record.cells}
    failed = {cell for record in records for cell in record.failures}
    return frozenset(cell.id for cell in group.cells) - known - failed - admission.absent.keys()


def _wanted(
    group: Group, launches: Sequence[Observed], eligibility: Eligibility, timing: Timing, new: frozenset[str]
) -> tuple[str, ...]:
    """Return the cells to launch again, or for the first time with the baseline, which comes first of all."""
    baseline = eligibility.baseline or group.baseline
    ids = new | ({baseline} & set(eligibility.healthy)) if new else contenders(launches, eligibility, timing)
    cells = sorted(group.cells, key=lambda cell: cell.id != baseline)
    return tuple(cell.id for cell in cells if cell.id in ids)


def scatters(
    group: Group, records: Sequence[LaunchRecord], timing: Timing, cells: Sequence[str]
) -> tuple[Scatter, ...]:
    """Return how the log ratios of these cells to the first of them scatter, as far as the launches have shown it."""
    launches = observe(group, records, timing)
    all_scatters = (scatter_of(launches, cell, cells[0]) for cell in cells[1:])
    return tuple(item for item in all_scatters if item is not None)


def forecast_s(
    records: Sequence[LaunchRecord], launches_s: Sequence[float], cells: Sequence[str], timing: Timing
) -> float:
    """Return how long a launch of these cells should take with the fewest blocks that it may have, in seconds.

    Of several launches, how long they take together: a cell counts as often as it is named.

    As long as the longer of the last two launches, less the blocks that they could have done without, and the share of
    the work that their other cells were. The first launch of a cell verifies it, and starts and compiles such cells one
    after the other, so it counts only while there is no other.
    """
    timed = list(zip(records, launches_s, strict=True))
    usual = [timed[place] for place in without_new_cells(records)][-2:] or timed[-1:]
    known = work_of(records)
    each_s = (_share(record, cells, known) * (seconds - spare_s(record, timing)) for record, seconds in usual)
    return max(each_s, default=0.0)


def without_new_cells(records: Sequence[LaunchRecord]) -> tuple[int, ...]:
    """Return the places of the launches that measured cells, all of which had been measured before."""
    known: set[str] = set()
    found: list[int] = []
    for place, record in enumerate(records):
        cells = {cell.cell for cell in record.cells}
        if cells and cells <= known:
            found.append(place)
        known |= cells
    return tuple(found)


def spare_s(record: LaunchRecord, timing: Timing) -> float:
    """Return how long the blocks of a launch took beyond the fewest that it may have."""
    spare = len(record.blocks) - timing.burn_in_blocks - fewest_blocks(timing)
    return sum(block.wall_ns for block in record.blocks[-spare:]) / 1e9 if spare > 0 else 0.0


def work_of(records: Sequence[LaunchRecord]) -> dict[str, float]:
    """Return the wall time of each cell in its last launch: its start, its warm-up and its rounds, in nanoseconds."""
    return {
        cell.cell: cell.phases_ns.get("ready", 0)
        + cell.phases_ns.get("warm_up", 0)
        + sum(own.evidence.wall_ns for own in cell.rounds)
        for record in records
        for cell in record.cells
    }


def _share(record: LaunchRecord, cells: Sequence[str], known: Mapping[str, float]) -> float:
    """Return the work of these cells as a share of a launch's.

    Of a cell that is not in it, what is known of other launches; the largest of this one where nothing is.
    """
    work = work_of([record])
    unknown = max(work.values(), default=1)
    return sum(work.get(cell, known.get(cell, unknown)) for cell in cells) / max(1, sum(work.values()))


def launches_planned(cells: int, timing: Timing) -> float:
    """Return how many launches the blocks of each should leave room for.

    Until the headline's interval needs no stretching any more: with two cells 6 launches, with four 8. Launches narrow
    it more than blocks do, above all these. Those after the first look are taken to be for the leader and its rival.
    """
    intervals = bounds(looks_of(timing), round(lead_miss(cells, timing), 12))
    exact = min((count for count, bound in intervals.items() if not bound.stretch), default=timing.max_launches)
    at_first = timing.min_launches * parts_of(cells, timing.most_cells)
    return at_first + max(0, exact - timing.min_launches) * 2 / max(2, min(cells, timing.most_cells))


def launches_to_reach(interval: Interval, target: float, timing: Timing) -> int | None:
    """Return after about how many launches the interval is expected to be narrow enough; ``None`` beyond sight.

    Launches are taken to scatter as they have so far.

    Later looks are taken to be those of a longer run.
    """
    now = unit_half_width(interval.count, timing, interval.confidence)
    if interval.count < 2 or now is None:
        return None
    scatter = interval.half_width / now
    for count in (count for count in _LAUNCHES_TO_TRY if count >= interval.count):
        unit = unit_half_width(count, timing, interval.confidence)
        if unit is not None and scatter * unit <= target:
            return count
    return None


def unit_half_width(count: int, timing: Timing, confidence: float | None) -> float | None:
    """Return the expected half-width of the interval of some standard normal launches; ``None`` without an interval.

    By Blom's approximation of normal order statistics: Blom, "Statistical Estimates and Transformed Beta-Variables"
    (1958).
    """
    if confidence is None or count < timing.min_launches:
        return None
    looks = Looks(timing.min_launches, max(timing.max_launches, count))
    bound = bounds(looks, round(1 - confidence, 12)).get(count)
    if bound is None:
        return None
    return -NormalDist().inv_cdf((bound.rank - 0.375) / (count + 0.25)) * (1 + 2 * bound.stretch)


def outlook(group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission) -> Outlook | None:
    """Return how the interval that decides narrows; ``None`` where nothing can be said."""
    launches = observe(group, records, timing)
    eligibility = within_max_latency(decide_eligibility(group, records, admission), group, records, launches)
    aim = aim_of(launches, eligibility, timing)
    if aim is None or aim.interval.count < 2:
        return None
    labels = cell_names(group)
    finding = find_winner(launches, eligibility.candidates, timing, eligibility.link)
    against = contradiction(finding, launches, observe_otherwise(group, records, launches, timing), timing)
    counted = sum(launch.counts_for_any(eligibility.compared) for launch in launches)
    known = Outlook(
        labels[aim.cell],
        math.exp(aim.interval.value) if aim.is_lead else None,
        aim.interval.half_width,
        is_as_loaded=is_as_loaded(launches),
        quiet_launches=(counted, len(launches)) if counted < len(launches) else None,
        contradicted_by=None if against is None else (labels[against.cell], against.value),
    )
    if aim.interval.confidence is None:
        return replace(known, intervals_from=timing.min_launches)
    left = len(contenders(launches, eligibility, timing))
    return replace(known, target=aim.half_width, rows_left=None if left == len(eligibility.healthy) else left)
