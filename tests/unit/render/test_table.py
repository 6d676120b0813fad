"""Every row that goes in comes out, at every width and in every format, whatever its words are."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from documents import cell, document, example, failed, group
from hypothesis import example as such_as
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from irbench.notices import Mark, Note, Reference
from irbench.plain_text import plain
from irbench.record import Failure
from irbench.render import Column, GroupView, Row, TextTable, render_document
from irbench.render.line_wrapping import wrap
from irbench.result import GivenInputs, Requested, RunDocument, Winner
from irbench.spec import Goal

HOSTILE = "[red]x[/red] [bold] pip install 'irbench[openvino]' \x1b[2Jgone\r\nnext | pipe"


def shown(result: Any, width: int = 200) -> str:
    return "\n".join(line.plain for line in GroupView(result).as_lines(width))


def hostile() -> RunDocument:
    bad = failed("ort", failure=Failure("load", HOSTILE, HOSTILE))
    note = Note("native-precision", {"backend": HOSTILE, "precision": HOSTILE})
    return document(group(cell("tf"), bad, model=HOSTILE, notes=(note,)))


def test_words_of_others_are_neither_markup_nor_orders_to_the_terminal():
    console = Console(width=200, force_terminal=True, color_system=None, file=io.StringIO())
    console.print(GroupView(hostile().groups[0]))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "irbench[openvino]" in text
    assert "[red]x[/red]" in text
    assert "\x1b[2J" not in text
    assert "\r" not in text


def test_a_name_cannot_break_a_markdown_table():
    rows = [line for line in render_document(hostile(), "md").splitlines() if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in rows}) == 1
    assert len(rows) == 4


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_every_row_comes_out_at_every_width(width: int):
    for cell_ in example().cells:
        assert any(line.split()[:1] == [cell_.label] for line in shown(example(), width).splitlines())


def test_columns_that_have_no_room_are_named():
    assert "hidden, the terminal is too narrow: max err, ready s, GB" in shown(example(), 80)
    assert "left out" not in shown(example(), 100)


@given(st.text(st.characters(codec="utf-8"), max_size=300), st.integers(20, 140))
def test_a_reason_loses_no_word_and_no_line_is_too_wide(words: str, width: int):
    table = TextTable((Column("a", words=True), Column("b", words=True)), (Row(("x",), "begin " + words),))
    lines = [line.plain for line in table.as_lines(width)]
    assert "".join(" ".join(lines[1:]).split()) == "x" + "begin" + "".join(plain(words).split())
    assert max(map(cell_len, lines)) <= max(width, len("x") + 2 + 30)


@given(st.text(max_size=200), st.integers(2, 60))
@such_as("00 \u0300", 2)
def test_folding_keeps_every_character_but_blanks(text: str, width: int):
    lines = wrap(text, width)
    assert "".join("".join(lines).split()) == "".join(plain(text).split())
    assert all(cell_len(line) <= width for line in lines)


def test_what_was_not_measured_is_a_dash_in_tables_null_in_json_and_empty_in_csv():
    run = document(group(cell("ort", p50=37.0, launch_spread=None, output_error=None), failed("tf")))
    row = next(line.split() for line in shown(run.groups[0]).splitlines() if line.split()[:1] == ["ort"])
    assert row[2:5] == ["37.0", "-", "38.1"]
    assert "0.0" not in row
    assert json.loads(render_document(run, "jsonl").splitlines()[1])["p50_ms"] is None
    lines = list(csv.DictReader(io.StringIO(render_document(run, "csv"))))
    assert lines[0]["p99_ms"] == lines[1]["p50_ms"] == lines[1]["fps"] == ""
    assert float(lines[0]["p50_ms"]) == 37.0


def test_a_csv_has_the_same_columns_whether_or_not_things_were_measured():
    measured = render_document(document(group(cell("ort"))), "csv").splitlines()[0].split(",")
    not_measured = render_document(document(group(failed("ort"))), "csv").splitlines()[0].split(",")
    assert measured == not_measured


def test_a_csv_has_the_same_columns_whatever_the_model_and_the_backend():
    other = cell("tf", effective={"precision": "fp32", "onednn": True}, peak_memory_bytes={"run": 7})
    columns = {
        render_document(document(group(row), **changes), "csv").splitlines()[0]
        for row, changes in ((cell("ort"), {}), (other, {"environment": {}, "plan": {}}))
    }
    assert len(columns) == 1
    (row,) = csv.DictReader(io.StringIO(render_document(document(group(other)), "csv")))
    assert json.loads(row["effective"]) == {"precision": "fp32", "onednn": True}
    assert row["shapes"] == "1x224x224x3"


@pytest.mark.parametrize("form", ["csv", "md"])
def test_an_export_says_where_it_comes_from(form: str):
    text = render_document(document(), form)
    for part in ("A CPU", "01KAJ3WQ4R8Z6M1X0V9T7S5P3N", "2025-11-21T02:29:01", "irbench run resnet50"):
        assert part in text, part


def test_json_is_the_stored_document_and_jsonl_a_line_for_each_row():
    run = document(example(), group(failed()))
    whole = json.loads(render_document(run, "json"))
    assert [len(item["cells"]) for item in whole["groups"]] == [4, 1]
    lines = [json.loads(line) for line in render_document(run, "jsonl").splitlines()]
    assert [line["cell"] for line in lines] == [cell_.id for table in run.groups for cell_ in table.cells]
    assert [line["is_baseline"] for line in lines] == [False, False, True, False, True]
    assert lines[0]["effective"] == {"precision": "fp32", "threads": 2, "streams": 1, "device": "cpu"}
    assert lines[0]["p50_ms"] == 32.5


def test_an_unknown_format_is_refused():
    with pytest.raises(ValueError, match="xml"):
        render_document(document(), "xml")


def test_columns_fold_before_anything_is_cut():
    table = TextTable(
        (Column("name"), Column("what", words=True, folds=True)), (Row(("a", "one two three four five")),)
    )
    assert [line.plain for line in table.as_lines(18)] == [
        "name  what",
        "   a  one two",
        "      three four",
        "      five",
    ]


@given(
    st.lists(st.text("abcdefg ", min_size=1, max_size=60), min_size=1, max_size=4), st.sampled_from([60, 80, 120, 200])
)
def test_a_column_that_folds_keeps_usual_words_whole(cells: list[str], width: int):
    table = TextTable(
        (Column("name", words=True), *(Column("what", words=True, folds=True, drops=number) for number in range(4))),
        (Row(("a", *(cells + cells[:1] * 3)[:4])),),
    )
    lines = [line.plain for line in table.as_lines(width)]
    usual = {word for line in lines[1:] for word in line.split() if len(word) < 30}
    whole = {word for cell_ in cells for word in cell_.split()}
    assert all(word in whole or any(word in longer for longer in whole if len(longer) > 30) for word in usual - {"a"})


def test_the_table_is_as_wide_as_it_needs_to_be_where_nothing_limits_it():
    console = Console(width=1000)
    table = TextTable((Column("x" * 95),), ())
    assert console.measure(table).maximum == max(len(line.plain) for line in table.as_lines(1000))
    view = GroupView(group(cell("x" * 95), cell("ort")))
    width = console.measure(view).maximum
    assert width == max(len(line.plain) for line in view.as_lines(width))
    assert not any("terminal is too narrow" in line.plain for line in view.as_lines(width))
    assert any("terminal is too narrow" in line.plain for line in view.as_lines(width - 1))


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ((failed("ort"), failed("tf")), "no row has a valid result"),
        ((cell("ort"), failed("tf")), "only ort has a valid result"),
    ],
)
def test_where_nobody_can_win_the_headline_says_why(cells: Any, sentence: str):
    assert shown(group(*cells)).splitlines()[1] == sentence


def test_speedups_that_move_with_the_blocks_excluded_are_said_to():
    table = example()
    first = table.cells[0]
    assert first.speedup is not None
    moved = replace(first, speedup=replace(first.speedup, all_blocks_value=1.5))
    turned = replace(first, speedup=replace(first.speedup, all_blocks_verdict="undecided"))
    unknown = replace(first, speedup=replace(first.speedup, all_blocks_verdict=None))
    assert "(same verdicts if included)" in shown(table)
    assert "(verdicts change if included)" in shown(replace(table, cells=(turned, *table.cells[1:])))
    assert "with them" not in shown(replace(table, cells=(unknown, *table.cells[1:])))
    assert "(speedups change if included)" in shown(replace(table, cells=(moved, *table.cells[1:])))


@pytest.mark.parametrize(
    ("stopped_by", "said"),
    [("unfinished", "unfinished: the run was killed"), ("failures", "all backends failed")],
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


def test_rows_of_one_backend_are_told_apart_where_the_precisions_they_read_back_do_not():
    native = replace(cell("ort"), id="native", requested=Requested(2, 1, "native"))
    lines = shown(group(native, cell("ort"))).splitlines()
    assert [line.split()[:2] for line in lines[2:4]] == [["ort", "native"], ["ort", "fp32"]]
    other = shown(group(cell("ort", precision="bf16"), cell("ort"))).splitlines()
    assert [line.split()[:2] for line in other[2:4]] == [["ort", "bf16"], ["ort", "fp32"]]
    assert "ort bf16  bf16" not in other[2]


def test_threads_and_processors_are_those_that_were_used():
    native = cell("ort", threads=None)
    table = group(native, cell("tf", threads=None))
    assert "native threads on 2 cores" in next(GroupView(table, {"physical_cores_allowed": 2}).as_lines(200)).plain
    assert "on processors 0,1" in next(GroupView(table, {}, {"cpus": [0, 1]}).as_lines(200)).plain
    confined = GroupView(table, {"physical_cores_allowed": 2, "confined": True})
    assert "on 2 cores · cpu · confined · sync" in next(confined.as_lines(200)).plain
    own: Mapping[str, Any] = {"cells": {"tf": {"kind": "callable", "target": "nets:infer"}}}
    mixed = GroupView(table, {"confined": True}, own)
    assert "cpu · confined except own code · sync" in next(mixed.as_lines(200)).plain
    assert "confined" not in next(GroupView(group(cell("tf")), {"confined": True}, own).as_lines(200)).plain
    assert "threads differ" in shown(group(cell("ort", threads=1), cell("tf", threads=2)))


def test_rows_of_several_models_batches_and_thread_counts_have_columns_for_what_differs() -> None:
    rows = (cell("ort", model="fp32"), cell("ort", model="int8", id="b", batch=8, threads=4))
    text = shown(group(*rows, model="fp32"))
    head = next(line for line in text.splitlines() if "p50 ms" in line)
    assert head.split()[:5] == ["backend", "prec", "model", "batch", "threads"]
    assert "fp32, int8  " in text
    assert "batches 1, 8" in text
    assert "compared by FPS" in text


def test_a_table_of_one_model_and_batch_has_no_columns_for_them() -> None:
    head = next(line for line in shown(group(cell("ort"), cell("tf"))).splitlines() if "p50 ms" in line)
    assert head.split()[:3] == ["backend", "prec", "p50"]


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
    late = Mark("above-max-latency", {"p90_ms": 61.2})
    text = shown(group(cell("ort", marks=(late,)), cell("tf", marks=(late,)), goal=Goal("fps", 50.0)))
    assert "no row has a p90 latency of at most 50 ms" in text
    assert "compared by FPS with p90 of at most 50 ms" in text
    assert "only tf has a p90 latency of at most 50 ms" in shown(
        group(cell("ort", marks=(late,)), cell("tf"), goal=Goal("fps", 50.0))
    )
