"""Calling uv. It reads its own configuration: which index it asks is the user's choice."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from irbench.errors import ExitCode, IrbenchError

__all__ = ["Unsolvable", "call_uv"]

_DEADLINE_S = 900.0
_USUAL_HINT = "uv asks the index that it is configured with, and needs a network for what it does not keep."
_UNSOLVABLE = 1
"""uv's exit code where no set of versions fits, or one of them cannot be built; others mean that it failed itself."""
_CAUSE = re.compile(r"\n\s*cause:")
_PREFIX = re.compile(r"^\s*(?:error|hint):")


class Unsolvable(IrbenchError):
    """uv answered that what was asked for cannot be had."""


def call_uv(*arguments: str, stdin: str | None = None) -> str:
    """Call uv and return what it wrote to its standard output.

    Args:
        arguments: Those of its command line.
        stdin: What it reads; ``None`` for nothing.

    Raises:
        Unsolvable: No version fits.
        IrbenchError: uv is not installed, or failed in another way.
    """
    command = [_uv(), "--quiet", "--color", "never", *arguments]
    try:
        done = subprocess.run(
            command, input=stdin or "", capture_output=True, text=True, timeout=_DEADLINE_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise IrbenchError(
            f"uv did not finish within {_DEADLINE_S:.0f} s.", hint="Check the network, then try again."
        ) from error
    if done.returncode == 0:
        return done.stdout
    kind = Unsolvable if done.returncode == _UNSOLVABLE else IrbenchError
    reason, _, advice = done.stderr.strip().partition("\n\n")
    raise kind(f"uv failed: {_plain(reason) or 'it gave no reason'}", hint=_plain(advice) or _USUAL_HINT)


def _uv() -> str:
    """Return the uv on the user's path, otherwise the one beside the interpreter.

    Raises:
        IrbenchError: There is neither.
    """
    beside = Path(sys.executable).parent
    found = shutil.which("uv") or shutil.which("uv", path=str(beside))
    if found is None:
        raise IrbenchError(
            "Environments with other versions are built by uv, which is not installed.",
            hint="Install it with: pip install 'irbench[versions]'. Or give the Python of an environment of your own.",
            exit_code=ExitCode.NOT_INSTALLED,
        )
    return found


def _plain(text: str) -> str:
    """Return what uv wrote in one line, without the words that it begins lines with."""
    return " ".join(_PREFIX.sub("", _CAUSE.sub(":", text)).split())
