"""Files for services that follow benchmarks: valid for them, with units, and the same names from run to run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from cold_and_soak_runs import cold, soak_example
from documents import document, group
from exports import busy_run, run_of, speed_rows, stored_run, text

RUN = run_of(document(group(*speed_rows())))
NAME = "resnet50 1x224x224x3 batch=1 ort fp32 threads=2"

BENCHER = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "propertyNames": {"pattern": "^[a-z0-9-]{1,64}$"},
        "additionalProperties": {
            "type": "object",
            "properties": {name: {"type": "number"} for name in ("value", "lower_value", "upper_value")},
            "required": ["value"],
            "additionalProperties": False,
        },
    },
}
"""Bencher Metric Format, with slugs as the names of measures."""

GITHUB = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string"}, "unit": {"type": "string"}, "value": {"type": "number"},
            "range": {"type": "string"}, "extra": {"type": "string"},
        },
        "required": ["name", "unit", "value"],
        "additionalProperties": False,
    },
}  # fmt: skip
"""What github-action-benchmark takes as customSmallerIsBetter and customBiggerIsBetter."""


def read(form: str, *runs: Any) -> Any:
    found = json.loads(text(form, *runs))
    jsonschema.validate(found, BENCHER if form == "bencher" else GITHUB)
    return found


@pytest.mark.parametrize("form", ["bencher", "github-action-benchmark", "github-action-benchmark-bigger"])
def test_every_kind_of_run_is_valid(form: str):
    assert read(form, RUN, run_of(cold(), 2), run_of(soak_example(), 3))


def test_latency_is_in_nanoseconds_and_throughput_in_samples_per_second_as_bencher_has_them():
    measures = read("bencher", RUN)[NAME]
    assert measures["latency"] == {
        "value": pytest.approx(36.9e6), "lower_value": pytest.approx(36e6), "upper_value": pytest.approx(38e6)
    }  # fmt: skip
    assert measures["throughput"] == {"value": 26.6, "lower_value": 26.0, "upper_value": 27.2}
    assert measures["peak-memory-bytes"] == {"value": 330e6}


def test_a_figure_without_an_interval_has_no_bounds():
    measures = read("bencher", RUN)["resnet50 1x224x224x3 batch=1 openvino x2 fp32 threads=2"]
    assert measures["latency"] == {"value": pytest.approx(64e6)}


def test_a_row_that_failed_is_a_benchmark_of_bencher_without_measures():
    assert read("bencher", RUN)["resnet50 1x224x224x3 batch=1 tf fp32 threads=2"] == {}


def test_wrong_outputs_have_no_measures():
    (row, *_) = speed_rows()
    wrong = run_of(document(group(row.__class__(**{**row.__dict__, "state": "mismatch"}))))
    assert read("bencher", wrong) == {NAME: {}}
    assert read("github-action-benchmark", wrong) == []


def test_smaller_and_bigger_are_files_of_their_own():
    smaller = {entry["name"]: entry for entry in read("github-action-benchmark", RUN)}
    bigger = {entry["name"]: entry for entry in read("github-action-benchmark-bigger", RUN)}
    p50 = smaller[f"{NAME} p50"]
    assert (p50["unit"], p50["value"], p50["range"]) == ("ms", 36.9, "36 to 38")
    assert f"run {RUN.document.run_id}" in p50["extra"]
    assert (bigger[f"{NAME} throughput"]["unit"], bigger[f"{NAME} throughput"]["value"]) == ("samples/s", 26.6)
    assert not set(smaller) & set(bigger)


def test_the_names_are_the_same_in_another_run_with_other_rows(tmp_path: Path):
    assert NAME in read("bencher", stored_run(tmp_path))
    assert NAME in read("bencher", run_of(document(group(speed_rows()[0]))))


@pytest.mark.parametrize("form", ["github-action-benchmark", "github-action-benchmark-bigger"])
def test_a_busy_machine_is_said_beside_each_figure(form: str):
    assert {entry["extra"].splitlines()[-1] for entry in read(form, busy_run())} == {
        "busy machine: 30 of 30 blocks disturbed"
    }
    assert "busy" not in text(form, RUN)
