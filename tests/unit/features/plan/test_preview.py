"""The time of a plan's table is that of stored rows with the same settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from documents import cell, group
from stored_runs import measured

from irbench.features.plan.expansion import SweepCell, SweepTable
from irbench.features.plan.preview import expected_seconds
from irbench.features.plan.table_options import SweepSetup

SETTINGS = {"models": "resnet50", "backends": "ort", "threads": 2}


def expected(results: Path, **changes: Any) -> list[float]:
    table = SweepTable((SweepCell({**SETTINGS, **changes}),), ("backends",))
    return list(expected_seconds([table], SweepSetup("night", Path(), results)).values())


def test_a_row_takes_its_share_of_the_newest_table_that_had_it(tmp_path: Path) -> None:
    measured(tmp_path, group(cell("ort"), seconds=80.0))
    measured(tmp_path, group(cell("ort"), cell("openvino", device="gpu"), seconds=100.0))
    assert expected(tmp_path) == [50]
    assert expected(tmp_path, backends="openvino:gpu", io="bound") == [50]


@pytest.mark.parametrize(
    "changes",
    [
        {"backends": "openvino"},
        {"threads": 1},
        {"batch": 2},
        {"streams": 2},
        {"precision": "fp16"},
        {"optimize": "all"},
    ],
)
def test_a_row_with_another_setting_tells_nothing(tmp_path: Path, changes: dict[str, Any]) -> None:
    measured(tmp_path, group(cell("ort"), cell("openvino", device="gpu")))
    assert expected(tmp_path, **changes) == []


def test_a_row_with_dynamic_shapes_tells_nothing_of_one_with_fixed_shapes(tmp_path: Path) -> None:
    row = cell("ort")
    measured(tmp_path, group(row, replace(row, id="dynamic", dynamic=True), seconds=100.0))
    measured(tmp_path, group(replace(row, dynamic=True), seconds=7.0))
    assert expected(tmp_path) == [50]
