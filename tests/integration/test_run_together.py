"""Rows of one table that differ in model, batch or threads, and tables of more rows than a launch holds."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import models
import pytest
from fake_runs import ENOUGH, FASTEST
from front_door import Called, irbench

from irbench.stats.rederive import rederive
from irbench.store.runs import Store

pytestmark = [pytest.mark.usefixtures("known_backends"), pytest.mark.ci]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


def table(called: Called) -> dict[str, Any]:
    assert called.code == 0, called.err
    (found,) = called.document["groups"]
    return dict(found)


@pytest.fixture(scope="module")
def many(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Called, Path]:
    """A run of eight rows: a scripted call takes the same time whatever its batch."""
    results = tmp_path_factory.mktemp("results")
    axes = ("--batch", "1,8", "--threads", "1,2", "--baseline", "fake-a@batch=1,threads=1")
    called = irbench(
        "run", model, "--backends", "fake-a,fake-b", *axes, "--format", "json", "--quick", *ENOUGH,
        "--results", results, "--set", "fake-b.call_us=600",
    )  # fmt: skip
    return called, results


def test_batches_are_rows_compared_per_sample(model: Path) -> None:
    called = irbench("run", model, "--backends", "fake-a", "--batch", "1,8", "--format", "json", *FASTEST)
    fps = {row["batch"]: row["fps"] for row in table(called)["cells"]}
    assert fps[8] == pytest.approx(8 * fps[1], rel=1e-3)


def test_batches_and_threads_are_rows_compared_per_sample(many: tuple[Called, Path]) -> None:
    rows = {(row["backend"], row["batch"], row["requested"]["threads"]): row for row in table(many[0])["cells"]}
    assert len(rows) == 8
    assert rows["fake-a", 8, 1]["speedup"]["value"] == pytest.approx(8, rel=1e-3)
    assert rows["fake-b", 8, 2]["speedup"]["value"] == pytest.approx(4, rel=1e-3)
    assert rows["fake-b", 1, 1]["speedup"]["value"] == pytest.approx(0.5, rel=1e-3)
    assert rows["fake-a", 8, 2]["latency_ms"]["p50"] == pytest.approx(0.3, rel=1e-3)


def test_a_large_table_is_measured_in_parts_that_each_hold_the_baseline(many: tuple[Called, Path]) -> None:
    called, results = many
    found = table(called)
    store = Store(results)
    launched = [
        {cell.cell for cell in record.cells} for record in store.launches(store.find(called.document["run_id"]))
    ]
    assert max(map(len, launched)) == 6
    assert all(found["baseline"] in cells for cells in launched)
    assert set().union(*launched) == {row["id"] for row in found["cells"]}
    assert {row["launches_measured"] for row in found["cells"] if row["id"] != found["baseline"]} == {3}
    assert found["lead"]["cell"].startswith("fake-a-cpu-fp32-x1-b8")


def test_every_row_of_a_large_table_was_verified(many: tuple[Called, Path]) -> None:
    assert all(row["output_error"] is not None for row in table(many[0])["cells"])


def test_a_large_table_can_be_derived_again_from_its_samples(many: tuple[Called, Path]) -> None:
    called, results = many
    store = Store(results)
    run = store.find(called.document["run_id"])
    stored = store.load(run)
    assert rederive(stored, store.launches(run)) == stored


def test_files_with_equal_inputs_are_rows_checked_against_the_first(model: Path, tmp_path: Path) -> None:
    same = tmp_path / "same.onnx"
    shutil.copy(model, same)
    called = irbench("run", model, same, "--backends", "fake-a", "--format", "json", *FASTEST)
    found = table(called)
    assert {row["model"] for row in found["cells"]} == {model.stem, "same"}
    assert found["model"] == model.stem
    apart = irbench("run", model, same, "--backends", "fake-a", "--apart", "--format", "json", *FASTEST)
    assert [group["model"] for group in apart.document["groups"]] == [model.stem, "same"]
