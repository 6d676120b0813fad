"""Backends that are not named are those that can read a model; a run without a model says what it is going to do."""

from __future__ import annotations

import os
from pathlib import Path

import models
import pytest
from models import mlp

from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.requests import resolve
from irbench.requests.resolve import able_backends, is_first_run
from irbench.spec import Bundle
from irbench.store import bundles

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


def test_a_run_is_the_first_where_it_names_nothing_and_nothing_was_exported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    assert is_first_run((), everything=False)
    assert not is_first_run(("m.onnx",), everything=False)
    assert not is_first_run((), everything=True)
    monkeypatch.setattr(bundles, "latest", lambda: tmp_path)
    assert not is_first_run((), everything=False)


def test_root_is_not_warned_of_files_that_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("IRBENCH_CONFINE", raising=False)
    said: list[str] = []
    resolve.resolve_bundles([str(models.mlp(tmp_path).path)], everything=False, say=said.append)
    assert said == []
