"""What runs beside models: commands with their daemons, and calls of a model in turns."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

from processes import comes_true

from irbench.measure.disturbances import TICK_NS
from irbench.spec import Neighbour
from irbench.worker import Worker
from irbench.worker.failures import CallFailed
from irbench.worker.neighbour_hosts import RepeatedCalls

PATIENCE_S = 30
COMMAND = "irbench.worker.neighbour_hosts:CommandHost"
DAEMON = """
import os, sys
from pathlib import Path
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
stop = Path(sys.argv[0]).with_suffix(".stop")
while not stop.exists():
    sum(range(100_000))
"""
SELDOM = 1e-4
"""Calls per second: a period is hours long."""


def draws(*phases: float) -> Callable[[], float]:
    left: Iterator[float] = iter(phases)
    return lambda: next(left)


class Called:
    """A model that answers when it is let."""

    def __init__(self, *, answers: bool = True) -> None:
        self.began, self.answer = threading.Semaphore(0), threading.Event()
        if answers:
            self.answer.set()

    def __call__(self) -> None:
        self.began.release()
        self.answer.wait(PATIENCE_S)

    def is_called(self) -> bool:
        return self.began.acquire(timeout=PATIENCE_S)

    @property
    def was_called(self) -> bool:
        return self.began.acquire(blocking=False)


def test_a_turn_does_not_wait_for_the_calls_of_a_low_rate() -> None:
    model = Called()
    repeated = RepeatedCalls([model], SELDOM, draws(0.5, 0.5))
    repeated.begin_turn()
    assert repeated.taken_ns().size == 0
    assert not model.was_called


def test_each_turn_begins_at_a_phase_of_its_own() -> None:
    model = Called()
    repeated = RepeatedCalls([model], SELDOM, draws(0.5, 0.0, 0.5, 0.0))
    called = []
    for _ in range(3):
        repeated.begin_turn()
        called.append(model.began.acquire(timeout=0.05 if len(called) == 1 else PATIENCE_S))
    assert called == [True, False, True]


def test_a_call_of_the_turn_before_is_waited_for_and_not_counted() -> None:
    model = Called(answers=False)
    repeated = RepeatedCalls([model], SELDOM, draws(0.0, 0.5))
    assert model.is_called()
    turn = threading.Thread(target=repeated.begin_turn)
    turn.start()
    turn.join(0.05)
    assert turn.is_alive()
    model.answer.set()
    turn.join(PATIENCE_S)
    assert not turn.is_alive()
    assert repeated.taken_ns().size == 0


def test_without_a_rate_each_stream_calls_again_as_soon_as_it_has_answered() -> None:
    models = Called(), Called()
    repeated = RepeatedCalls(models, None)
    repeated.begin_turn()
    try:
        assert all(model.is_called() for model in models for _ in range(10))
        assert comes_true(lambda: repeated.taken_ns().size > 0)
    finally:
        for model in models:
            model.answer.clear()  # so that they do not use a processor beside other tests


def test_streams_share_a_rate() -> None:
    model = Called()
    assert RepeatedCalls([model, model], 2.0, draws(1.0, 1.0)).pace_ns == 1_000_000_000


def test_a_command_that_becomes_a_daemon_runs_as_long_as_the_daemon_does_and_its_time_counts(tmp_path: Path) -> None:
    script = tmp_path / "daemon.py"
    script.write_text(DAEMON)
    neighbour = Neighbour("command", target=f"{sys.executable} {script}")
    with Worker(tmp_path / "log") as worker:
        worker.ask(COMMAND, neighbour, hold=True, deadline_s=PATIENCE_S)
        counted: list[int] = []

        def has_computed() -> bool:
            counted.append(worker.ask("counted", deadline_s=PATIENCE_S).cpu_ns)
            return counted[-1] > 500_000_000

        assert comes_true(has_computed), "the program itself ends before half a second"
        assert all(later > earlier - TICK_NS for earlier, later in pairwise(counted)), "those that ended still count"
        (tmp_path / "daemon.stop").touch()
        assert "ended with exit code 0" in refusal_of(worker)


def test_a_command_that_fails_is_refused_though_it_leaves_a_daemon(tmp_path: Path) -> None:
    neighbour = Neighbour("command", target="sh -c 'sleep 3600 & exit 3'")
    with Worker(tmp_path / "log") as worker:
        worker.ask(COMMAND, neighbour, hold=True, deadline_s=PATIENCE_S)
        assert "ended with exit code 3" in refusal_of(worker)


def refusal_of(worker: Worker) -> str:
    """Press until the host says that its command has ended, and return how it says so."""
    said: list[str] = []

    def has_ended() -> bool:
        try:
            worker.ask("press", 100, deadline_s=PATIENCE_S)
        except CallFailed as error:
            said.append(error.message)
        return bool(said)

    assert comes_true(has_ended)
    return said[0]
