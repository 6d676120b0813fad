from __future__ import annotations

from dataclasses import replace

import pytest

from irbench.errors import IrbenchError
from irbench.exporter import ExportOptions
from irbench.exporter.identity import identity

OPTIONS = ExportOptions()


def key(source: str, **changes: object) -> str:
    return identity(source, "tensorflow", replace(OPTIONS, **changes))


@pytest.mark.parametrize("source", ["resnet50", "package.module:function"])
def test_the_same_request_has_the_same_key(source):
    assert key(source) == key(source)


@pytest.mark.parametrize(
    "change", [{"opset": 17}, {"batch": 2}, {"seed": 1}, {"weights": "random"}, {"layout": "keep"}]
)
def test_everything_that_changes_the_result_changes_the_key(change):
    assert key("resnet50", **change) != key("resnet50")


@pytest.mark.parametrize("change", [{"force": True}, {"output": None}])
def test_what_does_not_change_the_result_does_not_change_the_key(change):
    assert key("resnet50", **change) == key("resnet50")


def test_models_of_one_zoo_differ_by_name():
    assert key("resnet50") != key("vgg16")


def test_an_edited_file_is_another_model(tmp_path):
    file = tmp_path / "net.py"
    file.write_text("width = 1")
    before = key(f"{file}:build")
    file.write_text("width = 2")
    assert key(f"{file}:build") != before


def test_an_edited_module_is_another_model_and_is_not_imported_to_see_that(tmp_path, monkeypatch):
    package = tmp_path / "irbench_test_nets"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "small.py").write_text("width = 1")
    monkeypatch.syspath_prepend(tmp_path)
    before = key("irbench_test_nets.small:build")
    (package / "small.py").write_text("width = 2")
    assert key("irbench_test_nets.small:build") != before


def test_an_edited_module_in_the_folder_one_is_in_is_another_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "irbench_test_nets.py").write_text("width = 1")
    before = key("irbench_test_nets:build")
    (tmp_path / "irbench_test_nets.py").write_text("width = 2")
    assert key("irbench_test_nets:build") != before


def test_what_lies_in_the_folder_one_is_in_is_no_part_of_the_zoo(tmp_path, monkeypatch):
    before = key("resnet50")
    (tmp_path / "irbench_zoo.py").write_text("width = 1")
    monkeypatch.chdir(tmp_path)
    assert key("resnet50") == before


def test_a_file_of_a_folder_counts(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"graph")
    before = key(str(tmp_path))
    (tmp_path / "variables").mkdir()
    (tmp_path / "variables" / "data").write_bytes(b"weights")
    assert key(str(tmp_path)) != before


def test_weights_count_by_their_content(tmp_path):
    file = tmp_path / "a.weights.h5"
    file.write_bytes(b"one")
    before = key("resnet50", weights=str(file))
    file.write_bytes(b"two")
    assert key("resnet50", weights=str(file)) != before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"opset": 12}, "Opset 12"),
        ({"opset": 24}, "Opset 24"),
        ({"batch": 0}, "valid batch size"),
        ({"seed": -1}, "seed -1"),
        ({"weights": "nowhere.h5"}, "nowhere.h5"),
    ],
)
def test_an_impossible_option_is_refused_with_a_remedy(change, message):
    with pytest.raises(IrbenchError, match=message) as caught:
        replace(OPTIONS, **change).validate()
    assert caught.value.hint
