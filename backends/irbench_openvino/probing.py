"""Devices and precisions of this machine, found by compiling a tiny graph for each."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from irbench.onnx.probe_graph import computed_precision, matmul
from irbench.spec import Precision
from irbench.spi import Availability, Backend
from irbench_openvino import runtime

_PINNED: tuple[Precision, ...] = ("fp32", "bf16", "fp16")


def probe(backend: Backend, devices: Mapping[str, str]) -> Availability:
    """Return the devices that are here, with the precisions in which a tiny graph really computes."""
    core = runtime.core()
    here = {available_device.split(".")[0] for available_device in core.available_devices}
    found = tuple(device for device, target in devices.items() if target in here)
    precisions: dict[str, tuple[str, ...]] = {}
    native: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="irbench-openvino-") as folder:
        artifact = matmul(Path(folder), "fp32")
        for device in found:
            precisions[device] = tuple(item for item in _PINNED if computed_precision(backend, artifact, device, item))
            native[device] = computed_precision(backend, artifact, device, "native") or "unknown"
    return Availability(
        found,
        precisions,
        native,
        {device: str(core.get_property(devices[device], "FULL_DEVICE_NAME")) for device in found},
    )
