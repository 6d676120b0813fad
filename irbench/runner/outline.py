"""What a run is going to do, in words, before it does it."""

from __future__ import annotations

from collections.abc import Sequence

from irbench.runner.plan import PlannedGroup
from irbench.spec import Timing
from irbench.stats import expected_seconds

__all__ = ["outline"]


_GUESSED_START_S = 1.5
"""What importing, compiling and starting one cell costs before anything is known of it."""


def outline(groups: Sequence[PlannedGroup], timing: Timing) -> str:
    """Return a line for each table: the model, its sizes and its rows; then how long all takes at least.

    Args:
        groups: What will be measured.
        timing: The protocol's numbers; its budget is that of one group.
    """
    lines = [_line(group) for group in groups]
    launches = f"{timing.min_launches} to {timing.max_launches}"
    if timing.min_launches == timing.max_launches:
        launches = str(timing.min_launches)
    least_s = sum(expected_seconds(len(group.measured), timing, _GUESSED_START_S)[0] for group in groups)
    budget = f"no launch begins that would end after {timing.budget * len(groups):.0f} s"
    lines.append(
        f"{launches} launches x {timing.blocks} blocks each, at least about {least_s:.0f} s;"
        f" slow models use the whole budget: {budget}"
    )
    return "\n".join(lines)


def _line(planned: PlannedGroup) -> str:
    group = planned.group
    sizes = ", ".join(f"{name} {size}" for name, size in group.sizes.items())
    cells = planned.measured
    several = len({cell.load.precision for cell in cells}) > 1
    rows = ", ".join(f"{cell.label} {cell.load.precision}" if several else cell.label for cell in cells)
    return f"{group.bundle.name} ({sizes}): {rows or 'no row that can run'}"
