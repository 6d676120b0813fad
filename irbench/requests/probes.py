"""Devices and precisions of each backend, cached until a version changes."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from irbench import __version__
from irbench.measure.nvml import NVIDIA_DRIVER, VISIBLE
from irbench.spi import Availability, Description
from irbench.system.file_access import read_regular, write_atomically
from irbench.system.home import home, homes
from irbench.system.host import read_text

_DEADLINE_S = 180.0
_MOST_BYTES = 1 << 20


def probe(description: Description) -> Availability:
    """Let the backend look at this machine in a worker, and remember what it found."""
    from irbench.worker import call_in_worker

    availability: Availability = call_in_worker(
        "irbench.worker.probing:probe", description.name, deadline_s=_DEADLINE_S
    )
    path = home() / _place(description.name)
    with contextlib.suppress(OSError):  # without a memory the next call looks again
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(
            path, json.dumps({"made_with": _made_with(description), "found": asdict(availability)}).encode()
        )
    return availability


def remembered(description: Description) -> Availability | None:
    """Return what the last probe found; ``None`` where there was none with these versions on this machine."""
    availabilities = (_remembered_in(folder / _place(description.name), description) for folder in homes())
    return next(filter(None, availabilities), None)


def _remembered_in(path: Path, description: Description) -> Availability | None:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        stored: dict[str, Any] = json.loads(read_regular(path, _MOST_BYTES))
        if stored["made_with"] == _made_with(description):
            availability = stored["found"]
            precisions = {device: tuple(names) for device, names in availability["precisions"].items()}
            return Availability(
                tuple(availability["devices"]), precisions, availability["native"], availability["details"]
            )
    return None


def _place(name: str) -> Path:
    return Path("probes", f"{name}.json")


def _made_with(description: Description) -> dict[str, str | None]:
    made_with = {
        "irbench": __version__,
        description.distribution: description.version,
        "host": platform.node(),
        "system": platform.release(),
    }
    return {**made_with, **_gpus()} if description.nvidia_devices else made_with


def _gpus() -> dict[str, str | None]:
    """Return what else decides whether a runtime finds a GPU: the driver, NVIDIA's wheels, and who may be seen."""
    folders = (Path(folder) for folder in sys.path)
    wheels = {
        wheel.name.removesuffix(".dist-info") for folder in folders for wheel in folder.glob("nvidia_*.dist-info")
    }
    return {
        "driver": read_text(NVIDIA_DRIVER) or None,
        "wheels": " ".join(sorted(wheels)) or None,
        VISIBLE: os.environ.get(VISIBLE),
    }
