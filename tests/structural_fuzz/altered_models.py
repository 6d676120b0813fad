"""ONNX models with hostile values in valid places: sizes, counts, names, types, bodies, functions, other files."""

from __future__ import annotations

import contextlib
import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import onnx
from fuzz_models import Files, seeds
from fuzz_mutations import MUTATIONS
from google.protobuf.message import DecodeError
from onnx import TensorProto

from .altered_nodes import add_function, change_attribute, change_operator, nest, rename
from .hostile_values import OUTSIDE, TEXTS, is_seldom
from .model_parts import ATTRIBUTES, DEPTHS, DOMAINS, SIZES, any_name, pick, representable

LINK = "link.bin"
"""A file beside the model which is a link to what lies outside of its folder."""

_RANKS = (0, 1, 9, 65, 300, 2000)
_COUNTS = (2, 40, 3000)
_TYPES = (*range(-1, 30), 99, 2**31 - 1)
_OFFSETS = (
    "-1",
    "0",
    "1",
    "4096",
    str(2**31),
    str(2**63 - 1),
    str(2**64),
    "9" * 30,
    "1e3",
    "0x10",
    " 1",
    "",
    "٣",
    "NaN",
)
_LOCATIONS = (
    "../weights.bin", "../../../../etc/passwd", "/etc/passwd", "/dev/zero", "/proc/self/mem", OUTSIDE, "", ".", "..",
    "a/../b", "weights.bin", "weights.bin/", "./weights.bin", LINK, "nothing.bin", "*/_ORT_MEM_ADDR_/*", "a" * 300,
    "\x00", "model.onnx",
)  # fmt: skip

Change = Callable[[onnx.ModelProto, random.Random], None]


def altered_model(chance: random.Random) -> Files:
    """Return a small model that was changed in a few places."""
    known = _known()
    files = known[chance.randrange(len(known))]
    if is_seldom(chance, 5):
        return MUTATIONS[chance.choice(sorted(MUTATIONS))](files, known, chance)
    model = onnx.ModelProto.FromString(files.model)
    for _ in range(chance.choice((1, 1, 2, 4))):
        with contextlib.suppress(DecodeError):  # protobuf's own limit of depth, where bodies were nested twice
            CHANGES[chance.randrange(len(CHANGES))](model, chance)
    return replace(files, model=model.SerializePartialToString(deterministic=True))


def model_with_weights_elsewhere(chance: random.Random) -> bytes:
    """Return a small model that says of a weight that it lies in another file, mostly where none may lie."""
    model = onnx.ModelProto.FromString(chance.choice(_known()).model)
    _point_elsewhere(model, chance)
    return model.SerializePartialToString(deterministic=True)


@functools.cache
def _known() -> Sequence[Files]:
    found = seeds()
    return [found[name] for name in sorted(found)]


def _values(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    return [*model.graph.input, *model.graph.output, *model.graph.value_info]


def _change_shape(model: onnx.ModelProto, chance: random.Random) -> None:
    shape = chance.choice(_values(model)).type.tensor_type.shape
    if is_seldom(chance, 3):
        del shape.dim[:]
        for _ in range(chance.choice(_RANKS)):
            shape.dim.add(dim_value=chance.choice(SIZES) if is_seldom(chance, 2) else 1)
    elif is_seldom(chance, 2):
        pick(shape.dim, chance).dim_param = representable(any_name(chance))
    else:
        pick(shape.dim, chance).dim_value = chance.choice(SIZES)


def _change_weight(model: onnx.ModelProto, chance: random.Random) -> None:
    weight = pick(model.graph.initializer, chance)
    form = chance.randrange(6)
    if form == 0:
        weight.data_type = chance.choice(_TYPES)
    elif form == 1:
        del weight.dims[:]
        weight.dims.extend(chance.choices(SIZES, k=chance.choice(_RANKS[:5])))
    elif form == 2:
        weight.raw_data = chance.randbytes(chance.randrange(40))
    elif form == 3:
        weight.ClearField("raw_data")
        weight.int64_data.extend(chance.choices(SIZES, k=5))
        weight.string_data.append(b"\xff\xfe")
    elif form == 4:
        weight.segment.begin, weight.segment.end = chance.choice(SIZES), chance.choice(SIZES)
    else:
        weight.name = representable(any_name(chance))


def _point_elsewhere(model: onnx.ModelProto, chance: random.Random) -> None:
    weight = pick(model.graph.initializer, chance)
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    del weight.external_data[:]
    location = chance.choice((*_LOCATIONS, *TEXTS)) if is_seldom(chance, 2) else chance.choice(_LOCATIONS)
    stated = {"location": representable(location)}
    stated |= {key: chance.choice(_OFFSETS) for key in ("offset", "length") if is_seldom(chance, 2)}
    for key, value in stated.items():
        for _ in range(2 if is_seldom(chance, 8) else 1):
            weight.external_data.add(key=key, value=value)
    if is_seldom(chance, 3):
        weight.dims[:] = chance.choices(SIZES, k=2)


def _change_type(model: onnx.ModelProto, chance: random.Random) -> None:
    value = chance.choice(_values(model))
    inner = onnx.TypeProto()
    inner.tensor_type.elem_type = chance.choice(_TYPES)
    for _ in range(chance.choice(DEPTHS)):
        outer = onnx.TypeProto()
        form = chance.randrange(3)
        (outer.sequence_type, outer.optional_type, outer.map_type)[form].SetInParent()
        if form == 2:
            outer.map_type.key_type = chance.choice(_TYPES)
            outer.map_type.value_type.CopyFrom(inner)
        else:
            (outer.sequence_type, outer.optional_type)[form].elem_type.CopyFrom(inner)
        inner = outer
        if is_seldom(chance, 2):
            break
    value.type.CopyFrom(inner)


def _change_element(model: onnx.ModelProto, chance: random.Random) -> None:
    chance.choice(_values(model)).type.tensor_type.elem_type = chance.choice(_TYPES)


def _repeat(model: onnx.ModelProto, chance: random.Random) -> None:
    """Have many of something: nodes, weights, inputs, opsets, properties, attributes."""
    graph = model.graph
    values = (
        *(graph.node, graph.initializer, graph.input, graph.output, graph.value_info, graph.sparse_initializer),
        *(model.opset_import, model.metadata_props, model.functions, graph.quantization_annotation),
    )[chance.randrange(10)]
    first = pick(values, chance)
    copy = type(first).FromString(first.SerializePartialToString())
    for number in range(chance.choice(_COUNTS)):
        added = values.add()
        added.CopyFrom(copy)
        if isinstance(added, onnx.NodeProto) and is_seldom(chance, 2):
            added.output[:] = [f"{name}_{number}" for name in added.output]


def _change_versions(model: onnx.ModelProto, chance: random.Random) -> None:
    form = chance.randrange(4)
    if form == 0:
        pick(model.opset_import, chance).version = chance.choice((*SIZES, 1, 6, 21, 24, 25, 26, 999))
    elif form == 1:
        model.opset_import.add(domain=chance.choice(DOMAINS), version=chance.choice(SIZES))
    elif form == 2:
        model.ir_version = chance.choice(SIZES)
    else:
        del model.opset_import[:]


def _change_text(model: onnx.ModelProto, chance: random.Random) -> None:
    text = representable(chance.choice(TEXTS))
    model.producer_name = model.producer_version = model.doc_string = model.graph.doc_string = text
    model.graph.name = text
    model.metadata_props.add(key=text, value=text)


def _change_sparse(model: onnx.ModelProto, chance: random.Random) -> None:
    sparse = pick(model.graph.sparse_initializer, chance)
    sparse.dims.extend(chance.choices(SIZES, k=chance.choice((0, 1, 3))))
    sparse.values.name = chance.choice([weight.name for weight in model.graph.initializer] or ["w"])
    sparse.indices.dims.extend(chance.choices(SIZES, k=2))
    sparse.indices.data_type = chance.choice(range(20))


def _train(model: onnx.ModelProto, chance: random.Random) -> None:
    training = model.training_info.add()
    training.algorithm.CopyFrom(model.graph)
    training.update_binding.add(key=chance.choice(ATTRIBUTES), value="x")


CHANGES: tuple[Change, ...] = (
    _change_shape,
    _change_shape,
    _change_weight,
    _change_weight,
    _point_elsewhere,
    _change_type,
    _change_element,
    _repeat,
    rename,
    change_operator,
    change_attribute,
    change_attribute,
    add_function,
    nest,
    _change_versions,
    _change_text,
    _change_sparse,
    _train,
)
"""Every change, the more fruitful ones twice."""
