"""On which devices OpenVINO runs a compiled model.

A device takes a model whole or refuses it, unless devices are combined (HETERO, AUTO), which irbench never asks for.
"""

from __future__ import annotations

from typing import Any

from irbench.spec import Scalar
from irbench.spi import Refusal


def placement_facts(compiled: Any, target: str) -> dict[str, Scalar]:
    """Return how many operations run, and that none of them runs on another device than was asked for.

    Args:
        compiled: The model.
        target: OpenVINO's name of the device, ``GPU`` for example.
    """
    devices = [str(device) for device in compiled.get_property("EXECUTION_DEVICES")]
    others = [device for device in devices if device.split(".")[0] != target]
    if others:
        raise Refusal(
            f"OpenVINO runs this model on {', '.join(devices)}, not on {target} alone.",
            hint="Measure it on the CPU: --backends openvino",
        )
    return {"nodes": len(compiled.get_runtime_model().get_ops()), "nodes_elsewhere": 0}
