"""What happened on the machine during one block."""

from __future__ import annotations

from irbench.measure.core_to_core import CoreLink
from irbench.measure.machine import MachineSnapshot, foreign_cpu_ns
from irbench.record import BlockEvidence

__all__ = ["block_evidence"]


def block_evidence(
    number: int, order: tuple[str, ...], between: tuple[MachineSnapshot, MachineSnapshot], link: CoreLink
) -> BlockEvidence:
    """Return the evidence of a block.

    Args:
        number: The block, counted from 0.
        order: Cell ids in the order in which they were run.
        between: What was seen before and after it.
        link: The core-to-core probe, which is asked now.
    """
    before, after = between
    return BlockEvidence(
        block=number,
        order=order,
        wall_ns=after.at_ns - before.at_ns,
        foreign_cpu_ns=foreign_cpu_ns(before, after),
        throttled_ns=after.throttled_ns - before.throttled_ns,
        steal_ns=after.steal_ns - before.steal_ns,
        core_to_core_ns=link.core_to_core_ns(),
    )
