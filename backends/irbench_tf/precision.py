"""The precision of a graph: requested from TensorFlow's rewriter, and read from the graph that runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from irbench.spec import Load
from irbench.spi import Refusal

_BFLOAT16, _HALF, _DOUBLE = 14, 19, 2
"""Values of the enumeration ``DataType`` in TensorFlow's types.proto."""
_NARROW = {"bf16": _BFLOAT16, "fp16": _HALF}
_REWRITERS = {"bf16": "auto_mixed_precision_onednn_bfloat16", "fp16": "auto_mixed_precision"}

_TENSOR_LISTS = ",".join(
    f"TensorList{name}"
    for name in (
        *("Concat", "ConcatLists", "ConcatV2", "FromTensor", "Gather", "GetItem", "PopBack", "PushBack"),
        *("PushBackBatch", "Reserve", "Scatter", "ScatterIntoExistingList", "ScatterV2", "SetItem", "Split", "Stack"),
    )
)

NARROW_ENVIRONMENT = {
    # A list is narrowed outside a loop while the loop's body, rewritten apart, still writes fp32 into it.
    "TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_CLEARLIST_REMOVE": f"EmptyTensorList,{_TENSOR_LISTS}",
    "TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_DENYLIST_ADD": f"EmptyTensorList,{_TENSOR_LISTS}",
}
"""What the rewriter to narrow types must find in its environment."""


def refuse_impossible(load: Load, device: str, *, jit: bool) -> None:
    """Refuse what no graph can change."""
    if load.precision == "int8":
        raise Refusal(
            "TensorFlow runs the graph as it was exported and cannot convert it to int8.",
            hint="Use `--precision fp32` here, and `--optimize int8` for the backends that read ONNX.",
        )
    if load.precision not in _NARROW:
        return
    if jit:
        raise Refusal(
            f"XLA runs the graph as it was exported and cannot convert it to {load.precision}.",
            hint="Use `--precision fp32` or `--precision native` here, or the backend tf.",
        )
    if device == "cpu" and load.precision == "fp16":
        raise Refusal(
            "TensorFlow's CPU kernels do not compute in fp16.", hint="Use `--precision bf16` or `--precision fp32`."
        )
    if device != "cpu" and load.precision == "bf16":
        raise Refusal(
            "TensorFlow converts to bf16 on CPUs only.",
            hint="Use `--precision fp16`, `--precision fp32` or `--precision native` on a GPU.",
        )
    if load.options.get("grappler") == "off":
        raise Refusal(f"{load.precision} needs TensorFlow's graph rewriter.", hint="Leave grappler=off out.")


def rewriters(precision: str) -> tuple[str, ...]:
    """Return the rewriting passes that narrow a graph, by the rewriter's names; none for fp32 and native."""
    return (_REWRITERS[precision], "constfold") if precision in _NARROW else ()


def graph_precision(graph_def: Any) -> str:
    """Return the narrowest floating-point type that the graph's operations compute in: bf16, fp16, fp32 or fp64."""
    types = {type_ for node in _nodes(graph_def) for type_ in _types(node)}
    for name, type_ in _NARROW.items():
        if type_ in types:
            return name
    return "fp64" if _DOUBLE in types and 1 not in types else "fp32"


def count_nodes(graph_defs: Iterable[Any], precision: str) -> int:
    """Return how many operations of the graphs, loops included, compute in ``precision``, which is bf16 or fp16."""
    type_ = _NARROW[precision]
    return sum(type_ in _types(node) for graph_def in graph_defs for node in _nodes(graph_def))


def _nodes(graph_def: Any) -> Iterable[Any]:
    yield from graph_def.node
    for function in graph_def.library.function:
        yield from function.node_def


def _types(node: Any) -> set[int]:
    """Return the element types an operation computes in; constants and casts compute nothing."""
    if node.op in ("Cast", "Const", "Identity"):
        return set()
    return {node.attr[key].type for key in ("T", "dtype") if key in node.attr}
