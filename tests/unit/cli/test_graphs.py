"""From what the user typed to a graph that was made from another."""

from __future__ import annotations

from pathlib import Path

import models
import pytest

from irbench.cli.graphs import find_graph
from irbench.errors import IrbenchError
from irbench.optimize import Conversion, Lineage, recipe
from irbench.record import GraphStep


def converted(samples: int) -> Lineage:
    asked = recipe("basic", conversion=Conversion("int8", samples=samples))
    steps = (GraphStep("original", False), GraphStep("quantize_static", True))
    return Lineage("key", "source", "model", asked, {"batch": 1}, steps, {}, "2026-11-21")


def test_graphs_of_one_name_and_size_are_named_by_path_with_their_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = [(Path("few.onnx"), converted(8)), (Path("many.onnx"), converted(64))]
    monkeypatch.setattr("irbench.optimize.kept_for", lambda _: kept)
    with pytest.raises(IrbenchError, match="means 2 graphs") as refused:
        find_graph(f"{models.mlp(tmp_path).path}+basic-int8:batch=1")
    few, many = "few.onnx (batch=1, static, 8 inputs)", "many.onnx (batch=1, static, 64 inputs)"
    assert refused.value.hint == f"Name one: {few}, {many}"
