"""pyperf's file: what pyperf loads and compares, in seconds per call of the blocks that count."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cold_and_soak_runs import cold, soak_example
from documents import ENVIRONMENT, cell, group
from exports import TIMING, run_of, stored_run, text
from launches import MS, launch, measured, synchronous
from stored_plans import stored_plan

from irbench.render.formats.exported_run import ExportedRun
from irbench.store.runs import Store


def sync_run(root: Path) -> ExportedRun:
    rounds = [synchronous(at, [10 * MS, 12 * MS, 30 * MS]) for at in range(3)]
    writer = Store(root).begin(ENVIRONMENT, stored_plan(timing=TIMING))
    writer.add_launch(launch(0, [measured("ort/fp32", rounds, calls_per_sample=4)]))
    writer.commit(replace(writer.document, groups=(group(cell("ort")),), complete=True))
    return ExportedRun.of(writer.document, writer.folder)


def suite(*runs: Any) -> dict[str, Any]:
    found = json.loads(text("pyperf", *runs))
    return {benchmark["metadata"]["name"]: benchmark for benchmark in found["benchmarks"]}


def test_a_launch_is_a_run_with_a_value_for_each_block_that_counts(tmp_path: Path):
    found = suite(stored_run(tmp_path))
    ort = found["resnet50 1x224x224x3 batch=1 ort fp32 threads=2"]
    assert [run["values"] for run in ort["runs"]] == [[0.01] * 3] * 2
    assert [run["warmups"] for run in ort["runs"]] == [[[3, 0.01]]] * 2
    assert [run["metadata"]["irbench_launch"] for run in ort["runs"]] == [0, 1]
    streams = found["resnet50 1x224x224x3 batch=1 openvino x2 fp32 threads=2"]
    # three requests completed in 16 ms, each of which took longer
    assert streams["runs"][0]["values"] == pytest.approx([0.016 / 3] * 3)
    assert streams["runs"][0]["metadata"]["loops"] == 3


def test_a_row_without_values_has_no_benchmark(tmp_path: Path):
    assert len(suite(stored_run(tmp_path))) == 2


def test_cold_starts_are_seconds_to_the_first_output_and_a_soak_is_medians_of_blocks():
    starts, soaked = suite(run_of(cold())), suite(run_of(soak_example()))
    assert len(starts) == 4
    runs = starts["resnet50 1x224x224x3 batch=1 ort fp32 threads=2 cold cache"]["runs"]
    first = cold().cold_starts[0].rows[0].launches[0].ready_ns
    assert (len(runs), runs[0]["values"]) == (8, [first / 1e9])
    (run,) = soaked["resnet50 1x224x224x3 batch=1 ort fp32 threads=2 soak"]["runs"]
    assert len(run["values"]) == 120


def test_pyperf_loads_it_with_its_metadata(tmp_path: Path):
    pyperf = pytest.importorskip("pyperf")
    path = tmp_path / "suite.json"
    path.write_text(text("pyperf", stored_run(tmp_path), run_of(cold(), 2)), encoding="utf-8")
    loaded = pyperf.BenchmarkSuite.load(str(path))
    benchmark = loaded.get_benchmark("resnet50 1x224x224x3 batch=1 ort fp32 threads=2")
    assert (benchmark.get_unit(), benchmark.get_nrun(), benchmark.get_nvalue()) == ("second", 2, 6)
    assert benchmark.mean() == pytest.approx(0.01)
    metadata = benchmark.get_metadata()
    assert metadata["irbench_backend"] == "ort"
    assert metadata["mem_max_rss"] == 330_000_000
    assert len(loaded) == 2 + 4


def test_runs_of_the_same_rows_stay_apart_in_one_file(tmp_path: Path):
    before, after = (stored_run(tmp_path, name=name) for name in ("before", "after"))
    names = list(suite(before, after))
    assert "resnet50 1x224x224x3 batch=1 ort fp32 threads=2 (before)" in names
    assert "resnet50 1x224x224x3 batch=1 ort fp32 threads=2 (after)" in names
    again = list(suite(before, stored_run(tmp_path, name="before")))
    assert len(set(again)) == 4
    assert f"(run {before.document.run_id}, table 0, ort/fp32)" in again[0]


def test_pyperf_compares_two_of_them_by_name(tmp_path: Path):
    pytest.importorskip("pyperf")
    paths = [tmp_path / f"{number}.json" for number in range(2)]
    for number, path in enumerate(paths):
        path.write_text(text("pyperf", run_of(cold(), number)), encoding="utf-8")
    compare = [sys.executable, "-m", "pyperf", "compare_to", *map(str, paths)]
    done = subprocess.run(compare, capture_output=True, text=True, check=True)
    assert "Benchmark hidden because not significant (4): resnet50 1x224x224x3 batch=1 ort fp32" in done.stdout


def test_without_streams_a_value_is_the_median_latency_of_the_calls_of_a_block(tmp_path: Path):
    found = suite(sync_run(tmp_path))
    (run,) = found["resnet50 1x224x224x3 batch=1 ort fp32 threads=2"]["runs"]
    assert run["values"] == pytest.approx([0.003, 0.003])  # of 4 calls a sample: 10, 12 and 30 ms
    assert run["metadata"]["loops"] == 3 * 4
    assert run["metadata"]["irbench_blocks_excluded"] == 0
