"""Whether the values of a graph fit into fp16: the largest of each, found in fp32 on the inputs of a calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from irbench.core import registry
from irbench.core.graph_record import NarrowRange, ValueRange
from irbench.onnx.body_shapes import infer_types
from irbench.onnx.rewriting.bind import bind
from irbench.onnx.rewriting.detached_weights import take_name
from irbench.onnx.shapes import infer
from irbench.optimizer.calibration_samples import CheckSamples
from irbench.optimizer.job import load, write
from irbench.optimizer.pass_tools.edit import names_in
from irbench.spec import BATCH, Load, TensorSpec
from irbench.worker.inference import OpenSession

if TYPE_CHECKING:
    import onnx_ir as ir

LARGEST, LEAST_NORMAL = 65504.0, 2.0**-14
"""Of fp16."""
_CALLS = 8
"""Batches of inputs; the largest of a value changes little with more of them."""
_MOST_NAMED = 5


def narrow_range(
    source: Path, converted: ir.Model, samples: CheckSamples, reference: str, scratch: Path
) -> NarrowRange | None:
    """Return which values that are fp16 in a converted graph leave its range in fp32.

    Args:
        source: The graph in fp32.
        converted: The same graph in fp16.
        samples: Inputs, and the graph's signature.
        reference: The backend that computes in fp32.
        scratch: Where the graph that finds them is written.

    Returns:
        ``None`` where no value is fp16, or the reference cannot run a graph that has the ranges as outputs.
    """
    model = load(source)
    infer(model, keeps_outputs=True)
    infer_types(model)
    names = _with_largest(model, _narrow_names(converted))
    if not names:
        return None
    path = scratch / "ranges.onnx"
    write(model, path)
    specs = tuple(TensorSpec(output, "float32", ()) for output in names)
    probe = replace(samples.artifact, path=path, sha256="", outputs=specs)
    bound = bind(probe, samples.sizes, scratch)
    each = max(1, samples.count // max(1, sum(1 for _ in samples.logical_inputs())))
    load_ = Load(batch=samples.sizes[BATCH], threads=None, precision="native")
    try:
        with OpenSession(registry.reference(reference), bound, load_) as session:
            answers = [session.answer(feed) for feed in islice(samples.feeds(bound), _CALLS)]
    except Exception:  # noqa: BLE001 - each runtime reports in a way of its own that it cannot run a graph
        return None
    largest = np.max([[float(value) for value in answer] for answer in answers], axis=0)
    return _judged(dict(zip(names.values(), map(float, largest), strict=True)), min(samples.count, _CALLS * each))


def _narrow_names(converted: ir.Model) -> set[str]:
    """Return what the values of a converted graph that are fp16 are called in the graph that it was made of."""
    import onnx_ir as ir

    names: set[str] = set()
    made = {output.name: output.producer() for output in converted.graph.outputs}
    renamed = {node.inputs[0]: name for name, node in made.items() if node is not None and node.op_type == "Cast"}
    for node in converted.graph:
        for value in node.outputs:
            if value.dtype == ir.DataType.FLOAT16:
                source = node.inputs[0] if node.op_type == "Cast" else None
                names.add(str(renamed.get(value) or (value if source is None else source).name))
    return names


def _with_largest(model: ir.Model, names: set[str]) -> Mapping[str, str]:
    """Make the largest finite magnitude of each named value an output, in place of the others.

    Returns:
        The names of the values by those of the outputs.
    """
    import onnx_ir as ir

    graph = model.graph
    values = [*graph.inputs, *(value for node in graph for value in node.outputs)]
    found = [value for value in values if value.name in names and value.dtype == ir.DataType.FLOAT]
    taken, added, outputs = names_in(graph), dict[str, str](), list[ir.Value]()
    zero = ir.Value(name=take_name("zero", taken), const_value=ir.tensor(np.zeros((), np.float32)))
    zero.type, zero.shape = ir.TensorType(ir.DataType.FLOAT), ir.Shape(())
    graph.register_initializer(zero)
    for value in found:
        size = ir.node("Abs", [value])
        is_infinite = ir.node("IsInf", [value])
        finite = ir.node("Where", [is_infinite.outputs[0], zero, size.outputs[0]])
        largest = ir.node("ReduceMax", [finite.outputs[0]], {"keepdims": 0})
        for node in (size, is_infinite, finite, largest):
            graph.append(node)
            node.outputs[0].name = take_name(f"{value.name}_{node.op_type.lower()}", taken)
        output = largest.outputs[0]
        output.type, output.shape = ir.TensorType(ir.DataType.FLOAT), ir.Shape(())
        outputs.append(output)
        added[str(output.name)] = str(value.name)
    graph.outputs[:] = outputs
    return added


def _judged(largest: Mapping[str, float], samples: int) -> NarrowRange:
    above = sorted(((size, name) for name, size in largest.items() if size > LARGEST), reverse=True)
    below = sorted((size, name) for name, size in largest.items() if 0 < size < LEAST_NORMAL)
    return NarrowRange(
        samples,
        len(largest),
        len(above),
        len(below),
        tuple(ValueRange(name, size) for size, name in above[:_MOST_NAMED]),
        tuple(ValueRange(name, size) for size, name in below[:_MOST_NAMED]),
    )
