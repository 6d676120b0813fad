"""What is kept of a machine between runs: its peaks, and after how many calls rows are warm.

Both may be lost: what cannot be read counts as never measured.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from irbench.core.record import WarmUp
from irbench.errors import IrbenchError
from irbench.roofline import MachinePeaks
from irbench.system.file_access import read_regular, write_atomically
from irbench.system.prepared_types import prepared

_PEAKS, _WARM_UPS = "peaks", "warm-ups"
_MOST_BYTES = 1 << 24
_MOST_WARM_UPS = 10_000
_Kept = TypeVar("_Kept")


def keep_peaks(home: Path, peaks: MachinePeaks) -> Path:
    """Write the peaks of a machine in place of those that were kept, and return their file.

    Raises:
        IrbenchError: The file cannot be written.
    """
    path = _place(home, _PEAKS, peaks.machine)
    try:
        _write(path, peaks)
    except OSError as error:
        raise IrbenchError(
            f"{path} cannot be written: {error.strerror or error}.",
            hint="Set IRBENCH_HOME to a folder that you can write.",
        ) from error
    return path


def kept_peaks(home: Path, machine: str) -> MachinePeaks | None:
    """Return the peaks of a machine; ``None`` where none were measured, or what was kept cannot be read."""
    peaks = _read(_place(home, _PEAKS, machine), MachinePeaks)
    return peaks if peaks is not None and peaks.machine == machine else None


def keep_warm_ups(home: Path, setup: str, warm_ups: Mapping[str, WarmUp]) -> None:
    """Keep how rows were warmed up, besides those that are kept already; where that cannot be written, nothing is kept.

    Args:
        home: The folder that holds what irbench keeps.
        setup: Names the machine with its software.
        warm_ups: By what identifies a row of any run, the newest last.
    """
    kept = {key: each for key, each in kept_warm_ups(home, setup).items() if key not in warm_ups}
    newest = list({**kept, **warm_ups}.items())[-_MOST_WARM_UPS:]
    with contextlib.suppress(OSError):
        _write(_place(home, _WARM_UPS, setup), dict(newest))


def kept_warm_ups(home: Path, setup: str) -> dict[str, WarmUp]:
    """Return how rows were warmed up on a machine with this software, by what identifies a row of any run."""
    return _read(_place(home, _WARM_UPS, setup), dict[str, WarmUp]) or {}


def _place(home: Path, folder: str, name: str) -> Path:
    return home / folder / f"{name}.json"


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, msgspec.json.encode(value))


def _read(path: Path, kind: type[_Kept]) -> _Kept | None:
    try:
        return msgspec.json.decode(read_regular(path, _MOST_BYTES), type=prepared(kind))
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return None
