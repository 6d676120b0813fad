"""Which cells another launch would teach something about: the others are decided and need not be launched again.

A launch costs every cell a start, a compilation and a warm-up. After the first few launches most pairs are decided, so
only those run on whose order is still open, together with the leader and its nearest rival, whose difference the
headline states. The intervals that decide hold at all looks together (:mod:`irbench.stats.intervals`), so that leaving
early, and because of what was seen, costs none of their confidence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from irbench.spec import Timing
from irbench.stats.compare import holm_intervals, launch_ratios, verdict, within_band
from irbench.stats.eligibility import Eligibility
from irbench.stats.intervals import Interval, interval_at, looks_of
from irbench.stats.observed import Observed, log_level
from irbench.stats.winner import find_winner


def contenders(launches: Sequence[Observed], eligibility: Eligibility, timing: Timing) -> frozenset[str]:
    """Return the cells to launch again; none where everything is decided.

    Every cell runs in ``timing.min_launches`` launches at first, with the baseline. Afterwards

    1. the leader and its nearest rival, until the interval of their ratio excludes 1 or lies within the band called the
       same, and is at most :func:`half_width_wanted` wide;
    2. every other cell that may still be faster than the leader, with the leader;
    3. the baseline and every cell of which it is not known whether it is faster, slower or the same;
    4. the leader and its rival for as long as anybody else runs.

    Where nothing can be compared, the cells whose own time is not known well enough.

    Args:
        launches: Those so far, reduced.
        eligibility: Who is compared with whom.
        timing: Looks, confidence, target and the band called the same.
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
    wanted: Collection[str], launches: Sequence[Observed], eligibility: Eligibility, timing: Timing
) -> frozenset[str]:
    """Return those of the wanted cells that the next launch takes, where it cannot take them all.

    While some cell has too few launches, the baseline and those with the fewest. Afterwards the leader and the cells
    that may still be faster, the least sure first; then the baseline, with rows that are open.

    Args:
        wanted: In the order in which they were asked for; cells that were never launched included.
        launches: Those so far, reduced.
        eligibility: Who is compared with whom.
        timing: Looks, confidence, target, the band called the same, and how many cells a launch takes.
    """
    if len(wanted) <= timing.most_cells:
        return frozenset(wanted)
    counts = launch_counts(launches, eligibility)
    has_new = any(counts.get(cell, 0) < timing.min_launches for cell in wanted)
    ahead = () if has_new else _open_lead(launches, eligibility, timing)
    rest = sorted(wanted, key=lambda cell: counts.get(cell, 0))
    order = dict.fromkeys(cell for cell in (*ahead, eligibility.baseline, *rest) if cell is not None and cell in wanted)
    return frozenset(tuple(order)[: timing.most_cells])


def _open_lead(launches: Sequence[Observed], eligibility: Eligibility, timing: Timing) -> tuple[str | None, ...]:
    """Return the leader, its nearest rival, and every other cell that may be faster, the least sure first."""
    finding = find_winner(launches, eligibility.candidates, timing, eligibility.link)
    may_be_faster = sorted((behind.low, cell) for cell, behind in finding.rivals.items() if behind.low <= 0)
    return finding.leader, *(cell for _, cell in may_be_faster), finding.rival


def launch_counts(launches: Sequence[Observed], eligibility: Eligibility) -> dict[str, int]:
    """Return in how many launches each healthy cell can be compared: with the baseline, where it ever is."""
    link = eligibility.link
    return {
        cell: sum(cell in launch.log_ns and (link is None or link in launch.log_ns) for launch in launches)
        for cell in eligibility.healthy
    }


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
    """Yield each row whose verdict is open, with the baseline."""
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
