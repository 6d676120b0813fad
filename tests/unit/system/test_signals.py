"""Steps that a signal must not cut in half."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from irbench.system import signals
from irbench.system.signals import signals_deferred

ALL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def test_a_signal_is_obeyed_after_the_step() -> None:
    done: list[str] = []

    def step() -> None:
        with signals_deferred():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            done.append("stored")
        done.append("never reached")

    with pytest.raises(KeyboardInterrupt):
        step()
    assert done == ["stored"]


def test_a_signal_is_held_back_though_other_threads_could_receive_it() -> None:
    leave = threading.Event()
    other = threading.Thread(target=leave.wait)
    other.start()
    done: list[str] = []

    def step() -> None:
        with signals_deferred():
            os.kill(os.getpid(), signal.SIGINT)
            done.extend(str(index) for index in range(100_000))

    try:
        with pytest.raises(KeyboardInterrupt):
            step()
    finally:
        leave.set()
        other.join()
    assert len(done) == 100_000


def test_a_signal_is_obeyed_though_the_step_fails() -> None:
    def step() -> None:
        with signals_deferred():
            signal.raise_signal(signal.SIGINT)
            raise OSError("full")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as interrupted:
        step()
    assert isinstance(interrupted.value.__context__, OSError)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_step_without_signals_leaves_their_handlers_as_they_were() -> None:
    before = [signal.getsignal(item) for item in ALL]
    with signals_deferred():
        pass
    assert [signal.getsignal(item) for item in ALL] == before


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_deferred():
            signal.raise_signal(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("moment", range(1, 7), ids=lambda moment: f"call {moment}")
def test_a_signal_between_two_handlers_is_never_lost_nor_deafens(moment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three handlers are set and three put back; after each of these a SIGTERM arrives."""
    heard: list[int] = []
    set_handler: Callable[..., object] = signal.signal
    calls = iter(range(1, 100))

    def set_and_send(number: int, handler: Any) -> object:
        before = set_handler(number, handler)
        if next(calls) == moment:
            signal.raise_signal(signal.SIGTERM)
        return before

    def heard_it(number: int, _frame: object) -> None:
        heard.append(number)
        raise KeyboardInterrupt

    originally = set_handler(signal.SIGTERM, heard_it)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(signals.signal, "signal", set_and_send)
            with pytest.raises(KeyboardInterrupt), signals_deferred():
                pass
        assert heard == [signal.SIGTERM]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    finally:
        set_handler(signal.SIGTERM, originally)
        set_handler(signal.SIGINT, signal.default_int_handler)
        set_handler(signal.SIGHUP, signal.SIG_DFL)


def test_in_another_thread_nothing_is_deferred_and_nothing_is_set() -> None:
    found: list[object] = []
    before = signal.getsignal(signal.SIGINT)

    def step() -> None:
        with signals_deferred():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=step)
    thread.start()
    thread.join()
    assert found == [before]
