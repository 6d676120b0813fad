"""Requests to end: obeyed once, not where they are ignored, and by others afterwards."""

from __future__ import annotations

import os
import signal

import pytest
from front_door import irbench

from irbench.cli.interrupts import as_interrupts

ENDINGS = (signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("number", ENDINGS)
def test_a_request_to_end_interrupts_once(number: signal.Signals) -> None:
    before = [signal.getsignal(ending) for ending in ENDINGS]
    with as_interrupts():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        for ending in ENDINGS:
            signal.raise_signal(ending)
    assert [signal.getsignal(ending) for ending in ENDINGS] == before


def test_a_hangup_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with as_interrupts():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_hangup_leaves_pipes_and_files_as_they_are(capfd: pytest.CaptureFixture[str]) -> None:
    with as_interrupts(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGHUP)
    os.write(1, b"data")
    assert capfd.readouterr().out == "data"


def test_an_interrupt_while_the_command_is_imported_is_said_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("irbench.cli.importlib.import_module", interrupt)
    called = irbench("results")
    assert (called.code, called.err) == (130, "error: interrupted\n")
