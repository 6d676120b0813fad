"""A busy neighbour computes as long as the table is measured, on its processor, and ends however that ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from processes import becomes, comes_true, none_left, workers

from irbench.errors import IrbenchError
from irbench.measure.disturbances import snapshot
from irbench.runner.neighbours import NeighbourEnded, Neighbours, busy_neighbours
from irbench.spec import Deadline, Neighbour

LAST = max(os.sched_getaffinity(0))
_PATIENCE_S = 30
_BUSY_S = 0.1


def neighbour() -> psutil.Process:
    """Return the only worker of this process."""
    (found,) = workers()
    return found


def computes(process: psutil.Process) -> bool:
    """Wait until a process has used a tenth of a second of its processor."""
    used_s = process.cpu_times().user + _BUSY_S
    return comes_true(lambda: process.cpu_times().user >= used_s)


def test_it_computes_on_its_processor_until_the_table_is_measured(tmp_path: Path) -> None:
    with busy_neighbours((LAST,), tmp_path):
        process = neighbour()
        assert process.cpu_affinity() == [LAST]
        assert computes(process)
        assert process.pid not in snapshot().foreign
    assert none_left(lambda other: other.pid == process.pid)


def test_without_processors_nothing_is_started(tmp_path: Path) -> None:
    with busy_neighbours((), tmp_path):
        assert not workers()


def fail_beside(folder: Path, started: list[int]) -> None:
    with busy_neighbours((LAST,), folder):
        started.append(neighbour().pid)
        raise ValueError("broken")


def test_it_ends_where_the_measurement_fails(tmp_path: Path) -> None:
    started: list[int] = []
    with pytest.raises(ValueError, match="broken"):
        fail_beside(tmp_path, started)
    assert started
    assert none_left(lambda other: other.pid in started)


def test_one_that_ends_by_itself_spoils_the_table(tmp_path: Path) -> None:
    with pytest.raises(NeighbourEnded, match="ended early"), busy_neighbours((LAST,), tmp_path):
        neighbour().kill()


COORDINATOR = """
import sys, time
from pathlib import Path
import psutil
from irbench.runner.neighbours import busy_neighbours
with busy_neighbours((int(sys.argv[2]),), Path(sys.argv[1])):
    print(*(child.pid for child in psutil.Process().children()), flush=True)
    time.sleep(3600)
"""


def test_it_ends_with_a_coordinator_that_is_killed(tmp_path: Path) -> None:
    coordinator = subprocess.Popen(
        [sys.executable, "-c", COORDINATOR, str(tmp_path), str(LAST)], stdout=subprocess.PIPE, text=True
    )
    assert coordinator.stdout is not None
    started = {int(word) for word in coordinator.stdout.readline().split()}
    assert started
    coordinator.kill()
    coordinator.communicate()
    assert none_left(lambda other: other.pid in started)


def neighbours(folder: Path, *planned: Neighbour) -> Neighbours:
    return Neighbours(planned, {}, folder, lambda: Deadline(_PATIENCE_S))


@pytest.mark.ci
def test_each_is_counted_alone_while_the_others_stand_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = neighbours(tmp_path, *(Neighbour("command", f"sleep {each}", cpus=(LAST,)) for each in (1000, 2000)))
    running: list[list[int]] = []

    def wait(_: float) -> None:
        stopped = [host for host in workers() if host.status() == psutil.STATUS_STOPPED]
        for host in stopped:
            (child,) = host.children()
            assert becomes(child, psutil.STATUS_STOPPED)
        running.append([host.pid for host in workers() if host not in stopped])

    monkeypatch.setattr("irbench.runner.neighbours.sleep", wait)
    try:
        both.start()
    finally:
        both.close()
    assert [len(hosts) for hosts in running] == [1, 1, 1, 1]
    assert running[0] == running[1] != running[2] == running[3]  # it settles, and is counted


def test_a_command_runs_for_its_warm_up_before_it_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = Neighbour("command", f"sh -c 'echo $$ > {tmp_path}/it; exec sleep 1000'", cpus=(LAST,), warm_up_s=7.0)
    running: list[tuple[float, bool]] = []

    def wait(seconds: float) -> None:
        (host,) = workers()
        running.append((seconds, host.status() != psutil.STATUS_STOPPED))

    monkeypatch.setattr("irbench.runner.neighbours.sleep", wait)
    started = neighbours(tmp_path, command)
    try:
        started.start()
    finally:
        started.close()
    assert (7.0, True) in running
    assert running.index((7.0, True)) < len(running) - 1  # what comes later is the count


def test_one_that_cannot_be_held_back_is_ended(tmp_path: Path) -> None:
    refused = neighbours(tmp_path, Neighbour("cpu", cpus=(LAST,), controls=("affinity",), free_cpus=(4095,)))
    with pytest.raises(IrbenchError, match="affinity"):
        refused.start()
    assert not workers()
    refused.close()
