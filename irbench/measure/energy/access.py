"""Which counters of energy this machine has, and why others are missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from irbench.measure.clock import sleep
from irbench.measure.energy.meter import EnergyCounter
from irbench.measure.energy.nvml import counter_of
from irbench.measure.nvml import gpus_of_rows
from irbench.notices.absent_readings import AbsenceReason
from irbench.notices.notes import EnergySource

POWERCAP = Path("/sys/class/powercap")
_PACKAGE, _DRAM = "package", "dram"


@dataclass
class PowercapCounter:
    """One zone.

    Attributes:
        domain: ``package-0``, or ``dram-0`` for the memory of the package with that number.
        range_uj: What it counts to before it begins again at 0, in microjoules.
    """

    domain: str
    folder: Path
    range_uj: int
    is_sampled: bool = field(default=False, init=False)
    _last_uj: int | None = field(default=None, init=False)

    def advance(self) -> int:
        """Return the microjoules since this was last called; see :class:`irbench.measure.energy.EnergyCounter`."""
        present_uj = read_number(self.folder / "energy_uj")
        last_uj, self._last_uj = self._last_uj, present_uj
        if last_uj is None:
            return 0
        return present_uj - last_uj + (self.range_uj if present_uj < last_uj else 0)


def powercap_counters(root: Path | None = None) -> tuple[PowercapCounter, ...]:
    """Return a counter for each package and for the memory of each; none where the kernel has no such zone."""
    zones = sorted((root or POWERCAP).glob("intel-rapl:*"))
    return tuple(counter for zone in zones for counter in _counters_of(zone))


def _counters_of(zone: Path) -> Iterator[PowercapCounter]:
    """Yield the counter of a zone that counts what no other does."""
    package = zone.name.split(":")[1]
    try:
        name = (zone / "name").read_text().strip()
        range_uj = read_number(zone / "max_energy_range_uj")
    except OSError:
        return
    if name.startswith(_PACKAGE):
        yield PowercapCounter(name, zone, range_uj)
    elif name == _DRAM:
        yield PowercapCounter(f"{_DRAM}-{package}", zone, range_uj)


def read_number(path: Path) -> int:
    """Return the number that a file holds."""
    try:
        return int(path.read_text())
    except ValueError as error:
        raise OSError(f"{path} holds no number") from error


_LONG_ENOUGH_S = 0.05
"""Counters of processors are brought up to date about every millisecond."""


@dataclass(frozen=True)
class EnergyAccess:
    """What can be read.

    Attributes:
        counters: Each of another part of the machine; none where nothing can be read.
        absent: Why a source has no counters, or why some of its counters are missing.
    """

    counters: tuple[EnergyCounter, ...]
    absent: Mapping[EnergySource, AbsenceReason]


def find_energy_counters() -> EnergyAccess:
    """Return what this machine counts, of that which the calling user may read. It takes about 50 ms."""
    absent: dict[EnergySource, AbsenceReason] = {}
    processors = _of_processors()
    gpus, missing = _of_gpus()
    if isinstance(processors, str):
        absent["processors"] = processors
        processors = ()
    if missing is not None:
        absent["gpus"] = missing
    return EnergyAccess((*processors, *gpus), absent)


def _of_processors() -> tuple[EnergyCounter, ...] | AbsenceReason:
    counters = powercap_counters()
    if not counters:
        return "no-counters"
    try:
        for counter in counters:
            counter.advance()
        sleep(_LONG_ENOUGH_S)
        counting = tuple(counter for counter in counters if counter.advance() > 0)
    except PermissionError:
        return "not-permitted"
    except OSError:
        return "no-counters"
    return counting or "not-counting"


def _of_gpus() -> tuple[tuple[EnergyCounter, ...], AbsenceReason | None]:
    gpus, absence = gpus_of_rows()
    counters = tuple(counter for gpu in gpus if (counter := counter_of(gpu)) is not None)
    return counters, absence or ("no-counters" if len(counters) < len(gpus) else None)
