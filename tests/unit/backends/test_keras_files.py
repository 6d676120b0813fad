"""What a ``.keras`` file needs is read from its configuration, without Keras."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from irbench.errors import IrbenchError
from irbench_tf.loading.keras_files import load_keras_file, require_registered

DENSE = {"module": "keras.layers", "class_name": "Dense", "config": {"units": 3}, "registered_name": None}
SWISH = {"module": "my_layers", "class_name": "Swish", "config": {}, "registered_name": "mine>Swish"}
ZERO_ARGUMENTS = {"module": "builtins", "class_name": "function", "config": "relu", "registered_name": "function"}
LAMBDA = {
    "module": "keras.layers",
    "class_name": "Lambda",
    "config": {"function": {"class_name": "__lambda__", "config": {}}},
}


def calling(module: str, name: str) -> dict[str, Any]:
    """Return the configuration of an operation that is given a function to call."""
    called = {"module": module, "class_name": "function", "config": name, "registered_name": name}
    return {"module": "keras.src.ops.core", "class_name": "Cond", "config": {}, "inbound_nodes": [{"args": [called]}]}


def naming(module: str, name: str) -> dict[str, Any]:
    """Return the configuration of an object of Keras."""
    return {"module": module, "class_name": name, "config": {}, "registered_name": name}


@pytest.fixture(autouse=True)
def without_keras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "keras", raising=False)


def file_of(folder: Path, *layers: Any) -> Path:
    path = folder / "net.keras"
    with zipfile.ZipFile(path, "w") as archive:
        config = {"module": "keras", "class_name": "Sequential", "config": {"layers": list(layers)}}
        archive.writestr("config.json", json.dumps(config))
    return path


def refusal_of(path: Path, *imports: str) -> str | None:
    """Return why a file is refused before Keras reads it; None where Keras decides."""
    try:
        require_registered(path, imports)
    except IrbenchError as error:
        return error.message
    return None


@pytest.mark.parametrize(("module", "option"), [("my_layers", "--import my_layers"), ("__main__", "--import MODULE")])
def test_a_custom_layer_is_named_with_the_option_that_imports_it(module: str, option: str, tmp_path: Path):
    path = file_of(tmp_path, DENSE, {"layer": {**SWISH, "module": module}})
    with pytest.raises(IrbenchError) as caught:
        require_registered(path, ())
    assert f"{path} needs Swish" in caught.value.message
    assert "mine>Swish" in caught.value.message
    assert option in caught.value.hint


def test_what_keras_has_itself_needs_nothing(tmp_path: Path):
    assert refusal_of(file_of(tmp_path, DENSE, ZERO_ARGUMENTS, LAMBDA)) is None


def test_where_modules_are_imported_keras_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = file_of(tmp_path, SWISH)
    assert "needs Swish" in str(refusal_of(path))
    assert refusal_of(path, "my_layers") is None
    monkeypatch.setitem(sys.modules, "keras", sys)
    assert refusal_of(path) is None


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip at all"])
def test_a_damaged_file_is_left_to_keras(content: bytes, tmp_path: Path):
    (tmp_path / "net.keras").write_bytes(content)
    assert refusal_of(tmp_path / "net.keras") is None


@pytest.mark.parametrize(("place", "value"), [(6, 1), (8, 99)], ids=["encrypted", "unknown compression"])
def test_an_archive_that_cannot_be_unpacked_is_left_to_keras(place: int, value: int, tmp_path: Path):
    path = file_of(tmp_path, SWISH)
    content = bytearray(path.read_bytes())
    for at in (place, content.index(b"PK\x01\x02") + place + 2):
        content[at] = value
    path.write_bytes(content)
    assert refusal_of(path) is None


def test_damaged_compression_is_left_to_keras(tmp_path: Path):
    path = tmp_path / "net.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", json.dumps([SWISH] * 9))
    content = bytearray(path.read_bytes())
    content[45:60] = b"\xff" * 15
    path.write_bytes(content)
    assert refusal_of(path) is None


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("keras", "DTypePolicy"),
        ("keras", "Functional"),
        ("keras.initializers", "GlorotUniform"),
        ("keras.layers", "Dense"),
        ("keras.optimizers", "Adam"),
        ("keras.src.models.functional", "Functional"),
        ("keras.src.applications.convnext", "LayerScale"),
        ("keras.src.ops.numpy", "Add"),
        ("keras_hub.src.models.bert", "backbone"),
    ],
)
def test_classes_that_models_are_made_of_are_left_to_keras(module: str, name: str, tmp_path: Path, loaded: list[Path]):
    path = file_of(tmp_path, DENSE, {"deeper": naming(module, name)})
    load_keras_file(path)
    assert loaded == [path]


@pytest.mark.parametrize("config", ["[" * 100_000, "{}", "[]", '{"class_name": 3, "config": 1}', "x"])
def test_an_odd_configuration_is_left_to_keras(config: str, tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "net.keras", "w") as archive:
        archive.writestr("config.json", config)
    assert refusal_of(tmp_path / "net.keras") is None


@pytest.mark.parametrize(
    ("imports", "hint"),
    [
        (("my_layers",), 'Register it in my_layers: keras.saving.get_custom_objects()["mine>Swish"] = Swish'),
        (("code/my_layers.py",), "Register it in code/my_layers.py: "),
        (("others",), "Add `--import my_layers`: "),
    ],
)
def test_a_layer_that_was_imported_is_to_be_registered(
    imports: tuple[str, ...], hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def load_model(*_: Any, **__: Any) -> None:
        raise TypeError("Could not locate class 'Swish'.")

    saving = SimpleNamespace(load_model=load_model, get_registered_object=lambda _: None)
    monkeypatch.setitem(sys.modules, "keras", SimpleNamespace(saving=saving))
    with pytest.raises(IrbenchError) as caught:
        load_keras_file(file_of(tmp_path, SWISH), imports)
    assert str(caught.value.hint).startswith(hint)


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the files that reach Keras."""
    reached: list[Path] = []
    saving = SimpleNamespace(load_model=lambda path, **_: reached.append(path))
    monkeypatch.setitem(sys.modules, "keras", SimpleNamespace(saving=saving))
    return reached


HARMFUL = {
    "a layer of code": (LAMBDA, "contains Python code"),
    "a layer that calls Keras": ({**LAMBDA, "config": {"function": ZERO_ARGUMENTS}}, "contains Python code"),
    "code beside layers": ({**DENSE, "config": {"activation": LAMBDA["config"]}}, "contains Python code"),
    "another program": ({"class_name": "TFSMLayer", "config": {"filepath": "saved"}}, "names TFSMLayer"),
    "a pickle": ({"class_name": "TorchModuleWrapper", "config": {"module": "gASV"}}, "names TorchModuleWrapper"),
    "a download": (calling("keras.datasets.mnist", "load_data"), "the function keras.datasets.mnist.load_data"),
    "a class": (calling("keras.layers", "TFSMLayer"), "the function keras.layers.TFSMLayer"),
    "the root of Keras": (calling("keras", "Model"), "the function keras.Model"),
    "a function as a class": (naming("keras.datasets.mnist", "load_data"), "names keras.datasets.mnist.load_data"),
    "a name with dots": (naming("keras", "datasets.mnist.load_data"), "names keras.datasets.mnist.load_data"),
    "a model that is fetched": (naming("keras.applications", "ResNet50"), "names keras.applications.ResNet50"),
    "a file that is written": (naming("keras.utils", "plot_model"), "names keras.utils.plot_model"),
    "a setting": (naming("keras.src.backend.config", "set_floatx"), "names keras.src.backend.config.set_floatx"),
    "Python": (calling("builtins", "eval"), "the function builtins.eval"),
}


@pytest.mark.parametrize("kind", HARMFUL)
def test_what_does_more_than_compute_is_refused_before_keras_reads_it(kind: str, tmp_path: Path, loaded: list[Path]):
    layer, said = HARMFUL[kind]
    with pytest.raises(IrbenchError) as caught:
        load_keras_file(file_of(tmp_path, DENSE, {"deeper": [layer]}))
    assert said in caught.value.message
    assert "If you trust it" in caught.value.hint
    assert not loaded


@pytest.mark.parametrize("module", ["builtins", "keras.activations", "keras.ops", "keras.initializers", "my_layers"])
def test_functions_that_compute_and_those_of_users_are_left_to_keras(module: str, tmp_path: Path, loaded: list[Path]):
    path = file_of(tmp_path, DENSE, calling(module, "gelu"))
    load_keras_file(path)
    assert loaded == [path]


@pytest.mark.parametrize("config", ["[" * 100_000 + "]" * 100_000, "no json"])
def test_a_configuration_that_cannot_be_read_reaches_keras_no_more(config: str, tmp_path: Path, loaded: list[Path]):
    with zipfile.ZipFile(tmp_path / "net.keras", "w") as archive:
        archive.writestr("config.json", config)
    with pytest.raises(IrbenchError, match="its configuration cannot be read"):
        load_keras_file(tmp_path / "net.keras")
    assert not loaded


@pytest.mark.parametrize(
    ("name", "said"), [("config.json", "cannot be read"), ("assets/words", "more than 100 times its own size")]
)
def test_an_archive_that_unpacks_to_far_more_is_refused(name: str, said: str, tmp_path: Path, loaded: list[Path]):
    path = tmp_path / "net.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in {"config.json": b"{}", name: bytes((1 << 27) + 1)}.items():
            archive.writestr(member, content)
    with pytest.raises(IrbenchError, match=said):
        load_keras_file(path)
    assert not loaded
