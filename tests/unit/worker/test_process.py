"""Workers: answers, failures as values, and freezing."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import psutil
import pytest
import tests_support
from processes import comes_true

from irbench.errors import IrbenchError
from irbench.measure import clock, freeze
from irbench.system.confinement import Confinement
from irbench.worker import Worker, WorkerDied, call_in_worker, process
from irbench.worker.confined_start import confined_environment
from irbench.worker.failures import CallFailed, WorkerTimedOut
from irbench.worker.watchdog import Offspring

PATIENCE_S = 60


def test_a_call_returns_what_the_function_returned() -> None:
    assert call_in_worker("posixpath:join", "a", "b", deadline_s=PATIENCE_S) == "a/b"


def test_progress_travels_as_the_value_that_it_is() -> None:
    heard: list[object] = []
    call_in_worker("tests_support:report", ("pass", 3), deadline_s=PATIENCE_S, say=heard.append)
    assert heard == [("pass", 3)]


def test_an_exception_comes_back_as_a_message() -> None:
    with pytest.raises(CallFailed, match="ValueError: math domain error"):
        call_in_worker("math:sqrt", -1, deadline_s=PATIENCE_S)


def test_a_users_error_keeps_its_hint_and_exit_code() -> None:
    with pytest.raises(IrbenchError) as caught:
        call_in_worker("irbench.core.registry:backend", "nonsense", deadline_s=PATIENCE_S)
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


@pytest.mark.ci
def test_a_hang_ends_at_the_deadline() -> None:
    with pytest.raises(WorkerTimedOut, match="no answer within 1 s"):
        call_in_worker("time:sleep", 3600, deadline_s=1)


@pytest.mark.ci
def test_a_worker_that_reads_no_more_is_ended_at_the_deadline(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker:
        worker.freeze()
        with pytest.raises(WorkerTimedOut, match="took no request within 1 s"):
            worker.ask("builtins:len", bytes(10_000_000), deadline_s=1)  # more than the kernel keeps
        assert not psutil.pid_exists(worker.process_id)


def test_a_large_request_arrives_whole_though_it_must_wait_for_its_reader(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker:
        assert worker.ask("builtins:len", bytes(10_000_000), deadline_s=PATIENCE_S) == 10_000_000


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
    assert caught.value.crash == "SIGSEGV"


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


@pytest.mark.ci
def test_a_worker_that_cannot_be_stopped_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freeze, "ATTEMPT_NS", 200_000_000)
    os.mkfifo(tmp_path / "fifo")
    with Worker(tmp_path / "log") as worker:
        worker.ask("tests_support:hang_in_spawn", str(tmp_path / "fifo"), deadline_s=PATIENCE_S)
        with pytest.raises(WorkerDied, match="could not be frozen"):
            worker.freeze()
    assert not psutil.pid_exists(worker.process_id)


def test_a_worker_that_cannot_be_stopped_at_once_is_stopped_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    opened: list[int] = []

    def let_it_begin(seconds: float) -> None:
        """Give the program its input while all are stopped, so that it begins when they are let run again."""
        if not opened:
            opened.append(os.open(fifo, os.O_RDWR))
        if seconds == freeze._MOMENT_S:  # in which it is to begin, and on a busy machine does not
            children = psutil.Process(worker.process_id).children
            assert comes_true(lambda: all(child.status() == psutil.STATUS_ZOMBIE for child in children()))
        clock.sleep(seconds)

    monkeypatch.setattr(freeze, "ATTEMPT_NS", 200_000_000)
    monkeypatch.setattr(freeze, "sleep", let_it_begin)
    with Worker(tmp_path / "log") as worker:
        worker.ask("tests_support:hang_in_spawn", str(fifo), deadline_s=PATIENCE_S)
        worker.freeze()
        os.close(opened[0])
        assert psutil.Process(worker.process_id).status() == psutil.STATUS_STOPPED
        worker.thaw()
        assert worker.ask("os:getpid", deadline_s=PATIENCE_S) == worker.process_id


def test_a_frozen_worker_can_be_ended(tmp_path: Path) -> None:
    worker = Worker(tmp_path / "log")
    worker.freeze()
    worker.kill()
    assert not psutil.pid_exists(worker.process_id)


def test_an_answer_that_breaks_off_is_a_death(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker, pytest.raises(WorkerDied, match="exit code 3"):
        worker.ask("tests_support:die_while_answering", deadline_s=PATIENCE_S)


@pytest.mark.ci
@pytest.mark.parametrize("target", ["stop_while_answering", "dribble"])
def test_an_answer_that_never_ends_is_given_up_at_the_deadline(tmp_path: Path, target: str) -> None:
    with Worker(tmp_path / "log") as worker:
        worker.ask("os:getpid", deadline_s=PATIENCE_S)
        with pytest.raises(WorkerTimedOut, match="no answer within 1 s"):
            worker.ask(f"tests_support:{target}", deadline_s=1)
    assert not psutil.pid_exists(worker.process_id)


def test_an_answer_larger_than_any_buffer_arrives_whole(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker:
        assert worker.ask("builtins:bytes", 10_000_000, deadline_s=PATIENCE_S) == bytes(10_000_000)
        assert worker.ask("builtins:len", bytes(10_000_000), deadline_s=PATIENCE_S) == 10_000_000


def test_an_answer_that_cannot_be_read_here_is_a_failure_of_its_call(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker:
        with pytest.raises(CallFailed, match="cannot be read: LookupError: no such class here"):
            worker.ask("tests_support:answer_what_cannot_be_read", deadline_s=PATIENCE_S)
        assert worker.ask("os:getpid", deadline_s=PATIENCE_S) == worker.process_id


def test_a_request_that_cannot_be_read_there_is_a_failure_of_its_call(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker:
        with pytest.raises(CallFailed, match="LookupError: no such class here"):
            worker.ask("builtins:repr", tests_support.Unreadable(), deadline_s=PATIENCE_S)
        assert worker.ask("os:getpid", deadline_s=PATIENCE_S) == worker.process_id


def test_the_number_of_a_dead_worker_is_not_free_while_what_it_started_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states: list[str] = []

    class Seen(Offspring):
        def kill(self) -> None:
            states.append(psutil.Process(self.worker).status())
            super().kill()

    monkeypatch.setattr(process, "Offspring", Seen)
    with Worker(tmp_path / "log") as worker, pytest.raises(WorkerDied, match="exit code 3"):
        worker.ask("os:_exit", 3, deadline_s=PATIENCE_S)
    assert states == [psutil.STATUS_ZOMBIE]


def test_a_worker_that_hangs_up_but_lives_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "EXIT_GRACE_S", 0.1)
    with Worker(tmp_path / "log") as worker, pytest.raises(WorkerDied, match="hung up") as caught:
        worker.ask("tests_support:hang_up", deadline_s=PATIENCE_S)
    assert caught.value.hint == "", "that irbench killed it does not say that memory ran out"
    assert not psutil.pid_exists(worker.process_id)


def test_an_answer_that_cannot_travel_is_a_failure_of_its_call(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker:
        with pytest.raises(CallFailed, match=r"pickle|local object"):  # as Python 3.13 says it
            worker.ask("tests_support:answer_what_cannot_travel", deadline_s=PATIENCE_S)
        assert worker.ask("os:getpid", deadline_s=PATIENCE_S) == worker.process_id


def test_of_megabytes_without_a_line_the_last_is_kept(tmp_path: Path) -> None:
    with Worker(tmp_path / "log") as worker:
        worker.ask("tests_support:fill_the_log", 5, deadline_s=PATIENCE_S)
        assert worker.log_tail().endswith("~" + "\ufffd" * 10)
        assert len(worker.log_tail()) <= 4000


def test_the_last_words_in_a_hint_are_few() -> None:
    with pytest.raises(WorkerDied) as caught:
        call_in_worker("tests_support:say_and_die", "x" * 4000, signal.SIGKILL, deadline_s=PATIENCE_S)
    assert caught.value.hint.endswith(": " + "x" * 200)


def test_the_temporary_files_of_a_confined_worker_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        confined_environment(Confinement(), tmp_path / "own")
    finally:
        os.umask(before)
    assert (tmp_path / "own").stat().st_mode & 0o077 == 0


def test_a_confined_worker_that_does_not_start_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **_options: object) -> None:
        raise OSError("no process")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(process.subprocess, "Popen", fail)
    with pytest.raises(OSError, match="no process"):
        Worker(tmp_path / "log", confinement=Confinement())
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_a_confined_worker_without_room_for_temporary_files_is_an_error_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(IrbenchError, match="no folder for temporary files") as caught:
        Worker(tmp_path / "log", confinement=Confinement())
    assert "TMPDIR" in caught.value.hint


def test_a_worker_that_somebody_else_stops_is_ended_long_before_its_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "LOOK_S", 0.05)
    with Worker(tmp_path / "log") as worker:
        worker.send("time:sleep", PATIENCE_S, deadline_s=PATIENCE_S)
        os.kill(worker.process_id, signal.SIGSTOP)
        with pytest.raises(WorkerDied, match="stopped by a signal") as caught:
            worker.receive(deadline_s=100 * PATIENCE_S)
        assert not isinstance(caught.value, WorkerTimedOut)


def test_a_worker_that_is_slow_or_was_frozen_by_us_is_not_taken_for_a_stopped_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "LOOK_S", 0.01)
    with Worker(tmp_path / "log") as worker:
        assert worker.ask("posixpath:join", "a", "b", deadline_s=PATIENCE_S) == "a/b"
        worker.freeze()
        for _ in range(3):
            worker.look()
        worker.thaw()
        assert worker.ask("time:sleep", 0.1, deadline_s=PATIENCE_S) is None
