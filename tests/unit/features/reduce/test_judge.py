"""A part of a graph shows a difference only where the whole interval, and the same failure, say so."""

from __future__ import annotations

from typing import Any

import pytest
from documents import speedup

from irbench.core.record import Failure, OutputError
from irbench.core.row import Speedup
from irbench.features.reduce.expectation import Failing, SlowerThan, WrongAnswers
from irbench.features.reduce.judge import SpeedRule, judge_answers, judge_failure, ratio_verdict
from irbench.features.reduce.report import BackendFacts, GraphEvidence, expected_difference

SLOWER = SlowerThan("ort", "openvino", 1.5)


def facts(label: str, p50_ms: float | None = None, **changes: Any) -> BackendFacts:
    return BackendFacts(label, label, "1.0", "fp32", **{"state": "ok", "p50_ms": p50_ms, **changes})


def timed(found: Speedup | None, slow_ms: float = 3.0, fast_ms: float = 1.0) -> GraphEvidence:
    return GraphEvidence((facts("ort", slow_ms), facts("openvino", fast_ms)), found)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (speedup(2.0, 1.6, 2.5), "shows"),
        (speedup(1.5, 1.5, 1.6), "shows"),
        (speedup(1.6, 1.4, 1.8), "undecided"),
        (speedup(1.2, 1.1, 1.49), "absent"),
        (speedup(0.5, 0.4, 0.6), "absent"),
        (speedup(9.0, 8.0, 9.9, "preview"), "undecided"),
    ],
)
def test_the_whole_interval_must_lie_on_one_side_of_the_factor(found: Speedup, verdict: str):
    assert ratio_verdict(found, 1.5) == verdict
    assert SpeedRule(SLOWER).decide(timed(found)).verdict == verdict


def test_a_part_that_loses_hardly_any_time_does_not_show_it():
    rule = SpeedRule(SLOWER, least_lost_ms=0.1)
    assert rule.decide(timed(speedup(3.0, 2.0, 4.0), 0.03, 0.01)).verdict == "small"
    assert rule.decide(timed(speedup(1.0, 0.9, 1.1), 0.03, 0.01)).verdict == "absent"
    assert rule.decide(timed(speedup(3.0, 2.0, 4.0), 0.3, 0.1)).verdict == "shows"


def test_rows_that_cannot_be_compared_tell_nothing_and_say_why():
    broken = facts("openvino", state="failed", failure=Failure("compile", "no such operator"))
    decision = SpeedRule(SLOWER).decide(GraphEvidence((facts("ort", 1.0), broken)))
    assert decision.verdict == "other"
    assert decision.failure is not None
    assert decision.failure.message == "no such operator"


@pytest.mark.parametrize(("state", "verdict"), [("mismatch", "shows"), ("ok", "absent"), ("failed", "other")])
def test_wrong_outputs_are_neither_right_ones_nor_none(state: str, verdict: str):
    failure = None if state == "ok" else Failure("verify", "off by 0.5")
    row = facts("openvino", state=state, failure=failure, output_error=OutputError(0.5, 0.5, 0.9, None))
    assert judge_answers(GraphEvidence((row,))).verdict == verdict


def failing(message: str, stage: str = "run") -> GraphEvidence:
    return GraphEvidence((facts("ort", state="failed", failure=Failure(stage, message)),))  # type: ignore[arg-type]


def test_the_same_failure_of_another_graph_has_other_names_and_numbers():
    first = failing("Node 'conv_17' (Conv) in /tmp/a/model.onnx has 3 inputs").backends[0].failure
    assert judge_failure(failing("anything"), None).verdict == "shows"
    assert judge_failure(failing("Node 'conv_2' (Conv) in /tmp/b/part.onnx has 4 inputs"), first).verdict == "shows"


def test_another_failure_is_not_the_one_that_is_searched():
    first = failing("It was killed by SIGSEGV.").backends[0].failure
    decision = judge_failure(failing("Not implemented: Conv"), first)
    assert decision.verdict == "other"
    assert decision.failure is not None
    assert judge_failure(GraphEvidence((facts("ort"),)), first).verdict == "absent"


def test_the_document_says_what_was_expected():
    assert expected_difference(SLOWER).factor == 1.5
    assert expected_difference(WrongAnswers("ort")).criterion == "wrong"
    assert expected_difference(Failing("ort")).criterion == "failing"
