"""Counting: every case is counted once, and the worst decides what is said."""

from __future__ import annotations

from typing import Any

import pytest

from irbench.features.verify.case import OUTCOMES, CaseResult, counts, exit_code, operator_scores


def result(outcome: Any, operator: str = "Add", backend: str = "ort", reason: str = "") -> CaseResult:
    return CaseResult("test_x", "node", operator, backend, outcome, reason, None, None)


def test_every_outcome_is_counted_also_those_that_did_not_happen():
    found = counts([result("passed"), result("passed"), result("wrong")])
    assert found == {"passed": 2, "wrong": 1, "unsupported": 0, "crashed": 0, "skipped": 0}
    assert tuple(found) == OUTCOMES


def test_operators_are_in_order_of_their_names_and_backends_in_that_of_the_results():
    results = [result("passed", name, backend) for name in ("Relu", "add") for backend in ("openvino", "ort")]
    found = [(operator_score.operator, operator_score.backend) for operator_score in operator_scores(results)]
    assert found == [("add", "openvino"), ("add", "ort"), ("Relu", "openvino"), ("Relu", "ort")]


def test_the_reason_is_the_most_frequent_one_of_the_worst_outcome():
    results = [
        result("unsupported", reason="no kernel"),
        result("unsupported", reason="no kernel"),
        result("wrong", reason="off by 2"),
        result("wrong", reason="off by 1"),
        result("wrong", reason="off by 1"),
    ]
    (found,) = operator_scores(results)
    assert found.reason == "wrong: off by 1"
    assert not found.perfect


def test_what_was_skipped_takes_nothing_from_an_operator():
    (found,) = operator_scores([result("passed"), result("skipped", reason="a sequence")])
    assert found.perfect
    assert found.reason == ""


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        (("passed",), 0),
        (("passed", "unsupported", "skipped"), 0),
        (("passed", "crashed"), 3),
        (("crashed", "wrong"), 1),
        ((), 0),
    ],
)
def test_wrong_answers_go_before_crashes_and_what_is_unsupported_is_no_failure(outcomes: tuple[str, ...], code: int):
    assert exit_code([result(outcome) for outcome in outcomes]) == code
