"""Where expected outputs come from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import launches
import numpy as np
import pytest

from irbench.core import registry
from irbench.core.record import CellLaunch, OutputError
from irbench.errors import IrbenchError
from irbench.notices import Context, Reference
from irbench.runner import reference
from irbench.runner.reference import ReferenceOutputs, expected_outputs, fallback, mismatch, worst_error
from irbench.spec import (
    RANDOM_DRAWS,
    RANDOM_SWITCH,
    RANDOM_SWITCH_OFF,
    Accuracy,
    AccuracyLimit,
    Artifact,
    Bundle,
    Cell,
    Feeding,
    InputSpec,
    Load,
    Program,
    TensorSpec,
    Workload,
)
from irbench.worker.feed_turns import BrokenLoop

X = TensorSpec("x", "float32", (1, 2))
GRAPHS = tuple(Artifact(kind, Path(kind), (X,), (replace(X, name="y"),)) for kind in ("onnx", "tf-graph"))
ANSWERS = ((np.arange(2.0),),)


def workload(feeding: Feeding, artifacts: tuple[Artifact, ...] = GRAPHS) -> Workload:
    bundle = Bundle("model", (InputSpec(X),), artifacts, details={"framework": "TensorFlow"})
    return Workload(bundle, {"batch": 1}, feeding)


def expected_of(asked: Workload, scratch: Path) -> ReferenceOutputs:
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


@pytest.mark.parametrize("given", [0, 1])
@pytest.mark.parametrize("off", [0, 1])
def test_a_model_is_compared_where_the_input_that_makes_it_draw_is_off(
    asked: list[tuple[str, str]], tmp_path: Path, given: int, off: int
) -> None:
    asked_for = workload(Feeding(values={"x": (given,)}))
    details = {RANDOM_DRAWS: "Dropout in training mode", RANDOM_SWITCH: "x", RANDOM_SWITCH_OFF: off}
    found = expected_of(replace(asked_for, bundle=replace(asked_for.bundle, details=details)), tmp_path)
    assert (found.outputs is None) == (given != off)
    assert bool(asked) == (given == off)
    for warning in found.warnings:
        assert f"--value x={off}" in warning.remedy(Context())


@pytest.mark.parametrize(("batch", "said"), [(8, "not verified at batch 8."), (1, "not verified.")])
def test_outputs_that_no_reference_computed_are_named_with_their_batch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, batch: int, said: str
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise IrbenchError("The shapes do not fit.")

    monkeypatch.setattr(reference, "computed_outputs", refuse)
    dynamic = InputSpec(TensorSpec("x", "float32", ("batch", 2)))
    asked_for = workload(Feeding())
    asked_for = replace(asked_for, bundle=replace(asked_for.bundle, inputs=(dynamic,)), sizes={"batch": batch})
    (warning,) = expected_of(asked_for, tmp_path).warnings
    assert said in warning.brief(Context())


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


RIGHT = OutputError(1e-7, 1e-7, 1.0, None)
WRONG = OutputError(0.5, 0.5, 0.9, None)


(ROW,) = launches.group("one").cells
BY_THE_USER = AccuracyLimit(0.9, function="metrics:own")


def answered(first: OutputError | None, later: OutputError | None, precision: str = "fp32") -> CellLaunch:
    return launches.measured("one", [], effective={"precision": precision}, output_error=first, repeat_error=later)


@pytest.mark.parametrize(
    ("first", "later", "said"),
    [
        (None, None, None),
        (RIGHT, RIGHT, None),
        (WRONG, WRONG, "wrong outputs"),
        (WRONG, RIGHT, "wrong outputs"),
        (RIGHT, WRONG, "its answers to the same inputs change between calls: wrong outputs"),
    ],
)
def test_an_answer_must_be_right_at_first_and_stay_so(
    first: OutputError | None, later: OutputError | None, said: str | None
) -> None:
    found = mismatch(answered(first, later), ROW)
    if said is None:
        assert found is None
    else:
        assert found is not None
        assert found.stage == "verify"
        assert found.message.startswith(said)


def test_answers_are_judged_by_the_precision_that_was_read_back() -> None:
    rough = OutputError(0.05, 0.05, 1.0, None)
    assert mismatch(answered(rough, rough), ROW) is not None
    assert mismatch(answered(rough, rough, "bf16"), ROW) is None


@pytest.mark.parametrize(
    ("accuracy", "is_right"),
    [
        (Accuracy(0.95, BY_THE_USER, 100, max_rel=0.3), True),
        (Accuracy(0.95, BY_THE_USER, 100, max_rel=0.2), False),
        (Accuracy(0.95, BY_THE_USER, 100, max_rel=None), False),
        (Accuracy(0.85, BY_THE_USER, 100, max_rel=0.3), False),
        (None, False),
    ],
    ids=["about as far off as measured", "much farther off", "not compared", "misses the limit", "no limit"],
)
def test_a_limit_that_is_kept_excuses_errors_like_those_it_was_measured_with(
    accuracy: Accuracy | None, is_right: bool
) -> None:
    assert (mismatch(answered(WRONG, WRONG), replace(ROW, accuracy=accuracy)) is None) is is_right


@pytest.mark.parametrize(
    ("first", "later"), [(RIGHT, WRONG), (WRONG, OutputError(2.0, 2.0, 0.5, None))], ids=["from right", "from excused"]
)
def test_a_row_that_keeps_the_limit_must_still_give_the_same_answers(first: OutputError, later: OutputError) -> None:
    row = replace(ROW, accuracy=Accuracy(1.0, BY_THE_USER, 100, max_rel=0.5))
    found = mismatch(answered(first, later), row)
    assert found is not None
    assert found.message.startswith("its answers to the same inputs change")


def test_a_row_shows_the_larger_of_both_errors() -> None:
    assert answered(None, None).worst_error is None
    assert answered(RIGHT, None).worst_error == RIGHT
    assert answered(RIGHT, WRONG).worst_error == answered(WRONG, RIGHT).worst_error == WRONG


def test_one_wrong_slot_is_enough() -> None:
    reference = (np.array([1.0, 2.0]),)
    assert worst_error([reference, (np.array([1.0, 3.0]),)], reference, Bundle("net", (), ())).max_rel == 0.5


def test_a_runtime_on_another_device_is_not_timed() -> None:
    (cell,) = launches.group("one").cells
    assert fallback(cell, {"device": "cpu"}) is None
    assert fallback(cell, {}) is None
    own_code = replace(cell, program=Program("callable", "stages.py:make"))
    assert fallback(own_code, {"device": "openvino:gpu"}) is None
    found = fallback(cell, {"device": "npu"})
    assert found is not None
    assert (found.stage, found.message) == ("device", "it runs on npu, not on cpu")
    assert found.hint


WHOLE = {"device": "openvino", "nodes": 120, "nodes_elsewhere": 0}
PARTLY = {"device": "openvino", "nodes": 120, "nodes_elsewhere": 3, "operators_elsewhere": "NonZero,Unique"}


def on_openvino(*, require_full: bool) -> Cell:
    return Cell("ort", None, "ort", "openvino", Load(require_full=require_full))


def test_nodes_that_run_elsewhere_are_refused_only_where_that_was_asked_for() -> None:
    assert fallback(on_openvino(require_full=False), PARTLY) is None
    assert fallback(on_openvino(require_full=True), WHOLE) is None
    refused = fallback(on_openvino(require_full=True), PARTLY)
    assert refused is not None
    assert refused.stage == "device"
    assert refused.message == "3 of 120 nodes run elsewhere than on openvino: NonZero, Unique"


def test_not_knowing_where_nodes_run_is_not_the_same_as_none_elsewhere() -> None:
    refused = fallback(on_openvino(require_full=True), {"device": "openvino"})
    assert refused is not None
    assert "does not report which nodes" in refused.message


def test_nothing_can_run_elsewhere_than_on_the_cpu() -> None:
    assert fallback(Cell("ort", None, "ort", "cpu", Load(require_full=True)), {"device": "cpu"}) is None
