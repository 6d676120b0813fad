"""Where weights outside a file may lie, told from the file's bytes."""

from __future__ import annotations

from pathlib import Path

import hostile_files as hostile
import models
import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

from irbench.errors import IrbenchError
from irbench.onnx.reading.external_data import External, external_tensors, files_of, load, read_outline, require_sound


def test_a_name_of_a_node_that_is_not_utf8_is_made_so_where_the_model_is_loaded(tmp_path: Path) -> None:
    path = models.mlp(tmp_path).path
    model = onnx.load(path)
    model.graph.node[0].name = "nnnn"
    path.write_bytes(model.SerializeToString().replace(b"nnnn", b"n\xff\xfen"))
    loaded = load(path)
    assert loaded.graph.node[0].name == "n\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}n"
    assert loaded.SerializeToString()


def test_a_model_with_its_weights_inside_has_none_outside(tmp_path: Path) -> None:
    path = models.mlp(tmp_path).path
    assert list(external_tensors(memoryview(path.read_bytes()))) == []
    assert require_sound(path) == 0


def test_weights_in_a_file_are_found_with_their_place_and_size(tmp_path: Path) -> None:
    path = hostile.with_external()(tmp_path)
    data = memoryview(path.read_bytes())
    kernel = next(external_tensor for external_tensor in external_tensors(data) if external_tensor.tensor == "kernel")
    assert kernel == External("kernel", "weights.bin", kernel.offset_bytes, 8 * 3 * 3 * 3 * 4)
    assert files_of(data) == ("weights.bin",)
    assert require_sound(path) == sum(external_tensor.size_bytes for external_tensor in external_tensors(data))


def outside(location: str) -> TensorProto:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    return tensor


def test_weights_are_found_however_deep_they_hide(tmp_path: Path) -> None:
    hidden = helper.make_graph([helper.make_node("Constant", [], ["c"], value=outside("../deep"))], "inner", [], [])
    node = helper.make_node("If", ["x"], ["y"], then_branch=hidden, else_branch=hidden)
    function = helper.make_function(
        "d", "F", [], ["f"], [helper.make_node("Constant", [], ["f"], value=outside("/etc/passwd"))], []
    )
    graph = helper.make_graph([node], "g", [], [], sparse_initializer=[onnx.SparseTensorProto(values=outside("s"))])
    model = helper.make_model(graph, functions=[function])
    assert files_of(memoryview(model.SerializeToString())) == ("../deep", "/etc/passwd", "s")


@pytest.mark.parametrize(
    "location",
    ["../w", "/w", "a/../../w", "", ".", "*/_ORT_MEM_ADDR_/*", "w\0", "a" * 5000, "folder", "link", "in/link"],
)
def test_no_location_leads_out_of_the_folder(location: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "folder").mkdir(parents=True)
    (tmp_path / "w").write_bytes(bytes(8))
    (folder / "link").symlink_to("../w")
    (folder / "in").symlink_to("folder")
    (folder / "folder" / "link").write_bytes(bytes(8))
    path = folder / "m.onnx"
    graph = helper.make_graph([], "g", [], [], [outside(location)])
    path.write_bytes(helper.make_model(graph).SerializeToString())
    with pytest.raises(IrbenchError) as caught:
        require_sound(path)
    assert caught.value.hint
    assert len(caught.value.message) < 250


def refused(tensor: TensorProto, folder: Path) -> IrbenchError:
    path = folder / "m.onnx"
    path.write_bytes(helper.make_model(helper.make_graph([], "g", [], [], [tensor])).SerializeToString())
    with pytest.raises(IrbenchError) as caught:
        require_sound(path)
    return caught.value


@pytest.mark.parametrize(
    ("location", "said", "hinted"),
    [
        ("", "their location is empty", "Export the model again"),
        ("sub/../w.bin", "which is a path with '..' in it", "with the location 'w.bin'"),
        ("HERE/w.bin", "which is an absolute path", "with the location 'w.bin'"),
        ("sub/..", "which is a path with '..' in it", "That is a folder"),
        ("../w.bin", "outside its own folder", "Move the file next to the model"),
        ("sub/../../w.bin", "outside its own folder", "Move the file next to the model"),
        ("sub", "are a folder", "Save the model again with the location of a file"),
        (".", "are a folder", "Save the model again with the location of a file"),
        ("w\0", "which no file can be called", "Export the model again"),
        ("a" * 5000, "cannot be opened: File name too long", "with a shorter location"),
        ("..w.bin", "are missing", "Copy the file to"),
    ],
)
def test_what_is_wrong_with_a_location_is_said_as_it_is(location: str, said: str, hinted: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "w.bin").write_bytes(bytes(8))
    error = refused(outside(location.replace("HERE", str(tmp_path))), tmp_path)
    assert said in error.message
    assert hinted in error.hint


def test_an_offset_of_thousands_of_digits_is_quoted_shortened(tmp_path: Path) -> None:
    tensor = outside("w.bin")
    tensor.name = "n" * 3000
    tensor.external_data.add(key="offset", value="9" * 6000)
    message = refused(tensor, tmp_path).message
    assert message.endswith(f"is not a number of bytes: '{'9' * 80}... (6,000 characters)'.")
    assert len(message) < 300


@pytest.fixture
def path(tmp_path):
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 23]> g (float[6] x) => (float[a,b] y) '
        "{ r = Reshape (x, s)  y = MatMul (r, w) }"
    )
    weights = {"s": np.array([2, 3]), "w": np.ones((3, 500), np.float32)}
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in weights.items())
    onnx.save(model, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def test_large_weights_keep_their_type_and_shape_alone(path):
    small, large = read_outline(path).graph.initializer
    assert (large.name, list(large.dims), large.data_type) == ("w", [3, 500], onnx.TensorProto.FLOAT)
    assert not large.raw_data
    assert numpy_helper.to_array(small).tolist() == [2, 3]


def test_everything_else_is_as_it_was(path):
    outline, whole = read_outline(path), onnx.load(path)
    del outline.graph.initializer[:], whole.graph.initializer[:]
    assert outline == whole


def test_what_is_no_model_is_refused(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"\x3a\x05\x0a\x03abc")
    with pytest.raises(IrbenchError, match="not an ONNX model"):
        read_outline(tmp_path / "m.onnx")
