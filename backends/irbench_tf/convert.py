"""A concrete function to ONNX through tf2onnx, with the large weights kept out of its way."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from irbench.errors import ExitCode, IrbenchError, first_line
from irbench.onnx.rewriting.detached_weights import DetachedModel, detach
from irbench.onnx.rewriting.randomness import may_be_random
from irbench.spec import Shape, TensorSpec
from irbench.spi import Array
from irbench_tf.complex_numbers import rewrite_complex_numbers
from irbench_tf.handlers import custom_handlers, optimizers
from irbench_tf.hoist import hoist_constants, hoist_weights
from irbench_tf.tracing import Traced

if TYPE_CHECKING:
    import onnx

MAX_OPSET = 18
"""The last operator set that tf2onnx writes by itself."""

_NHWC_TO_NCHW = (0, 3, 1, 2)


def convert(traced: Traced, opset: int, nchw: Collection[str]) -> DetachedModel:
    """Convert to ONNX, unfolded."""
    import tensorflow as tf
    from tf2onnx import tf_loader

    logging.getLogger("tf2onnx").setLevel(logging.ERROR)
    function = traced.function
    frozen = tf_loader.fix_freezing_errors_part2(tf_loader.convert_variables_to_constants_large_model(function))
    _open_compiled_calls(frozen)
    weights = hoist_weights(frozen)
    tensors = [tensor.name for tensor in function.inputs[: len(traced.inputs)]]
    inputs, outputs = [*tensors, *weights], [tensor.name for tensor in function.outputs]
    names = (*(spec.name for spec in traced.inputs), *traced.output_names)
    request = {
        "opset": opset,
        "input_names": inputs,
        "output_names": outputs,
        "inputs_as_nchw": [tensor for tensor, name in zip(tensors, names, strict=False) if name in nchw],
        "tensors_to_rename": dict(zip((*tensors, *outputs), names, strict=True)),
    }
    with tf.device("/cpu:0"), tf.Graph().as_default():
        tf.import_graph_def(frozen, name="")
        frozen = tf_loader.tf_optimize(inputs, outputs, frozen)
    try:
        detached = _to_onnx(frozen, weights, request)
    except IrbenchError:
        raise
    except Exception as error:
        raise _failed(error, frozen) from error
    _require_mapped(detached.model)
    return detached


def _open_compiled_calls(frozen: Any) -> None:
    """Let the rewriter put the bodies of functions that XLA compiles in place of their calls.

    Keras has XLA compile each grouped convolution, because TensorFlow's own kernels for processors cannot train one.
    """
    for part in (*frozen.node, *frozen.library.function):
        if part.attr["_XlaMustCompile"].b:
            part.attr.pop("_noinline", None)
        part.attr.pop("_XlaMustCompile", None)


def _to_onnx(frozen: Any, weights: dict[str, Array], request: dict[str, Any]) -> DetachedModel:
    """Map and optimise; where a pass of tf2onnx fails, start again and leave that pass out.

    Leaving passes out makes tf2onnx copy its graph before each, so it is not the first choice.
    """
    try:
        return _attempt(frozen, weights, request, forgiving=False)
    except IrbenchError:
        raise
    except Exception:  # noqa: BLE001 - what the second attempt raises is what counts
        return _attempt(frozen, weights, request, forgiving=True)


def _attempt(frozen: Any, weights: dict[str, Array], request: dict[str, Any], *, forgiving: bool) -> DetachedModel:
    import tensorflow as tf
    from tf2onnx import optimizer
    from tf2onnx.tfonnx import process_tf_graph

    with tf.device("/cpu:0"), tf.Graph().as_default() as graph:
        tf.import_graph_def(frozen, name="")
        additions = {"custom_op_handlers": custom_handlers(), "custom_rewriter": [rewrite_complex_numbers]}
        mapped = process_tf_graph(graph, **additions, **request)
        found = hoist_constants(mapped)
        model = optimizer.optimize_graph(mapped, catch_errors=forgiving, optimizers=optimizers()).make_model("irbench")
    return detach(model, {**weights, **found})


def name_dimensions(model: onnx.ModelProto, inputs: Iterable[TensorSpec], outputs: Iterable[TensorSpec]) -> None:
    """Give every input and output of ``model`` its shape, with names for its free axes, in place."""
    shapes: dict[str, Shape] = {spec.name: spec.shape for spec in (*inputs, *outputs)}
    for value in (*model.graph.input, *model.graph.output):
        dimensions = value.type.tensor_type.shape
        dimensions.ClearField("dim")
        for size in shapes[value.name]:
            dimension = dimensions.dim.add()
            if isinstance(size, int):
                dimension.dim_value = size
            else:
                dimension.dim_param = size


def nchw_spec(spec: TensorSpec) -> TensorSpec:
    """Return an NHWC image input as the ONNX model takes it."""
    return TensorSpec(spec.name, spec.dtype, tuple(spec.shape[axis] for axis in _NHWC_TO_NCHW), _NHWC_TO_NCHW)


def unmapped_operations(model: onnx.ModelProto) -> tuple[str, ...]:
    """Return the operations of ``model`` that ONNX does not define, sorted."""
    from onnx import defs

    known = {(all_schema.domain, all_schema.name) for all_schema in defs.get_all_schemas_with_history()}
    return tuple(sorted({node.op_type for node in _nodes(model.graph) if (node.domain, node.op_type) not in known}))


def require_draws(model: onnx.ModelProto) -> None:
    """Refuse a graph that draws no random numbers, though the model does: tf2onnx has dropped that."""
    if not any(may_be_random(node.domain, node.op_type, False) for node in _nodes(model.graph)):
        raise IrbenchError(
            "tf2onnx leaves the random numbers of the model out.",
            hint="Build the model without them; nothing was exported.",
        )


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g)
            for inner in attribute.graphs:
                yield from _nodes(inner)


def _require_mapped(model: onnx.ModelProto) -> None:
    missing = unmapped_operations(model)
    if missing:
        raise IrbenchError(
            f"tf2onnx has no ONNX counterpart for the TensorFlow operation {', '.join(missing)}.",
            hint="Write that part of the model with other operations, or ask the tf2onnx project to support it."
            " Nothing was exported.",
            exit_code=ExitCode.USAGE,
        )


def _failed(error: Exception, frozen: Any) -> IrbenchError:
    reason = first_line(error)
    operations = {node.op for node in frozen.node}
    named = next((name for name in sorted(operations, key=len, reverse=True) if f"'{name}'" in reason), "")
    return IrbenchError(
        f"tf2onnx cannot convert the model{f' (operation {named})' if named else ''}: {reason}",
        hint="Write that part of the model with other operations; nothing was exported.",
    )
