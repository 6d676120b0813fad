"""Import OpenVINO without its telemetry, explain its errors, and find its devices and precisions."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from irbench.onnx.probe_graph import computed_precision, matmul
from irbench.spec import Precision
from irbench.spi import Availability, Backend, Refusal

_WHERE = re.compile(r"Exception from |Check '.*' failed at |FrontEnd API failed|Model wasn't fully converted|Summary:")
_MOST_REASONS = 3


def load() -> Any:
    """Import openvino and return the module.

    Importing it starts a child process that tries to reach the network. Without the module
    ``openvino_telemetry`` it uses a stub of its own instead, so that module is declared absent first.
    """
    if "openvino" not in sys.modules:
        sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # how Python marks a module as absent
    import openvino

    return openvino


@cache
def core() -> Any:
    """Return the one ``openvino.Core`` of this process.

    The CPU plugin of each Core gives the thread a signal stack and puts back the one before when it is destroyed. Where
    two are not destroyed in the reverse order, freed memory becomes the signal stack, and the next signal ends the
    process.
    """
    return load().Core()


@contextmanager
def plain_reasons() -> Iterator[None]:
    """Refuse with OpenVINO's reasons what it fails at."""
    try:
        yield
    except RuntimeError as error:
        raise refusal(error) from error


def refusal(error: RuntimeError) -> Refusal:
    """Return what OpenVINO says, without the lines on where in its source it arose."""
    lines = [line.strip(" -") for line in str(error).splitlines() if line.strip()]
    reasons = [line for line in lines if not _WHERE.match(line)] or lines[-1:]
    return Refusal(
        f"OpenVINO cannot run this model: {'; '.join(reasons[:_MOST_REASONS])}",
        hint="Another backend may: irbench backends lists them.",
    )


_PINNED: tuple[Precision, ...] = ("fp32", "bf16", "fp16")


def probe(backend: Backend, devices: Mapping[str, str]) -> Availability:
    """Return the devices that are here, with the precisions in which a tiny graph really computes."""
    runtime = core()
    here = {available_device.split(".")[0] for available_device in runtime.available_devices}
    available = tuple(device for device, target in devices.items() if target in here)
    precisions: dict[str, tuple[str, ...]] = {}
    native: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="irbench-openvino-") as folder:
        artifact = matmul(Path(folder), "fp32")
        for device in available:
            precisions[device] = tuple(item for item in _PINNED if computed_precision(backend, artifact, device, item))
            native[device] = computed_precision(backend, artifact, device, "native") or "unknown"
    return Availability(
        available,
        precisions,
        native,
        {device: str(runtime.get_property(devices[device], "FULL_DEVICE_NAME")) for device in available},
    )
