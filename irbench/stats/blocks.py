"""Find disturbed blocks from what the kernel reports, never from their times."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from irbench.core.record import BlockEvidence, GpuLimit, GpuReading, Round
from irbench.spec import Cell, Timing

BRAKES: frozenset[GpuLimit] = frozenset({"hardware-slowdown", "software-thermal", "hardware-thermal", "power-brake"})
"""Why a GPU slows down that is too hot or has too little power; at its power cap each GPU runs that has much to do."""
_FAR_OUT = 4.0
"""How many median absolute deviations above its median a wait share must be to be unusual."""


def dirty_blocks(
    blocks: Sequence[BlockEvidence], rounds: Mapping[str, Sequence[Round]], timing: Timing, processors: int
) -> frozenset[int]:
    """Return the numbers of the blocks of one launch that something outside disturbed.

    A block is dirty when processes outside irbench's tree used more than ``timing.dirty_foreign_share`` of the
    processors in use during it, when the cgroup's quota held us back, or when a cell waited in the run queue for
    more than is usual for it in this launch. A cell whose own threads contend for the processors always waits, and
    how long scatters from round to round; neither comes from outside. So the limit is its median share of this launch
    plus ``timing.dirty_run_queue``, or plus four times the median absolute deviation of its shares where that is more
    (2.7 standard deviations of shares that scatter normally). Beside a busy neighbour of irbench's own waiting is what
    is to be measured, and makes no block dirty.

    On a GPU a block is also dirty when heat or a lack of power slowed the GPU down, unless that is usual for the cell:
    in more than half of its blocks of this launch. So it is when the clock was lower by ``timing.dirty_gpu_clock`` than
    it usually is for the cell in this launch.
    """
    most = timing.dirty_foreign_share * processors
    dirty = {block.block for block in blocks if block.throttled_ns > 0 or block.foreign_cpu_ns > most * block.wall_ns}
    for own in rounds.values() if not timing.busy_processors else ():
        if any(round_.neighbour is not None for round_ in own):
            continue
        dirty |= _waited_unusually(own, timing.dirty_run_queue)
    for own in rounds.values():
        dirty |= _slowed_down(own, timing.dirty_gpu_clock)
    return frozenset(dirty)


def _slowed_down(rounds: Sequence[Round], most_below: float) -> set[int]:
    read = {round_.block: round_.gpu for round_ in rounds if round_.gpu is not None}
    braked = {block for block, readings in read.items() if brakes_of(readings)}
    if len(braked) > len(read) / 2:
        braked = set()
    clocks = {block: after.sm_mhz for block, (_, after) in read.items() if after.sm_mhz is not None}
    least = (1 - most_below) * statistics.median(clocks.values()) if clocks else 0.0
    return braked | {block for block, clock in clocks.items() if clock < least}


def brakes_of(readings: Iterable[GpuReading]) -> frozenset[GpuLimit]:
    """Return how heat or a lack of power slowed a GPU down, before a round or after it."""
    return BRAKES.intersection(limit for reading in readings for limit in reading.limits)


def processors_in_use(cells: Iterable[Cell], measured: int) -> int:
    """Return how many processors cells use at most: one for each thread, all where the runtime chooses how many."""
    return min(
        measured, max((measured if (used := cell.load.all_threads) is None else used for cell in cells), default=1)
    )


def run_queue_share(round_: Round) -> float | None:
    """Return how long the cell's threads were ready but did not run, as a fraction of the round's wall time.

    ``None`` where the kernel does not report it.
    """
    waited_ns = round_.evidence.run_queue_wait_ns
    return None if waited_ns is None else waited_ns / max(1, round_.evidence.wall_ns)


def _waited_unusually(rounds: Sequence[Round], least_excess: float) -> set[int]:
    waits = {round_.block: run_queue_share(round_) for round_ in rounds}
    shares = {block: share for block, share in waits.items() if share is not None}
    if not shares:
        return set()
    usual = statistics.median(shares.values())
    scatter = statistics.median(abs(share - usual) for share in shares.values())
    limit = usual + max(least_excess, _FAR_OUT * scatter)
    return {block for block, share in shares.items() if share > limit}
