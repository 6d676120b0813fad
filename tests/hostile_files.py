"""Files that no user should have, and some that only look so: each builder writes one and returns its path."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import models
import numpy as np
import onnx
from front_door import Called
from onnx import TensorProto, helper, numpy_helper

Build = Callable[[Path], Path]
_FLOAT = TensorProto.FLOAT


def raw(content: bytes, name: str = "m.onnx") -> Build:
    """A file of these bytes."""

    def build(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return build


def png_header(width: int, height: int) -> bytes:
    """An image that has nothing behind its header."""
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    check = struct.pack(">I", zlib.crc32(b"IHDR" + header))
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", len(header)) + b"IHDR" + header + check + b"\0\0\0\0IDAT"


def cut(fraction: float) -> Build:
    """The beginning of a model."""

    def build(folder: Path) -> Path:
        path = models.mlp(folder).path
        os.truncate(path, int(path.stat().st_size * fraction))
        return path

    return build


def changed(change: Callable[[onnx.ModelProto], object]) -> Build:
    """A small convolutional network, changed."""

    def build(folder: Path) -> Path:
        path = models.mlp(folder).path
        model = onnx.load(path)
        change(model)
        path.write_bytes(model.SerializeToString())
        return path

    return build


def value(name: str, shape: list[int | str | None] | None, element: int = _FLOAT) -> onnx.ValueInfoProto:
    """An input or output."""
    return helper.make_tensor_value_info(name, element, shape)


def graph_of(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    weights: list[onnx.TensorProto] | None = None,
) -> Build:
    """A model of these parts, valid or not."""

    def build(folder: Path) -> Path:
        graph = helper.make_graph(nodes, "g", inputs, outputs, weights or [])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        (folder / "m.onnx").write_bytes(model.SerializeToString())
        return folder / "m.onnx"

    return build


def of_type(wrap: Callable[[onnx.TypeProto], onnx.TypeProto]) -> Build:
    """A model whose input ``x`` and output are of a type other than a tensor."""
    kind = wrap(helper.make_tensor_type_proto(_FLOAT, ["N"]))
    node = helper.make_node("Identity", ["x"], ["y"])
    return graph_of([node], [helper.make_value_info("x", kind)], [helper.make_value_info("y", kind)])


def with_external(break_it: Callable[[Path], object] = lambda _: None, **entries: str) -> Build:
    """A model whose weights lie beside it, with other entries for one of them, its folder broken afterwards."""

    def build(folder: Path) -> Path:
        path = models.mlp(folder).path
        onnx.save(onnx.load(path), path, save_as_external_data=True, location="weights.bin", size_threshold=16)
        model = onnx.load(path, load_external_data=False)
        for entry in model.graph.initializer[0].external_data:
            entry.value = entries.get(entry.key, entry.value)
        path.write_bytes(model.SerializeToString())
        break_it(folder)
        return path

    return build


def zipped(folder: Path) -> Path:
    """An archive that is called a model."""
    with zipfile.ZipFile(folder / "m.onnx", "w") as archive:
        archive.writestr("model.onnx", b"")
    return folder / "m.onnx"


def folder_called_model(folder: Path) -> Path:
    (folder / "m.onnx").mkdir()
    return folder / "m.onnx"


def pipe(folder: Path) -> Path:
    os.mkfifo(folder / "m.onnx")
    return folder / "m.onnx"


def endless_device(folder: Path) -> Path:
    (folder / "m.onnx").symlink_to("/dev/zero")
    return folder / "m.onnx"


def loop_of_links(folder: Path) -> Path:
    (folder / "m.onnx").symlink_to(folder / "m.onnx")
    return folder / "m.onnx"


def huge(folder: Path) -> Path:
    """Three gigabytes of nothing, which take no room."""
    path = raw(b"\x08\x09")(folder)
    os.truncate(path, 3 << 30)
    return path


def deep(folder: Path) -> Path:
    """A graph inside a graph inside a graph, beyond any reader's depth."""
    from irbench.onnx.reading.protobuf import Attribute, GraphField, Model, Node, encode_length_delimited

    content = b""
    for _ in range(2000):
        for number in (Attribute.GRAPH, Node.ATTRIBUTE, GraphField.NODE):
            content = encode_length_delimited(number, len(content)) + content
    path = models.mlp(folder).path
    model = onnx.load(path)
    graph = model.graph.SerializeToString() + content
    model.ClearField("graph")
    path.write_bytes(model.SerializeToString() + encode_length_delimited(Model.GRAPH, len(graph)) + graph)
    return path


def of_empty_nodes(count: int) -> Build:
    """A valid model with as many nodes that say nothing, two bytes each."""

    def build(folder: Path) -> Path:
        from irbench.onnx.reading.protobuf import GraphField, Model, encode_length_delimited

        path = models.mlp(folder).path
        model = onnx.load(path)
        graph = model.graph.SerializeToString() + encode_length_delimited(GraphField.NODE, 0) * count
        model.ClearField("graph")
        path.write_bytes(model.SerializeToString() + encode_length_delimited(Model.GRAPH, len(graph)) + graph)
        return path

    return build


def with_small_nodes(count: int) -> Build:
    """A model with as many of the smallest nodes that have an operator."""

    def build(folder: Path) -> Path:
        from irbench.onnx.reading.protobuf import GraphField, Model, Node, encode_bytes, encode_length_delimited

        path = models.mlp(folder).path
        model = onnx.load(path)
        node = encode_bytes(GraphField.NODE, encode_bytes(Node.OUTPUT, b"a") + encode_bytes(Node.OP_TYPE, b"A"))
        graph = model.graph.SerializeToString() + node * count
        model.ClearField("graph")
        path.write_bytes(model.SerializeToString() + encode_length_delimited(Model.GRAPH, len(graph)) + graph)
        return path

    return build


def of_weight_dimensions(count: int) -> Callable[[onnx.ModelProto], None]:
    """Give a weight as many dimensions, each so large that no product of them fits anywhere."""

    def change(model: onnx.ModelProto) -> None:
        model.graph.initializer[0].ClearField("dims")
        model.graph.initializer[0].dims.extend([2**62] * count)

    return change


def name_that_is_no_text(folder: Path) -> Path:
    """A model whose input and output, and the nodes beside them, have names that are not UTF-8."""
    path = graph_of([helper.make_node("Relu", ["xxxx"], ["yyyy"])], [value("xxxx", [1])], [value("yyyy", [1])])(folder)
    path.write_bytes(path.read_bytes().replace(b"xxxx", b"x\xff\xfex").replace(b"yyyy", b"\xc3\x28yy"))
    return path


def cyclic(model: onnx.ModelProto) -> None:
    model.graph.node[1].input[0] = "pooled"


def unsorted(model: onnx.ModelProto) -> None:
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(reversed(nodes))


def without_weights(model: onnx.ModelProto) -> None:
    del model.graph.initializer[:]


def from_another_domain(model: onnx.ModelProto) -> None:
    model.graph.node[1].domain = "org.nobody"
    model.opset_import.append(helper.make_opsetid("org.nobody", 1))


def of_opset(version: int) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        model.opset_import[0].version = version

    return change


def of_sizes(*sizes: int) -> Callable[[onnx.ModelProto], None]:
    """Give the input other sizes."""

    def change(model: onnx.ModelProto) -> None:
        dims = model.graph.input[0].type.tensor_type.shape.dim
        for dimension, size in zip(dims, sizes, strict=True):
            dimension.dim_value = size

    return change


def named(name: str) -> Callable[[onnx.ModelProto], None]:
    """Let a node read a tensor of this name, which nobody makes."""

    def change(model: onnx.ModelProto) -> None:
        model.graph.node[0].input[0] = name

    return change


def constant(folder: Path) -> Path:
    """A model without inputs."""
    weight = numpy_helper.from_array(np.ones(3, np.float32), "w")
    return graph_of([helper.make_node("Relu", ["w"], ["y"])], [], [value("y", [3])], [weight])(folder)


def refusal(called: Called) -> tuple[str, str]:
    """Return what a refused call said and its remedy, after seeing that it said nothing else."""
    assert called.code == 2, called.err
    assert called.out == ""
    problem, remedy = called.err.strip().splitlines()
    assert problem.startswith("error: ")
    assert remedy.startswith("hint: ")
    return problem, remedy
