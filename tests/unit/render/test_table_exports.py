"""Every row that goes in comes out in every format, and what was not measured is no number."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from documents import cell, document, example, failed, group

from irbench.errors import IrbenchError
from irbench.render.speed_table import GroupView
from irbench.runs.document_text import render_document


def shown(result: Any, width: int = 200) -> str:
    return "\n".join(line.plain for line in GroupView(result, columns="all").as_lines(width))


def test_what_was_not_measured_is_a_dash_in_tables_null_in_json_and_empty_in_csv():
    run = document(group(cell("ort", p50=37.0, launch_spread=None, output_error=None), failed("tf"), cell("openvino")))
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
    with pytest.raises(IrbenchError, match="xml"):
        render_document(document(), "xml")
