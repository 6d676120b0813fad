"""What a run is going to do, in words, before it does it."""

from __future__ import annotations

from collections.abc import Sequence

from irbench.runner.plan import PlannedGroup
from irbench.spec import Timing

__all__ = ["outline"]


def outline(groups: Sequence[PlannedGroup], timing: Timing) -> str:
    """Return a line for each table: the model, its sizes, its rows, and how long it may take.

    Args:
        groups: What will be measured.
        timing: The protocol's numbers; its budget is that of one group.
    """
    lines = [_line(one) for one in groups]
    launches = f"{timing.min_launches} to {timing.max_launches}"
    if timing.min_launches == timing.max_launches:
        launches = str(timing.min_launches)
    lines.append(
        f"{launches} launches x {timing.blocks} blocks each, at most {timing.budget * len(groups):.0f} s in all"
    )
    return "\n".join(lines)


def _line(planned: PlannedGroup) -> str:
    group = planned.group
    sizes = ", ".join(f"{name} {size}" for name, size in group.sizes.items())
    cells = [cell for cell in group.cells if cell.id not in planned.absent]
    several = len({cell.load.precision for cell in cells}) > 1
    rows = ", ".join(f"{cell.label} {cell.load.precision}" if several else cell.label for cell in cells)
    return f"{group.bundle.name} ({sizes}): {rows}"
