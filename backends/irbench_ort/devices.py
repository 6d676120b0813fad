"""Devices, execution providers, and what really went where.

ONNX Runtime falls back from CUDA to the CPU without an error: the whole session where the provider
cannot start, and single nodes that it has no kernel for. Both are read back and refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from irbench.spec import Precision, Scalar
from irbench.spi import Refusal, install_command

__all__ = ["DEVICES", "providers", "read_back", "record_assignment", "refuse_fallback", "require", "uses_tf32"]

DEVICES = ("cpu", "cuda")

_CPU = "CPUExecutionProvider"
_CUDA = "CUDAExecutionProvider"

# fmt: off
_SHAPE_ARITHMETIC = frozenset({
    "Abs", "Add", "And", "Cast", "Ceil", "Concat", "Constant", "ConstantOfShape", "Div", "Equal", "Expand", "Floor",
    "Gather", "Greater", "Identity", "Less", "Max", "Min", "Mod", "Mul", "Neg", "Not", "Or", "Range", "ReduceProd",
    "Reshape", "Shape", "Size", "Slice", "Squeeze", "Sub", "Unsqueeze", "Where",
})
# fmt: on
"""What ONNX Runtime itself prefers on the CPU, because shapes are computed there."""


def require(runtime: Any, device: str) -> None:
    """Make a device's libraries known to the runtime.

    Raises:
        Refusal: The installed build cannot address the device.
    """
    if device == "cpu":
        return
    if _CUDA not in runtime.get_available_providers():
        raise Refusal(
            "The installed ONNX Runtime is built without CUDA.",
            hint=f"pip uninstall onnxruntime, then: {install_command('onnxruntime-gpu')}",
        )
    runtime.preload_dlls()


def providers(device: str, precision: Precision, options: Mapping[str, str]) -> list[Any]:
    """Return the execution providers to ask for; TF32 is pinned off unless the precision is the vendor's choice."""
    if device == "cpu":
        return [_CPU]
    pinned = {} if precision == "native" else {"use_tf32": "0"}
    return [(_CUDA, {**options, **pinned}), _CPU]


def record_assignment(settings: Any) -> None:
    """Have the session remember which provider got which node, or refuse the CPU where it cannot remember."""
    import onnxruntime

    remembers = hasattr(onnxruntime.InferenceSession, "get_provider_graph_assignment_info")
    key = "session.record_ep_graph_assignment_info" if remembers else "session.disable_cpu_ep_fallback"
    settings.add_session_config_entry(key, "1")


def read_back(session: Any, device: str) -> dict[str, Scalar]:
    """Return the provider that runs the graph, and on a GPU how many nodes stayed on the CPU.

    Raises:
        Refusal: The graph, or a part of it that computes, is not on the device that was asked for.
    """
    active = tuple(session.get_providers())
    if device == "cpu":
        return {"provider": active[0]}
    subgraphs: Iterable[Any] = getattr(session, "get_provider_graph_assignment_info", tuple)()
    on_cpu = [node.op_type for part in subgraphs if part.ep_name == _CPU for node in part.get_nodes()]
    refuse_fallback(active, on_cpu)
    return {"provider": active[0], "nodes_on_cpu": len(on_cpu)}


def refuse_fallback(active: tuple[str, ...], op_types_on_cpu: Iterable[str]) -> None:
    """Refuse a session that computes elsewhere than on CUDA.

    Args:
        active: The session's providers.
        op_types_on_cpu: Op type of every node assigned to the CPU.

    Raises:
        Refusal: CUDA is not active, or a node that is no shape arithmetic stayed on the CPU.
    """
    if _CUDA not in active:
        raise Refusal(
            "ONNX Runtime could not start CUDA and fell back to the CPU.",
            hint="The row's log names the missing library or driver; "
            "CUDA and cuDNN come with: pip install 'onnxruntime-gpu[cuda,cudnn]'",
        )
    strays = Counter(op for op in op_types_on_cpu if op not in _SHAPE_ARITHMETIC)
    if strays:
        listed = ", ".join(f"{count} {op}" for op, count in strays.most_common(5))
        raise Refusal(
            f"ONNX Runtime has no CUDA kernel for {strays.total()} nodes ({listed}) and would run them on the CPU.",
            hint="Export the model with another opset, or compare it on the CPU: --backends ort",
        )


def uses_tf32(session: Any) -> bool:
    """Whether the CUDA provider may round fp32 products to TF32, as the session itself reports."""
    return str(session.get_provider_options().get(_CUDA, {}).get("use_tf32", "1")) != "0"
