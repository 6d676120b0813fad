"""OpenVINO as an execution provider of ONNX Runtime: ``ort:openvino``.

The provider takes properties of OpenVINO as JSON, by device (``load_config``), and what it does not support of a graph
stays with ONNX Runtime's own kernels on the CPU.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from irbench.onnx.probe_graph import matmul
from irbench.onnx.reading.graph_precision import GraphPrecision
from irbench.spec import Load, Precision
from irbench.spi import Array, Refusal
from irbench_ort.placement import AssignedNode

PROVIDER = "OpenVINOExecutionProvider"

OPTIONS = ("device_type", "EXECUTION_MODE_HINT", "PERFORMANCE_HINT")
"""Keys that may be set, behind ``openvino.``: the provider's device, and properties of OpenVINO."""

_IN_OPENVINO = "[OpenVINO-EP]"
"""How an error of the provider begins."""
_DEVICE, _PROPERTIES = "device_type", "load_config"
_PRECISION = "INFERENCE_PRECISION_HINT"
_HINTS: Mapping[Precision, str] = {"fp32": "f32", "bf16": "bf16", "fp16": "f16", "int8": "f32"}
"""The hint is about floats: a quantised graph computes in integers under any."""
_ROUNDED = {"bf16": 1.0, "fp16": 1 + 2.0**-10, "fp32": 1 + 2.0**-10 + 2.0**-20}
"""What the last of these numbers becomes in each precision."""
_WEIGHT_OF_ONE = 2
"""Column of the weights of a product whose first element is 1 or -1."""


def options_of(load: Load, options: Mapping[str, str]) -> dict[str, str]:
    """Return the provider's options: its device, and the properties that follow from a load."""
    device = options.get(_DEVICE, "CPU")
    properties = {"NUM_STREAMS": str(load.streams), **_pinned(load)}
    if load.threads is not None and device == "CPU":
        properties["INFERENCE_NUM_THREADS"] = str(load.threads)
    properties |= {key: text for key, text in options.items() if key != _DEVICE}
    return {_DEVICE: device, _PROPERTIES: json.dumps({device: properties})}


def computed_precision(graph: GraphPrecision, product: Callable[[Path, Array], Array]) -> str:
    """Return the precision that OpenVINO multiplies in under some options, of which the provider tells nothing.

    It is seen in a product of a number with which each precision does something else. A quantised graph is named by
    its integers.

    Args:
        graph: What it is asked about.
        product: Runs a graph of one product under the options: its file and ``x``, float32 of shape (1, 16).
    """
    import numpy as np  # listing backends imports none of it

    if graph.quantised:
        return "int8"
    x = np.zeros((1, 16), np.float32)
    x[0, 0] = max(_ROUNDED.values())
    with tempfile.TemporaryDirectory(prefix="irbench-ort-") as folder:
        artifact = matmul(Path(folder), "fp32", x.shape)
        weight = float(np.abs(product(artifact.path, x)[0, _WEIGHT_OF_ONE]))
    return min(_ROUNDED, key=lambda precision: abs(weight - _ROUNDED[precision]))


def refusal_of(error: Exception) -> Refusal | None:
    """Return why OpenVINO cannot compile its part of a graph; ``None`` where the error is not the provider's.

    Args:
        error: What ONNX Runtime raised. OpenVINO's reason is its last line; those before say where it arose.
    """
    _, marker, reasons = str(error).partition(_IN_OPENVINO)
    if not marker:
        return None
    reason = reasons.strip().splitlines()[-1].strip()
    return Refusal(
        f"The OpenVINO provider cannot compile its part of this graph: {reason}",
        hint="Measure it with `--backends ort`, or with `--backends openvino`, which reads the whole graph.",
    )


def refuse_fallback(active: Sequence[str], nodes: Sequence[AssignedNode] | None) -> None:
    """Refuse a session in which OpenVINO computes nothing."""
    if PROVIDER not in active:
        raise Refusal(
            "ONNX Runtime could not start its OpenVINO provider and fell back to the CPU.",
            hint="The row's log names the missing library or device. Measure without it: `--backends ort,openvino`",
        )
    if nodes and all(node.provider != PROVIDER for node in nodes):
        raise Refusal(
            f"The OpenVINO provider does not take the {len(nodes)} nodes, so that ONNX Runtime's own kernels would run"
            " all of them.",
            hint="Measure it with `--backends ort`, or with `--backends openvino`.",
        )


def _pinned(load: Load) -> dict[str, str]:
    """Return what keeps OpenVINO to the precision of a load, which dynamic quantisation and narrow caches would not."""
    if load.precision == "native" and load.precision_required:
        return {}
    hint = _HINTS.get(load.precision, "f32")
    return {_PRECISION: hint, "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0", "KV_CACHE_PRECISION": hint}
