from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.exporter.build import refuse_impossible
from irbench.exporter.identity import identity, stored_options
from irbench.exporter.refresh import original_request
from irbench.exporter.source import Source
from irbench.options.export import ExportOptions
from irbench.store.card import Origin

OPTIONS = ExportOptions()


def key(source: str, **changes: object) -> str:
    return identity(Source(source), "tensorflow", replace(OPTIONS, **changes))


@pytest.mark.parametrize("source", ["resnet50", "package.module:function"])
def test_the_same_request_has_the_same_key(source):
    assert key(source) == key(source)


@pytest.mark.parametrize(
    "change",
    [
        {"opset": 17},
        {"batch": 2},
        {"seed": 1},
        {"weights": "random"},
        {"layout": "keep"},
        {"name": "mine"},
        {"imports": ("layers",)},
        {"shape": {"sequence": (64,)}},
    ],
)
def test_everything_that_changes_the_result_changes_the_key(change):
    assert key("resnet50", **change) != key("resnet50")


@pytest.mark.parametrize("change", [{"force": True}, {"output": None}, {"deadline": 1.0}])
def test_what_does_not_change_the_result_does_not_change_the_key(change):
    assert key("resnet50", **change) == key("resnet50")


def test_models_of_one_zoo_differ_by_name():
    assert key("resnet50") != key("vgg16")


def test_a_function_is_another_one_in_another_folder(tmp_path, monkeypatch):
    """Two projects may have a module of the same name, and a function may read files of the folder one is in."""
    keys = set()
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "irbench_test_nets.py").write_text("width = 1")
        monkeypatch.chdir(tmp_path / name)
        keys.add(key("irbench_test_nets:build"))
    assert len(keys) == 2


@pytest.mark.parametrize("named", ["./saved", "saved/", "../{folder}/saved", "{path}"])
def test_a_path_is_the_same_model_however_it_is_written(named, tmp_path, monkeypatch):
    (tmp_path / "saved").mkdir()
    monkeypatch.chdir(tmp_path)
    assert key(named.format(folder=tmp_path.name, path=tmp_path / "saved")) == key("saved")


def test_a_module_is_not_imported_to_find_it(tmp_path, monkeypatch):
    package = tmp_path / "irbench_test_nets"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "small.py").write_text("width = 1")
    monkeypatch.chdir(tmp_path)
    assert Source("irbench_test_nets.small:build").location == f"{package}/small.py:build"


def test_what_lies_in_the_folder_one_is_in_is_no_part_of_the_zoo(tmp_path, monkeypatch):
    before = key("resnet50")
    (tmp_path / "irbench_zoo.py").write_text("width = 1")
    monkeypatch.chdir(tmp_path)
    assert key("resnet50") == before


def test_two_models_of_the_zoo_with_other_code_of_irbench_are_two(tmp_path, monkeypatch):
    before = key("resnet50")
    monkeypatch.setattr("irbench.exporter.identity.OWN_CODE", ("irbench.errors",))
    assert key("resnet50") != before


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
        refuse_impossible(replace(OPTIONS, **change))
    assert caught.value.hint


def test_the_options_of_an_export_come_back_from_its_card():
    options = replace(OPTIONS, shape={"tokens": (1, 64), "sequence": (64,)}, imports=("layers",))
    stored = json.loads(json.dumps(stored_options(options, Path("/work"))))
    origin = Origin("net.py:build", "/work", "/work/net.py:build", "tensorflow", stored, {})
    assert original_request(origin, ()) == (Source("net.py:build", Path("/work")), options)
