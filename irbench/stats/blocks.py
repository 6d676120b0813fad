"""Which blocks the machine disturbed, told by what the kernel saw and never by the times themselves."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from irbench.record import BlockEvidence, Round
from irbench.spec import Timing

__all__ = ["dirty_blocks", "run_queue_share"]


def dirty_blocks(
    blocks: Sequence[BlockEvidence], rounds: Mapping[str, Sequence[Round]], timing: Timing
) -> frozenset[int]:
    """Return the numbers of the blocks of one launch that something outside disturbed.

    A block is dirty when processes outside irbench's tree used more than ``timing.dirty_foreign_cpu`` of a
    processor during it, when the cgroup's quota held us back, or when a cell waited in the run queue for
    ``timing.dirty_run_queue`` of its round's time more than in its own median round of this launch: a cell
    with more threads than processors always waits, and that is its own doing.

    Args:
        blocks: The launch's blocks so far.
        rounds: Each cell's rounds, by cell id.
        timing: The protocol's numbers.
    """
    dirty = {
        one.block
        for one in blocks
        if one.throttled_ns > 0 or one.foreign_cpu_ns > timing.dirty_foreign_cpu * one.wall_ns
    }
    for own in rounds.values():
        shares = {one.block: run_queue_share(one) for one in own}
        usual = statistics.median(shares.values()) if shares else 0.0
        dirty |= {block for block, share in shares.items() if share > usual + timing.dirty_run_queue}
    return frozenset(dirty)


def run_queue_share(one: Round) -> float:
    """Return how long the cell's threads were ready but did not run, as a fraction of the round's wall time."""
    return one.evidence.run_queue_wait_ns / max(1, one.evidence.wall_ns)
