"""Requests to end: obeyed once, not where they are ignored, and by others afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from front_door import irbench

from irbench.terminal.interrupts import as_interrupts

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


def test_an_interrupt_in_code_compiled_from_text_leaves_the_exit_code_as_it_is(tmp_path: Path) -> None:
    """Dataclasses compile their methods when they are defined, which is when commands are imported."""
    (tmp_path / "interrupted.py").write_text("""
from irbench import cli

def interrupted(_arguments):
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        return 130

cli._run = interrupted
cli.main([])
""")
    called = subprocess.run([sys.executable, "-m", "interrupted"], cwd=tmp_path, check=False)
    assert called.returncode == 130
