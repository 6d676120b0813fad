"""Warnings about the machine: how disturbed it was, and requests in flight that its latencies do not account for.

Where requests are kept in flight without a pause, their number is the rate of completions times the mean latency:
Little, "A Proof for the Queuing Formula: L = lambda W", Operations Research 9 (1961). A runtime that serves a few
streams and lets the others wait completes as many requests as a fair one. Those that wait are in no percentile, so that
the product falls short of the number of streams.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from irbench.core.record import BlockEvidence, CellLaunch, LaunchRecord, Round
from irbench.core.result import UnevenLoad
from irbench.notices import Warn
from irbench.notices.doubts import NotFrozen, ThreadsDiffer, ThreadsRow, WaitingRow, WaitsOnItself
from irbench.notices.warnings import BusyMachine, CpuQuota, FewCleanBlocks, ManyDirtyBlocks, StolenTime
from irbench.spec import Cell, Group, Timing
from irbench.stats.blocks import run_queue_share
from irbench.stats.figures import Rounds, rounds_that_count
from irbench.stats.intervals import interval_at, looks_of
from irbench.stats.notice_rules.table_state import TableState
from irbench.stats.observed import Observed

_LEAST_SHARE = 0.8
"""Of the requests in flight that latencies must account for."""
_FEWEST_PER_STREAM = 4
_IN_MOST_ROUNDS = 0.9
"""A request that is long by chance spans some rounds; one that is not served spans nearly all."""


@dataclass(frozen=True)
class InFlight:
    """What a row's rounds say of its requests in flight.

    Attributes:
        asked: How many were to be kept in flight.
        kept: How many were on average, gaps between one request and the next left out.
        found: How many the completed ones account for: completions per second times their mean latency.
        open_share: Requests that were open at the end of a round, as a share of them and of the completed ones.
        spanned: The share of rounds with a request that was open from before the window until after it.
        oldest_ns: How long the oldest of these had been open, in nanoseconds.
    """

    asked: int
    kept: float
    found: float
    open_share: float
    spanned: float
    oldest_ns: float

    @property
    def some_starve(self) -> bool:
        """Whether percentiles leave out requests that waited longest."""
        return self.found < _LEAST_SHARE * self.kept and self.spanned >= _IN_MOST_ROUNDS


def starving(
    records: Sequence[LaunchRecord], launches: Sequence[Observed], cells: Iterable[Cell]
) -> dict[str, InFlight]:
    """Return the cells whose percentiles leave out requests that waited longest, by id, from the blocks that count."""
    by_cell = {cell.id: in_flight(rounds_that_count(records, launches, cell.id), cell) for cell in cells}
    return {cell: seen for cell, seen in by_cell.items() if seen is not None and seen.some_starve}


def in_flight(rounds: Rounds, cell: Cell) -> InFlight | None:
    """Return what rounds say of the requests in flight; ``None`` for one at a time, for a command, and of few calls.

    All rounds together: the first and the last requests of a single one cross its window's ends. Records without the
    requests that were open at the end of a round say nothing: gaps between requests look like requests that wait.
    """
    concurrency = cell.load.concurrency
    if concurrency < 2 or not rounds or (cell.program is not None and cell.program.kind == "command"):
        return None
    completed = sum(round_.completion_ns.size for _, round_ in rounds)
    if completed < _FEWEST_PER_STREAM * concurrency:
        return None
    ages_ns = np.concatenate([round_.completion_ns[-1] - round_.open_ns for _, round_ in rounds])
    if not ages_ns.size:
        return None
    window_ns = sum(float(round_.completion_ns[-1]) for _, round_ in rounds)
    return InFlight(
        asked=concurrency,
        kept=sum(_flight_ns(round_) for _, round_ in rounds) / window_ns,
        found=sum(float(round_.latency_ns.sum()) for _, round_ in rounds) / window_ns,
        open_share=ages_ns.size / (ages_ns.size + completed),
        spanned=sum(bool((round_.open_ns < 0).any()) for _, round_ in rounds) / len(rounds),
        oldest_ns=float(ages_ns.max()),
    )


def _flight_ns(round_: Round) -> float:
    """Return how long requests were in flight within the window, all together, in nanoseconds."""
    completed = round_.completion_ns - np.maximum(round_.issue_ns, 0)
    still_open = round_.completion_ns[-1] - np.maximum(round_.open_ns, 0)
    return float(completed.sum() + still_open.sum())


# Whether other programs were busier in the turns of one cell than in those of another, by more than is fair.
#
# Cells take turns in random order, so a load that knows nothing of them falls on all alike. What it uses may still
# differ: beside a cell that keeps all processors busy a program gets less than beside one that leaves some idle. A
# scheduler that shares fairly among runnable threads bounds that. On p processors, m threads of others get
# m p / (m + k) processors beside k threads of a cell, and at most min(m, p) beside one that uses none: never more than
# 1 + max(1, k / p) times as much. What differs by more is tied to the turns: a program that reacts to a cell, or that
# gives way to it.

_LEAST = 2.0
"""What is added to either load before they are divided, as a multiple of what makes a block dirty: so little disturbs
nobody, whatever its ratio, and counting in ticks may be off by as much."""


def uneven_load(
    group: Group, records: Sequence[LaunchRecord], launches: Sequence[Observed], timing: Timing
) -> UnevenLoad | None:
    """Return the pair of cells whose loads differ most; ``None`` where none surely differs by more than is fair."""
    loads = {
        cell.id: {
            record.launch: load
            for record, observed in zip(records, launches, strict=True)
            for measured in record.cells
            if measured.cell == cell.id and (load := _load(measured, observed)) is not None
        }
        for cell in group.cells
    }
    processors = max((record.processors for record in records), default=1)
    threads = max((cell.load.all_threads or 1 for cell in group.cells), default=1)
    return most_uneven(loads, processors, 1 + max(1.0, threads / processors), timing)


def most_uneven(
    loads: Mapping[str, Mapping[int, float]], processors: int, fair: float, timing: Timing
) -> UnevenLoad | None:
    """Return the pair of cells whose loads differ most; ``None`` where none surely differs by more than is fair.

    Every pair is tested, so each at the confidence of one of several claims (Bonferroni). Intervals are over launches
    and hold at all looks together.

    Args:
        loads: Processors that others used in a cell's turns, by cell, then by launch.
        processors: How many are in use.
        fair: How many times as much others may get in the turns of one cell as in those of another.
        timing: Looks and confidence, and what makes a block dirty.
    """
    least = _LEAST * timing.dirty_foreign_share * processors
    pairs = list(combinations([cell for cell, own in loads.items() if own], 2))
    differences: dict[tuple[str, str], float] = {}
    for one, other in pairs:
        common = loads[one].keys() & loads[other].keys()
        ratios = [
            math.log((max(0.0, loads[one][launch]) + least) / (max(0.0, loads[other][launch]) + least))
            for launch in sorted(common)
        ]
        if not ratios:
            continue
        interval = interval_at(ratios, looks_of(timing), 1 - (1 - timing.confidence) / len(pairs))
        if interval.confidence is not None and interval.low > math.log(fair):
            differences[one, other] = interval.low
        if interval.confidence is not None and -interval.high > math.log(fair):
            differences[other, one] = -interval.high
    if not differences:
        return None
    more, less = max(differences, key=differences.__getitem__)
    return UnevenLoad(more, less, _usual(loads[more]), _usual(loads[less]))


def _load(measured: CellLaunch, observed: Observed) -> float | None:
    seen = [round_.evidence for round_ in measured.rounds if round_.block in observed.blocks]
    foreign = [evidence.foreign_cpu_ns for evidence in seen if evidence.foreign_cpu_ns is not None]
    if not seen or len(foreign) < len(seen):
        return None
    return sum(foreign) / max(1, sum(evidence.wall_ns for evidence in seen))


def _usual(loads: Mapping[int, float]) -> float:
    return max(0.0, statistics.median(loads.values()))


_MANY_DIRTY = 0.25
_SELF_WAIT = 0.10
_SELF_WAIT_OF_UNKNOWN = 0.5
"""Where a runtime does not report its threads: half of what one thread more than processors waits for."""
_STOLEN = 0.02


def machine_warnings(state: TableState) -> Iterator[Warn]:
    """Yield what the kernel's counters say against trusting the figures."""
    yield from _disturbed(state)
    yield from _stolen(state)
    yield from _throttled(state)
    yield from _not_frozen(state)
    yield from _waits_on_itself(state)
    yield from _threads_differ(state)


def _disturbed(state: TableState) -> Iterator[Warn]:
    """Yield one warning, named after the worst of what one cause brings about, with the facts of all of it."""
    share = _of_a_processor(state, lambda evidence: evidence.foreign_cpu_ns)
    processors = max((record.processors for record in state.records), default=1)
    is_busy = share > state.timing.dirty_foreign_share * processors
    dirty = sum(len(launch.dirty) for launch in state.launches)
    blocks = sum(len(launch.blocks) for launch in state.launches)
    are_many = dirty > _MANY_DIRTY * blocks
    compared = state.eligibility.compared
    launches = sum(launch.is_disturbed and launch.counts_for_any(compared) for launch in state.launches)
    if not (is_busy or are_many or launches):
        return
    kind = FewCleanBlocks if launches else ManyDirtyBlocks if are_many else BusyMachine
    yield kind(
        foreign_share=share if is_busy else None,
        processors=processors if is_busy else None,
        blocks_disturbed=dirty if are_many else None,
        blocks=blocks if are_many else None,
        launches_short=launches or None,
        least_blocks=state.timing.min_blocks if launches else None,
    )


def _stolen(state: TableState) -> Iterator[Warn]:
    share = _of_a_processor(state, lambda evidence: evidence.steal_ns)
    if share > _STOLEN:
        yield StolenTime(share=share)


def _of_a_processor(state: TableState, time_ns: Callable[[BlockEvidence], int]) -> float:
    return sum(time_ns(block) for block in state.blocks) / max(1, sum(block.wall_ns for block in state.blocks))


def _throttled(state: TableState) -> Iterator[Warn]:
    throttled_ns = [block.throttled_ns for block in state.blocks if block.throttled_ns > 0]
    if throttled_ns:
        yield CpuQuota(seconds=sum(throttled_ns) / 1e9, blocks=len(throttled_ns))


def _not_frozen(state: TableState) -> Iterator[Warn]:
    if not all(record.frozen for record in state.records):
        yield NotFrozen()


def _waits_on_itself(state: TableState) -> Iterator[Warn]:
    if state.timing.busy_processors:
        return  # its threads wait for the neighbour
    alone = [cell for cell in state.eligibility.healthy if cell not in state.eligibility.beside]
    rows = tuple(row for row in (_waiting(state, cell) for cell in alone) if row is not None)
    if rows:
        yield WaitsOnItself(rows=rows)


def _waiting(state: TableState, cell: str) -> WaitingRow | None:
    """Return how long a cell's threads wait for each other; ``None`` where that is little or unknown.

    As many threads as processors wait a little whenever they wake each other up, which no setting changes.
    """
    threads = state.rows[cell].all_threads
    if threads is not None and threads <= max(record.processors for record in state.records):
        return None
    rounds = _quiet_rounds(state, cell)
    if len(rounds) < state.timing.min_blocks:
        return None  # among so few the machine's part and the cell's cannot be told apart
    share = _median(run_queue_share(round_) for round_ in rounds)
    if share is None or share <= (_SELF_WAIT_OF_UNKNOWN if threads is None else _SELF_WAIT):
        return None
    running = _median(round_.evidence.cpu_ns / max(1, round_.evidence.wall_ns) for round_ in rounds)
    return WaitingRow(cell, share=share, running=running or 0.0, threads=threads)


def _quiet_rounds(state: TableState, cell: str) -> list[Round]:
    return [
        round_
        for record, observed in zip(state.records, state.launches, strict=True)
        for cell_launch in record.cells
        if cell_launch.cell == cell
        for round_ in cell_launch.rounds
        if round_.block in observed.blocks - observed.dirty
    ]


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _threads_differ(state: TableState) -> Iterator[Warn]:
    threads = {cell: state.rows[cell].all_threads for cell in state.eligibility.compared}
    known = {cell: count for cell, count in threads.items() if count is not None}
    requested = {state.rows[cell].requested.threads for cell in known}
    if len(set(known.values())) > 1 and len(requested) == 1:  # otherwise rows with other threads were asked for
        rows = tuple(ThreadsRow(cell, count) for cell, count in known.items())
        has_streams = any(cell.load.streams > 1 for cell in state.group.cells)
        yield ThreadsDiffer(rows=rows, has_streams=has_streams)
