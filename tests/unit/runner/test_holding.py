"""Steps that a signal must not cut in half."""

from __future__ import annotations

import signal

import pytest

from irbench.runner.holding import signals_held_back


def test_a_signal_is_obeyed_after_the_step() -> None:
    done: list[str] = []

    def step() -> None:
        with signals_held_back():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            done.append("stored")
        done.append("never reached")

    with pytest.raises(KeyboardInterrupt):
        step()
    assert done == ["stored"]


def test_an_error_inside_is_told_though_a_signal_arrived() -> None:
    def step() -> None:
        with signals_held_back():
            signal.raise_signal(signal.SIGINT)
            raise OSError("full")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(OSError, match="full"):
        step()
    assert signal.getsignal(signal.SIGINT) is before


def test_a_step_without_signals_leaves_their_handlers_as_they_were() -> None:
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with signals_held_back():
        pass
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
