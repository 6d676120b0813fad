"""Two sides beside each other, as a person reads them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from golden_files import check_golden

from irbench.across_runs.changes import CheckedCondition, change_of_values, checked_condition
from irbench.across_runs.checked_runs import Finished, Incomplete
from irbench.across_runs.differences import RunDifference
from irbench.across_runs.measured_cells import FIGURES, CellKey
from irbench.across_runs.repetition_obstacles import OtherSoftware
from irbench.across_runs.side_comparison import ComparedRow, ComparedSide, RunComparison, UnmatchedRow
from irbench.api.display import as_text
from irbench.features.compare.confirmed_regressions import Confirmation
from irbench.features.compare.report import ComparedRuns
from irbench.features.compare.view import comparison_markdown, comparison_view
from irbench.options.conditions import read_condition
from irbench.stats.two_samples import Shift

KEY = CellKey("resnet50", (("image", (1, 3, 224, 224)),), "ort", "cpu", "fp32", 1, 2, 1, "copy")
BEFORE = (37.0, 37.4, 36.8, 37.1)
TIME = change_of_values(FIGURES["time"], BEFORE, [1.06 * value for value in BEFORE], "launches", 0.95)
MEMORY = change_of_values(FIGURES["peak_memory"], [330e6] * 4, [410e6] * 4, "launches", 0.95)
COMPILE = change_of_values(FIGURES["compile"], [120.0], [150.0], "values", 0.95)
SLOWER = ComparedRow(
    "ort",
    KEY,
    KEY,
    "slower",
    TIME,
    ("01A",),
    ("01B",),
    (
        CheckedCondition("time>5%", "met", TIME),
        CheckedCondition("peak_memory>50MB", "met", MEMORY, relative=False),
        CheckedCondition("compile>5%", "undecided", COMPILE, unjudged="too-few"),
        CheckedCondition("p99>5%", "not-measured", None, unjudged="no-figure"),
    ),
)
PREVIEW = replace(
    SLOWER,
    name="openvino",
    key=replace(KEY, backend="openvino"),
    verdict="preview",
    time=change_of_values(FIGURES["time"], BEFORE[:3], BEFORE[1:], "launches", 0.95),
    conditions=(),
)
FOUND = RunComparison(
    base=ComparedSide("before", ("01A",), "2025-11-21T02:29:01+00:00", "aaaa"),
    new=ComparedSide("after", ("01B",), "2025-11-22T02:29:01+00:00", "aaaa"),
    rows=(SLOWER, PREVIEW),
    unmatched=(UnmatchedRow("tf", replace(KEY, backend="tf"), in_base=True, in_new=False, is_missed=True),),
    differences=(RunDifference("software", "onnxruntime", ("1.22.0",), ("1.23.0",)),),
    problems=(Incomplete("01B", Finished(4)),),
    confidence=0.95,
    within=0.02,
    asked=("time>5%", "peak_memory>50MB", "compile>5%", "p99>5%"),
)
PAIRED = CheckedCondition("time>5%", "met", replace(TIME, counted="pairs"))
AGAIN = Confirmation(
    "confirmed", "both", "01C", (replace(SLOWER, time=replace(TIME, counted="pairs"), conditions=(PAIRED,)),)
)


def text(found: RunComparison, confirmation: Confirmation | None = None) -> str:
    return as_text(comparison_view(found, confirmation))


def test_a_comparison_looks_as_it_did():
    check_golden("compare", text(FOUND, AGAIN) + "\n")


def test_markdown_has_the_same_cells():
    assert "| ort | fp32 | 37.05 | 39.27 | +6.0 % |" in comparison_markdown(FOUND)


def meaning_of_times(*rows: ComparedRow) -> str:
    shown = (text(replace(FOUND, rows=rows)), comparison_markdown(replace(FOUND, rows=rows)))
    lines = [" ".join(form.split()).partition("base ms, new ms: ")[2].partition(";")[0] for form in shown]
    assert lines[0] == lines[1]
    return lines[0]


def test_both_forms_say_that_the_times_are_not_the_p50_of_a_run():
    streams = replace(SLOWER, key=replace(KEY, streams=2))
    runs = replace(SLOWER, time=replace(TIME, counted="runs"))
    assert meaning_of_times(SLOWER) == "time of a batch, the median over launches"
    assert meaning_of_times(runs) == "time of a batch, the median over runs"
    assert meaning_of_times(SLOWER, runs) == "time of a batch, the median over launches or runs, as counted"
    assert meaning_of_times(streams) == "time per sample, the median over launches"
    assert meaning_of_times(SLOWER, streams) == (
        "time of a batch (per sample with several streams or instances), the median over launches"
    )


def test_the_p50_of_a_run_is_over_included_blocks_and_a_latency_where_the_times_are_not():
    streams = replace(SLOWER, key=replace(KEY, streams=2))
    said = " ".join(text(FOUND).split())
    assert "; p50 ms in irbench show is over the calls of the included blocks, and may differ." in said
    for rows in ((streams,), (SLOWER, streams)):
        said = " ".join(text(replace(FOUND, rows=rows)).split())
        assert "; p50 ms in irbench show is the latency of a batch over the calls of the included blocks" in said


@pytest.mark.parametrize(
    ("confirmation", "said"),
    [
        (Confirmation("not-confirmed", "new", "01C"), "measured again: not confirmed, so it is not a regression"),
        (Confirmation("undecided", "new", "01C"), "measured again: undecided"),
        (
            Confirmation("not-possible", obstacle=OtherSoftware(names=("onnx", "openvino"))),
            "Not measured again: other versions are installed now: onnx and openvino.",
        ),
    ],
)
def test_what_a_second_measurement_said_is_told(confirmation: Confirmation, said: str):
    assert said in " ".join(text(FOUND, confirmation).split())


def judged(condition: str, factors: tuple[float, ...], name: str = "ort") -> ComparedRow:
    """Return a row whose launches became longer by these factors."""
    time = change_of_values(
        FIGURES["time"], BEFORE, [f * v for f, v in zip(factors, BEFORE, strict=False)], "launches", 0.95
    )
    checked = checked_condition(read_condition(condition), time)
    return replace(SLOWER, name=name, time=time, conditions=(checked,))


NOISY = (0.8, 1.3, 0.9, 1.2)
STEADY = (1.0, 1.001, 0.999, 1.0)


def test_no_regression_is_promised_only_where_every_interval_excludes_one():
    steady, noisy = judged("time>5%", STEADY), judged("time>5%", NOISY, "tf")
    asked = replace(FOUND, asked=("time>5%",), unmatched=())
    assert "; no regression: every interval excludes time>5%." in text(replace(asked, rows=(steady,)))
    found, few = "no regression found, but time>5% is not excluded in", replace(asked, rows=(noisy,))
    assert f"{found} 1 of 2 rows." in text(replace(asked, rows=(steady, noisy)))
    assert f"{found} any row." in text(few)
    said = " ".join(text(few).split())
    assert "not met, but cannot be ruled out: the interval reaches beyond the limit" in said


def test_only_conditions_that_some_row_does_not_exclude_are_named_as_such():
    steady, noisy = judged("time>5%", STEADY), judged("time>5%", NOISY, "tf")
    same = change_of_values(FIGURES["peak_memory"], [330e6] * 4, [330.2e6] * 4, "launches", 0.95)
    memory = checked_condition(read_condition("peak_memory>20%"), same)
    assert memory.excluded
    rows = tuple(replace(row, conditions=(*row.conditions, memory)) for row in (steady, noisy))
    asked = replace(FOUND, asked=("peak_memory>20%", "time>5%"), unmatched=(), rows=rows)
    assert "no regression found, but time>5% is not excluded in 1 of 2 rows." in said_of(asked)
    both = checked_condition(read_condition("fps<-5%"), rows[1].time)
    wide = replace(both, condition="peak_memory>20%", outcome="not-met", excluded=False)
    rows = (replace(steady, conditions=(wide,)), noisy)
    assert "but peak_memory>20% and time>5% are not excluded in any row." in said_of(replace(asked, rows=rows))


def test_a_change_that_was_measured_again_has_one_number_everywhere():
    again = replace(TIME, counted="pairs", relative=Shift(2.15, 1.9, 2.4, 0.95), new=116.7)
    paired = replace(SLOWER, time=again, conditions=(CheckedCondition("time>5%", "met", again),))
    confirmation = Confirmation("confirmed", "both", "01C", (paired,))
    for said in (" ".join(text(FOUND, confirmation).split()), comparison_markdown(FOUND, confirmation)):
        assert "+6.0 %" not in said  # of the stored runs, which shared no launch
        assert said.count("+215 % [+190 %, +240 %] side by side in 4 launches, met") == 1
    assert "| ort | fp32 | - | 117 | +215 % | [+190 %, +240 %] | slower | 4 pairs |" in said
    assert "in run 01C: its figures of ort are shown, where the stored runs met time>5%." in said
    assert "peak_memory>50MB on ort: 330 MB → 410 MB" in said  # what was not met, or not checked again, stays
    row, other = ComparedRuns(FOUND, confirmation).rows
    assert (row.time, other) == (again, PREVIEW)


def test_rows_that_may_have_regressed_are_counted_beside_one_that_did():
    found = replace(FOUND, rows=(SLOWER, judged("time>5%", NOISY, "tf")))
    assert "regression: ort, and not excluded in 1 other row;" in " ".join(text(found, AGAIN).split())


def test_what_an_interval_takes_is_launches_of_a_run_and_runs_of_what_each_run_has_once():
    few = judged("time>5%", STEADY[:3])
    assert "not judged: an interval takes 4 launches on both sides" in said_of(replace(FOUND, rows=(few,)))
    once = replace(SLOWER, conditions=(checked_condition(read_condition("compile>5%"), COMPILE),))
    assert "an interval takes 4 runs on both sides" in said_of(replace(FOUND, rows=(once,)))


def test_a_condition_that_could_not_be_judged_is_no_pass_and_says_what_it_takes():
    few = replace(FOUND, rows=(judged("time>5%", STEADY[:3]),), asked=("time>5%",))
    said = said_of(few)
    assert "no regression found, but time>5% was not judged in any row." in said
    assert (
        "warning: not judged, so this is not a pass (exit code 6): time>5% on ort: an interval takes 4 launches on both"
        " sides; time>5% on tf: no figures on the newer side." in said
    )
    assert "exit code" not in said_of(FOUND)  # another condition is met, which decides the exit code


def test_a_change_stands_beside_figures_that_it_follows_from():
    for factors in ((1.061, 1.062, 1.0643, 1.0667), STEADY, NOISY):
        row = said_of(replace(FOUND, rows=(judged("time>5%", factors),))).split("verdict counted ort fp32 ")[1].split()
        base, new, change = float(row[0]), float(row[1]), float(row[2])
        assert f"{100 * (new / base - 1):+.1f}" == f"{change:+.1f}"


def said_of(found: RunComparison) -> str:
    return " ".join(text(found).split())


def test_nothing_in_common_is_said():
    (tf,) = FOUND.unmatched
    both = replace(tf, name="ort", in_new=True)
    others = tuple(replace(tf, name=f"row {number}", in_base=False, in_new=True) for number in range(12))
    said = said_of(replace(FOUND, rows=(), unmatched=(tf, both, *others)))
    assert "No row was measured on both sides: BASE has tf and ort (without figures on one side), NEW has ort (" in said
    assert "row 6 and 5 others. Rows match where model, shapes, " in said
    assert "prec" not in said.replace("precision", "")
    assert "Not compared" not in said


def test_a_side_without_rows_is_said():
    assert "BASE has tf, NEW has no rows." in said_of(replace(FOUND, rows=()))


def test_other_machines_are_a_warning_where_they_were_forced():
    blocking = RunDifference("machine", "processor", ("A CPU",), ("B CPU",))
    there = replace(FOUND.new, machine="bbbb")
    shown = text(replace(FOUND, new=there, differences=(blocking,)))
    assert "warning: another machine: processor A CPU → B CPU" in shown
    assert "machine aaaa → bbbb" in shown


def test_a_run_that_is_compared_with_itself_is_told():
    assert "BASE and NEW are the same run" in text(replace(FOUND, new=FOUND.base))
