"""A row whose graph was converted says what it lost, and wins only where it answers like the model."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from launches import even, group

from irbench.notices.marks import AnswersDiffer, VendorOperators
from irbench.spec import Artifact, Disagreement, Timing
from irbench.stats.eligibility import Admission
from irbench.stats.summary import summarise

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
