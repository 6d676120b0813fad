"""What stands above and below a table says how its rows were measured and compared, and what it lacks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from documents import cell, document, example, failed, group
from stored_plans import stored_plan

from irbench.core.record import Failure
from irbench.core.result import Winner
from irbench.core.row import GivenInputs
from irbench.notices import Reference
from irbench.notices.marks import AboveMaxLatency
from irbench.render.speed_table import GroupView
from irbench.render.table_title import code_in_command
from irbench.runs.document_text import render_document
from irbench.spec import Goal
from irbench.spec.serving import ServiceLevel


def shown(result: Any, width: int = 200) -> str:
    return "\n".join(line.plain for line in GroupView(result, columns="all").as_lines(width))


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ((failed("ort"), failed("tf")), "no row has a valid result"),
        ((cell("ort"), failed("tf")), "only ort has a valid result"),
    ],
)
def test_where_nobody_can_win_the_headline_says_why(cells: Any, sentence: str):
    assert shown(group(*cells)).splitlines()[1] == sentence


def test_speedups_that_do_not_move_with_the_blocks_excluded_are_said_not_to():
    table = example()
    first = table.cells[0]
    assert first.speedup is not None
    moved = replace(first, speedup=replace(first.speedup, all_blocks_value=1.5))
    turned = replace(first, speedup=replace(first.speedup, all_blocks_verdict="undecided"))
    unknown = replace(first, speedup=replace(first.speedup, all_blocks_verdict=None))
    assert "(same verdicts if included)" in shown(table)
    assert "if included" not in shown(replace(table, cells=(turned, *table.cells[1:])))  # a warning says it
    assert "if included" not in shown(replace(table, cells=(unknown, *table.cells[1:])))
    assert "if included" not in shown(replace(table, cells=(moved, *table.cells[1:])))


@pytest.mark.parametrize(
    ("stopped_by", "said"),
    [("unfinished", "unfinished: still being measured, or the run was killed"), ("failures", "all backends failed")],
)
def test_a_run_that_did_not_end_by_rule_says_so(stopped_by: Any, said: str):
    assert said in shown(group(cell("ort"), stopped_by=stopped_by))


@pytest.mark.parametrize(
    ("planned", "said"),
    [
        (None, "complete: tables may be missing."),
        (1, "complete: more launches were planned."),
        (2, "complete: 1 of 2 tables is missing."),
        (4, "complete: 3 of 4 tables are missing."),
    ],
)
def test_a_run_that_was_ended_says_which_tables_are_missing(planned: int | None, said: str):
    assert said in render_document(document(complete=False, tables_planned=planned), "md")
    assert "before it was complete" not in render_document(document(tables_planned=planned), "md")


def test_blocks_are_a_range_where_launches_differ():
    assert "6 launches x 5 to 8 blocks" in shown(group(cell("ort"), blocks_range=(5, 8)))
    assert "6 launches x 8 blocks" in shown(group(cell("ort"), blocks_range=(8, 8)))


def test_tails_of_too_few_calls_say_what_the_rarest_percentile_needs():
    few = cell("ort", latency_ms=replace(cell("ort").latency_ms, p99=40.0))
    assert "p99.9: needs 4,603 calls of a row, so more launches" in shown(group(few))
    enough = replace(few, latency_ms=replace(few.latency_ms, p99_9=50.0))
    assert "p99.9: needs" not in shown(group(enough))


def test_the_legend_names_what_outputs_were_verified_against():
    assert "max err: against the reference onnx" in shown(
        group(cell("tf"), verified_against=Reference("backend", "onnx"))
    )
    assert "max err: " not in shown(group(cell("tf")))


def test_the_legend_names_rows_that_were_verified_against_something_else():
    other = Reference("backend", "ort", "ort with optimisations off")
    rows = (cell("ort", verified_against=other), cell("openvino", verified_against=other), cell("tf"))
    legend = " ".join(shown(group(*rows, verified_against=Reference("export", "TensorFlow"))).split())
    assert "max err: against TensorFlow at export · " in legend
    assert "max err of ort and openvino: against ort with optimisations off" in legend


def test_the_title_names_the_inputs_of_each_batch_where_they_differ():
    single = GivenInputs("photos", 1, {}, {}, {})
    joined = replace(single, rows=1, rows_per_call=8)
    rows = (cell("tf"), cell("ort", batch=8, given_inputs=joined))
    line = " ".join(shown(group(*rows, given_inputs=single)).split())
    assert "batch 1: data: photos (1 sample) · batch 8: data: photos (1 sample in 1 call of 8, filled" in line
    alike = " ".join(shown(group(cell("tf"), cell("ort", batch=8), given_inputs=single)).split())
    assert "batch 1: data" not in alike
    assert "data: photos (1 sample)" in alike


def test_threads_and_processors_are_those_that_were_used():
    native = cell("ort", threads=None)
    table = group(native, cell("tf", threads=None))
    assert "native threads on 2 cores" in next(GroupView(table, {"physical_cores_allowed": 2}).as_lines(200)).plain
    assert "on processors 0,1" in next(GroupView(table, {}, stored_plan(cpus=[0, 1])).as_lines(200)).plain
    confined = GroupView(table, {"physical_cores_allowed": 2, "confined": True})
    assert "on 2 cores · cpu · confined · sync" in next(confined.as_lines(200)).plain
    own = stored_plan(cells={"tf": {"kind": "callable", "target": "nets:infer"}})
    mixed = GroupView(table, {"confined": True}, own)
    assert "cpu · confined except own code · sync" in next(mixed.as_lines(200)).plain
    assert "confined" not in next(GroupView(group(cell("tf")), {"confined": True}, own).as_lines(200)).plain
    assert "threads differ" in shown(group(cell("ort", threads=1), cell("tf", threads=2)))


def test_wrong_outputs_of_another_model_say_how_to_give_it_a_table_of_its_own() -> None:
    wrong = cell("ort", id="b", model="other", state="mismatch", failure=Failure("verify", "wrong outputs", None))
    assert "--apart" in shown(group(cell("ort", model="m"), wrong, model="m"))
    assert "--apart" not in shown(group(cell("ort", model="m"), replace(wrong, model="m"), model="m"))


def test_the_title_and_the_headline_say_what_rows_are_compared_by() -> None:
    rows = (cell("ort"), cell("tf", p50=50.0))
    won = Winner(rows[0].id, rows[1].id, 1.3, 1.2, 1.4)
    text = shown(group(*rows, winner=won, goal=Goal("cost")))
    assert "sync, back to back, compared by processor time per sample, copies included" in text
    assert "in processor time per sample [1.20, 1.40]" in text
    assert "compared by" not in shown(group(*rows, winner=won))


def test_where_no_row_answers_in_time_the_headline_says_so() -> None:
    late = AboveMaxLatency(p90_ms=61.2)
    text = shown(group(cell("ort", marks=(late,)), cell("tf", marks=(late,)), goal=Goal("fps", 50.0)))
    assert "no row has a p90 latency of at most 50 ms" in text
    assert "compared by FPS with p90 of at most 50 ms" in text
    searched = Goal("fps", 50.0, ServiceLevel(99, 50.0))
    assert "with p90 of at most 50 ms (--slo)" in shown(group(cell("ort", marks=(late,)), goal=searched))
    assert "only tf has a p90 latency of at most 50 ms" in shown(
        group(cell("ort", marks=(late,)), cell("tf"), goal=Goal("fps", 50.0))
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("run", "tiny.onnx", "--backends", "ort:cpu", "--set", "ort.level=all", "--shape", "x=1x2"), ()),
        (("run", "tiny", "--cell", "mine=sh -c 'rm -r x'"), ("mine=sh -c 'rm -r x'",)),
        (("run", "tiny", "--cell=mine=sh -c x"), ("mine=sh -c x",)),
        (("serve", "make.py:model", "--data", "make.py:images"), ("make.py:model", "make.py:images")),
        (("run", "x=y.py:make", "--data", "a:b.py:make"), ("x=y.py:make", "a:b.py:make")),
        (("train", "x.py:\u2118"), ("x.py:\u2118",)),  # an identifier, though not a word
        (("corun", "tiny", "--with", "sh -c x"), ("sh -c x",)),
        (
            ("run", "tiny", "--set", "ort.library=/tmp/x.so", "--metric", "m:f>=0.9"),
            ("ort.library=/tmp/x.so", "m:f>=0.9"),
        ),
    ],
)
def test_a_command_that_runs_code_of_its_author_is_warned_of_where_it_is_shown(
    words: tuple[str, ...], code: tuple[str, ...]
) -> None:
    plan = stored_plan(command=["irbench", *words])
    assert code_in_command(plan) == code
    assert ("read the command before you type it" in render_document(document(plan=plan), "md")) == bool(code)
