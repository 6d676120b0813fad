"""A run says which of its optimised graphs were compared only in part."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import models
import pytest

from irbench.core.graph_record import GraphCheck, UncheckedBody
from irbench.notices.notes import GraphPartlyUnchecked
from irbench.optimizer import Lineage, Recipe
from irbench.optimizer.lineage import write_lineage
from irbench.requests.unchecked_graphs import graph_notes
from irbench.runner import prepare as preparing
from irbench.runner.plan import plan
from irbench.runner.prepare import prepare
from irbench.runner.request import RunRequest
from irbench.spec import Bundle

MISSED = (UncheckedBody("If", "a", "then_branch"), UncheckedBody("Loop", "b", "body", 0))


@pytest.mark.parametrize(("missed", "notes"), [(MISSED, 1), ((), 0)])
def test_a_graph_is_told_of_once_with_how_much_was_not_compared(tmp_path: Path, monkeypatch, missed, notes) -> None:
    artifact = models.mlp(tmp_path)
    (tmp_path / "model.onnx").write_bytes(artifact.path.read_bytes())
    checked = GraphCheck(unchecked=missed)
    lineage = Lineage("key", "", "", Recipe("basic", ()), {"batch": 1}, (), {}, "2026-01-01", checked=checked)
    write_lineage(lineage, tmp_path)

    def optimized(bundle: Bundle, sizes: Mapping[str, int], asked: Recipe, *_: object) -> SimpleNamespace:
        inputs = tuple(spec.bind(sizes) for spec in artifact.inputs)
        made = replace(artifact, inputs=inputs, variant=asked.name, path=tmp_path / "model.onnx")
        return SimpleNamespace(artifact=made)

    monkeypatch.setattr(preparing, "optimize", optimized)
    bundle = Bundle("mlp", models.logical_inputs(artifact), (artifact,))
    request = RunRequest((bundle,), (("fake-a", "cpu"), ("fake-b", "cpu")), variants=("none", "basic"))
    found = list(graph_notes(plan(request, prepare(request, tmp_path / "scratch"))))
    assert found == [GraphPartlyUnchecked(model="mlp", variant="basic", parts=2)] * notes
