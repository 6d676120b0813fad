"""Decoders rewritten so that ONNX Runtime appends to the caches in place.

1. Attention(q, k, v, mask, past keys, past values)
   -> GroupQueryAttention(q, k, v, past keys, past values, last place, total, -, -, -, mask)

The operator of ONNX answers a cache that is longer by the new tokens, which takes a copy of all before. That of ONNX
Runtime takes and answers buffers with room for more, and where both are the same memory it writes the new tokens alone
(``past_present_share_buffer`` in its source). It hides later tokens by itself, so the mask must do so too, of which the
first call of a text is proof: it alone has several new tokens.

2. Shape(past keys) -> their shape with the tokens that are there in place of those that there is room for
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from irbench.onnx.reading import external_data
from irbench.onnx.rewriting.bind import link_or_copy
from irbench.spec.generation import GenerationGraph
from irbench.spi import Array, Feed

if TYPE_CHECKING:
    import onnx

PAST = "irbench_past"
"""How many tokens the caches hold before a call: int64 of shape (1,)."""
TOTAL = "irbench_total"
"""How many they hold after it: int64 of shape (1,)."""
TOTAL_NUMBER = "irbench_total_number"
"""The same: int32, a scalar."""
LAST = "irbench_last"
"""The place of the last token, one less: int32 of shape (batch,)."""
_CAPACITY = "irbench_capacity"

_DOMAIN = "com.microsoft"
_ATTRIBUTES = {"is_causal", "kv_num_heads", "q_num_heads", "scale"}
_LENGTH_AXIS = 2
_INPUTS = 6
_MASK, _PAST_KEYS, _PAST_VALUES = 3, 4, 5
_RANK = 4
_HIDDEN = -1e4
"""Scores that are at most this take no part in a softmax."""
_TYPES = ("float16", "float32")


def write_shared(graph: GenerationGraph, sample: Feed, folder: Path) -> Path | None:
    """Write a decoder that appends to its growing caches in place, and return its file.

    It takes :data:`PAST`, :data:`TOTAL`, :data:`TOTAL_NUMBER` and :data:`LAST` besides; growing caches have any length
    that suffices, the same before and after.

    Args:
        graph: The decoder.
        sample: What it is given in the first call of a text.
        folder: Where it is written, which the weights that lie in other files are put beside.

    Returns:
        ``None`` where a cache is read by something else than one attention, or that hides other tokens.
    """
    import onnx

    path = graph.artifact.path
    external_data.require_sound(path)
    model = onnx.load(path, load_external_data=False)
    caches = _growing(graph)
    if not caches or (fused := _attentions(model, caches)) is None:
        return None
    for location in external_data.files_of_model(path):
        link_or_copy(path.parent, folder, location)
    given = {spec.name: array for spec, array in zip(graph.artifact.inputs, sample, strict=True)}
    masks = _masks(model, {node.input[_MASK] for node in fused if node.input[_MASK]}, given, folder / "masks.onnx")
    if not all(_hides_later_tokens(node, masks) for node in fused):
        return None
    _rewrite(model, fused, caches, masks)
    onnx.save(model, folder / path.name)
    return folder / path.name


def _growing(graph: GenerationGraph) -> dict[str, str]:
    """Return the output of each cache that grows, by its input; none where one could not be shared."""
    growing = [cache for cache in graph.caches if cache.axis is not None]
    specs = [cache.input for cache in growing]
    if any(cache.axis != _LENGTH_AXIS for cache in growing) or any(
        spec.dtype not in _TYPES or len(spec.shape) != _RANK for spec in specs
    ):
        return {}
    return {cache.input.name: cache.output.name for cache in growing}


def _attentions(model: onnx.ModelProto, caches: Mapping[str, str]) -> list[onnx.NodeProto] | None:
    """Return the nodes that append to caches, if each cache has one and nothing else reads its elements."""
    fused = [node for node in model.graph.node if _appends(node, caches)]
    appended = [name for node in fused for name in node.input[_PAST_KEYS:]]
    if sorted(appended) != sorted(caches):
        return None
    fused_outputs = {node.output[0] for node in fused}
    own = {*caches, *caches.values()}
    for node in _all_nodes(model.graph.node):
        reads_length = node.op_type == "Shape" and not node.domain
        if not own.isdisjoint(node.input) and not reads_length and node.output[0] not in fused_outputs:
            return None
    top = {output for node in model.graph.node for output in node.output}
    inner = (node for node in _all_nodes(model.graph.node) if node.output[0] not in top)
    return None if any(not own.isdisjoint(node.input) for node in inner) else fused


def _appends(node: onnx.NodeProto, caches: Mapping[str, str]) -> bool:
    attributes = _attributes(node)
    return (
        (node.op_type, node.domain, len(node.input), len(node.output)) == ("Attention", "", _INPUTS, 3)
        and [caches.get(name) for name in node.input[_PAST_KEYS:]] == list(node.output[1:])
        and attributes.keys() <= _ATTRIBUTES
        and {"q_num_heads", "kv_num_heads"} <= attributes.keys()
    )


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    import onnx

    return {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}


def _all_nodes(nodes: Collection[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Yield nodes, and those of the graphs inside them."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                yield from _all_nodes(body.node)


def _masks(
    model: onnx.ModelProto, names: Collection[str], given: Mapping[str, Array], path: Path
) -> Mapping[str, Array]:
    """Return the values of masks in the first call of a text, computed by the part of the graph that makes them."""
    import onnx
    import onnxruntime

    if not names:
        return {}
    part = onnx.ModelProto()
    part.CopyFrom(model)
    nodes, needed = list[onnx.NodeProto](), set(names)
    for node in reversed(model.graph.node):
        if not needed.isdisjoint(node.output):
            nodes.insert(0, node)
            needed |= {name for inner in _all_nodes([node]) for name in inner.input}
    kept = {
        "node": nodes,
        "initializer": [item for item in model.graph.initializer if item.name in needed],
        "input": [item for item in model.graph.input if item.name in needed],
        "output": [onnx.ValueInfoProto(name=name) for name in sorted(names)],
    }
    for field, items in kept.items():
        part.graph.ClearField(field)
        getattr(part.graph, field).extend(items)
    onnx.save(part, path)
    session: Any = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    feed = {item.name: given[item.name] for item in session.get_inputs()}
    return dict(zip(sorted(names), session.run(sorted(names), feed), strict=True))


def _hides_later_tokens(node: onnx.NodeProto, masks: Mapping[str, Array]) -> bool:
    """Whether no token attends to a later one, as GroupQueryAttention has it."""
    if _attributes(node).get("is_causal", 0):
        return True
    mask = masks.get(node.input[_MASK])
    if mask is None or mask.ndim < 2 or mask.shape[-1] != mask.shape[-2]:
        return False
    later = mask[..., *np.triu_indices(mask.shape[-1], 1)]
    return bool(not later.any() if mask.dtype == np.bool_ else (later <= _HIDDEN).all())


def _rewrite(
    model: onnx.ModelProto, fused: Sequence[onnx.NodeProto], caches: Mapping[str, str], masks: Mapping[str, Array]
) -> None:
    from onnx import TensorProto, helper

    graph = model.graph
    dtypes = {item.name: item.type.tensor_type.elem_type for item in graph.input}
    biases = {name: f"{name}_irbench_bias" for name in masks}
    dtype = dtypes[fused[0].input[_PAST_KEYS]]
    made = {name: list(_bias(graph, name, mask, biases[name], dtype)) for name, mask in masks.items()}
    nodes: list[onnx.NodeProto] = []
    outputs = {node.output[0] for node in fused}
    lengths = {**dict.fromkeys(caches, PAST), **dict.fromkeys(caches.values(), TOTAL)}
    for node in graph.node:
        if node.output[0] in outputs:
            nodes += [*made.pop(node.input[_MASK], []), _sharing(node, biases)]
        elif node.op_type == "Shape" and node.input[0] in lengths:
            nodes += _shape_with_length(graph, node, lengths[node.input[0]])
        else:
            nodes.append(node)
    del graph.node[:], graph.value_info[:]
    graph.node.extend(nodes)
    for item in (*graph.input, *graph.output):
        if item.name in lengths:
            item.type.tensor_type.shape.dim[_LENGTH_AXIS].dim_param = _CAPACITY
    for name, kind, shape in (
        (PAST, TensorProto.INT64, [1]), (TOTAL, TensorProto.INT64, [1]), (TOTAL_NUMBER, TensorProto.INT32, []),
        (LAST, TensorProto.INT32, [None]),
    ):  # fmt: skip
        graph.input.append(helper.make_tensor_value_info(name, kind, shape))
    if all(item.domain != _DOMAIN for item in model.opset_import):
        model.opset_import.append(helper.make_opsetid(_DOMAIN, 1))


def _sharing(node: onnx.NodeProto, biases: Mapping[str, str]) -> onnx.NodeProto:
    """Rule 1."""
    from onnx import helper

    queries, keys, values, mask, past_keys, past_values = node.input
    attributes = _attributes(node)
    inputs = [queries, keys, values, past_keys, past_values, LAST, TOTAL_NUMBER]
    return helper.make_node(
        "GroupQueryAttention",
        [*inputs, "", "", "", biases[mask]] if mask else inputs,
        list(node.output),
        name=node.name,
        domain=_DOMAIN,
        num_heads=attributes["q_num_heads"],
        kv_num_heads=attributes["kv_num_heads"],
        **({"scale": attributes["scale"]} if "scale" in attributes else {}),
    )


def _bias(graph: onnx.GraphProto, name: str, mask: Array, bias: str, dtype: int) -> Iterator[onnx.NodeProto]:
    """Yield nodes that make a mask what is added to scores, of rank four."""
    from onnx import helper, numpy_helper

    missing = _RANK - mask.ndim
    if mask.dtype == np.bool_:
        numbers = helper.tensor_dtype_to_np_dtype(dtype)
        kept, hidden = f"{bias}_kept", f"{bias}_hidden"
        graph.initializer.append(numpy_helper.from_array(np.zeros((), numbers), kept))
        graph.initializer.append(numpy_helper.from_array(np.asarray(np.finfo(numbers).min, numbers), hidden))
        scores = f"{bias}_scores"
        yield helper.make_node("Where", [name, kept, hidden], [scores])
    else:
        scores = name
    if not missing:
        yield helper.make_node("Identity", [scores], [bias])
        return
    axes = f"{bias}_axes"
    graph.initializer.append(numpy_helper.from_array(np.arange(missing), axes))
    yield helper.make_node("Unsqueeze", [scores, axes], [bias])


def _shape_with_length(graph: onnx.GraphProto, node: onnx.NodeProto, length: str) -> Iterator[onnx.NodeProto]:
    """Rule 2."""
    from onnx import helper, numpy_helper

    cache, (shape,) = node.input[0], node.output
    whole, before, after = f"{shape}_irbench_whole", f"{shape}_irbench_before", f"{shape}_irbench_after"
    yield helper.make_node("Shape", [cache], [before], end=_LENGTH_AXIS)
    yield helper.make_node("Shape", [cache], [after], start=_LENGTH_AXIS + 1)
    yield helper.make_node("Concat", [before, length, after], [whole], axis=0)
    attributes = _attributes(node)
    edges = {f"{shape}_irbench_start": attributes.get("start", 0), f"{shape}_irbench_end": attributes.get("end", _RANK)}
    for name, edge in edges.items():
        graph.initializer.append(numpy_helper.from_array(np.array([edge]), name))
    yield helper.make_node("Slice", [whole, *edges], [shape])
