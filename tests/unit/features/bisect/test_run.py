"""A search is driven by what a judge says, and its report holds what was tried however it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from documents import speedup

from irbench.core.row import Speedup
from irbench.environments.uv import Unsolvable
from irbench.features.bisect.halving import search
from irbench.features.bisect.report import Bisection, BisectReport, Side, Step, VersionComparison

VERSIONS = ("1", "2", "3", "4", "5")
EMPTY = BisectReport("model.onnx", "runtime", "ort", "speed", 0.03, VERSIONS, (), "interrupted")
FASTER = speedup(1.2, 1.19, 1.21)


class VersionJudge:
    """Answers as it is told.

    Args:
        sides: By version; a version that is not there cannot be installed, ``stop`` is an interrupt.
        differ: Whether the ends do.
    """

    def __init__(self, sides: Mapping[str, Side | str], differ: bool | None = True) -> None:
        self.sides = sides
        self.differ = differ
        self.compared: list[tuple[str, str]] = []

    def ends(self, first: str, last: str) -> tuple[Step, bool | None]:
        return Step(VersionComparison(first, last, FASTER), "new" if self.differ else "old"), self.differ

    def side(self, first: str, version: str) -> Step:
        if version not in self.sides:
            raise Unsolvable(f"{version} cannot be installed.")
        side = self.sides[version]
        if side == "stop":
            raise KeyboardInterrupt
        return Step(VersionComparison(first, version, FASTER), side)  # type: ignore[arg-type]

    def compare(self, baseline: str, version: str) -> VersionComparison:
        self.compared.append((baseline, version))
        return VersionComparison(baseline, version, FASTER)


def found(judge: VersionJudge) -> BisectReport:
    return search(EMPTY, judge, lambda _: None, lambda _: None)


def test_the_two_neighbours_are_compared_with_each_other() -> None:
    judge = VersionJudge({"2": "old", "3": "old", "4": "new"})
    report = found(judge)
    assert (report.conclusion, report.last_old, report.first_new) == ("found", "3", "4")
    assert judge.compared == [("3", "4")]
    assert [step.version for step in report.steps] == ["5", "3", "4"]


def test_neighbours_that_were_compared_already_are_not_compared_again() -> None:
    judge = VersionJudge({"2": "new", "3": "new"})
    report = found(judge)
    assert (report.last_old, report.first_new) == ("1", "2")
    assert judge.compared == []
    assert report.evidence == VersionComparison("1", "2", FASTER)


def test_versions_that_cannot_be_installed_or_judged_are_left_out_and_named() -> None:
    report = found(VersionJudge({"3": "undecided", "4": "new"}))
    assert (report.last_old, report.first_new, report.untested) == ("1", "4", ("2", "3"))
    assert {step.version: step.side for step in report.steps}["2"] == "skipped"


@pytest.mark.parametrize(("differ", "conclusion", "code"), [(False, "same", 0), (None, "undecided", 4)])
def test_ends_that_do_not_differ_end_the_search(differ: bool | None, conclusion: str, code: int) -> None:
    report = found(VersionJudge({}, differ))
    assert report.conclusion == conclusion
    assert report.first_new is None
    assert Bisection(report).exit_code == code


def test_an_interrupt_keeps_the_steps_until_then() -> None:
    report = found(VersionJudge({"3": "old", "4": "stop"}))
    assert report.conclusion == "interrupted"
    assert [step.version for step in report.steps] == ["5", "3"]
    assert Bisection(report).exit_code == 130
    assert "interrupted" in str(Bisection(report))


def test_a_report_says_what_changed_and_what_could_not_be_judged() -> None:
    text = str(Bisection(found(VersionJudge({"3": "skipped", "2": "old"}))))
    assert "runtime 3 to 5, one of which changed the speed" in text
    assert "Skipped: 4" in text


def test_a_change_that_came_in_small_steps_is_said() -> None:
    report = found(VersionJudge({"2": "old", "3": "old", "4": "new"}))
    same: Speedup = speedup(1.01, 1.0, 1.02, "same")
    assert "several small steps" not in str(Bisection(report))
    gradual = replace(report, evidence=VersionComparison("3", "4", same))
    assert "several small steps" in str(Bisection(gradual))


def test_the_report_is_json_and_markdown_too() -> None:
    bisection = Bisection(found(VersionJudge({"2": "new", "3": "new"})))
    assert '"first_new": "2"' in bisection.to_text("json")
    assert "| 5 " in bisection.to_text("md")
    assert repr(bisection) == "<Bisection of runtime 1 to 5: changed by 2>"
