"""Devices and precisions of this machine, found by running TensorFlow on each, and the meaning of fp32 on them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from irbench.spec import Artifact, Load, Scalar, TensorSpec
from irbench.spi import Availability, Refusal, install_command
from irbench_tf import precision
from irbench_tf.options import apply_environment
from irbench_tf.session import import_lean

_FIRST_WITH_TENSOR_FLOAT_32 = 8
_TF32_OVERRIDE = "NVIDIA_TF32_OVERRIDE"


def _has_gpu(devices: Iterable[Any]) -> bool:
    return any(device.device_type == "GPU" for device in devices)


def require_gpu(devices: Iterable[Any]) -> None:
    """Make sure that there is a GPU among what TensorFlow uses; without one it silently takes the CPU."""
    if not _has_gpu(devices):
        raise Refusal(
            "TensorFlow finds no GPU on this machine.",
            hint=f"Use the CPU, or on a machine with a GPU: {install_command('tensorflow[and-cuda]')}",
        )


def pin_tensor_float_32() -> None:
    """Turn TF32 off, which GPUs otherwise use for fp32 products."""
    from tensorflow.python.framework import config

    config.enable_tensor_float_32_execution(False)


def native_gpu_precision() -> str:
    """Return what fp32 operations really compute in: ``tf32`` where it is allowed and the GPU has it.

    ``NVIDIA_TF32_OVERRIDE=0`` forbids it in NVIDIA's libraries, whatever TensorFlow asks of them.
    """
    from tensorflow.python.framework import config

    capability = compute_capability()
    allowed = config.tensor_float_32_execution_enabled() and os.environ.get(_TF32_OVERRIDE) != "0"
    return "tf32" if allowed and capability is not None and capability >= _FIRST_WITH_TENSOR_FLOAT_32 else "fp32"


def gpu_settings() -> dict[str, Scalar]:
    """Return what decides about TF32 on the GPU: its compute capability, and the override of NVIDIA's libraries."""
    return {"compute_capability": compute_capability(), "tf32_override": os.environ.get(_TF32_OVERRIDE)}


def compute_capability() -> float | None:
    """Return the CUDA compute capability of the first GPU, such as 9.0; ``None`` where it is unknown."""
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.client import device_lib

    settings = config_pb2.ConfigProto()
    settings.gpu_options.allow_growth = True
    for device in device_lib.list_local_devices(settings):
        match = re.search(r"compute capability: ([\d.]+)", device.physical_device_desc)
        if device.device_type == "GPU" and match:
            return float(match[1])
    return None


_SIZE = 64


def probe(*, jit: bool) -> Availability:
    """Return devices and precisions. Call it in a process of its own, whose environment it changes."""
    apply_environment(precision.NARROW_ENVIRONMENT)
    import_lean()
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.client import session as tf_session
    from tensorflow.python.util import _pywrap_util_port

    settings = config_pb2.ConfigProto()
    settings.gpu_options.allow_growth = True
    with tf_session.Session(config=settings) as session:
        gpu = _has_gpu(session.list_devices())
    narrow = () if jit or not _narrows_to_bf16() else ("bf16",)
    precisions: dict[str, tuple[str, ...]] = {"cpu": ("fp32", *narrow, "native")}
    native = {"cpu": "fp32"}
    if gpu:
        precisions["gpu"] = ("fp32", "native") if jit else ("fp32", "fp16", "native")
        native["gpu"] = native_gpu_precision()
    details = {
        "onednn": bool(_pywrap_util_port.IsMklEnabled()),
        "cpus": len(os.sched_getaffinity(0)),
        "compute_capability": compute_capability() if gpu else None,
    }
    return Availability(("cpu", "gpu") if gpu else ("cpu",), precisions, native, details)


def _narrows_to_bf16() -> bool:
    """Whether the rewriter makes a product of matrices a bf16 one, and the CPU runs it."""
    from irbench_tf.compiler import Job, LoadedGraph, compile_graph
    from irbench_tf.session import import_graph

    tensor = TensorSpec("product_input", "float32", (_SIZE, _SIZE))
    artifact = Artifact("tf-graph", Path(), (tensor,), (TensorSpec("product", "float32", (_SIZE, _SIZE)),))
    job = Job(artifact, Load(precision="bf16"), "cpu", jit=False)
    try:
        compile_graph(job, LoadedGraph(import_graph(_product_graph().SerializeToString()), "fp32")).close()
    except Refusal:
        return False
    return True


def _product_graph() -> Any:
    from tensorflow.core.framework import graph_pb2, types_pb2

    graph_def = graph_pb2.GraphDef()
    placeholder = graph_def.node.add(name="product_input", op="Placeholder")
    placeholder.attr["dtype"].type = types_pb2.DT_FLOAT
    for _ in range(2):
        placeholder.attr["shape"].shape.dim.add(size=_SIZE)
    product = graph_def.node.add(name="matrix_product", op="MatMul", input=["product_input", "product_input"])
    product.attr["T"].type = types_pb2.DT_FLOAT
    result = graph_def.node.add(name="product", op="Identity", input=["matrix_product"])
    result.attr["T"].type = types_pb2.DT_FLOAT
    for node in graph_def.node:
        node.device = "/device:CPU:0"
    return graph_def
