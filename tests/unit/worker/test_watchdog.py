"""What a worker makes temporarily goes with it, also where it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil
import pytest
from front_door import given_up_after
from processes import becomes

from irbench.spec import Artifact, Load
from irbench.worker import Worker, WorkerDied
from irbench.worker.inference import OpenSession
from irbench.worker.watchdog import MARK, Watchdog, own_temporary_files, worker_folder


@pytest.fixture
def marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the worker that this process is taken for."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv(MARK, "a-mark")
    return worker_folder("a-mark")


def test_a_worker_has_a_folder_of_its_own_however_often_it_asks(marked: Path):
    for _ in range(2):
        own_temporary_files()
        assert Path(tempfile.gettempdir()) == marked
    assert marked.stat().st_mode & 0o077 == 0


def test_other_processes_and_full_disks_have_the_usual_folder(
    marked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    marked.touch()
    own_temporary_files()
    assert tempfile.gettempdir() == str(tmp_path)
    marked.unlink()
    monkeypatch.delenv(MARK)
    own_temporary_files()
    assert tempfile.gettempdir() == str(tmp_path)


def test_a_runtime_compiles_in_the_folder_of_its_worker(marked: Path):
    seen: list[Path] = []

    class Compiling:
        def import_runtime(self, *_: Any) -> None:
            seen.append(Path(tempfile.gettempdir()))

        def compile(self, *_: Any) -> Any:
            raise MemoryError

    backend: Any = Compiling()
    with pytest.raises(MemoryError):
        OpenSession(backend, Artifact("onnx", Path(), (), ()), Load())
    assert seen == [marked]


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


def test_a_daemon_without_environment_is_frozen_with_its_worker_and_ends_with_it(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker:
        daemon = psutil.Process(worker.ask("tests_support:start_hidden_daemon", deadline_s=PATIENCE_S))
        for _ in range(2):
            worker.freeze()
            assert becomes(daemon, psutil.STATUS_STOPPED)
            worker.thaw()
            assert becomes(daemon, psutil.STATUS_SLEEPING)
    assert _gone(daemon.pid)


def test_a_daemon_without_environment_ends_though_its_worker_crashes_after_a_freeze(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker:
        daemon = worker.ask("tests_support:start_hidden_daemon", deadline_s=PATIENCE_S)
        worker.freeze()
        worker.thaw()
        with pytest.raises(WorkerDied):
            worker.ask("os:abort", deadline_s=PATIENCE_S)
    assert _gone(daemon)


def test_a_process_that_got_the_number_of_one_that_escaped_is_left_alone(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker:
        daemon = worker.ask("tests_support:start_hidden_daemon", deadline_s=PATIENCE_S)
        worker.freeze()
        escaped = worker._offspring.escaped
        stranger = subprocess.Popen(["sleep", "3600"])
        escaped[stranger.pid] = escaped.pop(daemon) - 1  # the other may have started in the same tick
    assert _gone(daemon)
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


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
started = [worker.process_id, child, daemon]
if sys.argv[2] == "frozen":
    started.append(worker.ask("tests_support:start_hidden_daemon", deadline_s=60))
    worker.freeze()
print(*started, flush=True)
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
