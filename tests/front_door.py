"""Calling irbench as a user does: its exit code, its two outputs."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from irbench.cli import main

_PATIENCE_S = 1200
"""Until a call is taken for one that hangs, on a machine however slow and busy."""


@dataclass(frozen=True)
class Called:
    """What a call left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


def irbench(*arguments: object, timeout_s: float | None = None, folder: Path | None = None) -> Called:
    """Call irbench within this process, or in its own where a time limit or the folder it is called in is given."""
    if timeout_s is None and folder is None:
        return irbench_here(*arguments)
    return irbench_process(*arguments, timeout_s=timeout_s or _PATIENCE_S, folder=folder)


def irbench_process(*arguments: object, timeout_s: float = _PATIENCE_S, folder: Path | None = None) -> Called:
    """Call irbench as a shell does, in a folder if one is named, and wait for it.

    For what another process shows: signals, what is read from the environment when irbench starts, and the plugins
    that it finds.
    """
    done = subprocess.run(
        # the installed program does not search the folder that it is called in either
        [sys.executable, "-P", "-m", "irbench", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        env=dict(os.environ),  # without what readline sets behind Python's back: the terminal's COLUMNS
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Called(done.returncode, done.stdout, done.stderr)


def irbench_here(*arguments: object) -> Called:
    """Call irbench within this process, which spares its start."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), given_up_after(_PATIENCE_S), pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    assert isinstance(left.value.code, int)
    return Called(left.value.code, out.getvalue(), err.getvalue())


@contextmanager
def given_up_after(seconds: int) -> Iterator[None]:
    """Raise ``TimeoutError`` within this thread, which must be the main one, where the body takes longer."""

    def give_up(_number: int, _frame: object) -> None:
        raise TimeoutError(f"no end within {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
