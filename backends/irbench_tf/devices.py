"""GPU devices of TensorFlow, and the meaning of fp32 on them."""

from __future__ import annotations

import re
from typing import Any

from irbench.spi import Refusal

_FIRST_WITH_TENSOR_FLOAT_32 = 8


def has_gpu(session: Any) -> bool:
    """Whether the session found a GPU."""
    return any(device.device_type == "GPU" for device in session.list_devices())


def require_gpu(session: Any) -> None:
    """Make sure that a GPU runs the graph; without one TensorFlow silently takes the CPU."""
    if not has_gpu(session):
        raise Refusal(
            "TensorFlow finds no GPU on this machine.",
            hint="Use the CPU, or on a machine with a GPU: pip install 'tensorflow[and-cuda]'.",
        )


def pin_tensor_float_32() -> None:
    """Turn TF32 off, which GPUs otherwise use for fp32 products."""
    from tensorflow.python.framework import config

    config.enable_tensor_float_32_execution(False)


def native_gpu_precision() -> str:
    """Return what fp32 operations really compute in: ``tf32`` where it is allowed and the GPU has it."""
    from tensorflow.python.framework import config

    capability = compute_capability()
    allowed = config.tensor_float_32_execution_enabled()
    return "tf32" if allowed and capability is not None and capability >= _FIRST_WITH_TENSOR_FLOAT_32 else "fp32"


def compute_capability() -> float | None:
    """Return the CUDA compute capability of the first GPU, such as 9.0; ``None`` where it is unknown."""
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.client import device_lib

    settings = config_pb2.ConfigProto()
    settings.gpu_options.allow_growth = True
    for device in device_lib.list_local_devices(settings):
        found = re.search(r"compute capability: ([\d.]+)", device.physical_device_desc)
        if device.device_type == "GPU" and found:
            return float(found[1])
    return None
