"""Workers: answers, failures as values, freezing, and no process left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from irbench.errors import IrbenchError
from irbench.worker import Worker, WorkerDied, call_in_worker
from irbench.worker.process import CallFailed, WorkerTimedOut

PATIENCE_S = 60


def test_a_call_returns_what_the_function_returned() -> None:
    assert call_in_worker("posixpath:join", "a", "b", deadline_s=PATIENCE_S) == "a/b"


def test_an_exception_comes_back_as_a_message() -> None:
    with pytest.raises(CallFailed, match="ValueError: math domain error"):
        call_in_worker("math:sqrt", -1, deadline_s=PATIENCE_S)


def test_a_users_error_keeps_its_hint_and_exit_code() -> None:
    with pytest.raises(IrbenchError) as caught:
        call_in_worker("irbench.registry:backend", "nonsense", deadline_s=PATIENCE_S)
    assert "nonsense" in caught.value.message
    assert caught.value.hint
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("target", "arguments", "said"),
    [
        ("os:abort", (), "crashed with SIGABRT"),
        ("os:_exit", (3,), "ended with exit code 3"),
        ("signal:raise_signal", (signal.SIGSEGV,), "crashed with SIGSEGV"),
    ],
)
def test_a_crash_is_named(target: str, arguments: tuple[int, ...], said: str) -> None:
    with pytest.raises(WorkerDied, match=said):
        call_in_worker(target, *arguments, deadline_s=PATIENCE_S)


def test_a_hang_ends_at_the_deadline() -> None:
    with pytest.raises(WorkerTimedOut, match="no answer within 1 s"):
        call_in_worker("time:sleep", 3600, deadline_s=1)


def test_a_function_that_was_killed_is_told_with_the_likely_cause_and_its_last_words() -> None:
    with pytest.raises(WorkerDied, match="SIGKILL") as caught:
        call_in_worker("tests_support:say_and_die", "allocating", signal.SIGKILL, deadline_s=PATIENCE_S)
    assert "smaller batch" in caught.value.hint
    assert caught.value.hint.endswith("The last it said: allocating")
    assert caught.value.log_tail == "allocating"


def test_a_function_that_crashed_is_told_with_its_last_words() -> None:
    with pytest.raises(WorkerDied, match="SIGSEGV") as caught:
        call_in_worker("tests_support:say_and_die", "bad pointer", signal.SIGSEGV, deadline_s=PATIENCE_S)
    assert caught.value.hint == "The last it said: bad pointer"


def test_noise_on_stdout_goes_to_the_log_and_never_into_the_answer(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker:
        assert worker.ask("os:write", 1, b"native noise\n", deadline_s=PATIENCE_S) == 13
        assert worker.log_tail() == "native noise"


def test_the_log_of_a_crash_is_kept_with_the_error(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker:
        worker.ask("os:write", 2, b"the runtime says why\n", deadline_s=PATIENCE_S)
        with pytest.raises(WorkerDied) as caught:
            worker.ask("os:abort", deadline_s=PATIENCE_S)
    assert "the runtime says why" in caught.value.log_tail


def test_a_frozen_worker_stands_still_and_answers_again_after_thawing(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker:
        worker.ask("os:getpid", deadline_s=PATIENCE_S)
        worker.freeze()
        assert psutil.Process(worker.process_id).status() == psutil.STATUS_STOPPED
        worker.thaw()
        assert worker.ask("os:getpid", deadline_s=PATIENCE_S) == worker.process_id


def test_a_worker_can_be_frozen_many_times(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker:
        for _ in range(50):
            worker.freeze()
            assert psutil.Process(worker.process_id).status() == psutil.STATUS_STOPPED
            worker.thaw()
        assert worker.ask("os:getpid", deadline_s=PATIENCE_S) == worker.process_id


def test_a_frozen_worker_can_be_ended(tmp_path: Path) -> None:
    worker = Worker(tmp_path / "log")
    worker.freeze()
    worker.kill()
    assert not psutil.pid_exists(worker.process_id)


def test_a_workers_children_end_with_it(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker:
        child = worker.ask("tests_support:start_sleeper", deadline_s=PATIENCE_S)
        assert psutil.pid_exists(child)
    assert _gone(child)


COORDINATOR = """
import sys, time
from pathlib import Path
from irbench.worker import Worker
worker = Worker(Path(sys.argv[1]))
worker.ask("os:getpid", deadline_s=60)
child = worker.ask("tests_support:start_sleeper", deadline_s=60)
if sys.argv[2] == "frozen":
    worker.freeze()
print(worker.process_id, child, flush=True)
time.sleep(3600)
"""


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
    worker, child = map(int, coordinator.stdout.readline().split())
    coordinator.kill()
    coordinator.wait()
    coordinator.stdout.close()
    assert _gone(worker)
    assert _gone(child)


def _gone(process: int) -> bool:
    """Wait until a process has ended; a zombie whose new parent has yet to collect it has ended too."""
    try:
        one = psutil.Process(process)
        one.wait(PATIENCE_S) if one.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True
