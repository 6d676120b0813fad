"""The worker's side: what a graph consists of, and parts of it with the values that they are given.

Models are parsed here and nowhere else, each call in a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from irbench.core.graph_record import Uncuttable
from irbench.features.reduce.activations import Activations, GraphSource
from irbench.features.reduce.files import (
    EXPECTED_FILE,
    INPUTS_FILE,
    MODEL_FILE,
    save_model,
    size_of_weights,
    write_arrays,
)
from irbench.features.reduce.outline import Boundary, GraphOutline, OutlineNode
from irbench.features.reduce.report import TensorFacts
from irbench.onnx.reading import external_data
from irbench.onnx.reading.element_types import NAMES
from irbench.onnx.rewriting.randomness import may_be_random
from irbench.onnx.rewriting.subgraph import SubgraphBoundary, TensorType, names_read, subgraph
from irbench.worker import call_in_worker
from irbench.worker.failures import unreadable_answer
from irbench.worker.requested_confinement import confinement_to, take_files

if TYPE_CHECKING:
    import onnx


_FROM_SHAPES = ("Shape", "Size")
"""Operators that read the shape of their input alone, which is fixed."""


@dataclass(frozen=True)
class CutRequest:
    """A part of a graph to be written.

    Attributes:
        source: The whole graph.
        kept: Places of its nodes.
        folder: Where the part and its inputs are written.
        values: Where values inside the graph are kept between calls.
    """

    source: GraphSource
    kept: tuple[int, ...]
    folder: Path
    values: Path


@dataclass(frozen=True)
class Part:
    """A part of a graph as files.

    Attributes:
        model: The ONNX file.
        data: Its inputs, in one archive.
        inputs: Name, type and shape of each.
        outputs: The same of its outputs.
        size_bytes: Of the model, weights included.
        has_expected: Whether what the reference answers lies beside them.
    """

    model: Path
    data: Path
    inputs: tuple[TensorFacts, ...]
    outputs: tuple[TensorFacts, ...]
    size_bytes: int
    has_expected: bool = False


Cut: TypeAlias = Part | Uncuttable


def outline(path: Path) -> GraphOutline:
    """Return what the graph in a file consists of."""
    return _outline(external_data.load(path))


def parts_and_obstacles(requests: Sequence[CutRequest]) -> tuple[tuple[Part | None, Uncuttable | None], ...]:
    """Do as :func:`write_parts`; of each pair one is ``None``."""
    return tuple((cut, None) if isinstance(cut, Part) else (None, cut) for cut in write_parts(requests))


def write_parts(requests: Sequence[CutRequest]) -> tuple[Cut, ...]:
    """Write several parts of one graph; the values at their inputs are computed in one run of it.

    Args:
        requests: At least one, all with the same source and the same folder of values.

    Raises:
        IrbenchError: No reference can compute these values.
    """
    source = requests[0].source
    model = external_data.load(source.artifact.path)
    graph = _outline(model)
    edges = [graph.boundary(request.kept) for request in requests]
    values = Activations(source, model, requests[0].values)
    cuttable = [edge for edge in edges if edge.inputs and edge.outputs]
    if cuttable:
        values.compute([name for edge in cuttable for name in (*edge.inputs, *edge.constants, *edge.outputs)])
    return tuple(_cut(request, model, edge, values) for request, edge in zip(requests, edges, strict=True))


def _cut(request: CutRequest, model: onnx.ModelProto, edge: Boundary, values: Activations) -> Cut:
    if not edge.inputs or not edge.outputs:
        return Uncuttable("no-outputs" if edge.inputs else "no-inputs")
    return values.problem(edge) or _written(request, model, edge, values)


def _written(request: CutRequest, model: onnx.ModelProto, edge: Boundary, values: Activations) -> Part:
    boundary = SubgraphBoundary(
        inputs={name: values.type_of(name) for name in edge.inputs},
        outputs={name: values.type_of(name) for name in edge.outputs},
        constants={name: values.weight(name) for name in edge.constants},
    )
    request.folder.mkdir(parents=True, exist_ok=True)
    path = request.folder / MODEL_FILE
    save_model(subgraph(model, request.kept, boundary), path)
    write_arrays(request.folder / INPUTS_FILE, {name: values.array(name) for name in edge.inputs})
    has_expected = all(map(values.has_array, edge.outputs))
    if has_expected:
        write_arrays(request.folder / EXPECTED_FILE, {name: values.array(name) for name in edge.outputs})
    return Part(
        model=path,
        data=request.folder / INPUTS_FILE,
        inputs=_facts(boundary.inputs),
        outputs=_facts(boundary.outputs),
        has_expected=has_expected,
        size_bytes=sum(file.stat().st_size for file in request.folder.glob(f"{MODEL_FILE}*")),
    )


def _facts(types: Mapping[str, TensorType]) -> tuple[TensorFacts, ...]:
    return tuple(TensorFacts(name, NAMES[held.element], held.shape) for name, held in types.items())


def _outline(model: onnx.ModelProto) -> GraphOutline:
    graph = model.graph
    weights = {tensor.name: size_of_weights(tensor) for tensor in graph.initializer}
    weights |= {tensor.values.name: size_of_weights(tensor.values) for tensor in graph.sparse_initializer}
    given = tuple(tensor.name for tensor in graph.input if tensor.name not in weights)
    return GraphOutline(
        nodes=tuple(_nodes(graph.node, weights)),
        inputs=given,
        outputs=tuple(tensor.name for tensor in graph.output),
        weights=frozenset(weights),
    )


def _nodes(nodes: Iterable[onnx.NodeProto], weights: Mapping[str, int]) -> Iterator[OutlineNode]:
    static = set(weights)
    for node in nodes:
        reads, writes = tuple(names_read(node)), tuple(filter(None, node.output))
        is_static = _is_static(node, reads, static)
        static.update(writes if is_static else ())
        yield OutlineNode(
            name=node.name or f"{node.op_type} of {next(iter(writes), 'nothing')}",
            op_type=node.op_type,
            domain=node.domain,
            reads=reads,
            writes=writes,
            weight_bytes=sum(weights.get(name, 0) for name in reads),
            is_static=is_static,
        )


def _is_static(node: onnx.NodeProto, reads: Sequence[str], static: set[str]) -> bool:
    """Whether the outputs of a node follow from weights and fixed shapes; what holds graphs is not looked into."""
    holds_graphs = any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute)
    if holds_graphs or may_be_random(node.domain, node.op_type, None if len(node.input) > 2 else False):
        return False
    return node.op_type in _FROM_SHAPES or static.issuperset(reads)


_DEADLINE_S = 600.0


def read_outline(source: GraphSource) -> GraphOutline:
    """Return what a graph consists of, read in a process of its own.

    Raises:
        IrbenchError: The file cannot be read any more.
    """
    found: GraphOutline = call_in_worker(
        "irbench.features.reduce.cutting:outline",
        source.artifact.path,
        deadline_s=_DEADLINE_S,
        confinement=confinement_to(source.artifact),
        returns=GraphOutline,
    )
    return found


def cut_parts(requests: Sequence[CutRequest]) -> tuple[Cut, ...]:
    """Write several parts of one graph, with the values at their inputs, in a process of its own.

    Args:
        requests: As of :func:`irbench.features.reduce.cutting.write_parts`.

    Raises:
        IrbenchError: No reference can compute these values, or the process wrote something else than files.
    """
    source = requests[0].source
    folders = tuple(dict.fromkeys((*(request.folder for request in requests), requests[0].values)))
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    confinement = confinement_to(source.artifact, source.feeding.samples, folders)
    try:
        made: tuple[tuple[Part | None, Uncuttable | None], ...] = call_in_worker(
            "irbench.features.reduce.cutting:parts_and_obstacles",
            requests,
            deadline_s=_DEADLINE_S,
            confinement=confinement,
            returns=tuple[tuple[Part | None, Uncuttable | None], ...],
        )
    finally:  # also where it died: others are given the same folder of values
        for folder in folders if confinement is not None else ():
            take_files(folder)
    cuts = tuple(cut for part, obstacle in made if (cut := part or obstacle) is not None)
    if confinement is None:
        return cuts
    if len(cuts) != len(requests):
        raise unreadable_answer(f"it has {len(cuts)} parts, and {len(requests)} were asked for.")
    return tuple(_at_home(part, request) for part, request in zip(cuts, requests, strict=True))


def _at_home(cut: Cut, request: CutRequest) -> Cut:
    """Return a part with the files that were asked for, whatever a confined process says where they are."""
    if not isinstance(cut, Part):
        return cut
    return replace(cut, model=request.folder / MODEL_FILE, data=request.folder / INPUTS_FILE)
