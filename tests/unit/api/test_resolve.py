"""Backends that are not named are those that can read a model; a run without a model says what it is going to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from models import mlp

from irbench import bundles, registry
from irbench.address import BackendAddress
from irbench.api.resolve import FIRST_MODEL, able_backends, first_run
from irbench.spec import Bundle

READS = {"of-onnx": ("onnx",), "of-graphs": ("tf-graph",), "of-both": ("tf-graph", "onnx")}


class Stub:
    def __init__(self, name: str) -> None:
        self.consumes = READS[name]


@pytest.fixture(autouse=True)
def stubs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "backend", Stub)


def test_backends_that_can_read_no_model_are_left_out(tmp_path: Path):
    every = tuple(map(BackendAddress, READS))
    model = Bundle("mlp", (), (mlp(tmp_path),))
    assert [address.name for address in able_backends(every, (model,))] == ["of-onnx", "of-both"]


def test_where_none_can_all_are_left_for_the_plan_to_refuse(tmp_path: Path):
    graphs = (BackendAddress("of-graphs"),)
    assert able_backends(graphs, (Bundle("mlp", (), (mlp(tmp_path),)),)) == graphs


def test_a_first_run_says_what_it_exports_and_on_what_it_measures(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registry, "installed_backends", lambda: ("ort", "tf"))
    said = first_run((), everything=False)
    assert FIRST_MODEL in said
    assert "ort, tf" in said
    assert "90 s" in said


def test_any_other_run_says_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    assert first_run(("m.onnx",), everything=False) == first_run((), everything=True) == ""
    monkeypatch.setattr(bundles, "latest", lambda: tmp_path)
    assert first_run((), everything=False) == ""
