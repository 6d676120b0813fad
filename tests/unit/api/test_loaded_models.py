"""Models in memory where a path can stand: kept in files by what they hold."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import models
import onnx
import pytest
from onnx import numpy_helper

import irbench
from irbench.api.loaded_models import model_name
from irbench.errors import IrbenchError


@pytest.fixture
def proto(tmp_path: Path) -> onnx.ModelProto:
    return onnx.load(models.mlp(tmp_path).path)


def test_texts_and_paths_are_names_as_they_are():
    assert model_name("resnet50") == "resnet50"
    assert model_name(Path("a") / "b.onnx") == "a/b.onnx"


def test_equal_graphs_are_one_file_and_others_are_another(proto: onnx.ModelProto):
    same, other = onnx.ModelProto(), onnx.ModelProto()
    same.CopyFrom(proto)
    other.CopyFrom(proto)
    weight = other.graph.initializer[0]
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) + 1, weight.name))
    first = Path(model_name(proto))
    assert model_name(same) == str(first)
    assert model_name(other) != str(first)
    assert onnx.load(first) == proto


@pytest.mark.parametrize("name", ["../../etc/passwd", "a\0b", "", "n" * 500, "\u202eabc"])
def test_the_name_of_a_graph_leads_nowhere_else(name: str, proto: onnx.ModelProto, own_home: Path):
    proto.graph.name = name
    file = Path(model_name(proto))
    assert file.is_relative_to(own_home)
    assert file.resolve() == file
    assert file.suffix == ".onnx"


def test_weights_in_other_files_are_refused_with_the_way_to_load_them(proto: onnx.ModelProto):
    entry = proto.graph.initializer[0].external_data.add()
    entry.key, entry.value = "location", "weights.bin"
    with pytest.raises(IrbenchError, match="in other files") as caught:
        model_name(proto)
    assert "onnx.load" in caught.value.hint


def test_functions_that_look_at_a_graph_take_it_from_memory(proto: onnx.ModelProto, tmp_path: Path):
    path = models.mlp(tmp_path).path
    assert irbench.cost(proto, batch=2).total == irbench.cost(path, batch=2).total
    assert irbench.inspect(proto).inventory.parameters == irbench.inspect(path).inventory.parameters
    assert not irbench.diff(proto, path).changes.operators


@pytest.mark.ci
@pytest.mark.usefixtures("known_backends")
def test_a_graph_from_memory_is_measured_and_stored_as_its_file(proto: onnx.ModelProto):
    run = irbench.run(proto, backends="fake-a", quick=True, budget=0.01, progress=None)
    assert run.table.model == Path(model_name(proto)).stem
    assert run.rows[0].state == "ok"


@pytest.fixture(scope="module")
def keras() -> Any:
    return pytest.importorskip("keras")


def dense(keras: Any, seed: int = 1) -> Any:
    keras.utils.set_random_seed(seed)
    layers = [keras.Input((4,), name="x"), keras.layers.Dense(2, name="dense")]
    return keras.Sequential(layers, name="small net")


@pytest.mark.ci
def test_equal_models_of_keras_are_one_file_however_they_are_trained(keras: Any):
    first = Path(model_name(dense(keras)))
    assert first.name.startswith("small_net-")
    compiled = dense(keras)
    compiled.compile("sgd", "mse")
    assert model_name(compiled) == str(first)
    assert model_name(dense(keras, seed=2)) != str(first)
    assert keras.saving.load_model(first).count_params() == 10
    assert all(file.suffix == ".keras" for file in first.parent.iterdir())


@pytest.mark.ci
def test_a_class_of_a_notebook_is_refused_by_its_name(keras: Any, monkeypatch: pytest.MonkeyPatch):
    main = ModuleType("__main__")
    source = "class Doubled(keras.layers.Layer):\n    def call(self, x):\n        return x * 2\n"
    vars(main)["keras"] = keras
    exec(source, vars(main))
    monkeypatch.setitem(sys.modules, "__main__", main)
    with pytest.raises(IrbenchError, match="Doubled of the Keras model") as caught:
        model_name(keras.Sequential([keras.Input((4,)), main.Doubled()]))
    assert 'imports=["my_layers"]' in caught.value.hint


@pytest.mark.ci
def test_a_model_without_weights_is_refused(keras: Any):
    with pytest.raises(IrbenchError, match="no weights yet"):
        model_name(keras.Sequential([keras.layers.Dense(2)]))
