"""Machines are compared at equal settings alone, by their launches or runs, and not judged where one was busy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from compared_runs import MACHINE, store, times

from irbench.across_runs.machine_comparison import MachineComparison, cells_of_machines, compare_machines
from irbench.across_runs.timed_runs import TimedRun, read_timed_runs
from irbench.store.folders import run_folders

OTHER: Mapping[str, Any] = {**MACHINE, "memory_bytes": 64 << 30}
THIRD: Mapping[str, Any] = {**MACHINE, "memory_bytes": 128 << 30}


def timed(root: Path) -> Sequence[TimedRun]:
    runs, problems = read_timed_runs(root, [root / folder for folder, _ in run_folders(root)])
    assert problems == ()
    return runs


def compared(root: Path) -> tuple[MachineComparison, ...]:
    return compare_machines(cells_of_machines(timed(root)), 0.02)


def test_the_speedup_is_that_of_the_medians_with_an_interval_around_it(tmp_path: Path):
    store(tmp_path, {"ort": times(1)}, environment=MACHINE)
    store(tmp_path, {"ort": times(2)}, environment=OTHER)
    (comparison,) = compared(tmp_path)
    (other,) = comparison.others
    value, ends = other.speedup
    faster_base = comparison.base.launches_ms[0][0] < other.cell.launches_ms[0][0]
    assert value == pytest.approx(0.5 if faster_base else 2)
    assert ends.low < value < ends.high
    assert not ends.is_range
    assert other.verdict == ("slower" if faster_base else "faster")
    assert other.is_judged


def test_launches_too_few_for_an_interval_give_a_range_and_no_verdict(tmp_path: Path):
    store(tmp_path, {"ort": times(1)[:3]}, environment=MACHINE)
    store(tmp_path, {"ort": times(2)[:3]}, environment=OTHER)
    (comparison,) = compared(tmp_path)
    assert comparison.others[0].verdict == "preview"
    assert comparison.others[0].speedup[1].is_range


@pytest.mark.parametrize(
    "changed",
    [
        {"batch": 8},
        {"graph": "1" * 64},
        {"row": {"effective": {"precision": "bf16", "threads": 2}}},
        {"row": {"effective": {"precision": "fp32", "threads": 1}}},
        {"table": {"model": "another"}},
        {"row": {"state": "mismatch"}},
    ],
    ids=str,
)
def test_what_is_not_equal_is_not_compared(changed: dict[str, Any], tmp_path: Path):
    store(tmp_path, {"ort": times(1)}, environment=MACHINE, graph="2" * 64)
    store(tmp_path, {"ort": times(2)}, environment=OTHER, **{"graph": "2" * 64, **changed})
    assert compared(tmp_path) == ()


def test_other_versions_are_compared_and_named(tmp_path: Path):
    store(tmp_path, {"ort": times(1)}, environment=MACHINE)
    store(tmp_path, {"ort": times(2)}, environment={**OTHER, "distributions": {"onnxruntime": "1.23.0"}})
    (comparison,) = compared(tmp_path)
    assert [found.name for found in comparison.others[0].differences] == ["onnxruntime"]


def test_a_busy_machine_is_not_judged_unless_runs_are_counted(tmp_path: Path):
    store(tmp_path, {"ort": times(1)}, environment=MACHINE)
    store(tmp_path, {"ort": times(2)}, environment=OTHER, busy=True)
    assert not compared(tmp_path)[0].others[0].is_judged
    for _ in range(3):
        store(tmp_path, {"ort": times(1)}, environment=MACHINE)
        store(tmp_path, {"ort": times(2)}, environment=OTHER, busy=True)
    (other,) = compared(tmp_path)[0].others
    assert other.change.counted == "runs"
    assert other.is_judged


def test_the_newest_run_counts_and_those_that_it_repeats(tmp_path: Path):
    store(tmp_path, {"ort": times(5)}, environment={**MACHINE, "distributions": {"onnxruntime": "1.0"}})
    for _ in range(2):
        store(tmp_path, {"ort": times(1)}, environment=MACHINE)
    (cell,) = cells_of_machines(timed(tmp_path))
    assert cell.runs == 3
    assert len(cell.launches_ms) == 2
    assert max(map(max, cell.launches_ms)) < 20


def test_the_machine_that_shares_the_most_cells_is_the_baseline_of_all(tmp_path: Path):
    for environment, rows in ((MACHINE, ("ort", "tf")), (OTHER, ("ort",)), (THIRD, ("tf",))):
        store(tmp_path, dict.fromkeys(rows, times(1)), environment=environment)
    comparisons = compared(tmp_path)
    assert len(comparisons) == 2
    assert len({comparison.base.machine for comparison in comparisons}) == 1
    assert comparisons[0].others[0].cell.machine != comparisons[1].others[0].cell.machine
