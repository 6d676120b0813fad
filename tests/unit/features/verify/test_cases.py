"""The suite: collected, counted by outcome and operator, and compared between versions."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from irbench.features.verify.cases import (
    OUTCOMES,
    CaseResult,
    Outcome,
    SuiteReport,
    counts,
    operator_changes,
    operator_of,
    operator_scores,
    unfit,
)


def case_result(outcome: Any, operator: str = "Add", backend: str = "ort", reason: str = "") -> CaseResult:
    return CaseResult("test_x", "node", operator, backend, outcome, reason, None, None)


def test_every_outcome_is_counted_also_those_that_did_not_happen():
    found = counts([case_result("passed"), case_result("passed"), case_result("wrong")])
    assert found == {"passed": 2, "wrong": 1, "unsupported": 0, "crashed": 0, "skipped": 0}
    assert tuple(found) == OUTCOMES


def test_operators_are_in_order_of_their_names_and_backends_in_that_of_the_results():
    results = [case_result("passed", name, backend) for name in ("Relu", "add") for backend in ("openvino", "ort")]
    found = [(operator_score.operator, operator_score.backend) for operator_score in operator_scores(results)]
    assert found == [("add", "openvino"), ("add", "ort"), ("Relu", "openvino"), ("Relu", "ort")]


def test_the_reason_is_the_most_frequent_one_of_the_worst_outcome():
    results = [
        case_result("unsupported", reason="no kernel"),
        case_result("unsupported", reason="no kernel"),
        case_result("wrong", reason="off by 2"),
        case_result("wrong", reason="off by 1"),
        case_result("wrong", reason="off by 1"),
    ]
    (found,) = operator_scores(results)
    assert found.reason == "wrong: off by 1"
    assert not found.perfect


def test_what_was_skipped_takes_nothing_from_an_operator():
    (found,) = operator_scores([case_result("passed"), case_result("skipped", reason="a sequence")])
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
    cases = tuple(case_result(outcome) for outcome in outcomes)
    assert SuiteReport("onnx", "", "", None, 0.0, True, (), cases).exit_code == code


def result(name: str, backend: str, outcome: Outcome, digest: str | None = "a", reason: str = "") -> CaseResult:
    operator = name.partition("_")[0]
    return CaseResult(name, "node", operator, backend, outcome, reason, "fp32", None, digest)


def pair(name: str, before: Outcome, after: Outcome, digest: str = "a", reason: str = "") -> list[CaseResult]:
    return [result(name, "old", before, reason=reason), result(name, "new", after, digest)]


def test_cases_that_did_not_change_are_left_out() -> None:
    assert operator_changes([*pair("Add_1", "passed", "passed"), *pair("Add_2", "wrong", "wrong")], "old", "new") == ()


def test_cases_that_changed_alike_are_one_change_of_their_operator() -> None:
    results = [
        *pair("Gelu_1", "unsupported", "passed", reason="no kernel"),
        *pair("Gelu_2", "unsupported", "passed", reason="no kernel"),
        *pair("Gelu_3", "passed", "wrong"),
    ]
    first, second = operator_changes(results, "old", "new")
    assert (first.operator, first.before, first.after) == ("Gelu", "unsupported", "passed")
    assert first.cases == ("Gelu_1", "Gelu_2")
    assert first.reason == "no kernel"
    assert (second.before, second.after) == ("passed", "wrong")


def test_other_values_are_told_from_other_outcomes_and_come_last() -> None:
    results = [*pair("Add_1", "passed", "passed", digest="b"), *pair("Sub_1", "passed", "crashed")]
    first, second = operator_changes(results, "old", "new")
    assert (first.operator, first.is_of_outcome) == ("Sub", True)
    assert (second.operator, second.is_of_outcome) == ("Add", False)


def test_cases_that_the_second_version_did_not_reach_are_left_out() -> None:
    assert operator_changes([result("Add_1", "old", "passed")], "old", "new") == ()


TENSOR = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
SEQUENCE = helper.make_sequence_type_proto(TENSOR)
OPTIONAL = helper.make_optional_type_proto(TENSOR)


def graph(*operators: str, given: onnx.TypeProto = TENSOR, made: onnx.TypeProto = TENSOR) -> onnx.GraphProto:
    nodes = [
        helper.make_node(operator.split(".")[-1], ["x"], ["y"], domain=".".join(operator.split(".")[:-1]))
        for operator in operators
    ]
    return helper.make_graph(
        nodes, "g", [helper.make_value_info("x", given)], [helper.make_value_info("y", made)]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("operators", "name"),
    [
        (("Add",), "Add"),
        (("Constant", "Add"), "Add"),
        (("Add", "Relu"), "several"),
        (("ai.onnx.ml.Normalizer",), "ai.onnx.ml.Normalizer"),
    ],
)
def test_a_graph_is_called_after_its_one_operator(operators: tuple[str, ...], name: str):
    assert operator_of(graph(*operators)) == name


def test_tensors_and_sequences_and_optionals_can_be_compared():
    assert [unfit(graph("Add", made=item)) for item in (TENSOR, SEQUENCE, OPTIONAL)] == ["", "", ""]


def test_an_input_that_is_no_tensor_is_skipped_by_name():
    assert unfit(graph("SequenceAt", given=SEQUENCE)) == "its input 'x' is not a tensor: sequence"
    assert unfit(graph("OptionalGetElement", given=OPTIONAL)) == "its input 'x' is not a tensor: optional"
