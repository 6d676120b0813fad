"""A concrete function to ONNX through tf2onnx, with the large weights kept out of its way."""

from __future__ import annotations

import logging
import math
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import numpy as np
import onnx
import tensorflow as tf
import tf2onnx.optimizer
from onnx import defs
from tf2onnx import optimizer, tf_loader
from tf2onnx.onnx_opset.tensor import Slice, Squeeze
from tf2onnx.optimizer import back_to_back_optimizer
from tf2onnx.optimizer.transpose_optimizer import TransposeOptimizer
from tf2onnx.tfonnx import process_tf_graph

from irbench.errors import ExitCode, IrbenchError, first_line
from irbench.onnx.operator_classes import may_be_random
from irbench.onnx.rewriting.detached_weights import DetachedModel, detach
from irbench.spec import Shape, TensorSpec
from irbench.spi import Array
from irbench_tf.complex_numbers import rewrite_complex_numbers
from irbench_tf.frozen import hoist_constants, hoist_weights
from irbench_tf.tracing import TracedFunction


def _custom_handlers() -> dict[str, tuple[Any, list[Any]]]:
    """Return handlers of TensorFlow operations by name, in the form tf2onnx takes them."""
    return {
        "Erfc": (_erfc, []),
        "Slice": (_slice, []),
        "Squeeze": (_squeeze, []),
        "XlaDynamicUpdateSlice": (_dynamic_update_slice, []),
    }


def optimizers() -> Any:
    """Return tf2onnx's optimiser passes, two of them corrected.

    The original pass over transposes takes the largest axis of what is added to a convolution for the length of a bias.
    A scalar has no axis, and the whole pass is lost: every transpose of a hard-swish network stays.

    The original pass over pairs drops a Reshape before another one, also where a 0 in the shape of the second copies a
    size of what the first gives: it then copies one of what the first takes.
    """

    class ScalarSafeTransposeOptimizer(TransposeOptimizer):  # type: ignore[misc]  # tf2onnx ships no types
        def _add_handler(self, trans: Any, node: Any) -> Any:
            if any(tensor.is_const() and tensor.is_scalar() for tensor in node.inputs):
                return self._handle_node_having_branches(trans, node)
            return super()._add_handler(trans, node)

    class CopyingReshapeOptimizer(back_to_back_optimizer.BackToBackOptimizer):  # type: ignore[misc]  # as above
        def _optimize(self, graph: Any) -> Any:
            rules = back_to_back_optimizer._func_map  # noqa: SLF001 - tf2onnx offers no other way to them
            original = rules[("Reshape",)]
            rules[("Reshape",)] = _join_reshapes
            try:
                return super()._optimize(graph)
            finally:  # other conversions in this process keep the rules that they know
                rules[("Reshape",)] = original

    passes = OrderedDict(tf2onnx.optimizer._get_optimizers())  # noqa: SLF001 - tf2onnx offers no other list
    passes["optimize_transpose"] = ScalarSafeTransposeOptimizer
    passes["remove_back_to_back"] = CopyingReshapeOptimizer
    return passes


def _join_reshapes(graph: Any, node: Any, consumers: list[Any]) -> list[Any]:
    """Drop a Reshape before its only consumer, another Reshape, unless that copies a size of its input."""
    if len(consumers) == 1 and consumers[0].type == "Reshape" and not _copies_sizes(consumers[0]):
        graph.replace_inputs(consumers[0], [node.input[0], consumers[0].input[1]])
        graph.remove_node(node.name)
    return []


def _copies_sizes(reshape: Any) -> bool:
    """Whether the shape of a Reshape may hold a 0; one that is joined of parts holds it in a constant one."""
    shape = reshape.inputs[1]
    allowed = reshape.get_attr("allowzero")
    if shape is None or (allowed is not None and allowed.i):
        return False
    parts = shape.inputs if shape.type == "Concat" else [shape]
    known = [part for part in parts if part is not None and part.is_const()]
    return any(not part.get_tensor_value(as_list=False).all() for part in known)


def _dynamic_update_slice(ctx: Any, node: Any, _name: str, _args: Any) -> None:
    """Map a block that is written into a tensor at a place computed by the graph: how Keras updates a cache.

    As in XLA, the block is moved to where it fits: https://openxla.org/xla/operation_semantics#dynamicupdateslice.
    Where it is smaller along one axis alone, the tensor is joined of what lies before, the block and what lies behind;
    a Reshape states the length of what is joined, which nobody could tell from lengths that the graph computes.
    """
    tensor, block, starts = node.input
    shape, sizes, dtype = ctx.get_shape(tensor), ctx.get_shape(block), ctx.get_dtype(tensor)
    if shape is None or sizes is None or any(s < 0 <= width for s, width in zip(shape, sizes, strict=True)):
        raise ValueError(f"{node.name} writes a block of unknown shape into a tensor")
    sizes = [1 if size == 1 else width for size, width in zip(shape, sizes, strict=True)]  # no other fits
    ctx.remove_node(node.name)

    def made(kind: str, inputs: list[str], **attr: Any) -> str:
        return str(ctx.make_node(kind, inputs, attr=attr).output[0])

    def constant(values: Any) -> str:
        return str(ctx.make_const(f"{node.name}_{len(ctx.get_nodes())}", np.array(values, np.int64)).output[0])

    def placed(room: str, asked: str) -> str:
        return made("Min", [made("Max", [asked, constant(0)]), room])

    begin = made("Cast", [starts], to=onnx.TensorProto.INT64)
    smaller = [axis for axis, (size, width) in enumerate(zip(shape, sizes, strict=True)) if size != width]
    if -1 in sizes and len(smaller) > 1:
        raise ValueError(f"{node.name} writes a block of unknown shape into a tensor, smaller along several axes")
    if len(smaller) == 1:
        (axis,) = smaller
        along, next_axis = constant([axis]), constant([axis + 1])
        known = sizes[axis] >= 0
        width = constant([sizes[axis]]) if known else made("Slice", [made("Shape", [block]), along, next_axis])
        place = placed(made("Sub", [constant([shape[axis]]), width]), made("Slice", [begin, along, next_axis]))
        behind = made("Add", [place, width])
        parts = [
            made("Slice", [tensor, constant([0]), place, along]),
            block,
            made("Slice", [tensor, behind, constant([shape[axis]]), along]),
        ]
        joined = made("Concat", parts, axis=axis)
        stated = [max(size, 0) for size in shape]  # 0 copies a size that is not known
        ctx.make_node("Reshape", [joined, constant(stated)], outputs=node.output, shapes=[shape], dtypes=[dtype])
        return
    grid = constant(np.moveaxis(np.indices(sizes), 0, -1))
    begin = placed(constant(np.subtract(shape, sizes)), begin)
    inputs = [tensor, made("Add", [grid, begin]), block]
    ctx.make_node("ScatterND", inputs, outputs=node.output, shapes=[shape], dtypes=[dtype])


def _slice(ctx: Any, node: Any, name: str, _args: Any) -> None:
    """Keep the shape that TensorFlow knows from the sizes; the original forgets it where the begin is computed."""
    output = node.output[0]
    shape = ctx.get_shape(output)
    Slice.version_11(ctx, node, name=name)
    if shape is not None:
        ctx.set_shape(output, shape)


def _squeeze(ctx: Any, node: Any, name: str, _args: Any) -> None:
    """Name the axes of size one where TensorFlow drops all that there are, and knows the sizes.

    A runtime that knows them not would not know how many axes are left: OpenVINO refuses models that depend on it.
    """
    shape = ctx.get_shape(node.input[0])
    if not node.get_attr_value("squeeze_dims") and shape is not None and -1 not in shape and 1 in shape:
        node.set_attr("squeeze_dims", [axis for axis, size in enumerate(shape) if size == 1])
    Squeeze.version_13(ctx, node, name=name)


def _erfc(graph: Any, node: Any, name: str, _arguments: list[Any]) -> None:
    """Write erfc(x) as 1 - Erf(x), or erfc(-x / sqrt 2) as Erf(x / sqrt 2) + 1.

    The second is TensorFlow's exact GELU; in this form runtimes know it as one operation.
    """
    dtype, shape = graph.get_dtype(node.output[0]), graph.get_shape(node.output[0])
    one_value = np.array(1, dtype=_numpy_dtype(dtype))
    ones = graph.make_const(f"{name}_one", one_value).output[0]
    argument, negated = _strip_gelu_scale(graph, node, name)
    consumers_output = node.output[0]
    graph.remove_node(node.name)
    erf = graph.make_node("Erf", [argument], name=f"{name}_erf", shapes=[shape], dtypes=[dtype])
    operation, operands = ("Add", [erf.output[0], ones]) if negated else ("Sub", [ones, erf.output[0]])
    graph.make_node(operation, operands, name=name, outputs=[consumers_output], shapes=[shape], dtypes=[dtype])


def _strip_gelu_scale(graph: Any, node: Any, name: str) -> tuple[str, bool]:
    """Return x / sqrt 2 and True where the argument is -x * sqrt(1/2), else the argument and False."""
    product = node.inputs[0]
    if product is None or product.type != "Mul":
        return node.input[0], False
    for position in (0, 1):
        if not product.inputs[position].is_const():
            continue
        scale, other = _scalar(product.inputs[position]), product.inputs[1 - position]
        operand = product.input[1 - position]
        if other is not None and other.type == "Neg":
            scale, operand = -scale, other.input[0]
        if math.isclose(scale, -math.sqrt(0.5), rel_tol=1e-6):
            dtype, shape = graph.get_dtype(node.input[0]), graph.get_shape(node.input[0])
            root = graph.make_const(f"{name}_sqrt2", np.array(math.sqrt(2), dtype=_numpy_dtype(dtype))).output[0]
            divided = graph.make_node("Div", [operand, root], name=f"{name}_div", shapes=[shape], dtypes=[dtype])
            return divided.output[0], True
    return node.input[0], False


def _scalar(constant: Any) -> float:
    value = constant.get_tensor_value(as_list=False)
    return float(value.reshape(())) if value.size == 1 else math.nan


def _numpy_dtype(onnx_dtype: int) -> Any:
    return onnx.helper.tensor_dtype_to_np_dtype(onnx_dtype)


MAX_OPSET = 18
"""The last operator set that tf2onnx writes by itself."""

_NHWC_TO_NCHW = (0, 3, 1, 2)


def convert(traced: TracedFunction, opset: int, nchw: Collection[str]) -> DetachedModel:
    """Convert to ONNX, unfolded."""
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
    with tf.device("/cpu:0"), tf.Graph().as_default() as graph:
        tf.import_graph_def(frozen, name="")
        additions = {"custom_op_handlers": _custom_handlers(), "custom_rewriter": [rewrite_complex_numbers]}
        mapped = process_tf_graph(graph, **additions, **request)
        hoisted = hoist_constants(mapped)
        model = optimizer.optimize_graph(mapped, catch_errors=forgiving, optimizers=optimizers()).make_model("irbench")
    return detach(model, {**weights, **hoisted})


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


def _unmapped_operations(model: onnx.ModelProto) -> tuple[str, ...]:
    """Return the operations of ``model`` that ONNX does not define, sorted."""
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
    missing = _unmapped_operations(model)
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
