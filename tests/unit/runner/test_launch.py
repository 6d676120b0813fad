"""One launch with workers that only keep books: what is asked of them, how long they may take, what is recorded."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import launches
import numpy as np
import pytest

from irbench.measure.core_to_core import CoreLink
from irbench.measure.energy import EnergyAccess
from irbench.record import Failure, PacedRun, Sustained
from irbench.runner import launch, launch_energy
from irbench.runner.launch import Launch
from irbench.runner.reference import Expected
from irbench.runner.turn import LaunchPlan, Turn
from irbench.spec import Cell, Feeding, Group, Timing
from irbench.stats import Room
from irbench.worker.cell import CellTask, Prepared, Warmed

CALL_NS = {"slow": 2_000_000_000.0, "short": 5_000.0}
CALLS_PER_SAMPLE = {"slow": 1, "short": 10}
DEADLINE_S = 100.0
NOTHING = Expected(None, None)


class ScriptedCrew:
    """Answers as workers would whose calls last what the script says."""

    def __init__(self, tasks: Iterable[CellTask], logs: Path, deadline_s: float) -> None:
        self.cells: tuple[Cell, ...] = tuple(task.cell for task in tasks)
        self.failures: dict[str, Failure] = {}
        self.started_ns = {cell.id: 1 for cell in self.cells}
        self.allowed_s: dict[tuple[str, str], float] = {}
        self._deadline_s = deadline_s
        self.asked: list[tuple[str, str, tuple[Any, ...]]] = []

    def start(self) -> None: ...

    def start_and_prepare(self, together: Collection[str]) -> dict[str, Any]:
        return {}

    def close(self) -> None: ...

    def ask(self, cell: str, stage: str, method: str, *args: Any, deadline_s: float | None = None) -> Any:
        self.allowed_s[cell, method] = deadline_s or self._deadline_s
        self.asked.append((cell, method, args))
        match method:
            case "prepare":
                return Prepared({"precision": "fp32"}, ())
            case "warm_up":
                return Warmed(
                    CALL_NS[cell], CALL_NS[cell], CALLS_PER_SAMPLE[cell], {}, {"load": 7, "warm_up": 5}, {"import": 3}
                )
            case "take_round":
                return launches.synchronous(args[0], [CALL_NS[cell]] * args[1])
            case "tail":
                return np.full(args[0], round(CALL_NS[cell]), np.int64)
            case "paced":
                return PacedRun(args[0], 1, *(np.arange(args[1], dtype=np.int64),) * 2)
            case "peak_memory_bytes":
                return 11
            case "private_memory_bytes":
                return 9
            case _:
                if cell == "slow":
                    self.failures[cell] = Failure(stage, "lost")
                    return None
                return Sustained(cell, 1, 1)


@pytest.fixture
def crews(monkeypatch: pytest.MonkeyPatch) -> list[ScriptedCrew]:
    """Put the scripted workers in place, and tell of each that is made."""
    made: list[ScriptedCrew] = []

    def make(tasks: Iterable[CellTask], logs: Path, deadline_s: float) -> ScriptedCrew:
        made.append(ScriptedCrew(tasks, logs, deadline_s))
        return made[-1]

    monkeypatch.setattr(launch, "Workers", make)
    return made


def fed(group: Group, feeding: Feeding) -> Group:
    return replace(group, workloads=tuple(replace(workload, feeding=feeding) for workload in group.workloads))


def all_of(group: Group) -> frozenset[str]:
    return frozenset(cell.id for cell in group.cells)


def one(folder: Path, *names: str, feeding: Feeding | None = None, **numbers: Any) -> Launch:
    group = fed(launches.group(*names), feeding or Feeding())
    timing = Timing(deadline=DEADLINE_S, **numbers)
    plan = LaunchPlan(group, 0, timing, seed=0, logs=folder, expected=(NOTHING,), cpus=(0,))
    turn = Turn(0, group.cells, Room(timing.budget, timing.min_launches), new=all_of(group))
    return Launch(plan, turn, CoreLink((0,)), lambda _: None)


def test_a_tail_of_slow_calls_is_given_the_time_that_it_takes(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    record, _ = one(tmp_path, "slow", tail=True, tail_calls=1000, budget=1e6).measure()
    assert record.cells[0].tail_ns.size == 1000
    assert crews[0].allowed_s["slow", "tail"] >= DEADLINE_S + 2 * 1000 * CALL_NS["slow"] / 1e9


def test_a_launch_without_a_tail_asks_for_none(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    record, _ = one(tmp_path, "slow").measure()
    assert record.cells[0].tail_ns.size == 0
    assert ("slow", "tail") not in crews[0].allowed_s


def test_the_time_of_tails_is_taken_from_the_blocks(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    numbers = {"budget": 600.0, "min_launches": 6, "blocks": 8, "min_blocks": 2, "tail_calls": 30}
    _, without = one(tmp_path, "slow", **numbers).measure()
    _, with_tail = one(tmp_path, "slow", tail=True, **numbers).measure()
    assert without.timing.blocks == 8
    assert with_tail.timing.blocks == 3


def test_a_block_of_short_calls_counts_all_calls_of_its_samples(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    numbers = {"min_launches": 1, "blocks": 8, "min_blocks": 2, "settle": 0.0, "round_seconds": 1.0}
    _, tempo = one(tmp_path, "short", budget=6.5, **numbers).measure()
    assert tempo.timing.blocks == 5


def test_a_cell_that_fails_alone_is_told_with_its_reason(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    record, _ = one(tmp_path, "slow", "short", sustain=1.0).measure()
    assert [run.cell for run in record.sustained] == ["short"]
    assert record.failures == {"slow": Failure("sustained run", "lost")}


def test_each_cell_runs_at_the_pace_for_a_second_where_one_was_asked_for(
    tmp_path: Path, crews: list[ScriptedCrew]
) -> None:
    record, _ = one(tmp_path, "slow", "short", pace=0.02, budget=1e6).measure()
    runs = {cell.cell: cell.paced for cell in record.cells}
    assert {cell: run.issue_ns.size for cell, run in runs.items() if run is not None} == {"slow": 15, "short": 50}
    assert crews[0].allowed_s["slow", "paced"] >= DEADLINE_S + 15 * CALL_NS["slow"] / 1e9
    assert {args[0] for _, method, args in crews[0].asked if method == "paced"} == {20_000_000}


def test_the_time_of_paced_runs_is_taken_from_the_blocks(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    numbers = {"budget": 900.0, "min_launches": 6, "blocks": 8, "min_blocks": 2}
    _, without = one(tmp_path, "slow", **numbers).measure()
    _, with_pace = one(tmp_path, "slow", pace=5.0, **numbers).measure()
    assert with_pace.timing.blocks < without.timing.blocks == 8


def test_nobody_runs_at_a_pace_unless_it_was_asked_for(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    record, _ = one(tmp_path, "short").measure()
    assert record.cells[0].paced is None
    assert ("short", "paced") not in crews[0].allowed_s


def test_nobody_runs_alone_unless_it_was_asked_for(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    record, _ = one(tmp_path, "short").measure()
    assert record.sustained == ()
    assert ("short", "alone") not in crews[0].allowed_s


def test_a_cell_that_fails_in_a_later_launch_leaves_the_others_their_samples(
    tmp_path: Path, crews: list[ScriptedCrew]
) -> None:
    group = launches.group("short")
    plan = LaunchPlan(group, 0, Timing(deadline=DEADLINE_S), seed=0, logs=tmp_path, expected=(NOTHING,), cpus=(0,))
    turn = Turn(1, group.cells, Room(60.0, 4), samples={"short": 7, "failed before its warm-up": 9})
    _, tempo = Launch(plan, turn, CoreLink((0,)), lambda _: None).measure()
    assert tempo.samples == {"short": 7}


def test_the_burn_in_comes_before_the_blocks_that_count(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    record, tempo = one(tmp_path, "short", burn_in_blocks=2).measure()
    assert tempo.timing.blocks + 2 <= len(record.blocks) <= tempo.timing.max_blocks + 2


def test_a_record_says_how_many_processors_were_in_use(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    record, _ = one(tmp_path, "slow").measure()
    assert record.processors == 1  # of the two threads' wish only one processor was allowed


def test_the_peak_of_the_process_covers_the_rounds_too(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    record, _ = one(tmp_path, "slow").measure()
    assert record.cells[0].peak_memory_bytes == {"load": 7, "warm_up": 5, "run": 11, "process": 11}


def test_private_memory_is_that_at_the_end_of_each_phase(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    record, _ = one(tmp_path, "slow").measure()
    assert record.cells[0].private_memory_bytes == {"import": 3, "run": 9}


class EachReadingMore:
    """A counter that counts 5 J between any two readings."""

    domain, is_sampled = "package-0", False

    def advance(self) -> int:
        return 5_000_000


def test_energy_is_read_while_nothing_runs_and_while_each_cell_runs_alone(
    tmp_path: Path, crews: list[ScriptedCrew], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = EnergyAccess((EachReadingMore(),), {})
    monkeypatch.setattr(launch_energy, "find_energy_counters", lambda: found)
    slept: list[float] = []
    monkeypatch.setattr(launch_energy, "sleep", slept.append)
    record, _ = one(tmp_path, "short", sustain=1.0, energy=True).measure()
    assert slept == [1.0]
    assert record.idle_energy is not None
    assert record.idle_energy.microjoules == {"package-0": 5_000_000}
    assert [run.energy.microjoules for run in record.sustained if run.energy] == [{"package-0": 5_000_000}]


@pytest.mark.parametrize(
    ("backend", "device", "counts"),
    [
        ("ort", "cpu", False),
        ("ort", "cuda", True),
        ("ort", "openvino", False),
        ("tf", "gpu", True),
        ("tf-xla", "gpu", True),
        ("openvino", "gpu", False),
        ("a-program", "cpu", False),
    ],
)
def test_the_energy_of_nvidia_gpus_belongs_to_rows_that_run_on_one(
    monkeypatch: pytest.MonkeyPatch, backend: str, device: str, counts: bool
) -> None:
    gpu = EachReadingMore()
    gpu.domain = "gpu-0"
    found = EnergyAccess((EachReadingMore(), gpu), {})
    monkeypatch.setattr(launch_energy, "find_energy_counters", lambda: found)
    cell = replace(launches.group("row").cells[0], backend=backend, device=device)
    _, reading = launch_energy.LaunchEnergy(Timing(energy=True)).while_alone(cell, lambda: None)
    assert reading is not None
    assert set(reading.microjoules) == ({"package-0", "gpu-0"} if counts else {"package-0"})


def test_nobody_reads_energy_unless_it_was_asked_for(
    tmp_path: Path, crews: list[ScriptedCrew], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(launch_energy, "find_energy_counters")
    record, _ = one(tmp_path, "short", sustain=1.0).measure()
    assert (record.idle_energy, [run.energy for run in record.sustained]) == (None, [None])


def test_the_time_in_which_nothing_runs_is_taken_from_the_blocks(
    tmp_path: Path, crews: list[ScriptedCrew], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch_energy, "find_energy_counters", lambda: EnergyAccess((), {}))
    monkeypatch.setattr(launch_energy, "sleep", lambda _: None)
    numbers = {"budget": 600.0, "min_launches": 6, "blocks": 8, "min_blocks": 2}
    _, without = one(tmp_path, "slow", **numbers).measure()
    _, with_idle = one(tmp_path, "slow", energy=True, idle=60.0, **numbers).measure()
    assert with_idle.timing.blocks < without.timing.blocks


def samples(count: int) -> Feeding:
    return Feeding(samples=tuple(Path(f"{number}.npz") for number in range(count)))


def test_a_round_uses_every_sample_equally_often(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    _, tempo = one(tmp_path, "slow", "short", feeding=samples(12), budget=3000.0).measure()
    assert tempo.samples["slow"] % 12 == 0
    assert tempo.samples["short"] * CALLS_PER_SAMPLE["short"] % 12 == 0


def test_all_cells_make_the_same_calls_where_a_round_of_all_samples_takes_too_long(
    tmp_path: Path, crews: list[ScriptedCrew]
) -> None:
    _, tempo = one(tmp_path, "slow", "short", feeding=samples(500), budget=900.0).measure()
    assert tempo.samples == {"slow": 3, "short": 1}  # of ten calls each


def test_a_block_begins_with_the_same_sample_in_all_cells(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    one(tmp_path, "slow", "short", feeding=samples(500), budget=900.0).measure()
    rounds = [(args[0], args[3]) for _, method, args in crews[0].asked if method == "take_round"]
    assert len(rounds) > 4
    assert rounds == [(block, 3 * max(0, block - 1)) for block, _ in rounds]  # after one of the burn-in


def test_a_launch_goes_on_with_the_samples_after_those_of_earlier_ones(
    tmp_path: Path, crews: list[ScriptedCrew]
) -> None:
    group = fed(launches.group("slow"), samples(500))
    plan = LaunchPlan(group, 0, Timing(), seed=0, logs=tmp_path, expected=(NOTHING,), cpus=(0,))
    turn = Turn(1, group.cells, Room(60.0, 4), samples={"slow": 7}, first=84)
    Launch(plan, turn, CoreLink((0,)), lambda _: None).measure()
    firsts = [args[3] for _, method, args in crews[0].asked if method == "take_round"]
    assert firsts[:4] == [84, 84, 91, 98]


def test_cells_alone_meet_the_same_samples_whatever_their_speed(tmp_path: Path, crews: list[ScriptedCrew]) -> None:
    group = fed(launches.group("slow", "short"), samples(12))
    timing = Timing(sustain=10.0, tail=True, tail_calls=30, budget=1e6)
    plan = LaunchPlan(group, 0, timing, seed=0, logs=tmp_path, expected=(NOTHING,), cpus=(0,))
    turn = Turn(2, group.cells, Room(1e6, 4), samples={"slow": 12, "short": 6})
    Launch(plan, turn, CoreLink((0,)), lambda _: None).measure()
    alone = {cell: args for cell, method, args in crews[0].asked if method == "alone"}
    assert alone == {"slow": (10.0, 10, 20), "short": (10.0, 1, 20)}  # a sample of the short one has ten calls
    assert {args[2] for _, method, args in crews[0].asked if method == "tail"} == {60}


class Answering(ScriptedCrew):
    """Answers every call with its number, and the call of ``wrong`` with another."""

    wrong = -1

    def ask(self, cell: str, stage: str, method: str, *args: Any, deadline_s: float | None = None) -> Any:
        if method == "prepare":
            return Prepared({"precision": "fp32"}, ((np.array([1.0]),),))
        if method == "answer_call":
            return ((np.array([args[0] + (2.0 if args[0] == self.wrong else 1.0)]),),)
        return ((np.array([1.0]),),) if method == "answer_again" else super().ask(cell, stage, method, *args)


@pytest.mark.parametrize(("wrong", "error"), [(-1, 0.0), (2, 1 / 3)])
def test_every_sample_is_verified_before_anything_is_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: int, error: float
) -> None:
    monkeypatch.setattr(launch, "Workers", Answering)
    monkeypatch.setattr(Answering, "wrong", wrong)
    group = fed(launches.group("short"), samples(3))
    reference = tuple((np.array([number + 1.0]),) for number in range(3))
    plan = LaunchPlan(
        group, 0, Timing(deadline=DEADLINE_S), seed=0, logs=tmp_path, expected=(Expected(reference, None),), cpus=(0,)
    )
    record, _ = Launch(
        plan, Turn(0, group.cells, Room(60.0, 4), new=all_of(group)), CoreLink((0,)), lambda _: None
    ).measure()
    assert record.cells[0].output_error is not None
    assert record.cells[0].output_error.max_rel == pytest.approx(error)
