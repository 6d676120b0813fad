"""Trees of sysfs as Linux shows them for counters of energy, for tests of machines that are not this one."""

from __future__ import annotations

from pathlib import Path

RANGE_UJ = 262_143_328_850


def add_zone(root: Path, zone: str, name: str, energy_uj: int = 0, range_uj: int = RANGE_UJ) -> Path:
    """Make the folder of a zone, ``intel-rapl:0`` for example."""
    folder = root / zone
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "max_energy_range_uj").write_text(f"{range_uj}\n")
    set_energy(folder, energy_uj)
    return folder


def set_energy(zone: Path, energy_uj: int) -> None:
    """Set what a zone has counted, at once: a reader sees the old value or the new one."""
    written = zone / "energy_uj.new"
    written.write_text(f"{energy_uj}\n")
    written.replace(zone / "energy_uj")
