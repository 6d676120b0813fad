"""Profiles of a small graph whose figures are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from made_peaks import peaks

from irbench.core.record import Failure
from irbench.features.profile.profile_document import (
    GpuTimes,
    GraphNode,
    LaunchLatencies,
    OperatorProfile,
    ProfiledCell,
    ProfileDocument,
)
from irbench.onnx.operator_classes import OperatorClass
from irbench.spi.profiling import TensorShape

FEATURES = TensorShape("float32", (1, 64, 56, 56))
SCORES = TensorShape("float32", (1, 1000))


def node(
    name: str,
    op_type: str,
    found: OperatorClass,
    *,
    reads: Sequence[str] = (),
    flops: int | None = None,
    shape: TensorShape = FEATURES,
) -> GraphNode:
    """Return a node whose output has its name with ``:0`` behind it."""
    return GraphNode(name, op_type, "", found, tuple(reads), (f"{name}:0",), (shape,), flops)


NODES = (
    node("block/conv", "Conv", OperatorClass.MATRIX, reads=["x"], flops=231_211_008),
    node("block/relu", "Relu", OperatorClass.ELEMENTWISE, reads=["block/conv:0"], flops=200_704),
    node("block/transpose", "Transpose", OperatorClass.MOVEMENT, reads=["block/relu:0"]),
    node("head/dense", "Gemm", OperatorClass.MATRIX, reads=["block/transpose:0"], flops=4_096_000, shape=SCORES),
    node("head/softmax", "Softmax", OperatorClass.NORMALISATION, reads=["head/dense:0"], flops=5_000, shape=SCORES),
)


def operator(
    name: str,
    kind: str,
    *times_ms: float,
    nodes: Sequence[str] = (),
    shape: TensorShape | None = FEATURES,
    is_overhead: bool = False,
    executions: int = 1,
) -> OperatorProfile:
    """Return an operator with its median time in each launch."""
    durations = tuple(round(1e6 * time) for time in times_ms)
    shapes = () if shape is None else (shape,)
    return OperatorProfile(name, kind, tuple(nodes), "cpu", "", shapes, is_overhead, executions, durations)


def cell(
    label: str,
    operators: Sequence[OperatorProfile],
    profiled_ms: Sequence[float] = (),
    plain_ms: Sequence[float] = (),
    *,
    failure: Failure | None = None,
    level: str = "none",
    graph: str = "none",
) -> ProfiledCell:
    """Return a cell whose calls all take the same time in a launch."""
    launches = tuple(
        LaunchLatencies(number, (round(1e6 * profiled),) * 20, (round(1e6 * plain),) * 20, tuple(range(5, 15)))
        for number, (profiled, plain) in enumerate(zip(profiled_ms, plain_ms, strict=True))
    )
    backend = label.partition("+")[0]
    return ProfiledCell(
        id=f"{label}-cpu",
        label=label,
        backend=backend,
        device="cpu",
        artifact="onnx",
        level=level,
        graph=graph,
        effective={"threads": 2},
        operators=tuple(operators),
        launches=launches,
        failure=failure,
    )


def document(*cells: ProfiledCell, launches: int = 4, **changes: object) -> ProfileDocument:
    """Return a profile of the small graph."""
    found = ProfileDocument(
        profile_version=1,
        profile_id="01JDA000000000000000000000",
        created="2026-11-22T20:00:00+00:00",
        irbench_version="0.1.0",
        model="small",
        batch=1,
        shapes={"x": (1, 3, 112, 112)},
        inferences=20,
        launches=launches,
        graphs={"none": NODES},
        cells=cells,
        stopped_by="launches",
        seconds=42.0,
    )
    return replace(found, **changes)  # type: ignore[arg-type]


def _around(time_ms: float, turn: int = 0) -> list[float]:
    """Return the times of four launches that scatter by 2 %, each operator's in another order."""
    factors = (0.99, 1.0, 1.0, 1.01)
    return [time_ms * factor for factor in (*factors[turn:], *factors[:turn])]


def ort(turn: int = 0) -> ProfiledCell:
    operators = (
        operator("reorder_in", "ReorderInput", *_around(3.0, 3 * turn)),
        operator("block/conv", "Conv", *_around(10.0, turn), nodes=["block/conv"]),
        operator("block/relu", "Relu", *_around(2.0), nodes=["block/relu"]),
        operator("block/transpose", "Transpose", *_around(1.0), nodes=["block/transpose"]),
        operator("head/dense", "Gemm", *_around(2.0), nodes=["head/dense"], shape=SCORES),
        operator("head/softmax", "Softmax", *_around(1.0), nodes=["head/softmax"], shape=SCORES),
        operator("executor", "SequentialExecutor", *_around(1.0), is_overhead=True, shape=None),
    )
    return cell("ort", operators, _around(21.0), _around(20.0))


def openvino() -> ProfiledCell:
    operators = (
        operator("conv", "Convolution", *_around(8.0), nodes=["block/conv", "block/relu"]),
        operator("lost", "FullyConnected", *_around(1.5), shape=SCORES),
        operator("strange", "Subgraph", *_around(0.5), shape=None),
        operator("head/softmax:0", "SoftMax", *_around(0.5), shape=SCORES),
    )
    return cell("openvino", operators, _around(11.0), _around(10.8))


KINDS = {"openvino": {"FullyConnected": OperatorClass.MATRIX, "Reorder": OperatorClass.MOVEMENT}}


def on_gpu(label: str = "ort:cuda", *, has_kernels: bool = True) -> ProfiledCell:
    """Return a cell on a GPU: of 3 ms, 0.3 are copies, 2.1 kernels and 0.6 waiting; 0.06 are nodes on the CPU.

    Args:
        label: What it is called.
        has_kernels: Whether its runtime tells what the GPU does.
    """
    operators = (
        operator("block/conv", "Conv", *_around(1.5, 1), nodes=["block/conv"]),
        operator("block/relu", "Relu", *_around(0.2), nodes=["block/relu"]),
        operator("head/dense", "Gemm", *_around(0.4), nodes=["head/dense"], shape=SCORES),
        replace(operator("block/transpose", "Transpose", *_around(0.06), nodes=["block/transpose"]), device="cpu"),
    )
    found = cell(label, operators if has_kernels else (), _around(3.0), _around(2.9))
    launches = tuple(
        replace(launch, gpu=GpuTimes(200_000, 100_000, kernels, rounding, round(1e6 * issuing), 60_000))
        for launch, issuing in zip(found.launches, _around(0.9), strict=True)
        for kernels, rounding in [(2_100_000, 120_000) if has_kernels else (None, 0)]
    )
    facts = {"threads": None, "nodes": 5, "nodes_elsewhere": 1}
    return replace(found, backend="ort", device="cuda", effective=facts, launches=launches)


CRASH = Failure("compile", "It crashed with SIGSEGV.", "Its output is in the log.")


def example(turn: int = 0) -> ProfileDocument:
    """Return a profile of two backends that have figures, and of one that failed.

    Args:
        turn: 0 has all operators scatter alike, so that shares are always the same; 1 has some scatter otherwise.
    """
    failed = cell("tf", (), failure=CRASH)
    return document(ort(turn), openvino(), failed, kinds=KINDS)


def with_peaks(document: ProfileDocument) -> ProfileDocument:
    """Return a profile of the same cells in fp32, on a machine that attains 30 GFLOP/s in it with two threads."""
    cells = tuple(replace(each, effective={**each.effective, "precision": "fp32"}) for each in document.cells)
    peak = replace(peaks().compute[0], threads=2, gflop_per_s=30.0)
    return replace(document, cells=cells, peaks=replace(peaks(), compute=(peak,)))


_GELU = ("Add", "Div", "Erf", "Add_1", "Mul", "Mul_1")


def fused_gelu(*, has_other: bool = False) -> ProfileDocument:
    """Return a profile of 5.1 ms in an ``Add`` and 5.6 ms in a ``BiasGelu``, which has two of them, after a product.

    Args:
        has_other: Whether another backend computes the product and all of the GELU in one operator.
    """
    gelu = [f"gelu/{name}" for name in _GELU]
    nodes = (
        node("dense", "MatMul", OperatorClass.MATRIX, reads=["x"], flops=100_000_000),
        *(
            node(name, name.removeprefix("gelu/").removesuffix("_1"), OperatorClass.ELEMENTWISE, flops=200_704)
            for name in gelu
        ),
        node("residual", "Add", OperatorClass.ELEMENTWISE, flops=200_704),
    )
    operators = (
        operator("dense", "MatMul", *_around(20.0), nodes=["dense"]),
        operator("gelu", "BiasGelu", *_around(5.6), nodes=gelu),
        operator("residual", "Add", *_around(5.1), nodes=["residual"]),
    )
    whole = (
        operator("dense", "FullyConnected", *_around(22.0), nodes=["dense", *gelu]),
        operator("residual", "Eltwise", *_around(4.0), nodes=["residual"]),
    )
    other = (cell("openvino", whole, _around(27.0), _around(26.5)),) if has_other else ()
    own = cell("ort", operators, _around(32.0), _around(31.0))
    return document(own, *other, graphs={"none": nodes})


def sines() -> ProfileDocument:
    """Return a profile in which three ``Sin`` take 84 % of the time, and a ``Mul`` another 7 %."""
    names = [f"StatefulPartitionedCall/functional_1/positional_block_{number}/value/Sin" for number in range(3)]
    nodes = (
        *(node(name, "Sin", OperatorClass.ELEMENTWISE, flops=200_704) for name in names),
        node("scale", "Mul", OperatorClass.ELEMENTWISE, flops=200_704),
        node("dense", "MatMul", OperatorClass.MATRIX, flops=100_000_000),
    )
    operators = (
        *(operator(name, "Sin", *_around(28.0), nodes=[name]) for name in names),
        operator("scale", "Mul", *_around(7.0), nodes=["scale"]),
        operator("dense", "MatMul", *_around(9.0), nodes=["dense"]),
    )
    return document(cell("ort", operators, _around(102.0), _around(101.0)), graphs={"none": nodes})


def alike_names() -> ProfileDocument:
    """Return a profile of three products whose long names differ in a scope far in front alone."""
    names = [
        f"StatefulPartitionedCall/functional_1/transformer_layer_{number}/attention_layer/value_1/Tensordot/MatMul"
        for number in range(3)
    ]
    nodes = tuple(node(name, "MatMul", OperatorClass.MATRIX, flops=100_000_000) for name in names)
    first, second = (
        cell(
            label, [operator(name, "MatMul", *_around(time), nodes=[name]) for name in names], _around(99), _around(99)
        )
        for label, time in (("ort", 30.0), ("openvino", 20.0))
    )
    return document(first, second, graphs={"none": nodes})


def four_backends() -> ProfileDocument:
    """Return a profile of four backends whose shares scatter."""
    cells = (replace(ort(turn=1), id=f"{label}-cpu", label=label) for label in ("ort", "openvino", "tf", "tf-xla"))
    return document(*cells)


def compared() -> ProfileDocument:
    """Return a profile of one backend at two levels; the second fuses a convolution and loses its reorder."""
    fused = (
        node("block/fused_conv", "FusedConv", OperatorClass.MATRIX, reads=["x"], flops=231_411_712),
        *NODES[2:],
    )
    fused = (replace(fused[0], outputs=("block/relu:0",), original=("block/conv", "block/relu")), *fused[1:])
    operators = (
        operator("block/fused_conv", "FusedConv", *_around(10.5), nodes=["block/fused_conv"]),
        operator("block/transpose", "Transpose", *_around(1.0), nodes=["block/transpose"]),
        operator("head/dense", "Gemm", *_around(2.0), nodes=["head/dense"], shape=SCORES),
        operator("head/softmax", "Softmax", *_around(1.0), nodes=["head/softmax"], shape=SCORES),
    )
    second = cell("ort+extended", operators, _around(15.0), _around(14.0), level="extended", graph="extended")
    return document(ort(), second, graphs={"none": NODES, "extended": fused}, compared=("none", "extended"))
