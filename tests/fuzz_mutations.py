"""Ways to break a model file, from bits to the meaning of its fields. Equal generators break it equally."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import onnx
from fuzz_models import Files
from onnx import TensorProto, helper

from irbench.onnx.reading.protobuf import Attribute, GraphField, Model, Node, encode_length_delimited

_INTEGERS = (-(2**63), -(2**31), -1, 0, 1, 2, 3, 4, 5, 8, 17, 255, 2**31 - 1, 2**31, 2**40, 2**63 - 1)
_STRINGS = ("", "x", "y", "../x", "/etc/passwd", "\n\x1b[31mred", "☃", "a" * 5000, "ai.onnx.ml", "com.microsoft")
_LOCATIONS = ("../weights.bin", "/etc/passwd", "", ".", "nothing.bin", "*/_ORT_MEM_ADDR_/*", "weights.bin", "a" * 5000)
_SIZES = ("-1", "0", "1", "4096", "99999999999", "9" * 30, "1e3", "", "٣")
_OPERATORS = (
    "Relu",
    "Conv",
    "MatMul",
    "Reshape",
    "Loop",
    "If",
    "Scan",
    "Expand",
    "Range",
    "Resize",
    "NoSuchOp",
    "Gather",
)
_OPSETS = (7, 9, 11, 13, 15, 18, 21, 22, 24, 26, 99)
_MOST_BYTES = 64

_Bytes = Callable[[bytes, random.Random], bytes]
_Model = Callable[[onnx.ModelProto, random.Random], None]


def mutate(files: Files, others: Sequence[Files], chance: random.Random) -> tuple[str, Files]:
    """Return the name of a mutation chosen by ``chance``, and the files it makes of ``files``."""
    name = chance.choice(sorted(MUTATIONS))
    return name, MUTATIONS[name](files, others, chance)


def _flip_bits(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8, 64))):
        changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _overwrite(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data))
    run = chance.choice((b"\x00", b"\xff", b"\x80", b"\x0a")) * chance.randint(1, _MOST_BYTES)
    return data[:start] + run[: len(data) - start] + data[start + len(run) :]


def _insert(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data))
    return data[:start] + chance.randbytes(chance.randint(1, _MOST_BYTES)) + data[start:]


def _cut_out(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data))
    return data[:start] + data[start + chance.randint(1, _MOST_BYTES) :]


def _truncate(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def _splice(files: Files, others: Sequence[Files], chance: random.Random) -> Files:
    other = chance.choice(others).model
    head, tail = chance.randrange(len(files.model)), chance.randrange(len(other))
    return replace(files, model=files.model[:head] + other[tail:])


def _break_weights(files: Files, _: Sequence[Files], chance: random.Random) -> Files:
    """Cut or drop the files beside the model; the model itself where there is none."""
    if not files.beside:
        return replace(files, model=_truncate(files.model, chance))
    kept = {name: _truncate(content, chance) for name, content in files.beside.items() if chance.random() < 0.7}
    return replace(files, beside=kept)


def _messages(message: Any) -> list[Any]:
    found = [message]
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None:
            parts = value if descriptor.is_repeated else [value]
            found += [inner for part in parts for inner in _messages(part)]
    return found


def _any_field(model: onnx.ModelProto, chance: random.Random) -> tuple[Any, Any]:
    """Return a message of the model, and the descriptor of one of its fields that is set."""
    while True:
        message = chance.choice(_messages(model))
        if message.ListFields():
            descriptor, _ = chance.choice(message.ListFields())
            return message, descriptor


def _drop_field(model: onnx.ModelProto, chance: random.Random) -> None:
    message, descriptor = _any_field(model, chance)
    if descriptor.is_repeated:
        values = getattr(message, descriptor.name)
        del values[chance.randrange(len(values))]
    else:
        message.ClearField(descriptor.name)


def _repeat_or_reorder(model: onnx.ModelProto, chance: random.Random) -> None:
    repeated = [
        getattr(message, descriptor.name)
        for message in _messages(model)
        for descriptor, _ in message.ListFields()
        if descriptor.is_repeated
    ]
    values = chance.choice(repeated)
    copies = list(values)
    copies = [*copies, chance.choice(copies)] if chance.random() < 0.5 else chance.sample(copies, len(copies))
    kept = [type(copy).FromString(copy.SerializeToString()) if hasattr(copy, "ListFields") else copy for copy in copies]
    del values[:]
    values.extend(kept)


def _change_scalar(model: onnx.ModelProto, chance: random.Random) -> None:
    while True:
        message, descriptor = _any_field(model, chance)
        if descriptor.message_type is None:
            break
    value: Any = {
        descriptor.CPPTYPE_STRING: lambda: chance.choice(_STRINGS),
        descriptor.CPPTYPE_FLOAT: lambda: chance.choice((0.0, -1.0, float("nan"), float("inf"), 3e38)),
        descriptor.CPPTYPE_DOUBLE: lambda: chance.choice((0.0, float("nan"), 1e308)),
        descriptor.CPPTYPE_ENUM: lambda: chance.choice(list(descriptor.enum_type.values_by_number)),
    }.get(descriptor.cpp_type, lambda: chance.choice(_INTEGERS))()
    if descriptor.type == descriptor.TYPE_BYTES:
        value = chance.randbytes(chance.randrange(_MOST_BYTES))
    elif descriptor.cpp_type in (descriptor.CPPTYPE_INT32, descriptor.CPPTYPE_UINT32):
        value = max(0, min(value, 2**31 - 1))
    elif descriptor.cpp_type == descriptor.CPPTYPE_UINT64:
        value = max(0, value)
    if descriptor.is_repeated:
        values = getattr(message, descriptor.name)
        values[chance.randrange(len(values))] = value
    else:
        setattr(message, descriptor.name, value)


def _change_dim(model: onnx.ModelProto, chance: random.Random) -> None:
    graph = model.graph
    if chance.random() < 0.5 and graph.initializer:
        tensor = chance.choice(graph.initializer)
        if tensor.dims:
            tensor.dims[chance.randrange(len(tensor.dims))] = chance.choice(_INTEGERS)
        else:
            tensor.dims.extend(chance.choices(_INTEGERS, k=chance.choice((1, 2, 40))))
        return
    dims = chance.choice((*graph.input, *graph.output)).type.tensor_type.shape.dim
    if chance.random() < 0.8 and dims:
        chance.choice(dims).dim_value = chance.choice(_INTEGERS)
    elif chance.random() < 0.5:
        dims.add().dim_value = chance.choice(_INTEGERS)
    else:
        del dims[:]


def _rename(model: onnx.ModelProto, chance: random.Random) -> None:
    nodes = list(model.graph.node)
    side = chance.choice([tensor for node in nodes for tensor in (node.input, node.output) if tensor])
    names = [name for node in nodes for name in (*node.input, *node.output)]
    side[chance.randrange(len(side))] = chance.choice((*names, *_STRINGS))


def _make_cycle(model: onnx.ModelProto, chance: random.Random) -> None:
    """Let a node read what it, or a later one, makes."""
    nodes = model.graph.node
    number = chance.randrange(len(nodes))
    later = nodes[chance.randrange(number, len(nodes))]
    nodes[number].input[chance.randrange(len(nodes[number].input))] = later.output[-1]


def _change_operator(model: onnx.ModelProto, chance: random.Random) -> None:
    node = chance.choice(model.graph.node)
    if chance.random() < 0.7:
        node.op_type = chance.choice(_OPERATORS)
    else:
        node.domain = chance.choice(_STRINGS)


def _change_attribute(model: onnx.ModelProto, chance: random.Random) -> None:
    node = chance.choice([item for item in model.graph.node if item.attribute] or list(model.graph.node))
    if node.attribute and chance.random() < 0.6:
        attribute = chance.choice(node.attribute)
        attribute.i = attribute.i and chance.choice(_INTEGERS)
        for position in range(len(attribute.ints)):
            attribute.ints[position] = chance.choice((attribute.ints[position], *_INTEGERS))
        return
    names = [item.name for item in node.attribute] or ["axis", "to", "pads", "strides", "perm", "keepdims"]
    value = chance.choice((chance.choice(_INTEGERS), 0.5, "text", list(chance.choices(_INTEGERS, k=3))))
    del node.attribute[:]
    node.attribute.append(helper.make_attribute(chance.choice(names), value))


def _change_opset(model: onnx.ModelProto, chance: random.Random) -> None:
    if chance.random() < 0.5:
        chance.choice(model.opset_import).version = chance.choice(
            (*_INTEGERS, 7, 9, 11, 13, 15, 18, 21, 22, 24, 26, 99)
        )
    elif chance.random() < 0.5:
        model.opset_import.append(helper.make_opsetid(chance.choice(_STRINGS), chance.choice((1, 2, 18))))
    else:
        model.ir_version = chance.choice((*_INTEGERS, 3, 8, 99))


def _point_outside(model: onnx.ModelProto, chance: random.Random) -> None:
    if not model.graph.initializer:
        return
    tensor = chance.choice(model.graph.initializer)
    del tensor.external_data[:]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    said = {"location": chance.choice(_LOCATIONS)}
    said |= {key: chance.choice(_SIZES) for key in ("offset", "length") if chance.random() < 0.5}
    for key, value in said.items():
        tensor.external_data.add(key=key, value=value)


def _nest(data: bytes, chance: random.Random) -> bytes:
    """Add a node with a graph in a node with a graph, many levels deep."""
    model = onnx.ModelProto.FromString(data)
    graph = model.graph.SerializeToString()
    model.ClearField("graph")
    inner = graph if chance.random() < 0.5 else b""
    for _ in range(chance.choice((1, 20, 40, 500))):
        for number in (Attribute.GRAPH, Node.ATTRIBUTE, GraphField.NODE):
            inner = encode_length_delimited(number, len(inner)) + inner
    return model.SerializeToString() + encode_length_delimited(Model.GRAPH, len(graph + inner)) + graph + inner


def _on_bytes(change: _Bytes) -> Callable[[Files, Sequence[Files], random.Random], Files]:
    return lambda files, _, chance: replace(files, model=change(files.model, chance))


def _on_model(change: _Model) -> Callable[[Files, Sequence[Files], random.Random], Files]:
    def changed(files: Files, _: Sequence[Files], chance: random.Random) -> Files:
        model = onnx.ModelProto.FromString(files.model)
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            if model.graph.node:
                change(model, chance)
        return replace(files, model=model.SerializePartialToString(deterministic=True))

    return changed


MUTATIONS: Mapping[str, Callable[[Files, Sequence[Files], random.Random], Files]] = {
    "bits flipped": _on_bytes(_flip_bits),
    "bytes overwritten": _on_bytes(_overwrite),
    "bytes inserted": _on_bytes(_insert),
    "bytes cut out": _on_bytes(_cut_out),
    "truncated": _on_bytes(_truncate),
    "spliced with another": _splice,
    "weights' file broken": _break_weights,
    "field dropped": _on_model(_drop_field),
    "field repeated or reordered": _on_model(_repeat_or_reorder),
    "value replaced": _on_model(_change_scalar),
    "dimension changed": _on_model(_change_dim),
    "tensor renamed": _on_model(_rename),
    "cycle made": _on_model(_make_cycle),
    "operator changed": _on_model(_change_operator),
    "attribute changed": _on_model(_change_attribute),
    "opset changed": _on_model(_change_opset),
    "weights pointed elsewhere": _on_model(_point_outside),
    "nested": _on_bytes(_nest),
}
"""Every mutation by its name."""
