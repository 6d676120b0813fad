"""OpenMetrics text, as the parser of Prometheus' client reads it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from cold_and_soak_runs import cold, soak_example
from documents import cell, document, failed, group
from documents import example as example_table
from exports import busy_run, run_of, text
from hypothesis import example, given
from hypothesis import strategies as st

from irbench.core.plain_text import plain_lines

RUNS = (run_of(document(example_table(), group(failed())), 1), run_of(cold(), 2), run_of(soak_example(), 3))


def families(*runs: Any) -> dict[str, Any]:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    return {family.name: family for family in parser.text_string_to_metric_families(text("openmetrics", *runs))}


def test_every_row_is_described_whatever_became_of_it():
    rows = families(*RUNS)["irbench_row"]
    assert rows.type == "info"
    assert len(rows.samples) == 5 + 6 + 3
    states = [sample.labels["state"] for sample in rows.samples]
    assert states.count("failed") == 1 + 2 + 1
    assert rows.samples[4].labels["failure"] == "the process was killed by SIGSEGV"


def test_times_are_in_seconds_and_names_end_with_the_unit():
    found = families(*RUNS)
    p50 = found["irbench_p50_seconds"]
    assert (p50.type, p50.unit, p50.documentation) == ("gauge", "seconds", "Median latency of one batch.")
    first = p50.samples[0]
    assert first.value == pytest.approx(0.0325)
    assert (first.labels["row"], first.labels["model"], first.labels["batch"]) == ("openvino", "resnet50", "1")
    assert found["irbench_peak_memory_bytes"].unit == "bytes"
    assert found["irbench_memory_growth_bytes_per_call"].unit == "bytes_per_call"
    assert not [name for name in found if name.endswith(("_ms", "_ns"))]


def test_a_value_bears_the_moment_of_its_run():
    created = datetime(2025, 11, 21, 2, 29, 1, tzinfo=UTC)
    samples = [sample for family in families(*RUNS).values() for sample in family.samples]
    assert {float(sample.timestamp) for sample in samples} == {created.timestamp()}


def test_what_was_not_measured_is_no_sample():
    found = families(*RUNS)
    assert {sample.labels["run_id"] for sample in found["irbench_fps"].samples} == {RUNS[0].document.run_id}
    assert len(found["irbench_fps"].samples) == 4
    assert "irbench_p99_seconds" not in found


@pytest.mark.ci
@given(st.text(min_size=1))
@example('a "name" with \\ and\nlines')
def test_labels_of_any_text_come_back_as_far_as_they_print(strange: str):
    run = run_of(document(group(cell("ort")), plan={"name": strange}))
    (row,) = families(run)["irbench_row"].samples
    assert row.labels["run_name"] == plain_lines(strange)
    assert text("openmetrics", run).endswith("# EOF\n")


def test_a_run_without_rows_is_an_empty_set_of_metrics():
    assert list(families(run_of(replace(RUNS[0].document, groups=())))) == ["irbench_row"]


def test_what_was_measured_on_a_busy_machine_bears_the_condition_on_every_sample():
    found = families(busy_run())
    assert {sample.labels["condition"] for family in found.values() for sample in family.samples} == {"busy"}
    assert [sample.value for sample in found["irbench_blocks_disturbed"].samples] == [30, 30]
    quiet = families(*RUNS)["irbench_p50_seconds"].samples
    assert {sample.labels["condition"] for sample in quiet} == {""}
