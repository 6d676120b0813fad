"""What the kernel tells of a process: counters that grow, peaks of a phase; and the way between processors."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from irbench.measure import kernel_evidence
from irbench.measure.core_to_core import CoreLink
from irbench.measure.kernel_evidence import (
    PeakMemory,
    PhaseLog,
    descendant_folders,
    evidence_between,
    private_memory_bytes,
    read_counters,
    schedstat_ns,
    with_descendants,
)

LARGE = 300_000_000
ENOUGH_TO_SEE_NS = 20_000_000


def test_work_shows_as_processor_time() -> None:
    before = read_counters()
    sum(range(3_000_000))
    seen = evidence_between(before, read_counters())
    assert seen.cpu_ns > 0
    assert seen.wall_ns > 0


@pytest.mark.ci
def test_a_fault_is_counted_for_every_fresh_page() -> None:
    before = read_counters()
    np.ones(LARGE // 8)
    assert evidence_between(before, read_counters()).minor_faults > 100


def test_processor_time_of_all_threads_is_summed() -> None:
    worked, finish = threading.Event(), threading.Event()
    own_ns: list[int] = []

    def work() -> None:
        while _own_cpu_ns() < ENOUGH_TO_SEE_NS:
            hashlib.sha256(bytes(1_000_000)).digest()
        own_ns.append(_own_cpu_ns())
        worked.set()
        finish.wait()

    thread = threading.Thread(target=work)
    thread.start()
    worked.wait()
    main_ns = _own_cpu_ns()
    cpu_ns, wait_ns = schedstat_ns(Path("/proc/self"))
    finish.set()
    thread.join()
    assert cpu_ns >= main_ns + own_ns[0]
    assert wait_ns >= 0


def _own_cpu_ns() -> int:
    return int(Path("/proc/thread-self/schedstat").read_bytes().split()[0])


@pytest.mark.parametrize("account", [None, "0 0 0", "odd"])
def test_waiting_is_not_known_where_the_kernel_keeps_no_account(
    account: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = tmp_path / "task" / "1"
    task.mkdir(parents=True)
    if account is not None:
        (task / "schedstat").write_text(account)
    known = read_counters()
    monkeypatch.setattr(kernel_evidence, "PROC_SELF", tmp_path)
    unknown = read_counters()
    assert known.run_queue_wait_ns is not None
    assert unknown.run_queue_wait_ns is None
    for before, after in ((unknown, unknown), (known, unknown), (unknown, known)):
        assert evidence_between(before, after).run_queue_wait_ns is None


def test_a_process_that_is_gone_is_an_os_error() -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    with pytest.raises(OSError, match=str(done.pid)):
        schedstat_ns(Path(f"/proc/{done.pid}"))


def test_the_peak_of_one_phase_is_not_that_of_the_phase_before() -> None:
    memory = PeakMemory()
    memory.reset()
    block = np.ones(LARGE // 8)
    large = memory.read_bytes()
    del block
    memory.reset()
    small = memory.read_bytes()
    assert large is not None
    assert small is not None
    assert large - small > LARGE // 2


def test_phases_of_one_name_add_up_and_are_kept_when_they_fail() -> None:
    phases = PhaseLog()
    with phases("load"):
        pass
    once = phases.durations_ns["load"]
    with pytest.raises(ValueError, match="broken"), phases("load"):
        raise ValueError("broken")
    assert phases.durations_ns["load"] > once
    assert phases.peaks_bytes["load"] > 0


def test_private_memory_is_what_a_process_shares_with_no_other() -> None:
    before = private_memory_bytes()
    block = np.ones(LARGE // 8)
    after = private_memory_bytes()
    assert before is not None
    assert after is not None
    assert after - before > LARGE // 2
    assert block.size


def test_private_memory_of_several_processes_is_their_sum_and_unknown_without_any(tmp_path: Path) -> None:
    for name, sizes in {"1": (100, 20), "2": (3, 0)}.items():
        (tmp_path / name).mkdir()
        lines = f"Rss: 900 kB\nPrivate_Clean: {sizes[0]} kB\nPrivate_Dirty: {sizes[1]} kB\nShared_Clean: 7 kB\n"
        (tmp_path / name / "smaps_rollup").write_text(lines)
    assert private_memory_bytes([tmp_path / "1", tmp_path / "2"]) == 123 * 1024
    assert private_memory_bytes([tmp_path / "gone"]) is None


def test_private_memory_is_read_at_the_end_of_a_phase_where_that_is_wanted() -> None:
    sizes = iter([5, 7])
    phases = PhaseLog(read_private=lambda: next(sizes))
    for name in ("load", "compile"):
        with phases(name):
            pass
    assert phases.private_bytes == {"load": 5, "compile": 7}
    without = PhaseLog()
    with without("load"):
        pass
    assert without.private_bytes == {}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_the_distance_between_two_processors_is_positive_and_the_affinity_is_restored() -> None:
    allowed = os.sched_getaffinity(0)
    with CoreLink(tuple(sorted(allowed))) as link:
        distances = [link.core_to_core_ns() for _ in range(20)]
    assert any(distance is not None and distance > 0 for distance in distances)
    assert os.sched_getaffinity(0) == allowed


def test_one_processor_has_no_distance() -> None:
    with CoreLink((0,)) as link:
        assert link.core_to_core_ns() is None


def test_a_peer_that_died_gives_no_distance() -> None:
    with CoreLink((0, 1)) as link:
        assert link._peer is not None
        link._peer.kill()
        link._peer.wait()
        assert link.core_to_core_ns() is None


WORK = "sum(range(6_000_000))"
SEEN_OF_CHILDREN_NS = 20_000_000


def test_processor_time_of_a_child_that_lives_and_of_one_that_ended_counts() -> None:
    before, alone = with_descendants(read_counters()), read_counters()
    subprocess.run([sys.executable, "-S", "-c", WORK], check=True)
    with subprocess.Popen(
        [sys.executable, "-S", "-c", f"{WORK}; print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        together = evidence_between(before, with_descendants(read_counters()))
        own = evidence_between(alone, read_counters())
        child.communicate(b"\n")
    assert together.cpu_ns > own.cpu_ns + 2 * SEEN_OF_CHILDREN_NS
    assert together.minor_faults > own.minor_faults
    assert together.run_queue_wait_ns is not None


def test_the_memory_of_children_is_that_of_the_largest_and_unknown_without_any() -> None:
    assert PeakMemory(tuple).read_bytes() is None
    hold = "held = bytearray(90_000_000); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-S", "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        memory = PeakMemory(descendant_folders)
        memory.reset()
        assert memory.read_bytes() == pytest.approx(100_000_000, rel=0.2)
        child.communicate(b"\n")
