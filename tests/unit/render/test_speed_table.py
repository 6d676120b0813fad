"""Tables at fixed width, as they were looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest
from documents import BUSY, ENVIRONMENT, cell, document, example, failed, group, speedup
from golden_files import check_golden

from irbench.core.record import Failure, OutputError
from irbench.core.result import Contradiction, GroupResult, Lead, NoWinner, Winner
from irbench.core.row import CellResult, EnergyUse, Generated, PacedLatency, Requested, Spans
from irbench.notices import Context
from irbench.notices.doubts import PacedDiffers, RatioRow, ReversedPair, SlowRow, TwoModes
from irbench.notices.marks import LateCalls, OtherPrecision, Oversubscribed
from irbench.notices.warnings import ManyDirtyBlocks, Unverified
from irbench.render.footer import footer
from irbench.render.speed_table import GroupView, WhichColumns, group_table
from irbench.render.table import TextTable
from irbench.runs.document_text import render_document
from irbench.spec import Accuracy, AccuracyLimit

CRASH = Failure("compile", "It crashed with SIGSEGV.", "Its output is in runs/2026-11/01J/logs/ort.log")
NO_GRAPH = Failure(
    "plan", "it reads tf-graph, the model is onnx", "Export the model from its TensorFlow source to run it there."
)


def failure_rows() -> GroupResult:
    rows = (
        cell("openvino", 32.5, speedup=speedup(1.31, 1.29, 1.33)),
        cell("ort", 40.0, device="cuda"),
        failed("ort", failure=CRASH),
        failed("tf", failure=NO_GRAPH, state="not-applicable"),
        failed("tf-xla", state="interrupted", failure=None),
    )
    return group(
        *rows, baseline=rows[1].id, stopped_by="interrupt", winner=Winner(rows[0].id, rows[1].id, 1.3, 1.2, 1.4)
    )


def streams() -> GroupResult:
    marks = (Oversubscribed(streams=4, threads=2, requested_threads=None),)
    rows = (
        cell("openvino", 64.0, streams=2, fps=31.3, speedup=speedup(1.18, 1.16, 1.20)),
        cell("ort", 142.0, streams=4, fps=28.1, speedup=speedup(1.06, 1.03, 1.09), marks=marks),
        cell("tf", 160.0, streams=4, fps=25.0, speedup=speedup(0.94, 0.90, 0.99, "slower"), marks=marks),
        cell("ort", 37.7, fps=26.5),
    )
    return group(*rows, winner=Winner(rows[0].id, rows[1].id, 1.11, 1.08, 1.15))


def instances() -> GroupResult:
    several = cell(
        "ort",
        41.3,
        fps=48.2,
        mode="instances",
        requested=Requested(1, 1, "fp32", 2),
        effective={"precision": "fp32", "threads": 1, "device": "cpu"},
        id="ort 2x1/fp32",
        label="ort 2x1",
        speedup=speedup(1.82, 1.79, 1.85),
        peak_memory_bytes={"process": 660_000_000},
    )
    return group(
        several, cell("ort", 37.0, fps=26.5), lead=Lead(several.id, "ort/fp32", 1.82, low=1.79, high=1.85, launches=6)
    )


def paced() -> GroupResult:
    late = LateCalls(late=231, calls=300, pace_ms=40.0)
    rows = (
        cell(
            "openvino",
            32.5,
            paced_ms=PacedLatency(40.0, 38.1, 39.0, 38.2, 39.2, 0, 300),
            speedup=speedup(1.31, 1.29, 1.33),
        ),
        cell(
            "ort", 37.0, paced_ms=PacedLatency(40.0, 37.2, 38.0, 37.3, 38.1, 0, 300), speedup=speedup(1.15, 1.13, 1.18)
        ),
        cell("tf", 42.7, paced_ms=PacedLatency(40.0, 43.0, 47.1, None, None, 231, 300), marks=(late,)),
    )
    pair = ReversedPair("openvino/fp32", "ort/fp32", back_to_back=1.14, at_pace=0.976)
    ratios = (RatioRow("openvino/fp32", ratio=1.13, speedup=1.31),)
    return group(*rows, warnings=(PacedDiffers(pace_ms=40.0, rows=ratios, reversed=(pair,)),))


def preview() -> GroupResult:
    rows = (
        cell("openvino", 32.51, launch_spread=0.031, speedup=speedup(1.14, 1.09, 1.21, "preview")),
        cell("ort", 37.02, launch_spread=0.052),
    )
    lead = Lead(
        rows[0].id, rows[1].id, 1.14, low=None, high=None, launches=3, reason="preview", range_low=1.09, range_high=1.21
    )
    return group(*rows, preview=True, launches=3, blocks_measured=18, blocks_per_launch=6, blocks_excluded=0, lead=lead)


def raced() -> GroupResult:
    rows = (
        cell("openvino", 32.5, launches_measured=7, speedup=speedup(1.31, 1.22, 1.41)),
        cell("ort", 34.0, launches_measured=7, speedup=speedup(1.25, 1.17, 1.35)),
        cell("tf", 42.7, launches_measured=4),
    )
    lead = Lead(rows[0].id, rows[1].id, 1.046, low=1.038, high=1.055, launches=7)
    winner = Winner(rows[0].id, rows[1].id, 1.046, 1.038, 1.055)
    return group(*rows, launches=7, blocks_measured=56, winner=winner, lead=lead)


def contradicted(reason: NoWinner) -> GroupResult:
    rows = (
        cell("openvino", 32.5, fps=22.0, speedup=speedup(1.14, 1.12, 1.16)),
        cell("ort", 37.0),
    )
    lead = Lead(rows[0].id, rows[1].id, 1.14, low=1.12, high=1.16, launches=6, reason=reason)
    return group(*rows, lead=lead, blocks_excluded=0, blocks_disturbed=31)


def as_loaded() -> GroupResult:
    rows = (
        cell("ort", 12.4, fps=71.0, launch_spread=0.22, speedup=speedup(3.38, 2.42, 4.70)),
        cell("openvino", 41.9, fps=21.0, launch_spread=0.31),
    )
    winner = Winner(rows[0].id, rows[1].id, 3.38, 2.42, 4.70, "busy")
    lead = Lead(rows[0].id, rows[1].id, 3.38, low=2.42, high=4.70, launches=10, condition="busy")
    blocks = {"launches": 10, "blocks_measured": 93, "blocks_disturbed": 93, "blocks_excluded": 0}
    table = group(*rows, baseline=rows[1].id, winner=winner, lead=lead, condition="busy", **blocks)
    return replace(table, warnings=(ManyDirtyBlocks(blocks_disturbed=93, blocks=93),))


def contradicted_by_other_blocks(blocks: Literal["all", "undisturbed"]) -> GroupResult:
    """Return a table of 12 launches of which few were quiet, and whose leader depends on which blocks count."""
    quiet, loaded = cell("ort", 12.4, speedup=speedup(1.05, 1.03, 1.07)), cell("openvino", 13.0)
    facts: dict[str, Any] = {"launches": 12, "blocks_measured": 96, "blocks_disturbed": 66}
    if blocks == "all":
        lead = Lead(quiet.id, loaded.id, 1.05, 4, "all-blocks-disagree", low=1.03, high=1.07)
        against = Contradiction(loaded.id, 1.55, "all", 12)
        facts |= {"launches_counted": 4, "blocks_excluded": 66}
    else:
        lead = Lead(loaded.id, quiet.id, 1.55, 12, "all-blocks-disagree", condition="busy", low=1.2, high=1.8)
        against = Contradiction(quiet.id, 1.05, "undisturbed", 3)
        facts |= {"launches_counted": 12, "blocks_excluded": 0, "condition": "busy"}
    lead = replace(lead, contradiction=against)
    return group(quiet, loaded, baseline=loaded.id, winner=None, lead=lead, **facts)


def test_a_leader_that_depends_on_which_blocks_count_is_named_with_both_leads() -> None:
    quiet, loaded = (as_text(contradicted_by_other_blocks(blocks), 200) for blocks in ("all", "undisturbed"))
    assert (
        "no winner: ort is 1.05x as fast as openvino in undisturbed blocks of 4 launches, but openvino is 1.55x as"
        " fast as ort over all blocks of 12 launches. Repeat the run on a quiet machine\n"
    ) in quiet
    assert "12 launches (the 4 with enough undisturbed blocks count) x" in quiet
    assert "66 of 96 excluded (another row leads if included)" in quiet
    assert (
        "no winner: openvino is 1.55x as fast as ort over all blocks of 12 launches, but ort is 1.05x as fast as"
        " openvino in undisturbed blocks of 3 launches. Repeat the run on a quiet machine\n"
    ) in loaded
    assert "12 launches x" in loaded


def test_a_preview_whose_leader_depends_on_which_blocks_count_says_so() -> None:
    table = contradicted_by_other_blocks("all")
    assert table.lead is not None
    preview = as_text(replace(table, preview=True, lead=replace(table.lead, reason="preview")), 200)
    assert "preview: ort is 1.05x as fast as openvino in undisturbed blocks of 4 launches, but openvino" in preview


def mismatch() -> GroupResult:
    wrong = cell(
        "tf-xla",
        30.0,
        state="mismatch",
        failure=Failure("verify", "outputs are off by 0.31 (max_rel); fp32 may be off by 0.001", "0.4 would pass"),
        output_error=OutputError(0.2, 0.31, 0.97, 0.875),
    )
    shape = failed(
        "ort", failure=Failure("verify", "output 0 has shape (1, 10), the reference (1, 1000)"), state="mismatch"
    )
    rows = (cell("openvino", 32.5, speedup=speedup(1.31, 1.29, 1.33)), cell("tf", 42.7), wrong, shape)
    return group(*rows, baseline=rows[1].id)


def mixed() -> GroupResult:
    reason = OtherPrecision(precision="bf16", baseline_precision="fp32")
    rows = (
        cell("openvino", 17.4, precision="bf16", speedup=speedup(1.87, 1.83, 1.92, reason=reason), marks=(reason,)),
        cell("openvino", 32.5),
    )
    return group(*rows, winner=Winner(rows[0].id, rows[1].id, 1.87, 1.82, 1.93))


def unverified() -> GroupResult:
    rows = (
        cell("openvino", 32.5, speedup=speedup(1.14, 1.09, 1.21, verified=False), output_error=None),
        cell("ort", 37.0, output_error=None),
    )
    remark = Unverified(model="net", refusals=())
    winner = Winner(rows[0].id, rows[1].id, 1.14, 1.09, 1.21)
    return group(*rows, winner=winner, verified_against=None, warnings=(remark,))


def one_cell() -> GroupResult:
    return group(cell("ort", 37.0), baseline=None, blocks_excluded=0)


def warned() -> GroupResult:
    modes = TwoModes(rows=(SlowRow("ort/fp32", slow_launches=3, launches=6, slower=0.082),))
    rows = (
        cell("openvino", 32.5, sustained_fps=26.1, speedup=speedup(1.003, 1.0004, 1.006, "same")),
        cell("ort", 32.6, launch_spread=0.123),
    )
    return group(*rows, warnings=(modes, BUSY), stopped_by="budget")


def tails() -> GroupResult:
    quick = cell("ort", 0.0412, fps=24_000.0, launch_spread=0.015)
    assert quick.latency_ms is not None
    rows = (
        replace(quick, latency_ms=replace(quick.latency_ms, p99=0.0612, p99_9=0.1431), speedup=speedup(2.0, 1.9, 2.1)),
        cell("tf", 0.0824, fps=12_100.0, launch_spread=0.004),
    )
    return group(*rows, shapes={"tokens": (1, 128), "mask": (1, 128)}, baseline=rows[1].id)


SCENES = {
    "example": example,
    "failure": failure_rows,
    "streams": streams,
    "instances": instances,
    "paced": paced,
    "preview": preview,
    "raced": raced,
    "busy": lambda: contradicted("busy"),
    "as-loaded": as_loaded,
    "throughput-disagrees": lambda: contradicted("throughput-disagrees"),
    "mismatch": mismatch,
    "mixed": mixed,
    "unverified": unverified,
    "one-cell": one_cell,
    "warnings": warned,
    "tails": tails,
}


def as_text(result: GroupResult, width: int) -> str:
    lines = GroupView(result, ENVIRONMENT, document().plan).as_lines(width)
    return "".join(f"{line.plain}\n" for line in lines)


@pytest.mark.parametrize(
    "state", ["example", "failure", "streams", "instances", "paced", "warnings", "tails", "as-loaded"]
)
def test_the_table_is_the_one_that_was_looked_at(state: str):
    check_golden(f"table-{state}-100", as_text(SCENES[state](), 100))


@pytest.mark.parametrize("state", SCENES)
def test_a_table_fits_its_width_and_breaks_no_word(state: str, subtests: pytest.Subtests):
    for width in [60, 80, 100, 101, 120, 200]:
        with subtests.test(width=width):
            text = as_text(SCENES[state](), width)
            assert max(map(len, text.splitlines())) <= width
            whole = set(as_text(SCENES[state](), 1000).split())
            hidden = ["hidden,", "the", "terminal", "is", "too", "narrow:"]
            named = {*hidden, *(f"{word}," for word in whole)}  # columns without room
            assert set(text.split()) - {"…"} <= whole | named


@pytest.mark.parametrize("form", ["csv", "jsonl", "md"])
def test_an_export_is_the_one_that_was_looked_at(form: str):
    check_golden(f"export-{form}", render_document(document(example(), failure_rows()), form))


LIMIT = AccuracyLimit(0.99)
GOOD = replace(cell("openvino", 32.5), accuracy=Accuracy(0.995, LIMIT, 200))
BAD = replace(
    failed("ort", failure=Failure("accuracy", "top-1 agreement 63 % is below 99 %"), state="mismatch"),
    accuracy=Accuracy(0.63, LIMIT, 200),
)


def shown(table: GroupResult, columns: WhichColumns = "usual") -> str:
    return "\n".join(line.plain for line in GroupView(table, columns=columns).as_lines(200))


def test_a_table_has_the_accuracy_of_its_rows_and_the_limit_below():
    text = shown(group(GOOD, BAD))
    (row,) = [line for line in text.splitlines() if line.startswith(" openvino")]
    assert "99.5 %" in row
    assert "mismatch: top-1 agreement 63 % is below 99 %" in text
    assert "accuracy: top-1 agreement at least 99 %" in text


def test_a_table_without_a_limit_says_nothing_of_accuracy():
    assert "accuracy" not in shown(group(cell("openvino", 32.5)))


PACKAGE = {"package-0": 40.0, "dram-0": 10.0}


def using(name: str, joules: float, above: float | None, **domains: float) -> CellResult:
    idle = None if above is None else 9.8
    return cell(name, energy=EnergyUse(joules, above, 50.0, idle, {**PACKAGE, **domains}))


def energy_table(*rows: CellResult) -> str:
    return "\n".join(line.plain for line in GroupView(group(*rows)).as_lines(160))


def figures(row: CellResult) -> list[str]:
    """Return what a row shows behind its throughput: J/inference, above idle, W."""
    (heading, line, *_) = (
        line for line in energy_table(row, using("tf", 0.8, 0.7)).splitlines() if line.startswith((" backend", " ort"))
    )
    begin, end = heading.index("J/inference"), heading.index(" W ") + 2
    return line[begin - 2 : end].split()


def test_energy_above_idle_has_no_more_decimals_than_what_it_is_a_part_of() -> None:
    assert figures(using("ort", 0.0083, -0.0000668)) == ["0.00830", "-0.00007", "50.0"]


def test_what_was_not_measured_is_no_zero() -> None:
    assert figures(cell("ort")) == ["-", "-", "-"]
    assert figures(using("ort", 0.5, None)) == ["0.500", "-", "50.0"]


def test_a_table_names_the_counters_and_the_power_of_the_idle_machine() -> None:
    text = energy_table(using("ort", 0.5, 0.4), using("tf", 0.8, 0.7)).replace("\n", " ")
    assert "J/inference: of package-0 and dram-0, each row alone" in text
    assert "above idle: without the 9.80 W of the idle machine" in text
    assert " J/inference  above idle     W " in text


def test_a_counter_that_belongs_to_rows_on_gpus_alone_is_named_as_such() -> None:
    rows = (using("ort", 0.5, None), using("tf", 0.8, None, **{"gpu-0": 70.0}))
    below = " ".join(footer(group(*rows), Context()))
    assert "J/inference: of package-0, dram-0 and gpu-0 (rows on an NVIDIA GPU), each row alone" in below
    assert "above idle" not in below


def test_a_table_without_energy_has_none_of_these_columns() -> None:
    assert "J/inference" not in energy_table(cell("ort"), cell("tf"))


def threaded(number: int, asked: int, used: int) -> CellResult:
    row = cell("ort", 1.0 + number, streams=2, fps=31.3)
    return replace(
        row,
        id=f"{number}",
        requested=replace(row.requested, threads=asked),
        effective={**row.effective, "threads": used},
    )


def names(*rows: CellResult) -> list[str]:
    lines = shown(group(*rows), "all").splitlines()
    return [line.partition("fp32")[0].strip() for line in lines if line.strip().startswith("ort x2")]


def test_rows_that_used_the_same_threads_are_told_apart_by_those_that_were_asked_for():
    assert names(threaded(1, 1, 2), threaded(2, 2, 2)) == ["ort x2 1 thread", "ort x2 2 threads"]


def test_rows_that_the_column_of_threads_tells_apart_need_no_more():
    assert names(threaded(1, 1, 1), threaded(2, 2, 2)) == ["ort x2", "ort x2"]


def headings(table: GroupResult, columns: WhichColumns = "usual") -> list[str]:
    return [column.heading for column in group_table(table, columns=columns).columns]


def test_a_table_has_the_columns_that_answer_which_row_to_choose():
    table = group(cell("ort"), cell("tf"))
    assert headings(table) == ["backend", "p50 ms", "p90 ms", "FPS", "speedup", "verdict"]
    assert "--all-columns shows 5 more" in shown(table)
    assert "--all-columns" not in shown(table, "all")


def test_all_columns_are_shown_on_request():
    added = ["prec", "spread", "max err", "ready s", "GB"]
    table = group(cell("ort"), cell("tf"))
    assert sorted(set(headings(table, "all")) - set(headings(table))) == sorted(added)


def test_columns_are_those_that_were_named_in_their_order_without_legends_of_others():
    table = group(cell("ort"), cell("tf"))
    assert headings(table, ("label", "max_rel_error", "p50_ms")) == ["backend", "max err", "p50 ms"]
    assert "spread: " not in shown(table, ("label", "max_rel_error", "p50_ms"))


def test_precisions_and_what_they_cost_have_columns_where_rows_differ_in_them():
    assert {"prec", "max err"} <= set(headings(group(cell("ort"), cell("ort", id="b", precision="bf16"))))


def test_a_single_row_has_its_spread():
    assert "spread" in headings(group(cell("ort")))


def generating(**changes: Any) -> GroupResult:
    figures = Generated(16, 8, None, None, Spans(480.0))
    rows = (cell(name, fps=30.0, sustained_fps=20.0, generation=figures, **changes) for name in ("ort", "openvino"))
    return group(*rows)


def test_what_a_generation_sustains_is_in_tokens_as_its_throughput_is():
    sustained = replace(generating().cells[0], sustained_over_launches=Spans(20.0, low=19.0, high=21.0))
    table = replace(generating(), cells=(sustained,))
    assert _column(group_table(table), "sustained") == ["320"]
    assert _column(group_table(table, intervals=True), "sustained") == ["320 [304, 336]"]


def test_a_column_without_any_value_is_left_out():
    headings = [column.heading for column in group_table(example()).columns]
    assert {"p90 ms", "spread"} <= set(headings)
    without = tuple(
        replace(row, launch_spread=None, latency_ms=replace(row.latency_ms, p90=None))
        for row in example().cells
        if row.latency_ms is not None
    )
    headings = [column.heading for column in group_table(replace(example(), cells=without)).columns]
    assert not {"p90 ms", "spread"} & set(headings)


def _column(table: TextTable, heading: str) -> list[str]:
    place = [column.heading for column in table.columns].index(heading)
    return [row.cells[place] for row in table.rows]
