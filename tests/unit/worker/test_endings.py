"""What a worker started ends with it, and a worker with its coordinator."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from front_door import given_up_after

from irbench.worker import Worker, WorkerDied
from irbench.worker.watchdog import Watchdog

PATIENCE_S = 60


def test_a_workers_children_end_with_it(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker:
        child = worker.ask("tests_support:start_sleeper", deadline_s=PATIENCE_S)
        assert psutil.pid_exists(child)
    assert _gone(child)


def test_what_a_worker_made_a_daemon_ends_with_it(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker, Worker(tmp_path / "other") as other:
        daemon = worker.ask("tests_support:start_daemon", deadline_s=PATIENCE_S)
        neighbours = other.ask("tests_support:start_daemon", deadline_s=PATIENCE_S)
        worker.kill()
        assert _gone(daemon)
        assert psutil.pid_exists(neighbours)
    assert _gone(neighbours)


def test_a_daemon_ends_though_the_worker_that_started_it_has_crashed(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker, pytest.raises(WorkerDied, match="SIGABRT") as caught:
        worker.ask("tests_support:start_daemon_and_die", deadline_s=PATIENCE_S)
    assert _gone(int(caught.value.log_tail.split()[0]))


COORDINATOR = """
import sys, time
from pathlib import Path
from irbench.worker import Worker
worker = Worker(Path(sys.argv[1]))
worker.ask("os:getpid", deadline_s=60)
child = worker.ask("tests_support:start_sleeper", deadline_s=60)
daemon = worker.ask("tests_support:start_daemon", deadline_s=60)
if sys.argv[2] == "frozen":
    worker.freeze()
print(worker.process_id, child, daemon, flush=True)
time.sleep(3600)
"""


@pytest.mark.ci
@pytest.mark.parametrize("state", ["awake", "frozen"])
def test_nothing_outlives_a_coordinator_that_is_killed(tmp_path: Path, state: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    coordinator = subprocess.Popen(
        [sys.executable, "-c", COORDINATOR, str(tmp_path / "log"), state],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert coordinator.stdout is not None
    started = [int(part) for part in coordinator.stdout.readline().split()]
    coordinator.kill()
    coordinator.wait()
    coordinator.stdout.close()
    assert all(_gone(item) for item in started)


def _gone(process: int) -> bool:
    """Wait until a process has ended; a zombie whose new parent has yet to collect it has ended too."""
    try:
        owner = psutil.Process(process)
        owner.wait(PATIENCE_S) if owner.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True


def test_a_watchdog_that_somebody_has_stopped_ends_all_the_same() -> None:
    watchdog = Watchdog()
    process = watchdog._process
    os.kill(process.pid, signal.SIGSTOP)
    with given_up_after(PATIENCE_S):
        watchdog.close()
    assert process.returncode == 0
