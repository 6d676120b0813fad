"""How figures develop over runs, where their level changed, and when that is worth an alarm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from across_runs_history import history_of_documents as history_of
from across_runs_history import run
from compared_runs import MACHINE
from documents import cell, document, group
from stored_plans import stored_plan

from irbench.across_runs.checked_runs import Files
from irbench.across_runs.differences import fingerprint
from irbench.core.result import RunDocument
from irbench.errors import IrbenchError
from irbench.features.history.report import FigureHistory, ModelHistory
from irbench.features.history.view import history_view
from irbench.options.conditions import read_condition
from irbench.spec import GraphFiles

USUAL = (37.0, 37.2, 36.9, 37.1, 37.0, 36.8, 37.3, 37.1)
SLOWER = tuple(1.2 * value for value in USUAL)


def history(values: Sequence[float], *conditions: str, **facts: Any) -> ModelHistory:
    runs = [run(number, value, **facts) for number, value in enumerate(values)]
    return history_of("resnet50", runs, conditions=list(map(read_condition, conditions)))


def p50(found: ModelHistory) -> FigureHistory:
    (row,) = found.rows
    return next(figure for figure in row.figures if figure.figure == "p50")


def test_a_row_has_its_figures_in_every_run_oldest_first():
    found = history(USUAL, row={"graph_files": GraphFiles("aa", 1234)})
    assert [figure.figure for figure in found.rows[0].figures] == ["p50", "fps", "size", "compile", "peak_memory"]
    assert [point.value for point in p50(found).points] == list(USUAL)
    assert all(figure.changes == () for figure in found.rows[0].figures)


def test_a_change_is_confirmed_once_three_runs_lie_on_the_new_level():
    (early,) = p50(history([*USUAL, *SLOWER[:2]])).changes
    (late,) = p50(history([*USUAL, *SLOWER[:3]])).changes
    assert (early.confirmed, late.confirmed) == (False, True)
    assert early.run == late.run
    assert late.is_loss
    assert late.relative is not None
    assert late.relative.value == pytest.approx(0.2, abs=0.01)


def test_a_single_run_that_stands_out_is_to_be_confirmed():
    (change,) = p50(history([*USUAL, SLOWER[0]])).changes
    assert (change.confirmed, change.p_value) == (False, None)
    assert p50(history([*USUAL, 37.2])).changes == ()
    assert p50(history([*USUAL[:4], SLOWER[0]])).changes == ()


def test_less_time_and_more_frames_are_no_loss():
    found = history([*SLOWER, *USUAL])
    changes = {figure.figure: figure.changes for figure in found.rows[0].figures}
    assert not changes["p50"][0].is_loss
    assert not changes["fps"][0].is_loss
    assert all(change.is_loss for change in history([*USUAL, *SLOWER]).rows[0].figures[1].changes)


def test_a_size_changes_with_the_first_run_that_has_another():
    runs = [
        run(number, 37.0, row={"graph_files": GraphFiles("ab"[number > 1], 1000 + number // 2)}) for number in range(4)
    ]
    (row,) = history_of("resnet50", runs).rows
    (change,) = next(figure for figure in row.figures if figure.figure == "size").changes
    assert (change.before, change.after, change.confirmed) == (1000, 1001, True)
    assert [item.kind for item in change.differences] == ["model"]


def test_a_change_names_what_else_changed_with_it():
    newer = {"distributions": {"onnxruntime": "1.23.0"}}
    runs = [run(number, value) for number, value in enumerate(USUAL)]
    runs += [run(10 + number, value, **newer) for number, value in enumerate(SLOWER)]
    (change,) = p50(history_of("resnet50", runs)).changes
    assert [(item.name, item.base, item.new) for item in change.differences] == [
        ("onnxruntime", ("1.22.0",), ("1.23.0",))
    ]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("values", "condition", "outcome"),
    [
        ([*USUAL, *SLOWER[:4]], "p50>5%", "met"),
        ([*USUAL, *SLOWER[:4]], "p50>30%", "not-met"),
        ([*USUAL, *SLOWER[:2]], "p50>5%", "not-met"),
        ([*USUAL, *SLOWER, *USUAL], "p50>5%", "not-met"),
        (USUAL, "p50>5%", "not-met"),
    ],
    ids=["confirmed", "smaller than the limit", "not confirmed", "fixed since", "no change"],
)
def test_only_the_newest_confirmed_change_meets_a_condition(values: Sequence[float], condition: str, outcome: str):
    found = history(values, condition)
    assert p50(found).conditions == {condition: outcome}
    assert found.regressed is (outcome == "met")


STEPS = (*USUAL, *(1.05 * value for value in USUAL), *(1.1025 * value for value in USUAL[:3]))


@pytest.mark.parametrize(
    ("values", "condition", "outcome"),
    [
        (STEPS, "p50>8%", "met"),
        (STEPS, "p50>12%", "not-met"),
        (STEPS, "fps<-8%", "met"),
        ([*USUAL, *SLOWER, *USUAL], "p50>5%", "not-met"),
        ([value * (1 + 0.005 * number) for number, value in enumerate(USUAL * 2)], "p50>5%", "met"),
        ([*USUAL[:4], 60.0, 36.0, 60.0, 60.0], "p50>5%", "undecided"),
    ],
    ids=["two steps", "less than the limit", "fewer frames", "fixed since", "creep without a step", "noise"],
)
def test_the_total_is_from_the_oldest_runs_to_the_newest(values: Sequence[float], condition: str, outcome: str):
    found = history(values, condition)
    totals = [checked for figure in found.rows[0].figures for checked in figure.totals]
    assert [checked.outcome for checked in totals] == [outcome]
    assert found.unjudged == ()
    assert found.since_run == found.runs[0]


def test_a_total_takes_eight_runs_since_the_run_that_is_named():
    runs = [run(number, value) for number, value in enumerate(STEPS)]
    asked = [read_condition("p50>8%"), read_condition("p99>5%")]
    found = history_of("resnet50", runs, conditions=asked, since_run=runs[-7].run_id)
    assert [(item.condition, item.reason) for item in found.unjudged] == [
        ("p99>5%", "no-figure"),
        ("p50>8%", "too-few"),
    ]
    with pytest.raises(IrbenchError, match="not in the history of resnet50") as refused:
        history_of("resnet50", runs, conditions=asked, limit=3, since_run=runs[0].run_id)
    assert "--since-run" in refused.value.hint


def test_a_row_that_failed_in_the_newest_run_is_not_judged():
    broken = run(30, 37.0, row={"state": "mismatch"})
    whole = replace(broken, groups=(*broken.groups, group(cell("tf", 37.0))))
    runs = [*(run(number, value) for number, value in enumerate(USUAL)), whole]
    found = history_of("resnet50", runs, conditions=[read_condition("p50>5%")])
    assert {(item.row, item.reason) for item in found.unjudged} == {("ort", "row-missing"), ("tf", "too-few")}


def test_runs_of_other_machines_are_counted_and_left_out():
    runs = [*(run(number, value) for number, value in enumerate(USUAL)), run(20, 99.0, cpus_allowed=64)]
    newest, named = history_of("resnet50", runs), history_of("resnet50", runs, fingerprint(MACHINE))
    assert (len(newest.runs), newest.other_machines) == (1, {fingerprint(MACHINE): len(USUAL)})
    assert (len(named.runs), sum(named.other_machines.values())) == (len(USUAL), 1)


def test_a_limit_keeps_the_newest_runs():
    runs = [run(number, value) for number, value in enumerate(USUAL)]
    assert history_of("resnet50", runs, limit=3).runs == tuple(item.run_id for item in runs[-3:])


def test_other_models_and_rows_without_figures_are_passed_over():
    failed = run(1, 37.0, row={"state": "mismatch"})
    other = replace(run(2, 37.0), groups=(group(cell("ort"), model="vgg"),))
    assert history_of("resnet50", [failed, other]).rows == ()


def of_file(number: int, source: str, graph: str) -> RunDocument:
    """Return a run of the model that was read from a file."""
    made = run(number, USUAL[number], row={"graph_files": GraphFiles(graph, 1234)})
    return replace(made, plan=stored_plan(models=["resnet50"], sources=[source]))


def test_a_run_with_two_models_of_one_name_is_named_and_left_out():
    both = [group(cell("ort", 37.0, graph_files=GraphFiles(graph, 1234))) for graph in ("aa", "bb")]
    shared = document(*both, run_id="01KAJ3WQ4R8Z6M1X0V9T7S5999", plan={})
    found = history_of("resnet50", [*(run(number, USUAL[number]) for number in range(3)), shared])
    assert [(problem.code, problem.run) for problem in found.problems] == [("same-names", shared.run_id)]
    assert shared.run_id not in found.runs


def test_different_files_of_one_name_with_different_graphs_are_a_warning():
    runs = [
        of_file(0, "a/resnet50.onnx", "aa"),
        of_file(1, "a/resnet50.onnx", "aa"),
        of_file(2, "b/resnet50.onnx", "bb"),
    ]
    (problem,) = history_of("resnet50", runs).problems
    assert problem.code == "several-files"
    assert problem.facts == Files("resnet50", {"a/resnet50.onnx": 2, "b/resnet50.onnx": 1})


@pytest.mark.parametrize(
    "second", [("a/resnet50.onnx", "bb"), ("b/resnet50.onnx", "aa")], ids=["a new version", "a copy"]
)
def test_a_new_version_or_a_copy_of_a_model_is_none(second: tuple[str, str]):
    assert not history_of("resnet50", [of_file(0, "a/resnet50.onnx", "aa"), of_file(1, *second)]).problems


@pytest.mark.ci
def test_changes_are_looked_for_among_the_newest_runs_and_totals_are_of_all():
    slower_long_ago = [*(0.5 * value for value in USUAL), *(USUAL * 32)[:250]]
    found = history(slower_long_ago, "p50>5%")
    figure = p50(found)
    assert (len(figure.points), figure.searched, figure.changes) == (258, 250, ())
    assert [checked.outcome for checked in figure.totals] == ["met"]
    assert "in the newest 250 of 258 runs of a row; totals are of all" in history_view(found).as_markdown()
    recent = history([*(0.5 * value for value in USUAL), *(USUAL * 31)[:240], *SLOWER[:4]])
    assert [change.run for change in p50(recent).changes] == [recent.runs[8], recent.runs[-4]]


def test_only_long_histories_say_where_changes_are_looked_for():
    assert "Changes of level are looked for" not in history_view(history(USUAL)).as_markdown()
