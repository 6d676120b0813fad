"""Rows of several processes: how one is named as the baseline, and how many processors they use."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from irbench.errors import IrbenchError
from irbench.runner.instances import InstanceWorkers
from irbench.runner.requested_cells import named_baseline
from irbench.spec import BATCH, Bundle, Cell, Load, Workload
from irbench.stats.blocks import processors_in_use
from irbench.worker.failures import CallFailed

CELLS = tuple(
    Cell(f"ort-i{instances}", None, "ort", "cpu", Load(threads=threads, instances=instances))
    for instances, threads in ((1, 4), (2, 2), (4, 1))
)

WORKLOADS = (Workload(Bundle("net", (), ()), {BATCH: 1}),)


@pytest.mark.parametrize(
    ("asked", "row"),
    [("ort", "ort-i1"), ("ort@instances=2", "ort-i2"), ("ort 4x1", "ort-i4"), ("ort@instances=4,streams=1", "ort-i4")],
)
def test_a_number_of_instances_names_a_row(asked: str, row: str) -> None:
    assert named_baseline(asked, CELLS, WORKLOADS) == row


def test_a_number_of_instances_that_no_row_has_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(IrbenchError) as refused:
        named_baseline("ort@instances=3", CELLS, WORKLOADS)
    assert refused.value.hint == "The rows are: ort, ort 2x2, ort 4x1"


@pytest.mark.parametrize(("cell", "processors"), [(0, 4), (1, 4), (2, 4)])
def test_all_instances_together_use_processors(cell: int, processors: int) -> None:
    assert processors_in_use([CELLS[cell]], 8) == processors


def test_instances_that_leave_paced_calls_out_fail() -> None:
    shares = [np.array([[number, 1, 2]], np.int64) for number in range(2)]
    instances = cast("InstanceWorkers", SimpleNamespace(_load=CELLS[1].load, _share_work=lambda *_, **__: shares))
    with pytest.raises(CallFailed, match="of 100 calls together"):
        InstanceWorkers.call_at_pace(instances, 30.0, pace_ns=10, calls=100)
