"""Whether answers are right, stay so, and come from where they were asked for."""

from __future__ import annotations

from dataclasses import replace

import launches
import numpy as np
import pytest

from irbench.core.record import CellLaunch, OutputError
from irbench.runner.reference import fallback, mismatch, worst_error
from irbench.spec import Accuracy, AccuracyLimit, Cell, Load

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
    assert worst_error([reference, (np.array([1.0, 3.0]),)], reference, False).max_rel == 0.5


def test_a_runtime_on_another_device_is_not_timed() -> None:
    (cell,) = launches.group("one").cells
    assert fallback(cell, {"device": "cpu"}) is None
    assert fallback(cell, {}) is None
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
