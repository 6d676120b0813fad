"""Where expected outputs come from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.notices import Context, Reference
from irbench.runner import reference
from irbench.runner.reference import Expected, expected_outputs
from irbench.spec import RANDOM_DRAWS, Artifact, Bundle, Feeding, InputSpec, TensorSpec, Workload
from irbench.worker.feed_turns import BrokenLoop

X = TensorSpec("x", "float32", (1, 2))
GRAPHS = tuple(Artifact(kind, Path(kind), (X,), (replace(X, name="y"),)) for kind in ("onnx", "tf-graph"))
ANSWERS = ((np.arange(2.0),),)


def workload(feeding: Feeding, artifacts: tuple[Artifact, ...] = GRAPHS) -> Workload:
    bundle = Bundle("model", (InputSpec(X),), artifacts, details={"framework": "TensorFlow"})
    return Workload(bundle, {"batch": 1}, feeding)


def expected_of(asked: Workload, scratch: Path) -> Expected:
    return expected_outputs(asked, (), scratch, 1.0)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Answer for every reference and tell which were asked: group of the entry point, and kind of the artifact."""
    calls: list[tuple[str, str]] = []

    def call(_target: str, _name: str, artifact: Artifact, *rest: Any, **_: Any) -> Any:
        calls.append((rest[-1], artifact.kind))
        return ANSWERS * rest[-2].checked_calls, None

    monkeypatch.setattr(reference, "call_in_worker", call)
    monkeypatch.setattr(reference, "bound_shapes", lambda artifact, *_: artifact)
    return calls


@pytest.mark.parametrize("feeding", [Feeding(values={"x": (1,)}), Feeding(feedback={"x": "y"})])
def test_given_inputs_are_answered_by_the_framework_of_the_model(
    feeding: Feeding, asked: list[tuple[str, str]], tmp_path: Path
) -> None:
    found = expected_of(workload(feeding), tmp_path)
    assert found.source == Reference("backend", "tf", "TensorFlow")
    assert asked == [(registry.BACKENDS, "tf-graph")]


@pytest.mark.parametrize(("feeding", "artifacts"), [(Feeding(), GRAPHS), (Feeding(values={"x": (1,)}), GRAPHS[:1])])
def test_a_reference_answers_generated_inputs_and_models_of_no_framework(
    feeding: Feeding, artifacts: tuple[Artifact, ...], asked: list[tuple[str, str]], tmp_path: Path
) -> None:
    assert expected_of(workload(feeding, artifacts), tmp_path).outputs == ANSWERS
    assert asked == [(registry.REFERENCES, "onnx")]


def test_a_framework_that_fails_leaves_it_to_the_references(
    asked: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = reference.call_in_worker

    def call(target: str, name: str, *rest: Any, **options: Any) -> Any:
        if name == "tf":
            raise IrbenchError("no memory")
        return answer(target, name, *rest, **options)

    monkeypatch.setattr(reference, "call_in_worker", call)
    found = expected_of(workload(Feeding(values={"x": (1,)})), tmp_path)
    assert found.source is not None
    assert found.source.name == "ort"


def test_a_loop_that_cannot_run_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "call_in_worker", lambda *_, **__: ((), ("It cannot be fed back.", "Use another.")))
    monkeypatch.setattr(reference, "bound_shapes", lambda artifact, *_: artifact)
    with pytest.raises(BrokenLoop, match="cannot be fed back"):
        expected_of(workload(Feeding(feedback={"x": "y"})), tmp_path)


def test_outputs_of_an_export_are_for_its_own_seed_alone(
    asked: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = workload(Feeding())
    stored = replace(stored, bundle=replace(stored.bundle, reference=Path("reference.npz")))
    monkeypatch.setattr(reference.bundles, "reference_outputs", lambda _: (np.zeros((8, 2)),))
    export = expected_of(stored, tmp_path)
    assert export.source == Reference("export", "TensorFlow")
    assert not asked
    for other in (Feeding(1), Feeding(values={"x": (1,)})):
        expected_of(replace(stored, feeding=other), tmp_path)
    assert len(asked) == 2


def test_nothing_answers_for_a_model_that_draws_random_numbers(asked: list[tuple[str, str]], tmp_path: Path) -> None:
    drawing = workload(Feeding())
    drawing = replace(drawing, bundle=replace(drawing.bundle, details={RANDOM_DRAWS: "RandomUniform in dropout"}))
    found = expected_of(drawing, tmp_path)
    assert found.outputs is None
    assert not asked
    (warning,) = found.warnings
    assert "It draws random numbers (RandomUniform in dropout)" in warning.whole(Context())


def test_a_reference_is_confined_as_rows_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []

    def call(*_: Any, confinement: Any, **__: Any) -> Any:
        told.append(confinement)
        return ANSWERS * Feeding(feedback={"x": "y"}).checked_calls, None

    monkeypatch.setattr(reference, "call_in_worker", call)
    monkeypatch.setattr(reference, "bound_shapes", lambda artifact, *_: artifact)
    monkeypatch.setattr(reference, "confinement_to", lambda artifact, samples: (artifact.kind, samples))
    expected_of(workload(Feeding(feedback={"x": "y"})), tmp_path)
    assert told[-1][1] == ()


def test_a_reference_that_answers_fewer_calls_than_were_asked_for_is_no_reference(
    monkeypatch: pytest.MonkeyPatch, asked: list[tuple[str, str]], tmp_path: Path
) -> None:
    monkeypatch.setattr(reference, "call_in_worker", lambda *_, **__: ((), None))
    found = expected_of(workload(Feeding(values={"x": (1,)})), tmp_path)
    assert found.outputs is None
    assert "0 calls, and 1 were asked for" in str(found.warnings)
