"""Energy counters of processors and their memory: RAPL, through Linux's ``powercap``.

``intel-rapl:N`` are packages, also of AMD's processors, and ``intel-rapl:N:M`` parts of them. Memory (``dram``) is no
part of its package's count; cores and graphics are, so they are left out. ``psys``, the whole board, contains all of
it, and ``intel-rapl-mmio`` is another way to the same counters. Source: the kernel's documentation of powercap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

POWERCAP = Path("/sys/class/powercap")
_PACKAGE, _DRAM = "package", "dram"


@dataclass
class PowercapCounter:
    """One zone.

    Attributes:
        domain: ``package-0``, or ``dram-0`` for the memory of the package with that number.
        folder: Its folder.
        range_uj: What it counts to before it begins again at 0, in microjoules.
    """

    domain: str
    folder: Path
    range_uj: int
    is_sampled: bool = field(default=False, init=False)
    _last_uj: int | None = field(default=None, init=False)

    def advance(self) -> int:
        """Return the microjoules since this was last called; see :class:`irbench.measure.energy.EnergyCounter`."""
        present_uj = _number(self.folder / "energy_uj")
        last_uj, self._last_uj = self._last_uj, present_uj
        if last_uj is None:
            return 0
        return present_uj - last_uj + (self.range_uj if present_uj < last_uj else 0)


def powercap_counters(root: Path | None = None) -> tuple[PowercapCounter, ...]:
    """Return a counter for each package and for the memory of each; none where the kernel has no such zone.

    Args:
        root: The folder of all zones; :data:`POWERCAP` unless given.
    """
    zones = sorted((root or POWERCAP).glob("intel-rapl:*"))
    return tuple(counter for zone in zones for counter in _counters_of(zone))


def _counters_of(zone: Path) -> Iterator[PowercapCounter]:
    """Yield the counter of a zone that counts what no other does."""
    package = zone.name.split(":")[1]
    try:
        name = (zone / "name").read_text().strip()
        range_uj = _number(zone / "max_energy_range_uj")
    except OSError:
        return
    if name.startswith(_PACKAGE):
        yield PowercapCounter(name, zone, range_uj)
    elif name == _DRAM:
        yield PowercapCounter(f"{_DRAM}-{package}", zone, range_uj)


def _number(path: Path) -> int:
    """Return the number that a file holds.

    Raises:
        OSError: It cannot be read, or holds none.
    """
    try:
        return int(path.read_text())
    except ValueError as error:
        raise OSError(f"{path} holds no number") from error
