"""Operator profiles of the scripted backends: each node of the graph takes its share of a call.

The options of a profiled session, beside those of :mod:`fake_backend`:

- ``profiling_us``: what recording adds to a call.
- ``weights``: how a call is shared, ``Conv:8+Relu:1`` for example; an operator that is not named counts 1.
- ``profile``: manners, joined by ``+``. ``fused`` makes one operator of each two nodes, ``nameless`` loses the names of
  nodes, ``layout`` has a ``Reorder`` before each convolution and product, ``averaged`` tells the mean alone, ``lost``
  loses the first inference, and ``none`` refuses. ``kernels`` tells what a GPU does: each operator is a kernel; and
  ``issuing`` only what the host does beside one.
- ``copy_us``: what copying takes to memory that is bound, and from it.

Of a call, a twentieth is the runtime's own work and another twentieth is in no operator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from irbench.spi import GpuActivity, InferenceProfile, OperatorTime, Refusal, TensorShape

OPTIONS = ("profiling_us", "weights", "profile", "copy_us")
PARTS = 20
REORDERED = ("Conv", "Gemm", "MatMul")


def refuse_profile(options: Mapping[str, str]) -> None:
    """Refuse where the script says so."""
    if options.get("profile") == "none":
        raise Refusal("it records no operators", hint="ask another backend")


def profiles_of(model: Path, options: Mapping[str, str], call_ns: int, inferences: int) -> tuple[InferenceProfile, ...]:
    """Return what the runtime recorded of inferences that each take so long."""
    manners = options.get("profile", "").split("+")
    operators = tuple(_scripted(model, manners))
    weights = _weights(options.get("weights", ""))
    shares = [_share(operator, weights) for operator in operators]
    timed = _timed(operators, shares, call_ns)
    if "kernels" in manners or "issuing" in manners:
        return (_on_gpu(timed, call_ns, has_kernels="kernels" in manners),) * inferences
    if "averaged" in manners:
        return (InferenceProfile(timed, inferences),)
    return (InferenceProfile(timed),) * (inferences - ("lost" in manners))


def _on_gpu(timed: Sequence[OperatorTime], call_ns: int, *, has_kernels: bool) -> InferenceProfile:
    known = GpuActivity(issuing_ns=call_ns // PARTS)
    if not has_kernels:
        return InferenceProfile((), gpu=known)
    kernels = tuple(replace(operator, device="cuda") for operator in timed if not operator.is_overhead)
    kernels_ns = sum(kernel.duration_ns for kernel in kernels)
    return InferenceProfile(kernels, gpu=replace(known, kernels_ns=kernels_ns, copy_in_ns=0, copy_out_ns=0))


def _scripted(model: Path, manners: Sequence[str]) -> Iterator[OperatorTime]:
    """Give the operators in order, without their times."""
    operators = list(_of_nodes(model))
    if "fused" in manners:
        operators = [_fused(operators[first : first + 2]) for first in range(0, len(operators), 2)]
    for operator in operators:
        if "layout" in manners and any(kind in operator.kind for kind in REORDERED):
            yield OperatorTime(
                f"reorder {operator.name}", "Reorder", 0, inputs=operator.inputs, outputs=operator.inputs
            )
        yield replace(operator, nodes=()) if "nameless" in manners else operator
    yield OperatorTime("run", "Run", 0, is_overhead=True)


def _of_nodes(model: Path) -> Iterator[OperatorTime]:
    import onnx

    graph = onnx.shape_inference.infer_shapes(onnx.load(model)).graph
    shapes = {value.name: _shape(value) for value in (*graph.input, *graph.value_info, *graph.output)}
    for node in graph.node:
        inputs = tuple(shapes[name] for name in node.input if name in shapes)
        outputs = tuple(shapes[name] for name in node.output if name in shapes)
        label = node.name or f"{node.op_type} of {node.output[0]}"
        yield OperatorTime(f"kernel {label}", node.op_type, 0, (label,), inputs=inputs, outputs=outputs)


def _fused(parts: Sequence[OperatorTime]) -> OperatorTime:
    return replace(
        parts[0],
        name=" and ".join(part.name for part in parts),
        kind="".join(part.kind for part in parts),
        nodes=tuple(node for part in parts for node in part.nodes),
        outputs=parts[-1].outputs,
    )


def _share(operator: OperatorTime, weights: Mapping[str, float]) -> float:
    if operator.is_overhead:
        return 0.0
    named = [weight for kind, weight in weights.items() if kind in operator.kind]
    return sum(named) or 1.0


def _timed(operators: Sequence[OperatorTime], shares: Sequence[float], call_ns: int) -> tuple[OperatorTime, ...]:
    own_ns = call_ns // PARTS
    work_ns = call_ns - 2 * own_ns
    durations = [
        own_ns if operator.is_overhead else int(work_ns * share / sum(shares))
        for operator, share in zip(operators, shares, strict=True)
    ]
    starts = accumulate(durations, initial=0)
    return tuple(
        replace(operator, duration_ns=duration, start_ns=start, thread=0, implementation="scripted_f32")
        for operator, duration, start in zip(operators, durations, starts, strict=False)
    )


def _weights(text: str) -> Mapping[str, float]:
    pairs = (part.partition(":") for part in text.split("+") if part)
    return {kind: float(weight) for kind, _, weight in pairs}


def _shape(value: Any) -> TensorShape:
    from onnx import helper

    described = value.type.tensor_type
    dtype = str(helper.tensor_dtype_to_np_dtype(described.elem_type))
    sizes = tuple(dimension.dim_value for dimension in described.shape.dim)
    return TensorShape(dtype, sizes if all(sizes) else None)
