"""A batch size that an exporter wrote as a number into a graph whose batch is dynamic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.onnx.contributed import contributed_schemas
from irbench.onnx.reading.external_data import read_outline
from irbench.onnx.reading.inventory import node_label
from irbench.onnx.reading.small_values import computed_values, constant_values
from irbench.onnx.reading.value_shapes import inferred_at, shape_of
from irbench.spec import BATCH, TensorSpec

if TYPE_CHECKING:
    import onnx


@dataclass(frozen=True)
class WrittenBatch:
    """A ``Reshape`` to a constant shape that begins with another number than the batch that reaches it.

    Attributes:
        node: Its name; operator and first output where it has none.
        target: The shape that the file contains.
        given: What is reshaped, at the sizes that were asked for.
        is_impossible: Whether the graph cannot run at these sizes, and not only confuses samples.
    """

    node: str
    target: tuple[int, ...]
    given: tuple[int, ...]
    is_impossible: bool

    @property
    def batch(self) -> int:
        """The batch size in the file."""
        return self.target[0]


def written_batch(path: Path, inputs: Sequence[TensorSpec], sizes: Mapping[str, int]) -> WrittenBatch | None:
    """Return the first node of the main graph that has another batch size written into it; one that fails comes first.

    ONNX's own code reads what is in the file: call this in a worker where the file is of unknown origin.

    Args:
        path: The file.
        inputs: With their dynamic dimensions.
        sizes: What is asked for, the batch among them.
    """
    model = read_outline(path)
    candidates = list(_candidates(model.graph))
    if not candidates:
        return None
    graph = _inferred(model, inputs, sizes)
    shapes = _shapes(graph)
    found: WrittenBatch | None = None
    for node, target in candidates:
        given = shapes.get(node.input[0])
        if given is None or given[:1] != (sizes[BATCH],) or target[0] == sizes[BATCH]:
            continue
        label = node_label(node.name, node.op_type, node.output)
        if not _fits(given, target):
            return WrittenBatch(label, target, given, is_impossible=True)
        found = found or WrittenBatch(label, target, given, is_impossible=False)
    if found is None or not _breaks(graph):
        return found
    alone = _inferred(model, inputs, {**sizes, BATCH: found.batch})
    return replace(found, is_impossible=not _breaks(alone))


def _inferred(model: onnx.ModelProto, inputs: Sequence[TensorSpec], sizes: Mapping[str, int]) -> onnx.ModelProto:
    return inferred_at(model, [spec.bind(sizes) for spec in inputs])


def _shapes(model: onnx.ModelProto) -> dict[str, tuple[int, ...]]:
    """Return the shapes of which every size is known."""
    graph = model.graph
    described = (*graph.input, *graph.value_info, *graph.output)
    shapes = {value.name: shape_of(value) for value in described if value.type.tensor_type.HasField("shape")}
    shapes |= {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    return {
        name: tuple(int(size) for size in shape)
        for name, shape in shapes.items()
        if all(isinstance(size, int) for size in shape)
    }


def _breaks(model: onnx.ModelProto) -> bool:
    """Return whether shapes do not fit into each other, as ONNX finds, or in a ``Gemm``, where it does not look."""
    from onnx import checker, shape_inference

    shapes = _shapes(model)
    for node in model.graph.node:
        if node.op_type == "Gemm" and node.input[0] in shapes and node.input[1] in shapes:
            turned = {attribute.name for attribute in node.attribute if attribute.i}
            left, right = shapes[node.input[0]], shapes[node.input[1]]
            if left[0 if "transA" in turned else -1] != right[-1 if "transB" in turned else 0]:
                return True
    try:
        with contributed_schemas(model):
            shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    except (shape_inference.InferenceError, checker.ValidationError, RuntimeError):
        return True
    return False


def _candidates(graph: onnx.GraphProto) -> Iterator[tuple[onnx.NodeProto, tuple[int, ...]]]:
    """Yield each ``Reshape`` whose constant target begins with a number, with that target."""
    values = dict(constant_values(graph))
    for node in graph.node:
        values.update(computed_values(node, values, {}))
        if node.op_type != "Reshape" or node.domain not in ("", "ai.onnx") or len(node.input) <= 1:
            continue
        target = values.get(node.input[1])
        copies_no_size = any(attribute.name == "allowzero" and attribute.i for attribute in node.attribute)
        if target is not None and target.size and int(target.reshape(-1)[0]) > 0 and not copies_no_size:
            yield node, tuple(int(size) for size in target.reshape(-1))


def _fits(given: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Return whether a tensor can be reshaped: 0 copies a size, and -1 stands for what is left."""
    if any(size == 0 and place >= len(given) for place, size in enumerate(target)):
        return False
    sizes = [given[place] if size == 0 else size for place, size in enumerate(target)]
    elements, named = prod(given), prod(size for size in sizes if size != -1)
    return elements % max(named, 1) == 0 if -1 in sizes else elements == named
