"""What the columns of energy are about, in words."""

from __future__ import annotations

from collections.abc import Iterator

from irbench.render.figures import significant
from irbench.render.quantities import listing
from irbench.result import GroupResult
from irbench.stats.estimators import median

__all__ = ["energy_legend"]


def energy_legend(result: GroupResult) -> Iterator[str]:
    """Yield which parts of the machine the energy of a table is of, and the power of the idle machine."""
    uses = [cell.energy for cell in result.cells if cell.energy is not None]
    if not uses:
        return
    domains = dict.fromkeys(domain for use in uses for domain in use.watts_by_domain)
    yield f"J/inference: of {listing(list(domains))}, each row alone"
    idle = [use.idle_watts for use in uses if use.idle_watts is not None]
    if idle:
        yield f"above idle: without the {significant(median(idle))} W of the idle machine"
