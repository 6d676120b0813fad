"""Nodes of ONNX models with hostile names, operators and attributes; bodies in bodies; endless functions."""

from __future__ import annotations

import random

import onnx
from onnx import helper

from .hostile_values import TEXTS, is_seldom
from .model_parts import ATTRIBUTES, DEPTHS, DOMAINS, SIZES, any_name, pick, representable

_OPERATORS = (
    "Add", "Cast", "Concat", "Constant", "ConstantOfShape", "Conv", "ConvTranspose", "Einsum", "Expand", "Gather",
    "Gemm", "If", "Loop", "MatMul", "MaxPool", "OneHot", "Pad", "Range", "ReduceSum", "Reshape", "Resize", "Scan",
    "SequenceConstruct", "Slice", "Split", "Squeeze", "Tile", "TopK", "Transpose", "Unsqueeze", "Where", "NonZero",
    "LSTM", "NoSuchOperator",
)  # fmt: skip


def rename(model: onnx.ModelProto, chance: random.Random) -> None:
    node = pick(model.graph.node, chance)
    form = chance.randrange(5)
    known = [name for other in model.graph.node for name in (*other.input, *other.output)] or [""]
    if form == 0:
        node.name = representable(any_name(chance))
    elif form == 1:
        node.input.extend([chance.choice(known)] * chance.choice((1, 3, 500)))
    elif form == 2:
        node.output.append(chance.choice(known))
    elif form == 3:
        node.input[:] = [representable(any_name(chance)) for _ in node.input]
    else:
        node.input[:] = list(node.output)


def change_operator(model: onnx.ModelProto, chance: random.Random) -> None:
    node = pick(model.graph.node, chance)
    node.op_type = chance.choice(_OPERATORS)
    if is_seldom(chance, 3):
        node.domain = chance.choice(DOMAINS)
    if is_seldom(chance, 3):
        node.overload = representable(any_name(chance))
    _add_attribute(node, chance)


def change_attribute(model: onnx.ModelProto, chance: random.Random) -> None:
    _add_attribute(pick(model.graph.node, chance), chance)


def _add_attribute(node: onnx.NodeProto, chance: random.Random) -> None:
    name = chance.choice([attribute.name for attribute in node.attribute] or ATTRIBUTES)
    name = chance.choice(ATTRIBUTES) if is_seldom(chance, 3) else name
    form = chance.randrange(9)
    attribute = onnx.AttributeProto(name=name)
    if form == 0:
        attribute.i, attribute.type = chance.choice(SIZES), onnx.AttributeProto.INT
    elif form == 1:
        attribute.ints.extend(chance.choices(SIZES, k=chance.choice((0, 1, 2, 4, 300))))
        attribute.type = onnx.AttributeProto.INTS
    elif form == 2:
        attribute.f, attribute.type = float("nan"), onnx.AttributeProto.FLOAT
    elif form == 3:
        attribute.s, attribute.type = chance.choice(TEXTS).encode(errors="replace"), onnx.AttributeProto.STRING
    elif form == 4:
        attribute.t.dims.extend(chance.choices(SIZES, k=chance.choice((0, 1, 3))))
        attribute.t.data_type, attribute.type = chance.choice(range(20)), onnx.AttributeProto.TENSOR
    elif form == 5:
        attribute.g.CopyFrom(onnx.GraphProto(name="body"))
        attribute.type = onnx.AttributeProto.GRAPH
    elif form == 6:
        attribute.ref_attr_name, attribute.type = chance.choice(ATTRIBUTES), onnx.AttributeProto.INT
    elif form == 7:
        attribute.type = chance.choice(range(15))
    else:
        attribute.sparse_tensor.dims.extend(chance.choices(SIZES, k=2))
        attribute.type = onnx.AttributeProto.SPARSE_TENSOR
    if not is_seldom(chance, 6):
        kept = [held for held in node.attribute if held.name != name]
        del node.attribute[:]
        node.attribute.extend(kept)
    node.attribute.append(attribute)


def add_function(model: onnx.ModelProto, chance: random.Random) -> None:
    """Add functions that call themselves, each other, or many others twice each."""
    form = chance.randrange(4)
    count = (1, 2, chance.choice((3, 25)), 1)[form]
    for number in range(count):
        called = f"f{(number + 1) % count}" if form < 2 or number + 1 < count else "Relu"
        domain = "local" if called != "Relu" else ""
        body = [helper.make_node(called, ["x"], ["y"], domain=domain)]
        if form == 2:
            body.append(helper.make_node(called, ["y"], ["z"], domain=domain))
        opsets = [] if form == 3 else [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
        model.functions.append(helper.make_function("local", f"f{number}", ["x"], [body[-1].output[0]], body, opsets))
    model.opset_import.append(helper.make_opsetid("local", 1))
    node = pick(model.graph.node, chance)
    node.op_type, node.domain = "f0", "local"
    if is_seldom(chance, 3):
        model.functions[-1].attribute.append(representable(any_name(chance)))


def nest(model: onnx.ModelProto, chance: random.Random) -> None:
    """Put a body into a body, many times, each with inputs and weights of the names outside."""
    graph = onnx.GraphProto(name="innermost")
    graph.node.extend(model.graph.node)
    for number in range(chance.choice(DEPTHS)):
        outer = onnx.GraphProto(name=f"body{number}")
        outer.node.append(helper.make_node("If", ["go"], ["y"], then_branch=graph))
        if is_seldom(chance, 4):
            outer.initializer.extend(model.graph.initializer)
        graph = outer
        if graph.ByteSize() > 1 << 20:
            break
    model.graph.node.extend(graph.node)
