"""Whole groups on a scripted machine with virtual time: runs end within their budgets unless one launch is longer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from combinations import every_pair
from scripted_machine import Machine, result_of

from irbench.core.result import GroupResult
from irbench.measure.disturbances import MachineSnapshot
from irbench.notices.warnings import TooFewLaunches
from irbench.runner.run_progress import Progress
from irbench.runs.group_measurement import GroupMeasurement
from irbench.spec import Timing
from irbench.stats.launch_planning import Room

QUICK = Timing(min_launches=3, max_launches=3, blocks=6, max_blocks=9, sized_for=25.0)


def resnet50(disturbed: float = 0.0) -> Machine:
    """Return a slow machine with two processors, as it runs ResNet-50."""
    return Machine({"tf": 5.0, "ort": 1.5}, {"tf": 0.15, "ort": 0.1}, disturbed=disturbed)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("factor", "budget_s", "disturbed"),
    every_pair([0.05, 0.5, 1.0, 2.0, 4.0, 40.0], [20.0, 30.0, 45.0, 60.0, 90.0], [0.0, 0.3, 0.6, 1.0]),
)
def test_a_run_ends_within_its_budget_unless_one_launch_alone_is_longer(
    factor: float, budget_s: float, disturbed: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = resnet50(disturbed)
    machine.call_s = {cell: factor * call_s for cell, call_s in machine.call_s.items()}
    result, took_s, records = result_of(machine, Timing(budget=budget_s), tmp_path, monkeypatch)
    if took_s > budget_s:
        assert len(records) == 1
        longest_s = max(block.wall_ns for block in records[0].blocks) / 1e9
        assert len(records[0].blocks) == 2 or took_s <= budget_s + longest_s
        assert all(len(round_.completion_ns) == 1 for cell in records[0].cells for round_ in cell.rounds)
        assert any(isinstance(warning, TooFewLaunches) and warning.over_budget for warning in result.warnings)


def test_launches_beyond_those_that_an_interval_needs_are_sized_for_the_whole_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timing = Timing(budget=90.0, min_launches=3, max_launches=40, sized_share=0.5, target=1e-9, within=1e-9)
    machine = Machine({"tf": 0.5, "ort": 0.5}, {"tf": 0.11, "ort": 0.1})
    _, took_s, records = result_of(machine, timing, tmp_path, monkeypatch)
    assert took_s > 0.6 * timing.budget
    assert len(records[-2].blocks) > timing.min_blocks + timing.burn_in_blocks


def test_the_budget_that_slow_calls_need_is_said_before_the_first_block_and_one_block_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = resnet50()
    machine.call_s = {"tf": 8.0, "ort": 6.0}
    moments: list[Progress] = []
    result, took_s, (record,) = result_of(machine, Timing(budget=30.0), tmp_path, monkeypatch, moments.append)
    codes = [moment.activity.code for moment in moments]
    assert codes.count("over-budget") == 1
    assert codes.index("over-budget") < codes.index("block")
    needed_s = next(moment.activity.needed_s for moment in moments if moment.activity.code == "over-budget")
    assert needed_s is not None
    assert needed_s > took_s
    assert (len(record.blocks), result.preview) == (2, True)
    assert all(cell.latency_ms is not None for cell in result.cells)


def test_the_budget_that_is_said_counts_fast_and_slow_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def needed_s(name: str, tf_s: float, ort_s: float) -> int:
        machine = resnet50()
        machine.call_s = {"tf": tf_s, "ort": ort_s}
        moments: list[Progress] = []
        (tmp_path / name).mkdir()
        result_of(machine, Timing(budget=30.0), tmp_path / name, monkeypatch, moments.append)
        return next(m.activity.needed_s or 0 for m in moments if m.activity.code == "over-budget")

    tf_slow, ort_slow, both_slow = needed_s("tf", 8.0, 0.1), needed_s("ort", 0.1, 8.0), needed_s("both", 8.0, 8.0)
    assert both_slow > 1.5 * max(tf_slow, ort_slow)


def test_nothing_is_said_of_a_budget_that_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moments: list[Progress] = []
    result_of(resnet50(), Timing(budget=90.0), tmp_path, monkeypatch, moments.append)
    assert not [moment for moment in moments if moment.activity.code == "over-budget"]


def test_a_run_whose_launches_know_nothing_of_the_budget_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GroupMeasurement, "_room", lambda *_: Room(left_s=1e9, launches=1))
    machine = resnet50()
    machine.call_s = {"tf": 0.6, "ort": 0.4}
    _, took_s, records = result_of(machine, Timing(budget=30.0), tmp_path, monkeypatch)
    assert took_s > 30.0
    assert len(records[0].blocks) > 5


@pytest.mark.parametrize("disturbed", [0.0, 0.5, 1.0])
def test_a_quick_look_at_two_cells_of_resnet50_takes_less_than_half_a_minute_on_a_slow_machine(
    disturbed: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, took_s, records = result_of(resnet50(disturbed), QUICK, tmp_path, monkeypatch)
    assert result.stopped_by == "launches"
    assert len(records) == 3
    assert took_s < 30


def test_a_quick_look_at_more_has_all_its_launches_however_long_they_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"cell{number}" for number in range(6)]
    machine = Machine(dict.fromkeys(names, 2.0), {name: 0.1 + 0.01 * place for place, name in enumerate(names)})
    result, took_s, _ = result_of(machine, QUICK, tmp_path, monkeypatch)
    assert result.stopped_by == "launches"
    assert 30 < took_s < QUICK.budget


def test_a_model_that_is_quick_gives_up_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine({"tf": 1.0, "ort": 0.5}, {"tf": 0.003, "ort": 0.002})
    _, _, records = result_of(machine, QUICK, tmp_path, monkeypatch)
    assert all(len(record.blocks) == QUICK.blocks + QUICK.burn_in_blocks for record in records[:2])


@dataclass
class BurstyMachine(Machine):
    """One that another program uses all the time between two moments of the run, in seconds."""

    burst_s: tuple[float, float] = (0.0, 0.0)

    def snapshot(self, cpus: object) -> MachineSnapshot:
        begin_s, end_s = self.burst_s
        self.disturbed = float(begin_s <= self.now_s - Machine.now_s < end_s)
        return super().snapshot(cpus)


def test_a_launch_that_falls_into_a_burst_is_left_out_once_four_others_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timing = Timing(min_launches=4, max_launches=6, target=1e-9, within=1e-9)
    machine = BurstyMachine({"tf": 0.5, "ort": 0.5}, {"tf": 0.011, "ort": 0.01}, burst_s=(3.0, 6.0))
    result, _, records = result_of(machine, timing, tmp_path, monkeypatch)
    assert result.condition is None
    assert timing.min_launches <= (result.launches_counted or 0) < result.launches == len(records)
    assert result.blocks_excluded >= (result.blocks_disturbed or 0) > 0


def test_a_launch_that_is_disturbed_all_the_time_takes_no_blocks_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine({"tf": 1.0, "ort": 0.5}, {"tf": 0.003, "ort": 0.002}, disturbed=1.0)
    timing = replace(QUICK, blocks=8, max_blocks=12)
    _, _, records = result_of(machine, timing, tmp_path, monkeypatch)
    assert max(len(record.blocks) for record in records[:2]) < timing.max_blocks + timing.burn_in_blocks


@pytest.mark.ci
@pytest.mark.parametrize("budget_s", [60.0, 300.0, 1200.0])
@pytest.mark.parametrize("factor", [0.01, 0.1, 1.0])
def test_tails_are_taken_in_every_launch_or_in_none_and_never_at_the_cost_of_the_budget(
    factor: float, budget_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = resnet50()
    machine.call_s = {cell: factor * call_s for cell, call_s in machine.call_s.items()}
    result, took_s, records = result_of(machine, Timing(budget=budget_s, tail=True), tmp_path, monkeypatch)
    omitted = [warning.facts for warning in result.warnings if warning.code == "tail-omitted"]
    taken = {bool(cell.tail_ns.size) for record in records for cell in record.cells}
    assert took_s < budget_s
    assert taken == {not omitted}
    assert all((cell.latency_ms.p99 is None) == bool(omitted) for cell in result.cells if cell.latency_ms)
    assert bool(omitted) == (4 * 250 * factor > budget_s)


def test_the_budget_that_a_warning_names_has_room_for_tails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result, _, _ = result_of(resnet50(), Timing(budget=60.0, tail=True), tmp_path / "first", monkeypatch)
    (needed_s,) = (warning.needed_s for warning in result.warnings if warning.code == "tail-omitted")
    result, took_s, _ = result_of(resnet50(), Timing(budget=needed_s + 5, tail=True), tmp_path / "then", monkeypatch)
    assert "tail-omitted" not in {warning.code for warning in result.warnings}
    assert took_s < needed_s + 5


@pytest.mark.parametrize("prepared_s", [0.0, 30.0, 60.0])
def test_a_budget_contains_what_the_command_prepared(
    prepared_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, took_s, records = result_of(resnet50(), Timing(budget=120.0), tmp_path, monkeypatch, prepared_s=prepared_s)
    assert took_s <= 120
    assert len(records) >= Timing().min_launches


def test_where_preparing_used_the_budget_up_a_line_names_one_that_would_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def needed_and_taken_s(budget_s: float, name: str) -> tuple[list[int], GroupResult]:
        moments: list[Progress] = []
        (tmp_path / name).mkdir()
        timing = Timing(budget=budget_s)
        result, *_ = result_of(resnet50(), timing, tmp_path / name, monkeypatch, moments.append, prepared_s=100.0)
        return [m.activity.needed_s or 0 for m in moments if m.activity.code == "over-budget"], result

    (needed_s,), preview = needed_and_taken_s(90.0, "small")
    assert preview.preview
    assert needed_s > 100
    nothing, table = needed_and_taken_s(needed_s, "enough")
    assert not nothing
    assert not table.preview
    (warning,) = [warning for warning in preview.warnings if isinstance(warning, TooFewLaunches)]
    assert warning.needed_s > 100
