"""What a user is told of options that change nothing in a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import models
import pytest

from irbench.errors import IrbenchError
from irbench.notices import Note
from irbench.notices.notes import LayoutUnchanged, OptimizeNotApplied
from irbench.optimizer import Recipe
from irbench.optimizer.inputs_to_nchw import as_nchw
from irbench.requests.ineffective_options import ineffective_layouts, ineffective_levels, refuse_ineffective_levels
from irbench.runner import prepare as preparing
from irbench.runner.plan import plan
from irbench.runner.prepare import prepare
from irbench.runner.request import RunRequest
from irbench.spec import Bundle, InputSpec


@pytest.fixture(autouse=True)
def unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an optimisation bind the sizes, and do nothing else."""

    def optimized(bundle: Bundle, sizes: Mapping[str, int], asked: Recipe, *_: object) -> SimpleNamespace:
        given = bundle.artifacts[0]
        inputs = tuple(spec.bind(sizes) for spec in given.inputs)
        return SimpleNamespace(artifact=replace(given, inputs=inputs, variant=asked.name))

    monkeypatch.setattr(preparing, "optimize", optimized)


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    artifact = models.mlp(tmp_path)
    graph = replace(artifact, kind="tf-graph")
    return Bundle("mlp", tuple(InputSpec(spec) for spec in artifact.inputs), (artifact, graph))


def told(request: RunRequest, scratch: Path) -> list[Note]:
    return list(ineffective_levels(request, plan(request, prepare(request, scratch))))


def test_a_backend_that_runs_no_onnx_is_named_once_where_graphs_are_optimised(bundle: Bundle, tmp_path: Path) -> None:
    request = RunRequest((bundle,), (("tf", "cpu"), ("fake-a", "cpu")), (1, 2), variants=("none", "basic"))
    assert told(request, tmp_path) == [OptimizeNotApplied(backend="tf", artifact="tf-graph")]
    assert not told(replace(request, variants=("none",)), tmp_path)


def test_a_backend_that_cannot_run_the_model_at_all_is_not_told_of(bundle: Bundle, tmp_path: Path) -> None:
    only_onnx = replace(bundle, artifacts=bundle.artifacts[:1])
    assert not told(RunRequest((only_onnx,), (("tf", "cpu"), ("fake-a", "cpu")), variants=("basic",)), tmp_path)


def test_levels_are_refused_where_no_backend_reads_what_they_change() -> None:
    with pytest.raises(IrbenchError, match="none of the backends reads ONNX: tf, tf-xla") as caught:
        refuse_ineffective_levels((("tf", "cpu"), ("tf-xla", "cpu")), ("none", "basic"))
    assert "for example ort" in caught.value.hint
    refuse_ineffective_levels((("tf", "cpu"),), ("none",))
    refuse_ineffective_levels((("tf", "cpu"), ("fake-a", "cpu")), ("basic",))


def test_a_layout_that_changed_nothing_is_told_of_the_graphs_that_kept_theirs(bundle: Bundle, tmp_path: Path) -> None:
    request = RunRequest((bundle,), (("fake-a", "cpu"), ("fake-b", "cpu")), variants=("none", "basic", "basic-nchw"))
    groups = plan(request, prepare(request, tmp_path))
    assert list(ineffective_layouts(groups)) == [LayoutUnchanged(model="mlp", variant="basic-nchw")]
    (group,) = groups
    cells = tuple(
        replace(cell, artifact=as_nchw(cell.artifact, ("pixels",))) if cell.artifact is not None else cell
        for cell in group.group.cells
    )
    assert not list(ineffective_layouts([replace(group, group=replace(group.group, cells=cells))]))


def test_a_layout_is_told_of_each_model_of_a_table_whose_graph_kept_its_own(bundle: Bundle, tmp_path: Path) -> None:
    other = replace(bundle, name="other")
    request = RunRequest((bundle, other), (("fake-a", "cpu"),), variants=("none", "basic-nchw"))
    (group,) = plan(request, prepare(request, tmp_path))
    assert [note.model for note in ineffective_layouts([group])] == ["mlp", "other"]
    cells = tuple(
        replace(cell, artifact=as_nchw(cell.artifact, ("pixels",)))
        if cell.artifact is not None and cell.workload == 0
        else cell
        for cell in group.group.cells
    )
    changed = replace(group, group=replace(group.group, cells=cells))
    assert [note.model for note in ineffective_layouts([changed])] == ["other"]
