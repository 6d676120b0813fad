"""The precision a compiled model computes in, and the devices it runs on, read from what it executes.

The hint can be read back, but it says what was granted, not what was done: quantised layers stay
integers under any hint, and a layer without a narrow kernel runs in fp32. So the executed graph is asked.

A device takes a model whole or refuses it, unless devices are combined (HETERO, AUTO), which irbench never asks for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

from irbench.spec import Precision, Scalar
from irbench.spi import Refusal

_NAMES = {"f64": "fp64", "f32": "fp32", "f16": "fp16", "bf16": "bf16", "i8": "int8", "u8": "int8", "i4": "int8"}
_NARROWEST_FIRST = ("int8", "bf16", "fp16", "fp32", "fp64")

_COMPUTING_LAYERS = frozenset(
    {
        "Convolution", "Deconvolution", "FullyConnected", "GatherMatmul", "Gemm", "MHA", "MatMul", "RNNCell", "RNNSeq",
        "ScaledDotProductAttention",
    }
)  # fmt: skip


def computed_precision(layers: Iterable[tuple[str, str]], hint: str) -> str:
    """Return the narrowest precision of the layers that do the arithmetic.

    Args:
        layers: Type and run-time element type of each executed layer, ``("Convolution", "bf16")`` for example.
        hint: The element type the compiled model was granted; what counts where no layer does such arithmetic.
    """
    precisions = {_NAMES.get(element, element) for layer, element in layers if layer in _COMPUTING_LAYERS}
    return next((item for item in _NARROWEST_FIRST if item in precisions), _NAMES.get(hint, hint))


def read_back(compiled: Any, hint: str) -> str:
    """Return the precision in which a compiled model computes."""
    nodes = [node.get_rt_info() for node in compiled.get_runtime_model().get_ordered_ops()]
    layers = [(_text(info["layerType"]), _text(info["runtimePrecision"])) for info in nodes]
    return computed_precision(layers, hint)


def refuse_integers(graph_precision: str, precision: Precision) -> None:
    """Refuse to compute a graph in integers that is not quantised."""
    if precision == "int8" and graph_precision != "int8":
        raise Refusal(
            f"OpenVINO computes in int8 only if the graph was quantised; this one is {graph_precision}.",
            hint="Measure a file that irbench optimize --precision int8 --quantize static wrote, or let irbench run"
            " quantise the graph: --optimize int8-static",
        )


def require(computed: str, granted: str, precision: Precision) -> None:
    """Refuse a precision other than the one asked for."""
    if precision == "native":
        return
    granted = _NAMES.get(granted, granted)
    between = "fp32" if precision == "int8" else precision
    actual = granted if granted != between else computed
    if actual == "fp32" and precision == "int8":
        raise Refusal(
            "OpenVINO computes in fp32 instead of int8: it does not support the way in which this graph is quantised.",
            hint="Use `--precision fp32`, or quantise the fp32 model statically: `--optimize int8-static`",
        )
    if actual != precision:
        raise Refusal(
            f"OpenVINO computes in {actual} instead of {precision}.",
            hint=f"Use `--precision {actual if actual in get_args(Precision) else 'native'}`, "
            "or another device; irbench backends --probe lists what each has.",
        )


def _text(value: Any) -> str:
    return str(value.astype(str)) if hasattr(value, "astype") else str(value)


def placement_facts(compiled: Any, target: str) -> dict[str, Scalar]:
    """Return how many operations run, and that none of them runs on another device than was asked for."""
    devices = [str(device) for device in compiled.get_property("EXECUTION_DEVICES")]
    others = [device for device in devices if device.split(".")[0] != target]
    if others:
        raise Refusal(
            f"OpenVINO runs this model on {', '.join(devices)}, not on {target} alone.",
            hint="Measure it on the CPU: `--backends openvino`",
        )
    return {"nodes": len(compiled.get_runtime_model().get_ops()), "nodes_elsewhere": 0}
