"""Warnings about the machine and its use by the cells."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from irbench.core.record import BlockEvidence, Round
from irbench.notices import Warn
from irbench.notices.doubts import NotFrozen, ThreadsDiffer, ThreadsRow, WaitingRow, WaitsOnItself
from irbench.notices.warnings import BusyMachine, CpuQuota, Disturbed, FewCleanBlocks, ManyDirtyBlocks, StolenTime
from irbench.stats.blocks import run_queue_share
from irbench.stats.notices.table_state import TableState

_MANY_DIRTY = 0.25
_SELF_WAIT = 0.10
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
    facts: dict[str, Any] = {}
    kind: type[Disturbed] | None = None
    share = _of_a_processor(state, lambda evidence: evidence.foreign_cpu_ns)
    processors = max((record.processors for record in state.records), default=1)
    if share > state.timing.dirty_foreign_share * processors:
        kind, facts["foreign_share"], facts["processors"] = BusyMachine, share, processors
    dirty = sum(len(launch.dirty) for launch in state.launches)
    blocks = sum(len(launch.blocks) for launch in state.launches)
    if dirty > _MANY_DIRTY * blocks:
        kind, facts["blocks_disturbed"], facts["blocks"] = ManyDirtyBlocks, dirty, blocks
    launches = sum(launch.too_few_clean for launch in state.launches)
    if launches:
        kind, facts["launches_short"], facts["least_blocks"] = FewCleanBlocks, launches, state.timing.min_blocks
    if kind is not None:
        yield kind(**facts)


def _stolen(state: TableState) -> Iterator[Warn]:
    share = _of_a_processor(state, lambda evidence: evidence.steal_ns)
    if share > _STOLEN:
        yield StolenTime(share=share)


def _of_a_processor(state: TableState, time_ns: Callable[[BlockEvidence], int]) -> float:
    """Return a time of all blocks as a fraction of their wall time."""
    return sum(time_ns(block) for block in state.blocks) / max(1, sum(block.wall_ns for block in state.blocks))


def _throttled(state: TableState) -> Iterator[Warn]:
    held = [block.throttled_ns for block in state.blocks if block.throttled_ns > 0]
    if held:
        yield CpuQuota(seconds=sum(held) / 1e9, blocks=len(held))


def _not_frozen(state: TableState) -> Iterator[Warn]:
    if not all(record.frozen for record in state.records):
        yield NotFrozen()


def _waits_on_itself(state: TableState) -> Iterator[Warn]:
    if state.timing.busy_processors:
        return  # its threads wait for the neighbour
    rows = tuple(row for row in (_waiting(state, cell) for cell in state.eligibility.healthy) if row is not None)
    if rows:
        yield WaitsOnItself(rows=rows)


def _waiting(state: TableState, cell: str) -> WaitingRow | None:
    """Return how long a cell's threads wait for each other; ``None`` where that is little or unknown."""
    rounds = _quiet_rounds(state, cell)
    if len(rounds) < state.timing.min_blocks:
        return None  # among so few the machine's part and the cell's cannot be told apart
    share = _median(run_queue_share(round_) for round_ in rounds)
    if share is None or share <= _SELF_WAIT:
        return None
    running = _median(round_.evidence.cpu_ns / max(1, round_.evidence.wall_ns) for round_ in rounds)
    return WaitingRow(cell, share=share, running=running or 0.0, threads=state.rows[cell].all_threads)


def _quiet_rounds(state: TableState, cell: str) -> list[Round]:
    """Return a cell's rounds of undisturbed blocks."""
    return [
        round_
        for record, observed in zip(state.records, state.launches, strict=True)
        for cell_launch in record.cells
        if cell_launch.cell == cell
        for round_ in cell_launch.rounds
        if round_.block in observed.blocks - observed.dirty
    ]


def _median(values: Iterable[float | None]) -> float | None:
    """Return the median of what is known; ``None`` where nothing is."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _threads_differ(state: TableState) -> Iterator[Warn]:
    threads = {cell: state.rows[cell].all_threads for cell in state.eligibility.compared}
    known = {cell: count for cell, count in threads.items() if count is not None}
    asked = {state.rows[cell].requested.threads for cell in known}
    if len(set(known.values())) > 1 and len(asked) == 1:  # otherwise rows with other threads were asked for
        rows = tuple(ThreadsRow(cell, count) for cell, count in known.items())
        has_streams = any(cell.load.streams > 1 for cell in state.group.cells)
        yield ThreadsDiffer(rows=rows, has_streams=has_streams)
