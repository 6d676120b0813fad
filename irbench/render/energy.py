"""The columns of energy, and what they are about, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irbench.quantities import NOT_MEASURED, listing, significant
from irbench.result import GroupResult
from irbench.row import CellResult
from irbench.row_figures import EnergyUse
from irbench.stats.estimators import median


def energy_text(cell: CellResult) -> str:
    """Return the energy of an inference, in joules."""
    return significant(cell.energy.joules if cell.energy is not None else None)


def above_idle_text(cell: CellResult) -> str:
    """Return the same above that of the idle machine, with as many decimals: it is a difference of two such figures."""
    if cell.energy is None or cell.energy.joules_above_idle is None:
        return NOT_MEASURED
    decimals = len(energy_text(cell).partition(".")[2])
    return f"{cell.energy.joules_above_idle:.{decimals}f}"


def power_text(cell: CellResult) -> str:
    """Return the power while the row ran, in watts."""
    return significant(cell.energy.watts if cell.energy is not None else None)


def energy_legend(result: GroupResult) -> Iterator[str]:
    """Yield which parts of the machine the energy of a table is of, and the power of the idle machine."""
    uses = [cell.energy for cell in result.cells if cell.energy is not None]
    if not uses:
        return
    yield f"J/inference: of {listing(_domains(uses))}, each row alone"
    idle = [use.idle_watts for use in uses if use.idle_watts is not None]
    if idle:
        yield f"above idle: without the {significant(median(idle))} W of the idle machine"


def _domains(uses: Sequence[EnergyUse]) -> list[str]:
    """Return the parts of the machine, those that count for rows on an NVIDIA GPU marked as such."""
    domains = dict.fromkeys(domain for use in uses for domain in use.watts_by_domain)
    return [
        domain if all(domain in use.watts_by_domain for use in uses) else f"{domain} (rows on an NVIDIA GPU)"
        for domain in domains
    ]
