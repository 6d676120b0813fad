"""What differs between two versions of a runtime."""

from __future__ import annotations

from irbench.features.verify.case import CaseResult, Outcome, operator_changes


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
