"""Stored runs are shown as they were asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from derived_runs import stored_levels
from front_door import irbench

LEVELS = {"ort": (2.0, 2.1, 1.9, 2.0), "openvino": (1.0, 1.05, 0.95, 1.0)}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    stored_levels(tmp_path, LEVELS)
    return tmp_path


def test_a_plot_stands_below_the_table(root: Path):
    called = irbench("show", "--plot", "--results", root)
    assert called.code == 0
    assert "1 = ort" in called.out
    assert "1 = ort" not in irbench("show", "--results", root).out


def test_a_plot_is_of_the_table_alone(root: Path):
    called = irbench("show", "--plot", "--format", "json", "--results", root)
    assert called.code == 2
    assert "--plot" in called.err


def test_a_table_has_the_columns_that_are_named(root: Path):
    shown = irbench("show", "--columns", "label,p50_ms", "--results", root)
    assert shown.code == 0
    assert " backend" in shown.out
    assert "p90 ms" not in shown.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--columns", "energy_per_inference_j"), "This run has no column energy_per_inference_j."),
        (("--columns", "p50_ms", "--all-columns"), "contradict each other"),
        (("--all-columns", "--format", "csv"), "--all-columns applies to --format table only."),
    ],
)
def test_columns_that_cannot_be_shown_are_refused(root: Path, options: tuple[str, ...], said: str):
    refused = irbench("show", *options, "--results", root)
    assert (refused.code, refused.out) == (2, "")
    assert said in refused.err
