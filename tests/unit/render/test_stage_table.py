"""The stages below a table: what is shown of each, for rows that have some."""

from __future__ import annotations

import pytest
from documents import ENVIRONMENT, cell, document, group, speedup
from golden_files import check_golden

from irbench.core.result import GroupResult
from irbench.core.row import Spans, StageTime
from irbench.render.speed_table import GroupView
from irbench.render.stage_table import stage_sentences, stage_table
from irbench.runs.document_text import render_document

STAGES = (
    StageTime("decode", Spans(low=0.59, high=0.63, value=0.61), Spans(low=0.598, high=0.611, value=0.602)),
    StageTime("model", Spans(low=0.39, high=0.42, value=0.4), Spans(low=0.389, high=0.402, value=0.398)),
)


def pipelines() -> GroupResult:
    return group(cell("ort", 0.4, speedup=speedup(2.5, 2.4, 2.6)), cell("service", 1.0, stages=STAGES))


@pytest.mark.parametrize("width", [80, 120])
def test_stages_stand_below_the_table_with_their_intervals(width: int) -> None:
    lines = GroupView(pipelines(), ENVIRONMENT).as_lines(width)
    check_golden(f"stages-{width}", "\n".join(line.plain for line in lines) + "\n")


def test_documents_and_pages_have_the_same_figures() -> None:
    said = render_document(document(pipelines()), "md") + "".join(stage_sentences(pipelines()))
    for figure in ("0.610 [0.590, 0.630]", "60.2 % [59.8, 61.1]"):
        assert said.count(figure) == 2, said


def test_tables_of_other_rows_have_none() -> None:
    plain = group(cell("ort", 0.4))
    assert stage_table(plain) is None
    assert list(stage_sentences(plain)) == []
