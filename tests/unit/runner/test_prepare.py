"""What a run is planned with: shapes bound, graphs optimised once, and failures as values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import models
import pytest
from run_requests import run_request

from irbench.core.record import Failure
from irbench.errors import ExitCode, IrbenchError
from irbench.optimizer import LEVELS, OriginalRefused, Recipe
from irbench.runner import prepare as preparing
from irbench.runner.plan import PreparedModel
from irbench.runner.prepare import prepare
from irbench.spec import Artifact, Bundle, InputSpec

FAKES = (("fake-a", "cpu"), ("fake-b", "cpu"))


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    artifact = models.mlp(tmp_path)
    return Bundle("mlp", tuple(InputSpec(spec) for spec in artifact.inputs), (artifact,))


def made(bundle: Bundle, scratch: Path, **changes: Any) -> tuple[PreparedModel, ...]:
    tables = prepare(run_request((bundle,), FAKES, **changes), scratch).tables
    return tuple(model for table in tables for model in table)


def test_every_batch_has_its_shapes_bound(bundle: Bundle, tmp_path: Path) -> None:
    for model, batch in zip(made(bundle, tmp_path, batch=(1, 4)), (1, 4), strict=True):
        artifact = model.artifacts["onnx", "none"]
        assert isinstance(artifact, Artifact)
        assert artifact.inputs[0].shape[0] == batch
        assert not artifact.inputs[0].dynamic_dimensions


@pytest.mark.parametrize("side_by_side", [False, True])
def test_models_share_a_table_at_each_shape(tmp_path: Path, side_by_side: bool) -> None:
    one = models.two_inputs(tmp_path)
    first = Bundle("one", tuple(InputSpec(spec) for spec in one.inputs), (one,))
    second = replace(first, name="two")
    swept = run_request((first, second), FAKES, shapes=("length", ((5,), (9,), (13,))), side_by_side=side_by_side)
    tables = prepare(swept, tmp_path / "scratch").tables
    assert [{own.model.workload.sizes["length"] for own in table} for table in tables] == [{5}, {9}, {13}]
    assert [[own.model.bundle.name for own in table] for table in tables] == [["one", "two"]] * 3


@pytest.mark.parametrize(("dtype", "precision"), [("float16", "fp16"), ("float32", "fp32"), ("float64", "native")])
def test_a_graph_is_run_in_its_own_precision_where_that_can_be_asked_for(
    bundle: Bundle, tmp_path: Path, dtype: str, precision: str
) -> None:
    held = replace(bundle, artifacts=(models.mlp(tmp_path, dtype, "held"),))
    (model,) = made(held, tmp_path, precisions=None)
    assert model.model.precision == precision


def test_a_level_is_made_once_however_many_backends_run_it(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, dict[str, int]]] = []

    def optimized(_bundle: Bundle, sizes: dict[str, int], recipe: Recipe, *_: object) -> SimpleNamespace:
        asked.append((recipe.name, dict(sizes)))
        return SimpleNamespace(artifact=replace(bundle.artifacts[0], variant=recipe.name))

    monkeypatch.setattr(preparing, "optimize", optimized)
    (model,) = made(bundle, tmp_path, variants=("none", "all"))
    assert set(model.artifacts) == {("onnx", "none"), ("onnx", "all")}
    assert asked == [("all", {"batch": 1})]


def test_nothing_is_made_of_what_no_backend_reads(bundle: Bundle, tmp_path: Path) -> None:
    (model,) = made(replace(bundle, artifacts=(replace(bundle.artifacts[0], kind="pickle"),)), tmp_path)
    assert not model.artifacts


def test_shapes_that_cannot_be_bound_are_a_failure_of_that_model_alone(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> Artifact:
        raise IrbenchError("The shapes of mlp.onnx could not be bound.", hint="Export it again.")

    monkeypatch.setattr(preparing, "bound_shapes", refuse)
    (model,) = made(bundle, tmp_path)
    assert model.artifacts["onnx", "none"] == Failure(
        "bind", "The shapes of mlp.onnx could not be bound", "Export it again."
    )


def refusing(*sizes: dict[str, int]) -> Any:
    """Return what refuses to optimise a graph at these sizes, and says of others what it was checked on."""

    def optimized(
        bundle: Bundle, bound: dict[str, int], recipe: Recipe, _report: object, given: Any
    ) -> SimpleNamespace:
        if bound in sizes:
            raise OriginalRefused(f"mlp cannot be optimised at {bound}.")
        assert given.sizes == {"batch": 1}
        return SimpleNamespace(artifact=replace(bundle.artifacts[0], variant=recipe.name))

    return optimized


def test_a_graph_that_is_refused_with_bound_shapes_is_optimised_with_dynamic_ones(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparing, "optimize", refusing({"batch": 1}))
    (model,) = made(bundle, tmp_path, variants=("none", "basic"))
    assert model.unbound == {"basic": "mlp cannot be optimised at {'batch': 1}"}
    artifact = model.artifacts["onnx", "basic"]
    assert isinstance(artifact, Artifact)
    assert artifact.inputs[0].shape[0] == 1
    assert artifact.path == bundle.artifacts[0].path


def test_a_graph_that_is_refused_in_either_form_is_a_failure(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparing, "optimize", refusing({"batch": 1}, {}))
    (model,) = made(bundle, tmp_path, variants=("basic",))
    assert model.unbound == {}
    failure = model.artifacts["onnx", "basic"]
    assert isinstance(failure, Failure)
    assert (failure.stage, failure.message) == ("optimize", "mlp cannot be optimised at {}")
    assert str(failure.hint).endswith("irbench optimize mlp --level basic --batch 1")


@pytest.mark.ci
def test_an_optimisation_that_fails_is_a_value(bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LEVELS, "basic", ("fake-harmless", "fake-failing"))
    (model,) = made(bundle, tmp_path, variants=("none", "basic"))
    assert isinstance(model.artifacts["onnx", "none"], Artifact)
    failure = model.artifacts["onnx", "basic"]
    assert isinstance(failure, Failure)
    assert failure.stage == "optimize"
    assert failure.message.startswith("The pass fake-failing breaks mlp: KeyError")
    assert "--passes" not in (failure.hint or "")


def test_a_tool_of_the_optimiser_that_is_missing_is_told_before_anything_is_measured(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise IrbenchError("Optimising needs onnx-ir.", exit_code=ExitCode.NOT_INSTALLED)

    monkeypatch.setattr(preparing, "optimize", missing)
    with pytest.raises(IrbenchError, match="needs onnx-ir"):
        made(bundle, tmp_path, variants=("none", "basic"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"baseline": "nope"}, "does not match any row"),
        ({"baseline": "fake-a@colour=red"}, "not a valid row"),
        ({"baseline": "fake-b+basic@streams=2"}, "does not match any row"),
        ({"shape": {"second": (4, 3, 1)}, "batch": (1, 2)}, "has 3 axes"),
    ],
)
def test_what_is_refused_in_the_end_is_refused_before_anything_is_made(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], said: str
) -> None:
    def make(*_: object) -> Artifact:
        raise AssertionError("something was made")

    monkeypatch.setattr(preparing, "optimize", make)
    monkeypatch.setattr(preparing, "bound_shapes", make)
    second = models.mlp(tmp_path, name="second")
    inputs = (replace(second.inputs[0], name="second", shape=("batch", 3)),)
    other = Bundle("other", tuple(InputSpec(spec) for spec in inputs), (replace(second, inputs=inputs),))
    request = run_request((bundle, other), FAKES, **{"variants": ("none", "basic"), **changes})
    with pytest.raises(IrbenchError, match=said):
        prepare(request, tmp_path)


def test_a_baseline_is_a_row_at_its_level_of_optimisation(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparing, "optimize", lambda *_: SimpleNamespace(artifact=bundle.artifacts[0]))
    assert made(bundle, tmp_path, variants=("none", "basic"), baseline="fake-b+basic")
