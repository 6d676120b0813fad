"""Calling irbench as a user does: its exit code, its two outputs."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from irbench.cli import main


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


def irbench(*arguments: object, timeout_s: float = 240, folder: Path | None = None) -> Called:
    """Call irbench, in a folder if one is named, and wait for it."""
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
    """Call irbench within this process, which spares its start: for calls that are refused."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    assert isinstance(left.value.code, int)
    return Called(left.value.code, out.getvalue(), err.getvalue())
