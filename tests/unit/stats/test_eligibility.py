"""A cell that never started is told by its reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from launches import even, group

from irbench.core.record import Failure
from irbench.spec import Accuracy, AccuracyLimit, Artifact, Disagreement
from irbench.stats.eligibility import Admission, decide_eligibility

LIMIT = AccuracyLimit(0.99)
NARROW = Artifact("onnx", Path(), (), (), disagreement=Disagreement("top1-agreement", 0.8, 0.9))


@pytest.mark.parametrize(
    ("accuracy", "state"), [(Accuracy(0.63, LIMIT, 100), "mismatch"), (None, "failed")], ids=["measured", "unknown"]
)
def test_a_row_that_misses_the_limit_is_wrong_and_one_whose_accuracy_is_unknown_has_failed(
    accuracy: Accuracy | None, state: str
) -> None:
    asked = group("ort", "other")
    asked = replace(asked, cells=(asked.cells[0], replace(asked.cells[1], accuracy=accuracy)))
    reason = Failure("accuracy", "the reason")
    eligibility = decide_eligibility(asked, even({"ort": [10.0] * 6}), Admission(absent={"other": reason}))
    assert eligibility.states["other"] == state


@pytest.mark.parametrize(("value", "may_win"), [(0.995, True), (None, False)])
def test_a_converted_graph_may_win_where_it_keeps_the_limit_of_the_user(value: float | None, may_win: bool) -> None:
    asked = group("ort", "int8")
    accuracy = None if value is None else Accuracy(value, LIMIT, 100)
    narrow = replace(asked.cells[1], artifact=NARROW, accuracy=accuracy)
    records = even({"ort": [10.0] * 6, "int8": [5.0] * 6})
    eligibility = decide_eligibility(replace(asked, cells=(asked.cells[0], narrow)), records, Admission())
    assert ("int8" in eligibility.candidates) is may_win


@pytest.mark.parametrize(("stage", "state"), [("plan", "not-applicable"), ("optimize", "failed")])
def test_a_cell_without_a_graph_has_failed_unless_none_was_made_for_its_backend(stage: str, state: str) -> None:
    reason = Failure(stage, "the reason")
    eligibility = decide_eligibility(
        group("ort", "other"), even({"ort": [10.0] * 6}), Admission(absent={"other": reason})
    )
    assert eligibility.states == {"ort": "ok", "other": state}
    assert eligibility.failures == {"other": reason}
