"""Model files of the optimiser keep their weights wherever they are read from and written to."""

from pathlib import Path

import models
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from irbench.onnx.reading import external_data
from irbench.optimizer import job as model_files


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.mlp(tmp_path).path


def answers(path: Path):
    pixels = np.random.default_rng(3).random((2, 3, 8, 8), np.float32)
    return ReferenceEvaluator(external_data.load(path)).run(None, {"pixels": pixels})[0]


def test_weights_that_a_message_cannot_hold_lie_beside_the_graph_and_its_copy(model, tmp_path, monkeypatch):
    monkeypatch.setattr(model_files, "MAX_BYTES", 0)
    written, copied = tmp_path / "written.onnx", tmp_path / "elsewhere" / "copied.onnx"
    copied.parent.mkdir()
    model_files.write(model_files.load(model), written)
    model_files.copy_model(written, copied)
    assert (tmp_path / "elsewhere" / "copied.onnx.data").is_file()
    model_files.weights_beside(written).unlink()
    assert (answers(copied) == answers(model)).all()


def test_weights_in_a_subfolder_come_along(model, tmp_path):
    (tmp_path / "sub").mkdir()
    described = onnx.load(model)
    onnx.save(described, tmp_path / "m.onnx", save_as_external_data=True, location="sub/weights.bin", size_threshold=0)
    (tmp_path / "sub" / "again.bin").hardlink_to(tmp_path / "sub" / "weights.bin")
    (tmp_path / "result").mkdir()
    model_files.write(model_files.load(tmp_path / "m.onnx"), tmp_path / "result" / "model.onnx")
    assert (answers(tmp_path / "result" / "model.onnx") == answers(model)).all()


def test_a_copy_that_cannot_be_written_leaves_what_stood_there(model, tmp_path, monkeypatch):
    target = tmp_path / "target.onnx"
    target.write_text("precious")

    def fill_up(_source, unfinished):
        Path(unfinished).write_text("half")
        raise OSError("No space left on device")

    monkeypatch.setattr(model_files.shutil, "copyfile", fill_up)
    with pytest.raises(OSError, match="No space"):
        model_files.copy_model(model, target)
    assert target.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mlp.onnx", "target.onnx"]


@pytest.fixture
def with_weights(model, tmp_path, monkeypatch):
    """A model whose weights lie beside it, as every model that is written in this test."""
    monkeypatch.setattr(model_files, "MAX_BYTES", 0)
    written = tmp_path / "written.onnx"
    model_files.write(model_files.load(model), written)
    return written


@pytest.fixture
def target(tmp_path):
    """A model with weights where another is to be copied to."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "target.onnx").write_text("precious")
    (folder / "target.onnx.data").write_text("precious weights")
    return folder / "target.onnx"


def content(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_a_copy_with_weights_that_cannot_be_written_leaves_what_stood_there(with_weights, target, monkeypatch):
    before = content(target.parent)

    def fill_up(_model, unfinished):
        unfinished.write_text("half")
        model_files.weights_beside(unfinished).write_text("half")
        raise OSError("No space left on device")

    monkeypatch.setattr(model_files, "write", fill_up)
    with pytest.raises(OSError, match="No space"):
        model_files.copy_model(with_weights, target)
    assert content(target.parent) == before
    assert sorted(path.name for path in target.parent.iterdir()) == sorted(before)


def test_a_graph_that_cannot_take_its_place_leaves_the_weights_that_stood_there(with_weights, target):
    target.unlink()
    target.mkdir()
    with pytest.raises(OSError, match=r"target\.onnx"):
        model_files.copy_model(with_weights, target)
    assert content(target.parent) == {"target.onnx.data": "precious weights"}
    assert len(list(target.parent.iterdir())) == 2


def test_a_copy_with_weights_takes_the_place_of_another(with_weights, target, model):
    model_files.copy_model(with_weights, target)
    assert (answers(target) == answers(model)).all()
    assert sorted(path.name for path in target.parent.iterdir()) == ["target.onnx", "target.onnx.data"]


def test_weights_are_no_inputs_and_the_operator_set_has_one_name(model):
    described = onnx.load(model)
    described.graph.input.extend(
        helper.make_tensor_value_info(initializer.name, initializer.data_type, initializer.dims)
        for initializer in described.graph.initializer
    )
    described.opset_import[0].domain = "ai.onnx"
    described.ir_version = 3
    onnx.save(described, model)
    found = model_files.load(model)
    assert [tensor.name for tensor in found.graph.inputs] == ["pixels"]
    assert found.graph.opset_imports == {"": 17}
    assert found.ir_version == 4


def test_vendors_are_those_whose_operators_neither_onnx_nor_the_model_defines(model):
    described = onnx.load(model)
    described.graph.node[1].domain = "com.microsoft"
    described.graph.node[2].domain = "own"
    body = [helper.make_node("Identity", ["a"], ["b"])]
    opsets = [helper.make_opsetid("", 17)]
    described.functions.append(helper.make_function("own", "MaxPool", ["a"], ["b"], body, opsets))
    onnx.save(described, model)
    assert model_files.vendors_of(model_files.load(model)) == {"com.microsoft"}


def test_weights_inside_other_graphs_are_read_too(tmp_path):
    inner = numpy_helper.from_array(np.array([1, 2], np.float32), "inner")
    result = helper.make_tensor_value_info("r", TensorProto.FLOAT, [2])
    branch = helper.make_graph([helper.make_node("Identity", ["inner"], ["r"])], "branch", [], [result], [inner])
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    condition = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    graph = helper.make_graph([node], "g", [condition], [made])
    path = tmp_path / "m.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path, save_as_external_data=True, location="w", size_threshold=0)
    assert (ReferenceEvaluator(external_data.load(path)).run(None, {"c": np.array(True)})[0] == [1, 2]).all()
