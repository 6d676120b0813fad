"""What the kernel tells of the machine: whose processor time was whose, what was stolen, and who waited."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from front_door import given_up_after

from irbench.measure import disturbances
from irbench.measure.clock import process_cpu_ns
from irbench.measure.disturbances import (
    TICK_NS,
    Glance,
    Idleness,
    MachineSnapshot,
    Process,
    foreign_cpu_ns,
    foreign_cpu_of_turn_ns,
    glance,
    snapshot,
    tree,
    tree_cpu_ns,
)

GONE = 2**22 + 1
"""More than any process id."""
ENOUGH_TO_SEE_NS = 50_000_000
SECOND_NS = 1_000_000_000


def test_our_own_tree_is_not_foreign() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        foreign = snapshot().foreign
        assert os.getpid() not in foreign
        assert child.pid not in foreign
    finally:
        child.communicate(b"\n")


def test_foreign_time_counts_processes_that_grew_or_appeared() -> None:
    before = MachineSnapshot(0, {1: 100, 2: 50, 3: 7}, 0, 0)
    after = MachineSnapshot(1, {1: 130, 2: 50, 4: 9}, 0, 0)
    assert foreign_cpu_ns(before, after) == 30 + 9


def test_foreign_time_on_processors_that_are_not_measured_does_not_count() -> None:
    before = MachineSnapshot(0, {1: 100, 2: 50, 3: 7, 4: 1}, 0, 0, frozenset({2}))
    after = MachineSnapshot(1, {1: 130, 2: 60, 3: 12, 4: 9, 5: 2}, 0, 0, frozenset({3, 5}))
    assert foreign_cpu_ns(before, after) == 10 + 5 + 2


def idle(seconds: float, processors: int = 2) -> Idleness:
    return Idleness(processors, round(seconds * SECOND_NS))


BEFORE = MachineSnapshot(0, {1: 0}, 0, 0, own_ns=3 * SECOND_NS, idleness=idle(7))
"""Of two processors, which are then looked at again after a second."""


def test_what_neither_our_own_tree_nor_idleness_accounts_for_is_foreign_less_a_tick_for_each_processor() -> None:
    after = MachineSnapshot(SECOND_NS, {1: 10}, 0, 0, own_ns=3 * SECOND_NS + SECOND_NS // 2, idleness=idle(7.3))
    assert foreign_cpu_ns(BEFORE, after) == 1.2 * SECOND_NS - 2 * TICK_NS


def test_what_processes_tell_counts_where_it_is_more() -> None:
    after = MachineSnapshot(SECOND_NS, {1: SECOND_NS // 5}, 0, 0, own_ns=4 * SECOND_NS, idleness=idle(7.81))
    assert foreign_cpu_ns(BEFORE, after) == SECOND_NS // 5


def test_our_own_work_and_rounding_are_not_foreign() -> None:
    after = MachineSnapshot(SECOND_NS, {1: 0}, 0, 0, own_ns=4 * SECOND_NS, idleness=idle(8 - 0.02))
    assert foreign_cpu_ns(BEFORE, after) == 0


def test_a_tree_that_lost_a_member_makes_nothing_foreign_that_it_used_before() -> None:
    after = MachineSnapshot(SECOND_NS, {1: 0}, 0, 0, own_ns=0, idleness=idle(9))
    assert foreign_cpu_ns(BEFORE, after) == 0


@pytest.mark.parametrize("found", [None, idle(7, processors=3)])
def test_where_idleness_is_not_told_or_processors_came_only_processes_count(found: Idleness | None) -> None:
    after = MachineSnapshot(SECOND_NS, {1: 5}, 0, 0, own_ns=3 * SECOND_NS, idleness=found)
    assert foreign_cpu_ns(BEFORE, after) == 5
    assert foreign_cpu_ns(replace(BEFORE, idleness=None), after) == 5


def test_time_of_ended_threads_and_children_stays_in_the_tree() -> None:
    members, worked = {os.getpid()}, threading.Event()

    def own_ns() -> int:
        return tree_cpu_ns(members, disturbances.read_processes(Path("/proc")))

    def work() -> None:
        while not worked.is_set():
            hashlib.sha256(bytes(1_000_000)).digest()

    before_ns, threads_before_ns = own_ns(), process_cpu_ns(os.getpid())  # the tree also holds what children used
    thread = threading.Thread(target=work)
    thread.start()
    while process_cpu_ns(os.getpid()) < threads_before_ns + ENOUGH_TO_SEE_NS:
        pass
    worked.set()
    thread.join()
    with_thread_ns = own_ns()
    assert with_thread_ns >= before_ns + ENOUGH_TO_SEE_NS
    code = f"import time\nwhile time.process_time_ns() < {2 * ENOUGH_TO_SEE_NS}: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert own_ns() >= with_thread_ns + ENOUGH_TO_SEE_NS


def test_a_tree_holds_descendants_of_any_degree_and_nobody_else() -> None:
    parents = {1: 0, 2: 0, 10: 1, 20: 10, 30: 20, 40: 1, 50: GONE}
    assert tree(10, {item: Process(parent, 0, 0) for item, parent in parents.items()}) == {10, 20, 30}


def test_a_process_that_ended_since_it_was_listed_keeps_what_it_had_used() -> None:
    assert tree_cpu_ns([GONE], {GONE: Process(1, 30, 4)}) == 34


def test_the_clock_of_a_process_that_is_gone_is_an_os_error() -> None:
    with pytest.raises(OSError, match="argument"):
        process_cpu_ns(GONE)


STORM = """
import os, resource, sys
if os.fork():
    os._exit(0)  # whoever adopts the other is none of ours
os.sched_setaffinity(0, {int(sys.argv[1])})
used = 0.0
while used < 0.4:
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = sum(one.ru_utime + one.ru_stime for one in map(resource.getrusage, whose))
print(round(used * 1e9))
"""
"""Short processes one after the other until they have used enough, and what they used in nanoseconds."""


@pytest.mark.ci
@pytest.mark.skipif(snapshot().idleness is None, reason="the kernel does not report how long processors were idle")
@pytest.mark.parametrize("all_measured", [True, False])
def test_processes_that_live_too_short_to_be_seen_are_foreign_all_the_same(*, all_measured: bool) -> None:
    cpu = min(os.sched_getaffinity(0))
    measured = None if all_measured else (cpu,)
    before = snapshot(measured)
    told = subprocess.run([sys.executable, "-c", STORM, str(cpu)], check=True, stdout=subprocess.PIPE)
    used_ns = int(told.stdout)
    assert foreign_cpu_ns(before, snapshot(measured)) >= 0.6 * used_ns


@pytest.fixture
def machine_of_four(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four processors; process 70 has a thread on processor 1 and one on processor 3, and we waited for a child."""
    for thread, name, processor, cpu_ns in ((70, "a) b (c", 1, 500), (71, "d", 3, 900)):
        folder = tmp_path / "70" / "task" / str(thread)
        folder.mkdir(parents=True)
        text = f"{thread} ({name}) S 1 {' '.join(['0'] * 34)} {processor} 0 0"
        (folder / "stat").write_text(text)
        (folder / "schedstat").write_text(f"{cpu_ns} 0 1\n")
        if thread == 70:
            (tmp_path / "70" / "stat").write_text(text)
    own = tmp_path / str(os.getpid())
    own.mkdir()
    (own / "stat").write_text(f"{own.name} (us) R 1 {' '.join(['0'] * 9)} 3 4 5 6 {' '.join(['0'] * 24)}")
    ticks = "\n".join(f"cpu{number} 9 9 9 {10 * number} 1 9 9 {number + 1} 0 0" for number in range(4))
    (tmp_path / "stat").write_text(f"cpu  0 0 0 0 0 0 0 99 0 0\n{ticks}\nintr 5\n")
    monkeypatch.setattr(disturbances, "PROC", tmp_path)
    monkeypatch.setattr(disturbances, "process_cpu_ns", process_cpu_ns_of_nobody)
    monkeypatch.setattr(disturbances.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(disturbances, "with_siblings", frozenset)
    return tmp_path


def process_cpu_ns_of_nobody(_: int) -> int:
    raise OSError("no clock")


def test_a_snapshot_of_some_processors_knows_who_ran_there(machine_of_four: Path) -> None:
    seen = snapshot((0, 1))
    assert seen.foreign == {70: 500, 71: 900}
    assert seen.near == {70}
    assert seen.steal_ns == (1 + 2) * TICK_NS
    assert seen.idleness == Idleness(2, (0 + 10 + 2 * 1 + 1 + 2) * TICK_NS)


@pytest.mark.parametrize("cpus", [None, (0, 1, 2, 3)])
def test_a_snapshot_of_every_processor_counts_whole_processes(
    machine_of_four: Path, cpus: tuple[int, ...] | None
) -> None:
    seen = snapshot(cpus)
    assert seen.foreign == {70: 1400}
    assert seen.near is None
    assert seen.steal_ns == 10 * TICK_NS
    assert seen.idleness == Idleness(4, (60 + 4 * 1 + 10) * TICK_NS)


def test_without_a_clock_of_processes_our_own_tree_is_counted_in_ticks(machine_of_four: Path) -> None:
    assert snapshot().own_ns == (3 + 4 + 5 + 6) * TICK_NS


def test_a_processor_that_does_not_run_is_not_counted(machine_of_four: Path) -> None:
    (machine_of_four / "stat").write_text("cpu  0 0 0 9\ncpu0 9 9 9 50 1 9 9 3 0 0\n")
    assert snapshot((0, 1)).idleness == Idleness(1, 54 * TICK_NS)


@pytest.mark.parametrize("text", ["cpu  0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\n", "", None])
def test_a_sandbox_that_writes_zeros_or_nothing_tells_no_idleness(machine_of_four: Path, text: str | None) -> None:
    if text is None:
        (machine_of_four / "stat").unlink()
    else:
        (machine_of_four / "stat").write_text(text)
    assert snapshot().idleness is None


def test_pressure_is_a_share_of_time_or_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disturbances, "PROC", tmp_path)
    assert disturbances.cpu_pressure() is None
    (tmp_path / "pressure").mkdir()
    (tmp_path / "pressure/cpu").write_text("some avg10=12.50 avg60=1.00 avg300=0.00 total=9\nfull avg10=0.00\n")
    assert disturbances.cpu_pressure() == 0.125


def test_what_others_used_in_a_turn_is_what_the_processors_were_busy_for_and_we_were_not_without_an_allowance() -> None:
    before = Glance(0, 3 * SECOND_NS, idle(7))
    after = Glance(SECOND_NS, 3 * SECOND_NS + SECOND_NS // 2, idle(7.3))
    assert foreign_cpu_of_turn_ns(before, after) == pytest.approx(1.2 * SECOND_NS)
    rounded = Glance(SECOND_NS, 5 * SECOND_NS + TICK_NS, idle(7))
    assert foreign_cpu_of_turn_ns(before, rounded) == -TICK_NS  # which another turn makes up for
    assert foreign_cpu_of_turn_ns(before, Glance(SECOND_NS, 0, None)) is None


def test_a_glance_counts_the_processes_that_it_is_told_of() -> None:
    before = glance({os.getpid()})
    own_ns = before.own_ns
    with given_up_after(60):
        while glance({os.getpid()}).own_ns <= own_ns:
            pass
    assert glance({os.getpid(), GONE}).own_ns > own_ns
    assert glance({GONE}).own_ns == 0
    assert snapshot().members >= {os.getpid()}
