"""The peaks of machines, kept until they are measured again: a file for each machine."""

from __future__ import annotations

from pathlib import Path

import msgspec

from irbench.errors import IrbenchError
from irbench.roofline import MachinePeaks
from irbench.system.file_access import read_regular, write_atomically
from irbench.system.prepared_types import prepared

_FOLDER, _MOST_BYTES = "peaks", 1 << 24


def keep_peaks(home: Path, peaks: MachinePeaks) -> Path:
    """Write the peaks of a machine in place of those that were kept, and return their file."""
    path = _place(home, peaks.machine)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, msgspec.json.encode(peaks))
    except OSError as error:
        raise IrbenchError(
            f"{path} cannot be written: {error.strerror or error}.",
            hint="Set IRBENCH_HOME to a folder that you can write.",
        ) from error
    return path


def kept_peaks(home: Path, machine: str) -> MachinePeaks | None:
    """Return the peaks of a machine; ``None`` where none were measured, or what was kept cannot be read."""
    try:
        peaks = msgspec.json.decode(read_regular(_place(home, machine), _MOST_BYTES), type=prepared(MachinePeaks))
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return peaks if peaks.machine == machine else None


def _place(home: Path, machine: str) -> Path:
    return home / _FOLDER / f"{machine}.json"
