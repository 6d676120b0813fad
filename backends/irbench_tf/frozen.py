"""Freeze a concrete function: one file with its weights as constants, rewritten once; large ones can be lifted out.

tf2onnx copies the weights of every constant several times in every optimiser pass: about
forty times in all. A weight that is a graph input instead has a shape but no content; it
comes back as an initializer once the graph has its final form.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import node_def_pb2
from tensorflow.core.protobuf import config_pb2, meta_graph_pb2, rewriter_config_pb2
from tensorflow.python.framework import convert_to_constants, tensor_util
from tensorflow.python.grappler import tf_optimizer

from irbench.errors import IrbenchError
from irbench.spec import BATCH, Artifact, Shape, TensorSpec
from irbench.spi import Array


def _consumers_by_name(graph_def: Any) -> dict[str, list[Any]]:
    """Return the nodes that take a node's outputs as data, by the name of that node; control inputs do not count."""
    consumers: dict[str, list[Any]] = defaultdict(list)
    for node in graph_def.node:
        for reference in node.input:
            if not reference.startswith("^"):
                consumers[reference.split(":")[0]].append(node)
    return consumers


_LARGE_BYTES = 256 * 1024
_READS_WEIGHTS = frozenset({"BatchMatMulV2", "Conv2D", "Conv3D", "DepthwiseConv2dNative", "GatherV2", "MatMul"})
_FOLDS_INTO_WEIGHTS = frozenset({"Mul", "RealDiv", "Transpose"})
_PASSES_ON = frozenset({"Identity"})


def optimise(graph_def: Any, keep: Sequence[str]) -> Any:
    """Return an optimised ``GraphDef`` in which the nodes called ``keep`` still exist.

    The rewriter copies the whole graph in each of its passes, so weights that no pass
    could change are set aside meanwhile: a ResNet-50 needs a tenth of the memory.
    """
    weights = _set_weights_aside(graph_def)
    config = config_pb2.ConfigProto()
    rewriting = config.graph_options.rewrite_options
    rewriting.min_graph_nodes = -1
    for device_bound in ("remapping", "layout_optimizer", "pin_to_host_optimization"):
        setattr(rewriting, device_bound, rewriter_config_pb2.RewriterConfig.OFF)
    wrapped = meta_graph_pb2.MetaGraphDef(graph_def=graph_def)
    wrapped.collection_def["train_op"].node_list.value.extend([*keep, *weights])
    optimised = tf_optimizer.OptimizeGraph(config, wrapped)
    for node in optimised.node:
        if node.name in weights:
            node.CopyFrom(weights[node.name])
    return optimised


def _set_weights_aside(graph_def: Any) -> dict[str, Any]:
    """Turn large constants that are only ever read as weights into placeholders, in place; return them by name."""
    users = _consumers_by_name(graph_def)
    aside: dict[str, Any] = {}
    for node in graph_def.node:
        if node.op != "Const" or len(node.attr["value"].tensor.tensor_content) < _LARGE_BYTES:
            continue
        readers = _readers(node, users)
        if not readers or not all(_reads_unchanged(reader, users) for reader in readers):
            continue
        kept = node_def_pb2.NodeDef()
        kept.CopyFrom(node)
        aside[node.name] = kept
        placeholder = node_def_pb2.NodeDef(name=node.name, op="Placeholder")
        placeholder.attr["dtype"].CopyFrom(node.attr["dtype"])
        placeholder.attr["shape"].shape.CopyFrom(node.attr["value"].tensor.tensor_shape)
        node.CopyFrom(placeholder)
    return aside


def _readers(node: Any, users: dict[str, list[Any]]) -> list[Any]:
    """Return what uses a node's value, seen through operations that only pass it on."""
    readers: list[Any] = []
    for user in users[node.name]:
        readers.extend(_readers(user, users) if user.op in _PASSES_ON else [user])
    return readers


def _reads_unchanged(reader: Any, users: dict[str, list[Any]]) -> bool:
    """Whether the rewriter has no reason to fold a neighbour of ``reader`` into its weights."""
    return reader.op in _READS_WEIGHTS and not any(after.op in _FOLDS_INTO_WEIGHTS for after in _readers(reader, users))


GRAPH_FILE = "graph.pb"
_LARGEST_BYTES = 2**31 - 2**20
"""Protocol buffers end at 2 GiB; the rest of the graph needs less than the margin."""


@dataclass(frozen=True)
class FrozenGraph:
    """A serialised ``GraphDef`` whose placeholders and outputs are named as its specs are.

    Attributes:
        inputs: In the order of the function's arguments; feed ``name:0``.
        outputs: In the order of the function's results; fetch ``name:0``.
    """

    graph_def: bytes
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]

    def write(self, directory: Path) -> Artifact:
        """Write ``graph.pb`` into ``directory``; return its artifact with a path relative to it."""
        (directory / GRAPH_FILE).write_bytes(self.graph_def)
        digest = hashlib.sha256(self.graph_def).hexdigest()
        return Artifact("tf-graph", Path(GRAPH_FILE), self.inputs, self.outputs, sha256=digest)


def freeze(
    concrete_function: Any, inputs: Sequence[TensorSpec] | None = None, outputs: Sequence[TensorSpec] | None = None
) -> FrozenGraph:
    """Freeze a concrete function and let TensorFlow's own rewriter optimise the result once.

    Args:
        concrete_function: Traced for inference, its first axis free where any batch shall do.
        inputs: Names and named free dimensions of its tensor arguments, in order. By default TensorFlow's
            names; a free first axis is ``batch``, any other ``<name>_<axis>``.
        outputs: The same for its results; by default ``output_0``, ``output_1`` and so on.
    """
    arguments = [array for array in concrete_function.inputs if array.dtype.name not in ("resource", "variant")]
    results = list(concrete_function.outputs)
    inputs = tuple(inputs if inputs is not None else _describe_inputs(arguments))
    outputs = tuple(outputs if outputs is not None else _describe_outputs(results, inputs))
    graph_def = constant_graph(concrete_function)
    renamed = {tensor.op.name: spec.name for tensor, spec in zip(arguments[: len(inputs)], inputs, strict=True)}
    taken = {spec.name for spec in (*inputs, *outputs)}
    inner = {node.name: f"{node.name}_inner" for node in graph_def.node if node.name in taken}
    names = {**inner, **renamed}
    _rename(graph_def, names)
    for tensor, spec in zip(results, outputs, strict=True):
        node = graph_def.node.add(name=spec.name, op="Identity")
        operation = names.get(tensor.op.name, tensor.op.name)
        node.input.append(operation if tensor.value_index == 0 else f"{operation}:{tensor.value_index}")
        node.attr["T"].type = tensor.dtype.as_datatype_enum
    optimised = optimise(graph_def, [spec.name for spec in (*inputs, *outputs)])
    return FrozenGraph(optimised.SerializeToString(deterministic=True), inputs, outputs)


def constant_graph(concrete_function: Any) -> Any:
    """Return the function's ``GraphDef`` with every variable made a constant, loops kept as functions.

    TensorFlow's public conversion does the same and then builds a new concrete function
    from the graph, which takes several times as long and is not needed here.
    """
    size_bytes = sum(variable.dtype.size * variable.shape.num_elements() for variable in concrete_function.variables)
    if size_bytes > _LARGEST_BYTES:
        raise IrbenchError(
            f"The model's weights take {size_bytes / 1e9:.1f} GB; a TensorFlow graph file ends at 2 GB.",
            hint="Export a smaller variant, or store the weights in a narrower type.",
        )
    converted = convert_to_constants._FunctionConverterDataInEager(  # noqa: SLF001 - the public way also rebuilds a function
        func=concrete_function, lower_control_flow=False, aggressive_inlining=False
    )
    graph_def, _ = convert_to_constants._replace_variables_by_constants(converted)  # noqa: SLF001 - as above
    left = sorted({node.op for node in graph_def.node} & {"VarHandleOp", "ReadVariableOp", "HashTableV2"})
    if left:
        raise IrbenchError(
            f"The model holds state that cannot be made constant ({', '.join(left)}).",
            hint="Export a function that only reads variables of its own, without tables or assignments.",
        )
    return graph_def


def _describe_inputs(tensors: Sequence[Any]) -> tuple[TensorSpec, ...]:
    return tuple(
        TensorSpec(name, tensor.dtype.name, _named_shape(tensor, name, None))
        for tensor in tensors
        for name in (tensor.op.name,)
    )


def _describe_outputs(tensors: Sequence[Any], inputs: Sequence[TensorSpec]) -> tuple[TensorSpec, ...]:
    free = {size for spec in inputs for size in spec.dynamic_dimensions} - {BATCH}
    only = next(iter(free)) if len(free) == 1 else None
    return tuple(
        TensorSpec(name, tensor.dtype.name, _named_shape(tensor, name, only))
        for index, tensor in enumerate(tensors)
        for name in (f"output_{index}",)
    )


def _named_shape(tensor: Any, name: str, only_free: str | None) -> Shape:
    if tensor.shape.rank is None:
        raise IrbenchError(
            f"The number of axes of {name} is unknown.", hint="Trace the function with an input shape of known rank."
        )
    return tuple(
        size if size is not None else BATCH if axis == 0 else only_free or f"{name}_{axis}"
        for axis, size in enumerate(tensor.shape.as_list())
    )


def _rename(graph_def: Any, names: dict[str, str]) -> None:
    """Rename nodes and every reference to them, in place; drop placement hints, which may name them too."""
    for node in graph_def.node:
        node.name = names.get(node.name, node.name)
        node.device = ""
        node.attr.pop("_class", None)
        for index, reference in enumerate(node.input):
            control = "^" if reference.startswith("^") else ""
            name, colon, port = reference.removeprefix("^").partition(":")
            if name in names:
                node.input[index] = f"{control}{names[name]}{colon}{port}"


_MIN_BYTES = 16 * 1024
"""Smaller constants stay: folding needs their values, and copying them costs nothing."""

_COMPLEX = (8, 18)
"""TensorFlow's numbers of complex64 and complex128: constants of these become two real ones."""

_PASSES_WEIGHT_ON = frozenset({"Identity", "Reshape", "Transpose"})
"""Operations that only rearrange a weight; its real consumers stand behind them."""

_TAKES_INPUT = frozenset(
    {
        "AddV2", "BatchMatMulV2", "BatchMatMulV3", "BiasAdd", "Conv2D", "Conv3D", "DepthwiseConv2dNative", "GatherV2",
        "MatMul", "Mul", "Shape",
    }
)  # fmt: skip
"""Operations that tf2onnx converts alike whether their weight is known or not; recurrent loops are not among them."""


def hoist_weights(graph: Any) -> dict[str, Array]:
    """Turn large weights of ``graph`` into placeholders, in place.

    Returns:
        The weights by tensor name, ``node:0``.
    """
    consumers = _consumers_by_name(graph)
    weights: dict[str, Array] = {}
    for node in graph.node:
        tensor = node.attr["value"].tensor if node.op == "Const" else None
        if tensor is None or tensor.dtype in _COMPLEX or len(tensor.tensor_content) < _MIN_BYTES:
            continue
        if _may_be_input(node.name, consumers):
            weights[f"{node.name}:0"] = tensor_util.MakeNdarray(tensor)
            _become_placeholder(node)
    return weights


def hoist_constants(graph: Any) -> dict[str, Array]:
    """Do the same, in place, in a ``tf2onnx.graph.Graph`` for what its rewriters had to see, such as recurrent kernels.

    Returns:
        The weights by the names of the new inputs.
    """
    weights: dict[str, Array] = {}
    for node in list(graph.get_nodes()):
        value = node.get_tensor_value(as_list=False) if node.is_const() else None
        if value is None or value.nbytes < _MIN_BYTES:
            continue
        (output,), shapes, dtypes = node.output, node.output_shapes, node.output_dtypes
        weights[output] = value
        graph.remove_node(node.name)
        graph.make_node("Placeholder", [], outputs=[output], name=node.name, shapes=shapes, dtypes=dtypes)
    return weights


def _may_be_input(name: str, consumers: dict[str, list[Any]]) -> bool:
    return all(
        _may_be_input(user.name, consumers) if user.op in _PASSES_WEIGHT_ON else user.op in _TAKES_INPUT
        for user in consumers.get(name, ())
    )


def _become_placeholder(node: Any) -> None:
    placeholder = tf.compat.v1.NodeDef(name=node.name, op="Placeholder")
    placeholder.attr["dtype"].type = node.attr["dtype"].type
    placeholder.attr["shape"].shape.CopyFrom(node.attr["value"].tensor.tensor_shape)
    node.CopyFrom(placeholder)
