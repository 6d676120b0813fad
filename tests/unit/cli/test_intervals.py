"""Without enough launches there is no interval: nothing stands for one, and a range is called a range."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cold_and_soak_runs import cold
from derived_runs import stored_levels
from documents import ENVIRONMENT
from front_door import irbench
from stored_plans import stored_plan

import irbench as package
from irbench.store.runs import RunWriter, Store

FEW = {"a": [10.0, 10.1, 10.2], "b": [8.0, 8.3, 8.1], "c": [9.0, 9.1, 9.3]}
ENDS = ("speedup_low", "speedup_high", "p50_low_ms", "p50_high_ms", "fps_low", "fps_high")
RANGES = ("speedup_range_low", "speedup_range_high", "p50_range_low_ms", "p50_range_high_ms")


def run_of(root: Path, launches: int) -> RunWriter:
    return stored_levels(root, {name: (values * 3)[:launches] for name, values in FEW.items()})


def shown(root: Path, run: RunWriter, *arguments: str) -> str:
    called = irbench("show", run.document.run_id, "--results", root, *arguments)
    assert called.code == 0, called.err
    return called.out


def exported(root: Path, run: RunWriter, form: str) -> str:
    path = root / f"exported.{form}"
    called = irbench("results", "export", run.document.run_id, "--results", root, "--format", form, "-o", path)
    assert called.code == 0, called.err
    return path.read_text()


@pytest.mark.parametrize(
    ("launches", "heading", "cell"),
    [(1, "speedup verdict", "1.25 ? preview"), (3, "speedup [range] verdict", "1.25 ? [1.22, 1.26] preview")],
)
def test_a_table_of_few_launches_never_says_95_per_cent(tmp_path: Path, launches: int, heading: str, cell: str):
    for arguments in ((), ("--intervals",)):
        text = " ".join(shown(tmp_path, run_of(tmp_path, launches), *arguments).split())
        assert "95 %" not in text
        assert heading in text
        assert cell in text
        assert bool(re.search(r"[\d?] \[\d", text)) is (launches > 1)


def test_enough_launches_have_an_interval_under_its_confidence(tmp_path: Path):
    assert "speedup [95 %]" in shown(tmp_path, run_of(tmp_path, 6))


@pytest.mark.parametrize("launches", [1, 3])
def test_json_has_no_ends_of_an_interval_that_there_is_not(tmp_path: Path, launches: int):
    (table,) = json.loads(shown(tmp_path, run_of(tmp_path, launches), "--format", "json"))["groups"]
    row = next(row for row in table["cells"] if row["id"] == "b")
    for figure in (row["speedup"], row["p50_over_launches"], row["fps_over_launches"], table["lead"]):
        assert (figure["low"], figure["high"]) == (None, None)
        assert (figure["range_low"] is not None and figure["range_high"] is not None) is (launches > 1)
    assert row["speedup"]["confidence"] is row["speedup"]["table_confidence"] is None


def test_json_has_the_confidence_at_which_a_row_was_tested(tmp_path: Path):
    levels = {"a": [10.0] * 6, "b": [10.0, 10.5, 9.5] * 2, "c": [10.0, 9.0, 11.0] * 2}
    (table,) = json.loads(shown(tmp_path, stored_levels(tmp_path, levels), "--format", "json"))["groups"]
    found = {row["id"]: row["speedup"] for row in table["cells"]}
    for name in ("b", "c"):  # neither is clear, so that both were tried at half of what may be missed
        assert (found[name]["confidence"], found[name]["table_confidence"]) == (0.975, 0.95)


@pytest.mark.parametrize("launches", [1, 3])
def test_pandas_has_nan_and_csv_nothing(tmp_path: Path, launches: int):
    run = run_of(tmp_path, launches)
    frame = package.load(run.folder).to_pandas().set_index("label")
    for name in ENDS:
        assert frame[name].dtype == "float64"
        assert math.isnan(frame.loc["b", name]), name
    assert all(math.isnan(frame.loc["b", name]) is (launches == 1) for name in RANGES)
    assert package.load(run.folder).rows[0].speedup_low is None
    (row,) = (row for row in csv.DictReader(io.StringIO(exported(tmp_path, run, "csv"))) if row["label"] == "b")
    assert {row[name] for name in ENDS} == {""}
    assert all((row[name] == "") is (launches == 1) for name in RANGES)


def test_parquet_and_arrow_have_null(tmp_path: Path):
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    run, path = run_of(tmp_path, 1), tmp_path / "found.parquet"
    called = irbench("results", "export", run.document.run_id, "--results", tmp_path, "-o", path)
    assert called.code == 0, called.err
    for table in (parquet.read_table(path), package.load(run.folder).to_arrow()):
        (row,) = (row for row in table.to_pylist() if row["label"] == "b")
        assert {row[name] for name in (*ENDS, *RANGES)} == {None}


@pytest.mark.parametrize("launches", [1, 3])
def test_services_are_given_no_ends_of_an_interval_that_there_is_not(tmp_path: Path, launches: int):
    run = run_of(tmp_path, launches)
    for measures in json.loads(exported(tmp_path, run, "bencher")).values():
        assert all(set(metric) == {"value"} for metric in measures.values())
    for entry in json.loads(exported(tmp_path, run, "github-action-benchmark")):
        assert "range" not in entry
    text = exported(tmp_path, run, "openmetrics")
    assert "irbench_speedup_low{" not in text
    assert "irbench_p50_low_seconds{" not in text
    assert ("irbench_speedup_range_low{" in text) is (launches > 1)


@pytest.mark.parametrize("rounds", [1, 3])
def test_cold_starts_of_few_rounds_have_a_range_or_nothing(tmp_path: Path, rounds: int):
    writer = Store(tmp_path).begin(ENVIRONMENT, stored_plan())
    found = cold(rounds)
    writer.commit(replace(writer.document, cold_starts=found.cold_starts, complete=True))
    text = shown(tmp_path, writer)
    assert "95 %" not in text
    assert ("[" in text.partition("ready ms")[2].partition("in memory")[0]) is (rounds > 1)
    (table,) = json.loads(shown(tmp_path, writer, "--format", "json"))["cold_starts"]
    ready: Any = table["rows"][0]["ready_ms"]
    assert (ready["low"], ready["high"]) == (None, None)
    assert (ready["range_low"] is not None) is (rounds > 1)
