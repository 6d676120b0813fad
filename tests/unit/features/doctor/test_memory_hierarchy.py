"""Bandwidths from scripted processes: who is asked for what, and what follows from the times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest
from machines import QUIET

from irbench.features.doctor.machine import Cache
from irbench.features.doctor.memory_hierarchy import (
    BandwidthPlan,
    MemoryLevel,
    bandwidth_from,
    bandwidth_plan,
    measure_bandwidth,
    memory_levels,
)
from irbench.measure.bandwidth import MemoryTimes
from irbench.roofline import BandwidthSamples

L1 = MemoryLevel("L1d", 1, 24_000, 48_000)
MEMORY = MemoryLevel("memory", 2, 1_000_000, None)


def times(call_ns: int, moved: int = 10_128, tiny_ns: int = 400) -> MemoryTimes:
    return MemoryTimes(moved, 10, (10 * call_ns,) * 3, 128, 10, (10 * tiny_ns,) * 3)


class ScriptedWorker:
    """Answers with times that the test gives, and remembers what it was asked."""

    asked: ClassVar[list[tuple[int, str, Any]]] = []
    open = 0

    def __init__(self, _log: Path, *, cpus: Sequence[int], environment: Mapping[str, str]) -> None:
        assert environment["OPENBLAS_NUM_THREADS"] == "1"
        (self._cpu,) = cpus
        self._waiting: list[str] = []
        type(self).open += 1

    def send(self, target: str, *args: Any, deadline_s: float, hold: bool = False) -> None:
        self.asked.append((self._cpu, target, args))
        self._waiting.append(target)

    def receive(self, *, deadline_s: float) -> MemoryTimes | int:
        """Return times, or how long a batch took when it was prepared: the longer the higher the processor's number."""
        assert self._waiting, "nothing was asked"
        target = self._waiting.pop(0)
        return 10_000_000 * self._cpu if target == "prepare" else times(1_400)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        type(self).open -= 1


@pytest.fixture
def worker() -> type[ScriptedWorker]:
    class Worker(ScriptedWorker):
        asked: ClassVar[list[tuple[int, str, Any]]] = []

    return Worker


def test_every_launch_has_fresh_processes_and_measures_every_level(tmp_path: Path, worker: Any):
    plan = BandwidthPlan((4, 5), (L1, MEMORY), launches=3)
    said: list[int] = []
    samples = measure_bandwidth(plan, tmp_path, said.append, worker)
    assert said == [1, 2, 3]
    assert worker.open == 0
    assert [(each.level, each.threads, each.access) for each in samples] == [
        ("L1d", 1, "read"), ("L1d", 1, "copy"), ("L1d", 1, "add"),
        ("memory", 2, "read"), ("memory", 2, "copy"), ("memory", 2, "add"),
    ]  # fmt: skip
    assert {len(launch) for each in samples for launch in each.launches if each.level == "memory"} == {2}
    assert {len(each.launches) for each in samples} == {3}


def test_one_core_works_while_the_others_wait(tmp_path: Path, worker: Any):
    measure_bandwidth(BandwidthPlan((4, 5), (L1, MEMORY), launches=1), tmp_path, lambda _launch: None, worker)
    prepared = [(cpu, args[1]) for cpu, target, args in worker.asked if target == "prepare"]
    assert [cpu for cpu, size in prepared if size == L1.bytes_per_thread] == [4] * 3
    assert [cpu for cpu, size in prepared if size == MEMORY.bytes_per_thread] == [4, 5] * 3


def test_all_have_prepared_before_any_begins_and_work_in_the_same_window(tmp_path: Path, worker: Any):
    measure_bandwidth(BandwidthPlan((4, 5), (MEMORY,), launches=1), tmp_path, lambda _launch: None, worker)
    asked = [(target, cpu, args) for cpu, target, args in worker.asked if not target.endswith("MemoryProbe")]
    assert [(target, cpu) for target, cpu, _ in asked] == [
        ("prepare", 4), ("prepare", 5), ("measure", 4), ("measure", 5),
    ] * 3  # fmt: skip
    windows = [args for target, _, args in asked if target == "measure"]
    assert windows[0::2] == windows[1::2]
    assert len({start_ns for start_ns, _ in windows}) == 3
    assert {window_ns for _, window_ns in windows} == {8 * 50_000_000}, "long enough for the slower one"


def test_a_process_holds_no_more_than_it_goes_through(tmp_path: Path, worker: Any):
    alone = MemoryLevel("memory", 1, 5_000_000, None)
    measure_bandwidth(BandwidthPlan((4, 5), (alone, MEMORY), launches=1), tmp_path, lambda _launch: None, worker)
    held = {cpu: args[0] for cpu, target, args in worker.asked if target.endswith("MemoryProbe")}
    assert held == {4: 5_000_000, 5: 1_000_000}


def test_an_interrupt_ends_every_process(tmp_path: Path, worker: Any):
    def interrupt(launch: int) -> None:
        if launch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_bandwidth(BandwidthPlan((4,), (L1,), launches=3), tmp_path, interrupt, worker)
    assert worker.open == 0


def test_what_an_empty_call_costs_is_not_the_time_of_data():
    assert times(1_400).fastest_bytes_per_ns == pytest.approx(10.0)
    assert times(1_400).median_bytes_per_ns == pytest.approx(10.0)


def test_a_disturbed_batch_does_not_count():
    disturbed = MemoryTimes(10_128, 10, (14_000, 14_000, 900_000), 128, 10, (4_000, 50_000, 4_000))
    assert disturbed.fastest_bytes_per_ns == pytest.approx(10.0)


def test_a_batch_during_which_the_other_threads_stood_still_does_not_count():
    lucky = MemoryTimes(10_128, 10, (14_000, 14_000, 5_000), 128, 10, (4_000, 4_000, 4_000))
    launches = ((lucky, lucky),) * 6
    (found,) = bandwidth_from([BandwidthSamples("memory", 2, "read", launches)], [MEMORY])
    assert found.high == pytest.approx(20.0)
    (alone,) = bandwidth_from([BandwidthSamples("L1d", 1, "read", ((lucky,),) * 6)], [L1])
    assert alone.high == pytest.approx(100.0)


def test_threads_are_added_up_and_launches_give_the_interval():
    launches = tuple((times(400 + cost), times(400 + cost)) for cost in (1_000, 1_010, 1_020, 1_030, 1_040, 2_000))
    (found,) = bandwidth_from([BandwidthSamples("memory", 2, "read", launches)], [MEMORY])
    assert (found.low, found.high) == (pytest.approx(10.0), pytest.approx(20.0))
    assert found.gb_per_s == pytest.approx(19.5, rel=0.01)
    assert (found.confidence, found.working_set_bytes, found.capacity_bytes) == (0.95, 2_000_000, None)


def test_few_launches_give_a_range_and_no_confidence():
    (found,) = bandwidth_from([BandwidthSamples("L1d", 1, "add", ((times(1_400),), (times(2_400),)))], [L1])
    assert (found.low, found.high, found.confidence) == (pytest.approx(5.0), pytest.approx(10.0), None)


def test_what_takes_no_longer_than_an_empty_call_is_left_out():
    assert bandwidth_from([BandwidthSamples("L1d", 1, "read", ((times(1_400),), (times(400),)))], [L1]) == ()


def test_a_machine_with_several_cores_is_measured_with_one_and_with_all():
    plan = bandwidth_plan(QUIET, QUIET.cpu_per_core)
    assert {(level.name, level.threads) for level in plan.levels} == {
        (name, threads) for name in ("L1d", "L2", "L3", "memory") for threads in (1, 4)
    }


def test_a_single_core_is_measured_once():
    assert {level.threads for level in bandwidth_plan(QUIET, (2,)).levels} == {1}


CACHES = (Cache("L1d", 48 << 10, 4), Cache("L2", 2 << 20, 4), Cache("L3", 36 << 20, 1))
PLENTY = 64 << 30


def sizes(threads: int, caches: tuple[Cache, ...] = CACHES, available: int = PLENTY) -> dict[str, int]:
    return {level.name: level.bytes_per_thread for level in memory_levels(caches, threads, 4, available)}


def test_one_thread_goes_through_half_of_each_cache_and_four_times_the_largest():
    assert sizes(1) == {"L1d": 24 << 10, "L2": 1 << 20, "L3": 18 << 20, "memory": 144 << 20}


def test_threads_share_the_cache_that_their_cores_share():
    assert sizes(4) == {"L1d": 24 << 10, "L2": 1 << 20, "L3": 18 << 20 >> 2, "memory": 144 << 20 >> 2}


def test_a_cache_of_two_cores_is_shared_by_two_threads():
    pairs = (Cache("L2", 4 << 20, 2),)
    assert sizes(4, pairs)["L2"] == 1 << 20
    assert sizes(1, pairs)["L2"] == 2 << 20


@pytest.mark.parametrize(("threads", "capacity"), [(1, 2 << 20), (3, 6 << 20), (4, 8 << 20)])
def test_the_caches_of_all_threads_hold_more_than_that_of_one(threads: int, capacity: int):
    (level,) = [level for level in memory_levels(CACHES, threads, 4, PLENTY) if level.name == "L2"]
    assert level.capacity_bytes == capacity


def test_without_any_word_of_caches_only_main_memory_is_measured():
    assert sizes(1, ()) == {"memory": 256 << 20}


def test_little_memory_makes_a_smaller_working_set():
    assert sizes(2, available=256 << 20)["memory"] == 32 << 20


def test_more_caches_than_cores_are_one_for_each():
    assert sizes(1, (Cache("L1d", 32 << 10, 64),))["L1d"] == 16 << 10
