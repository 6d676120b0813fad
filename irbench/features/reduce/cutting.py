"""Cut parts out of a graph, with the values that the whole graph computes at their inputs.

Models are parsed here and nowhere else, each call in a process of its own.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from irbench.core import registry
from irbench.core.graph_record import Uncuttable
from irbench.errors import IrbenchError, first_line
from irbench.features.reduce.report import TensorFacts
from irbench.features.reduce.reproduction import EXPECTED_FILE, INPUTS_FILE, MODEL_FILE
from irbench.features.reduce.subgraph import SubgraphBoundary, TensorType, names_read, subgraph
from irbench.onnx.operator_classes import may_be_random
from irbench.onnx.reading import external_data
from irbench.onnx.reading.element_types import NAMES, numpy_dtype
from irbench.spec import Artifact, Bundle, Feeding, Load, TensorSpec
from irbench.spi import Array
from irbench.worker import call_in_worker
from irbench.worker.failures import unreadable_answer
from irbench.worker.feed_turns import turns_of_streams
from irbench.worker.inference import OpenSession
from irbench.worker.requested_confinement import confinement_to, take_files

if TYPE_CHECKING:
    import onnx

_FROM_SHAPES = ("Shape", "Size")
"""Operators that read the shape of their input alone, which is fixed."""
_DEADLINE_S = 600.0
_LARGEST_MESSAGE_BYTES = 2**31 - 2**20
"""What one protobuf message holds at most, with room for the graph's structure."""


@dataclass(frozen=True)
class GraphSource:
    """A graph with bound shapes, and its inputs.

    Attributes:
        bundle: The model that the graph is a form of.
        sizes: Every dynamic dimension bound.
        feeding: Where its inputs come from; the first sample is taken.
    """

    artifact: Artifact
    bundle: Bundle
    sizes: Mapping[str, int]
    feeding: Feeding


@dataclass(frozen=True)
class CutRequest:
    """A part of a graph to be written to a folder.

    Attributes:
        source: The whole graph.
        kept: Places of the nodes of the part.
        values: Folder where values inside the graph are kept between calls.
    """

    source: GraphSource
    kept: tuple[int, ...]
    folder: Path
    values: Path


@dataclass(frozen=True)
class GraphPart:
    """A part of a graph as files.

    Attributes:
        data: Its inputs, in one archive.
        size_bytes: Of the model, weights included.
        has_expected: Whether the reference's outputs lie beside the model.
    """

    model: Path
    data: Path
    inputs: tuple[TensorFacts, ...]
    outputs: tuple[TensorFacts, ...]
    size_bytes: int
    has_expected: bool = False


Cut: TypeAlias = GraphPart | Uncuttable


@dataclass(frozen=True)
class OutlineNode:
    """One node, with the graphs inside it.

    Attributes:
        name: Its own, or its operator and first output where it has none.
        domain: Where the operator is defined; empty for ONNX's own.
        reads: Values that it or a graph inside it reads.
        writes: Its outputs, without those that are left out.
        weight_bytes: Size of the weights that it reads.
        is_static: Whether its outputs are the same whatever the inputs of the model hold.
    """

    name: str
    op_type: str
    domain: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    weight_bytes: int = 0
    is_static: bool = False


@dataclass(frozen=True)
class Boundary:
    """Values at the edge of some nodes.

    Attributes:
        inputs: What they read from elsewhere, without constants.
        constants: What they read from elsewhere that is the same for all inputs of the model: shapes, for example. As
            inputs, they would keep a runtime from what it does with the whole graph.
        outputs: What they write that another node, or nobody who is left, reads.
    """

    inputs: tuple[str, ...]
    constants: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class GraphOutline:
    """The nodes of a graph, which node reads what another one writes, without weights and attributes.

    Attributes:
        nodes: In the graph's order, in which each stands behind what it reads.
        inputs: Its inputs, without weights.
        weights: Names of its initializers.
    """

    nodes: tuple[OutlineNode, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    weights: frozenset[str]

    def boundary(self, kept: Collection[int]) -> Boundary:
        """Return the values at the edge of the nodes at some places.

        An output that a kept node reads stays inside, unless the model gives it: an additional output would keep a
        runtime from fusing the two. What no node of the whole graph reads is not an output either.
        """
        nodes = [self.nodes[place] for place in sorted(kept)]
        written = {name for node in nodes for name in node.writes}
        read = {name for node in nodes for name in node.reads}
        static = {name for node in self.nodes if node.is_static for name in node.writes}
        values = {name for node in self.nodes for name in node.writes} | self.weights | set(self.inputs)
        outside = dict.fromkeys(
            name for node in nodes for name in node.reads if name in values and name not in written | self.weights
        )
        return Boundary(
            inputs=tuple(name for name in outside if name not in static),
            constants=tuple(name for name in outside if name in static),
            outputs=tuple(self._outputs(nodes, read)),
        )

    def _outputs(self, nodes: Collection[OutlineNode], read: Collection[str]) -> Iterator[str]:
        needed = {name for node in self.nodes for name in node.reads}
        for node in nodes:
            for name in node.writes:
                if name in self.outputs or (name in needed and name not in read):
                    yield name

    @property
    def searched(self) -> tuple[int, ...]:
        """Places of the nodes whose outputs depend on the inputs of the model, which a search leaves out in turn."""
        return tuple(place for place, node in enumerate(self.nodes) if not node.is_static)


def read_outline(source: GraphSource) -> GraphOutline:
    """Return what a graph consists of, read in a process of its own."""
    outline: GraphOutline = call_in_worker(
        "irbench.features.reduce.cutting:outline_of",
        source.artifact.path,
        deadline_s=_DEADLINE_S,
        confinement=confinement_to(source.artifact),
        returns=GraphOutline,
    )
    return outline


def cut_parts(requests: Sequence[CutRequest]) -> tuple[Cut, ...]:
    """Write parts of one graph as :func:`write_parts` does, in a process of its own, which may write nothing else."""
    source = requests[0].source
    folders = tuple(dict.fromkeys((*(request.folder for request in requests), requests[0].values)))
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    confinement = confinement_to(source.artifact, source.feeding.samples, folders)
    try:
        pairs: tuple[tuple[GraphPart | None, Uncuttable | None], ...] = call_in_worker(
            "irbench.features.reduce.cutting:parts_and_obstacles",
            requests,
            deadline_s=_DEADLINE_S,
            confinement=confinement,
            returns=tuple[tuple[GraphPart | None, Uncuttable | None], ...],
        )
    finally:  # also where it died: others are given the same folder of values
        for folder in folders if confinement is not None else ():
            take_files(folder)
    cuts = tuple(cut for part, obstacle in pairs if (cut := part or obstacle) is not None)
    if confinement is None:
        return cuts
    if len(cuts) != len(requests):
        raise unreadable_answer(f"it has {len(cuts)} parts instead of {len(requests)}.")
    return tuple(  # with the paths of the requests, whatever a confined process says
        replace(cut, model=request.folder / MODEL_FILE, data=request.folder / INPUTS_FILE)
        if isinstance(cut, GraphPart)
        else cut
        for cut, request in zip(cuts, requests, strict=True)
    )


def outline_of(path: Path) -> GraphOutline:
    """Return what the graph in a file consists of."""
    return _outline(external_data.load(path))


def parts_and_obstacles(requests: Sequence[CutRequest]) -> tuple[tuple[GraphPart | None, Uncuttable | None], ...]:
    """Return what :func:`write_parts` does as pairs, of which one is ``None``."""
    return tuple((cut, None) if isinstance(cut, GraphPart) else (None, cut) for cut in write_parts(requests))


def write_parts(requests: Sequence[CutRequest]) -> tuple[Cut, ...]:
    """Write parts of one graph, with the values at their inputs, which are computed in one run of it.

    All requests have the same source and the same folder of values.
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


def _written(request: CutRequest, model: onnx.ModelProto, edge: Boundary, values: Activations) -> GraphPart:
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
    return GraphPart(
        model=path,
        data=request.folder / INPUTS_FILE,
        inputs=_tensor_facts(boundary.inputs),
        outputs=_tensor_facts(boundary.outputs),
        has_expected=has_expected,
        size_bytes=sum(file.stat().st_size for file in request.folder.glob(f"{MODEL_FILE}*")),
    )


def _tensor_facts(types: Mapping[str, TensorType]) -> tuple[TensorFacts, ...]:
    return tuple(
        TensorFacts(name, NAMES[tensor_type.element], tensor_type.shape) for name, tensor_type in types.items()
    )


def _outline(model: onnx.ModelProto) -> GraphOutline:
    graph = model.graph
    weights = {tensor.name: _size_of_weights(tensor) for tensor in graph.initializer}
    weights |= {tensor.values.name: _size_of_weights(tensor.values) for tensor in graph.sparse_initializer}
    return GraphOutline(
        nodes=tuple(_nodes(graph.node, weights)),
        inputs=tuple(tensor.name for tensor in graph.input if tensor.name not in weights),
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


class Activations:
    """Values that a reference computes inside a graph, once, and keeps in a folder.

    Args:
        source: The graph, and its inputs.
        model: The graph with its weights; its outputs are replaced where something must be computed.
        folder: Where values are kept.
    """

    def __init__(self, source: GraphSource, model: onnx.ModelProto, folder: Path) -> None:
        self._source = source
        self._folder = folder
        self._model = model
        self._folder.mkdir(parents=True, exist_ok=True)

    def compute(self, names: Sequence[str]) -> None:
        """Compute values that are not known yet, in one run of the whole graph."""
        (turns,) = turns_of_streams(
            self._source.bundle, self._source.sizes, self._source.feeding, self._source.artifact, streams=1
        )
        feed = turns.next()
        for spec, array in zip(self._source.artifact.inputs, feed, strict=True):
            self._keep(spec.name, array)
        missing = tuple(name for name in dict.fromkeys(names) if not self._file(name, ".json").exists())
        if missing:
            for name, value in zip(missing, self._answers(missing, feed), strict=True):
                self._keep(name, value)

    def problem(self, edge: Boundary) -> Uncuttable | None:
        """Return why a value cannot be at the edge of a part; ``None`` where all can."""
        for name in (*edge.inputs, *edge.constants, *edge.outputs):
            if json.loads(self._file(name, ".json").read_bytes()) is None:
                return Uncuttable("no-tensor", name)
        for name in (*edge.inputs, *edge.constants):
            if not self.has_array(name):
                return Uncuttable("no-array", name)
        return None

    def type_of(self, name: str) -> TensorType:
        """Return the type of a computed tensor."""
        element, shape = json.loads(self._file(name, ".json").read_bytes())
        return TensorType(element, tuple(shape))

    def has_array(self, name: str) -> bool:
        """Whether a computed value is of a type that NumPy can store."""
        return self._file(name, ".npy").exists()

    def array(self, name: str) -> Array:
        """Return a computed tensor; strings are NumPy's."""
        array: Array = np.load(self._file(name, ".npy"), allow_pickle=False)
        return array

    def weight(self, name: str) -> Array:
        """Return a computed tensor as ONNX makes a weight of it."""
        array = self.array(name)
        return array.astype(object) if array.dtype.kind == "U" else array

    def _answers(self, names: tuple[str, ...], feed: tuple[Array, ...]) -> Sequence[Array]:
        artifact = self._with_outputs(names)
        load = Load(batch=self._source.sizes.get("batch", 1), threads=None, precision="native")
        problems: list[str] = []
        for name in registry.references_in_order():
            try:
                with OpenSession(registry.reference(name), artifact, load) as session:
                    return session.answer(feed)
            except Exception as error:  # noqa: BLE001 - every runtime fails in its own way
                problems.append(f"{name}: {first_line(error)}")
        raise IrbenchError(
            "The values inside the graph cannot be computed.",
            hint="A reference must be able to run the whole model.",
            details=problems,
        )

    def _with_outputs(self, names: tuple[str, ...]) -> Artifact:
        import onnx

        types = {value.name: value.type.tensor_type.elem_type for value in self._model.graph.value_info}
        del self._model.graph.output[:]
        self._model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
        path = self._folder / "with-outputs.onnx"
        save_model(self._model, path)
        outputs = tuple(TensorSpec(name, NAMES.get(types.get(name, 1), "float32"), ()) for name in names)
        return replace(self._source.artifact, path=path, outputs=outputs)

    def _keep(self, name: str, value: object) -> None:
        tensor_type: tuple[int, tuple[int, ...]] | None = None
        if isinstance(value, np.ndarray):
            tensor_type = (_element_of(value), value.shape)
            if tensor_type[0] and value.dtype.isbuiltin != 2:  # what extensions of NumPy add is stored without its type
                np.save(self._file(name, ".npy"), value.astype(str) if value.dtype.hasobject else value)
        self._file(name, ".json").write_text(json.dumps(tensor_type))

    def _file(self, name: str, suffix: str) -> Path:
        return self._folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}{suffix}"


def _element_of(array: Array) -> int:
    from onnx import TensorProto, helper

    if array.dtype.kind in "OSU":
        return int(TensorProto.STRING)
    return int(helper.np_dtype_to_tensor_dtype(numpy_dtype(array.dtype.name)))


def save_model(model: onnx.ModelProto, path: Path) -> None:
    """Write a model; large weights go to a file beside it."""
    import onnx

    weights = sum(map(_size_of_weights, model.graph.initializer))
    beside = f"{path.name}.data" if weights > _LARGEST_MESSAGE_BYTES else None
    (path.parent / f"{path.name}.data").unlink(missing_ok=True)
    onnx.save_model(model, path, save_as_external_data=beside is not None, location=beside)


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write an archive as ``numpy.savez`` does, which takes no array called ``file``."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asarray(array, order="C"), allow_pickle=False)


def _size_of_weights(tensor: onnx.TensorProto) -> int:
    return len(tensor.raw_data) or tensor.ByteSize()
