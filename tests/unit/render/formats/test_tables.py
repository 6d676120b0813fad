"""Formats that are tables, each read back by a program that reads it."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import Any

import pytest
from cold_and_soak_runs import cold, soak_example
from documents import cell, document, group
from exports import busy_run, data, run_of, text, two_tables

from irbench.core.result import Lead
from irbench.render.columns import COLUMNS
from irbench.render.formats.exported_run import Export
from irbench.render.formats.row_table import RowTable

RUNS = (two_tables(), run_of(cold(), 2), run_of(soak_example(), 3))
TABLE: RowTable = Export(RUNS).table


def matches(found: Any, expected: Any) -> bool:
    """Whether a value that was read is the one that was written; NaN is how pandas reads nothing."""
    if expected is None or expected == "":
        return found is None or found == "" or (isinstance(found, float) and math.isnan(found))
    return math.isclose(found, expected) if isinstance(expected, float) else bool(found == expected)


def differing(found: list[dict[str, Any]]) -> list[tuple[str, Any, Any]]:
    expected = list(TABLE.scalar_records())
    assert len(found) == len(expected) == 7 + 6 + 3
    return [
        (name, record.get(name), row[name])
        for record, row in zip(found, expected, strict=True)
        for name in row
        if not matches(record.get(name), row[name])
    ]


def test_pandas_reads_the_csv():
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(io.StringIO(text("csv", *RUNS)))
    assert list(frame.columns) == list(TABLE.names)
    assert differing(frame.astype(object).to_dict("records")) == []


@pytest.mark.ci
def test_pandas_reads_the_parquet_file():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.read_parquet(io.BytesIO(data("parquet", *RUNS)))
    assert differing(frame.astype(object).to_dict("records")) == []


def test_arrow_reads_both_of_its_files_with_types_units_and_meanings():
    pa = pytest.importorskip("pyarrow")
    from pyarrow import ipc, parquet

    for table in (
        ipc.open_file(data("arrow", *RUNS)).read_all(),
        parquet.read_table(io.BytesIO(data("parquet", *RUNS))),
    ):
        assert differing(table.to_pylist()) == []
        field = table.schema.field("p50_ms")
        assert field.type == pa.float64()
        assert field.metadata == {b"unit": b"ms", b"description": COLUMNS["p50_ms"].meaning.encode()}
        assert table.schema.field("streams").type == pa.int64()


@pytest.mark.ci
def test_arrow_has_the_same_types_where_nothing_was_measured():
    pytest.importorskip("pyarrow")
    from pyarrow import ipc

    one, all_ = (ipc.open_file(data("arrow", *runs)).schema for runs in (RUNS[:1], RUNS))
    assert all(all_.field(field.name).type == field.type for field in one)


def test_every_line_of_json_is_a_row_whose_open_ended_values_are_objects():
    records = [json.loads(line) for line in text("jsonl", *RUNS).splitlines()]
    assert records == json.loads(json.dumps(list(TABLE.records())))
    assert records[0]["effective"]["threads"] == 2
    assert records[5]["p50_ms"] is None


def test_a_table_of_markdown_has_the_columns_that_were_chosen():
    lines = text("md", *RUNS, columns=("label", "p50_ms", "is_winner")).splitlines()
    assert lines[2:4] == ["| openvino | 32.5 | yes |", "| ort | 37.0 | no |"]
    assert lines[7] == "| tf | - | no |"
    assert len(lines) == 2 + len(TABLE.rows)


def test_markdown_without_chosen_columns_is_what_people_read():
    pages = text("md", *RUNS)
    assert pages.count("### resnet50") == 4
    assert "openvino is fastest: 1.14x" in pages
    assert all(run.document.run_id in pages for run in RUNS)


def test_a_csv_of_no_rows_still_has_its_heading():
    from dataclasses import replace

    empty = run_of(replace(RUNS[0].document, groups=()))
    (heading,) = csv.reader(io.StringIO(text("csv", empty)))
    assert heading[0] == "run_id"
    assert set(heading) < set(COLUMNS)


def test_a_winner_of_a_busy_machine_is_exported_with_its_condition():
    fastest, slower = csv.DictReader(io.StringIO(text("csv", busy_run())))
    assert (fastest["is_winner"], slower["verdict"]) == ("True", "slower")
    for row in (fastest, slower):
        assert (row["condition"], row["blocks_disturbed"], row["blocks_measured"]) == ("busy", "30", "30")
        assert row["no_winner"] == ""


def test_why_nobody_is_the_fastest_is_exported():
    lead = Lead("openvino/fp32", "ort/fp32", 1.01, low=0.99, high=1.03, launches=6, reason="undecided")
    (row, _) = csv.DictReader(
        io.StringIO(text("csv", run_of(document(group(cell("openvino"), cell("ort"), lead=lead)))))
    )
    assert (row["is_winner"], row["no_winner"], row["condition"]) == ("False", "undecided", "")
