"""What a user is told of options that change nothing in a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import models
import pytest
from run_requests import run_request

from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.core.graph_record import GraphCheck, UncheckedBody
from irbench.errors import IrbenchError
from irbench.notices import Note
from irbench.notices.notes import GraphPartlyUnchecked, Int8StaticChosen, LayoutUnchanged, OptimizeNotApplied
from irbench.optimizer import Lineage, Recipe
from irbench.optimizer.inputs_to_nchw import as_nchw
from irbench.optimizer.lineage import write_lineage
from irbench.requests.optimization_levels import (
    graph_notes,
    ineffective_layouts,
    ineffective_levels,
    refuse_ineffective_levels,
    with_suitable_int8,
)
from irbench.runner import prepare as preparing
from irbench.runner.plan import plan
from irbench.runner.prepare import prepare
from irbench.runner.request import RunRequest
from irbench.spec import Bundle, InputSpec
from irbench.spi import Description


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
    request = run_request((bundle,), (("tf", "cpu"), ("fake-a", "cpu")), batch=(1, 2), variants=("none", "basic"))
    assert told(request, tmp_path) == [OptimizeNotApplied(backend="tf", artifact="tf-graph")]
    assert not told(replace(request, variants=("none",)), tmp_path)


def test_a_backend_that_cannot_run_the_model_at_all_is_not_told_of(bundle: Bundle, tmp_path: Path) -> None:
    only_onnx = replace(bundle, artifacts=bundle.artifacts[:1])
    assert not told(run_request((only_onnx,), (("tf", "cpu"), ("fake-a", "cpu")), variants=("basic",)), tmp_path)


def test_levels_are_refused_where_no_backend_reads_what_they_change() -> None:
    with pytest.raises(IrbenchError, match="none of the backends reads ONNX: tf, tf-xla") as caught:
        refuse_ineffective_levels((("tf", "cpu"), ("tf-xla", "cpu")), ("none", "basic"))
    assert "for example ort" in caught.value.hint
    refuse_ineffective_levels((("tf", "cpu"),), ("none",))
    refuse_ineffective_levels((("tf", "cpu"), ("fake-a", "cpu")), ("basic",))


def test_a_layout_that_changed_nothing_is_told_of_the_graphs_that_kept_theirs(bundle: Bundle, tmp_path: Path) -> None:
    request = run_request((bundle,), (("fake-a", "cpu"), ("fake-b", "cpu")), variants=("none", "basic", "basic-nchw"))
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
    request = run_request((bundle, other), (("fake-a", "cpu"),), variants=("none", "basic-nchw"))
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


BACKENDS = {
    "any": SimpleNamespace(consumes=("onnx",), methods=("static", "dynamic")),
    "static-only": SimpleNamespace(consumes=("onnx",), methods=("static",)),
    "framework": SimpleNamespace(consumes=("tf-graph",), methods=("static",)),
}


@pytest.fixture
def backends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "backend", BACKENDS.__getitem__)
    monkeypatch.setattr(
        registry,
        "describe",
        lambda _group, name: Description(name, name, "1", int8_methods=BACKENDS[name].methods),
    )


def chosen(variants: tuple[str, ...], *names: str) -> tuple[tuple[str, ...], tuple[Note, ...]]:
    return with_suitable_int8(variants, [BackendAddress(name, "cpu") for name in names])


@pytest.mark.usefixtures("backends")
def test_a_backend_that_computes_static_int8_only_decides_and_is_named():
    found, notes = chosen(("none", "basic-int8"), "any", "static-only")
    assert found == ("none", "basic-int8-static")
    facts = {"backend": "static-only", "asked": "basic-int8", "chosen": "basic-int8-static"}
    assert notes == (Int8StaticChosen(**facts),)


@pytest.mark.usefixtures("backends")
@pytest.mark.parametrize("names", [("any",), ("any", "framework")])
def test_without_such_a_backend_the_model_decides(names: tuple[str, ...]):
    assert chosen(("none", "basic-int8"), *names) == (("none", "basic-int8"), ())


@pytest.mark.usefixtures("backends")
@pytest.mark.parametrize("named", ["basic-int8-dynamic", "basic-int8-static", "basic-fp16", "basic", "none"])
def test_what_was_named_stays(named: str):
    assert chosen((named,), "static-only") == ((named,), ())


@pytest.mark.usefixtures("backends")
def test_a_static_variant_that_was_asked_for_as_well_is_one_row():
    assert chosen(("none-int8", "none-int8-static"), "static-only")[0] == ("none-int8-static",)


@pytest.mark.usefixtures("backends")
def test_the_installed_runtimes_say_what_they_compute(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()
    assert "dynamic" in registry.describe(registry.BACKENDS, "ort").int8_methods
    assert registry.describe(registry.BACKENDS, "openvino").int8_methods == ("static",)


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
    request = run_request((bundle,), (("fake-a", "cpu"), ("fake-b", "cpu")), variants=("none", "basic"))
    found = list(graph_notes(plan(request, prepare(request, tmp_path / "scratch"))))
    assert found == [GraphPartlyUnchecked(model="mlp", variant="basic", parts=2)] * notes
