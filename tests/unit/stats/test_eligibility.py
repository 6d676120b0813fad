"""A cell that never started is told by its reason."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from launches import even, group
from summaries import rows as precision_rows
from summaries import table

from irbench.core.record import Failure
from irbench.notices import Context
from irbench.notices.marks import (
    AnswersDiffer,
    ChangesOverLaunches,
    NotRanked,
    OtherPeaks,
    OtherPrecision,
    OtherThanGraph,
    VendorOperators,
)
from irbench.render.speed_table import headline
from irbench.spec import Accuracy, AccuracyLimit, Artifact, Disagreement, InferenceWork, Roof, Timing
from irbench.stats.eligibility import Admission, compares_all, decide_eligibility
from irbench.stats.summary import summarise

LIMIT = AccuracyLimit(0.99)
NARROW = Artifact("onnx", Path(), (), (), disagreement=Disagreement("top1-agreement", 0.8, 0.9))


@pytest.mark.parametrize(
    ("accuracy", "state"), [(Accuracy(0.63, LIMIT, 100), "mismatch"), (None, "failed")], ids=["measured", "unknown"]
)
def test_a_row_that_misses_the_limit_is_wrong_and_one_whose_accuracy_is_unknown_has_failed(
    accuracy: Accuracy | None, state: str
) -> None:
    asked = group("ort", "other")
    asked = replace(asked, cells=(asked.cells[0], replace(asked.cells[1], accuracy=accuracy)))
    reason = Failure("accuracy", "the reason")
    eligibility = decide_eligibility(asked, even({"ort": [10.0] * 6}), Admission(absent={"other": reason}))
    assert eligibility.states["other"] == state


@pytest.mark.parametrize(("value", "may_win"), [(0.995, True), (None, False)])
def test_a_converted_graph_may_win_where_it_keeps_the_limit_of_the_user(value: float | None, may_win: bool) -> None:
    asked = group("ort", "int8")
    accuracy = None if value is None else Accuracy(value, LIMIT, 100)
    narrow = replace(asked.cells[1], artifact=NARROW, accuracy=accuracy)
    records = even({"ort": [10.0] * 6, "int8": [5.0] * 6})
    eligibility = decide_eligibility(replace(asked, cells=(asked.cells[0], narrow)), records, Admission())
    assert ("int8" in eligibility.candidates) is may_win


@pytest.mark.parametrize(("stage", "state"), [("plan", "not-applicable"), ("optimize", "failed")])
def test_a_cell_without_a_graph_has_failed_unless_none_was_made_for_its_backend(stage: str, state: str) -> None:
    reason = Failure(stage, "the reason")
    eligibility = decide_eligibility(
        group("ort", "other"), even({"ort": [10.0] * 6}), Admission(absent={"other": reason})
    )
    assert eligibility.states == {"ort": "ok", "other": state}
    assert eligibility.failures == {"other": reason}


DISAGREEMENT = Disagreement("top1-agreement", 0.63, 0.9)


def rows(result):
    return {row.id: row for row in result.cells}


def converted(*differing):
    asked = group("base", "int8")
    cells = tuple(
        replace(
            cell,
            artifact=Artifact("onnx", Path(), (), (), disagreement=DISAGREEMENT if cell.id in differing else None),
        )
        for cell in asked.cells
    )
    records = even({"base": [10.0] * 6, "int8": [4.0] * 6})
    return summarise(
        replace(asked, cells=cells), records, Timing(), Admission(), stopped_by="target", seconds=60.0, remarks=()
    )


def test_a_conversion_that_no_longer_answers_like_the_model_is_marked_and_never_the_winner():
    result = converted("int8")
    row = rows(result)["int8"]
    assert row.disagreement == DISAGREEMENT
    assert row.marks == (AnswersDiffer(**asdict(DISAGREEMENT), is_candidate=False),)
    assert row.speedup.value == pytest.approx(2.5)
    assert result.winner is None


def test_among_conversions_that_all_answer_otherwise_one_may_be_the_fastest():
    result = converted("base", "int8")
    assert result.winner.cell == "int8"
    assert [mark.is_candidate for row in result.cells for mark in row.marks] == [True, True]


def test_a_conversion_that_answers_like_the_model_is_a_row_like_others():
    result = converted()
    assert rows(result)["int8"].marks == ()
    assert result.winner.cell == "int8"


def test_a_graph_that_not_every_runtime_reads_is_marked_and_wins_like_others():
    asked = group("base", "all")
    cells = tuple(
        replace(cell, artifact=Artifact("onnx", Path(), (), (), domains=("com.microsoft",) if cell.id == "all" else ()))
        for cell in asked.cells
    )
    records = even({"base": [10.0] * 6, "all": [4.0] * 6})
    result = summarise(
        replace(asked, cells=cells), records, Timing(), Admission(), stopped_by="target", seconds=60.0, remarks=()
    )
    assert rows(result)["all"].marks == (VendorOperators(domains=("com.microsoft",)),)
    assert rows(result)["all"].vendors == ("com.microsoft",)
    assert result.winner.cell == "all"


MIXED = {"precision": "bf16", "baseline_precision": "fp32"}


def changing(name, *values):
    return ChangesOverLaunches(property=name, values=tuple(values))


def mixed(allow):
    records = even({"base": [10.0] * 6, "low": [4.0] * 6})
    changed = [
        replace(
            record, cells=(record.cells[0], replace(record.cells[1], effective={"precision": "bf16", "threads": 2}))
        )
        for record in records
    ]
    return table(group("base", "low"), changed, Admission(allow_mixed=allow))


def test_precisions_are_not_compared_and_the_table_says_why():
    result = mixed(allow=False)
    row = precision_rows(result)["low"]
    assert (row.speedup, row.state, row.marks) == (None, "ok", (NotRanked(**MIXED),))
    assert result.winner is None


def test_precisions_that_may_be_compared_are_marked():
    result = mixed(allow=True)
    row = precision_rows(result)["low"]
    assert row.speedup.value == pytest.approx(2.5)
    assert row.speedup.reason == OtherPrecision(**MIXED)
    assert result.winner.cell == "low"


def of_files(*files, computed):
    """Return the table of rows that run files of these precisions, as nobody asked for another."""
    asked = group(*files)
    cells = tuple(
        replace(
            cell,
            artifact=Artifact("onnx", Path(), (), (), precision=held),
            load=replace(cell.load, precision="native" if held == "fp64" else held, precision_required=False),
        )
        for cell, held in zip(asked.cells, files, strict=True)
    )
    changed = [
        replace(
            record,
            cells=tuple(
                replace(cell, effective={"precision": value})
                for cell, value in zip(record.cells, computed, strict=True)
            ),
        )
        for record in even({files[0]: [10.0] * 6, files[1]: [4.0] * 6})
    ]
    return table(replace(asked, cells=cells), changed)


@pytest.mark.parametrize("files", [("fp32", "int8"), ("int8", "fp32"), ("fp32", "fp64"), ("fp64", "fp16")])
def test_files_of_different_precisions_are_compared_where_each_computes_in_its_own(files):
    result = of_files(*files, computed=files)
    row = precision_rows(result)[files[1]]
    assert row.speedup.value == pytest.approx(2.5)
    assert row.speedup.reason == OtherPrecision(precision=files[1], baseline_precision=files[0])
    assert result.winner.cell == files[1]


@pytest.mark.parametrize("computed", [("fp32", "bf16"), ("bf16", "int8")])
def test_a_file_that_a_runtime_computes_in_another_precision_than_it_holds_is_not_ranked(computed):
    row = precision_rows(of_files("fp32", "int8", computed=computed))["int8"]
    assert row.speedup is None
    assert "not-ranked" in {mark.code for mark in row.marks}


def test_native_is_compared_only_beside_a_precision_that_was_named_too():
    assert compares_all(("fp32", "native"), allow_mixed=False)
    assert not any(compares_all(asked, allow_mixed=False) for asked in (("native",), ("fp32", "bf16"), None))
    assert compares_all(None, allow_mixed=True)


def test_the_effective_precision_decides_and_not_the_one_asked_for():
    asked = group("base", "native")
    native = replace(asked.cells[1], load=replace(asked.cells[1].load, precision="native"))
    result = table(replace(asked, cells=(asked.cells[0], native)), even({"base": [10.0] * 6, "native": [5.0] * 6}))
    assert precision_rows(result)["native"].speedup.value == pytest.approx(2.0)


def over_launches(*read_back):
    records = even({"only": [10.0] * len(read_back)})
    changed = [
        replace(record, cells=(replace(record.cells[0], effective=effective),))
        for record, effective in zip(records, read_back, strict=True)
    ]
    return precision_rows(table(group("only"), changed))["only"]


def test_a_property_that_changes_over_launches_marks_its_row_with_every_value():
    caches = [{"precision": "fp32", "kernels": item} for item in ("off", "written", "read", "read")]
    row = over_launches(*caches)
    assert (row.state, row.marks) == ("ok", (changing("kernels", "off", "written", "read"),))
    threads = over_launches({"precision": "fp32", "threads": 2}, {"precision": "fp32", "threads": 1})
    assert threads.marks == (changing("threads", 2, 1),)


def test_a_cell_that_changed_its_precision_between_launches_has_no_figure():
    row = over_launches({"precision": "fp32"}, {"precision": "bf16"})
    assert (row.state, row.latency_ms, row.failure.stage) == ("failed", None, "precision")
    assert row.failure.message == "it computed in fp32 and in bf16 in different launches"


def test_warnings_tell_two_precisions_of_one_backend_apart():
    asked = group("base", "low")
    cells = tuple(
        replace(cell, backend="same", load=replace(cell.load, precision=precision))
        for cell, precision in zip(asked.cells, ("fp32", "native"), strict=True)
    )
    result = table(replace(asked, cells=cells), even({"base": [10.0] * 6, "low": [10.05] * 6}))
    assert headline(result, Context()).startswith("no winner: same fp32 and same native are the same")


@pytest.mark.parametrize(
    ("held", "computed", "marks"),
    [
        ("fp16", "fp32", (OtherThanGraph(graph="fp16", precision="fp32"),)),
        ("int8", "int8", ()),
        ("fp32", "bf16", ()),
        ("", "bf16", ()),
    ],
)
def test_a_narrow_graph_that_is_computed_in_something_else_is_marked(held, computed, marks):
    asked = group("only")
    graph = Artifact("onnx", Path(), (), (), precision=held)
    asked = replace(asked, cells=tuple(replace(cell, artifact=graph) for cell in asked.cells))
    records = [
        replace(record, cells=tuple(replace(cell, effective={"precision": computed}) for cell in record.cells))
        for record in even({"only": [10.0] * 6})
    ]
    (row,) = table(asked, records).cells
    assert (row.marks, row.graph_precision) == (marks, held)


@pytest.mark.parametrize(
    ("measured_with", "marks"),
    [
        ("1.23.0", (OtherPeaks(version="1.24.1", measured_with="1.23.0"),)),
        ("", (OtherPeaks(version="1.24.1", measured_with=""),)),
        ("1.24.1", ()),
        (None, ()),
    ],
)
def test_a_roof_by_the_peaks_of_other_software_is_marked(measured_with, marks):
    asked = group("only")
    roofs = {"fp32": Roof(100.0, "compute", "L2")}
    work = InferenceWork(1000, 100, roofs, "2026-01-31T14:05:00+00:00", measured_with)
    effective = {"precision": "fp32", "version": "1.24.1"}
    for known, expected in ((work, marks), (replace(work, roofs={}), ()), (None, ())):
        cells = tuple(replace(cell, work=known) for cell in asked.cells)
        records = [
            replace(record, cells=tuple(replace(cell, effective=effective) for cell in record.cells))
            for record in even({"only": [10.0] * 6})
        ]
        (row,) = table(replace(asked, cells=cells), records).cells
        assert row.marks == expected
