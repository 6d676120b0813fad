"""Calling uv. Which index it asks is the user's choice, and never that of a file beside a model.

uv reads ``uv.toml`` and ``pyproject.toml`` of the folder that it is called in and of those above, and what an index
there offers runs when it is installed. So it is called in a folder of its own, whose two files say nothing and end its
search. ``--no-config`` would leave out what the user configured for all projects, such as a mirror, as well.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from irbench.environments.uv_settings import require_absolute_places
from irbench.errors import ExitCode, IrbenchError
from irbench.system.programs import clean_environment, find_program
from irbench.worker.scratch import scratch_folder

_DEADLINE_S = 900.0
_USUAL_HINT = "uv asks the index that it is configured with, and needs a network for what it does not keep."
_UNSOLVABLE = 1
"""uv's exit code where no set of versions fits, or one of them cannot be built; others mean that it failed itself."""
_CAUSE = re.compile(r"\n\s*cause:")
_PREFIX = re.compile(r"^\s*(?:error|hint):")
_OTHER_FOLDERS = ("UV_PROJECT", "UV_WORKING_DIR", "UV_WORKING_DIRECTORY", "UV_ENV_FILE")
"""Variables that would lead uv to another folder than the one that it is called in."""
_CONFIGURATION = ("uv.toml", "pyproject.toml")


class Unsolvable(IrbenchError):
    """uv answered that what was asked for cannot be had."""


def call_uv(*arguments: str, stdin: str | None = None) -> str:
    """Call uv and return what it wrote to its standard output.

    Args:
        arguments: Those of its command line; paths are absolute.
        stdin: What it reads; ``None`` for nothing.

    Raises:
        Unsolvable: No version fits.
        IrbenchError: uv is not installed, failed in another way, or is configured with places in the current folder.
    """
    command = [_uv(), "--quiet", "--color", "never", *arguments]
    require_absolute_places()
    try:
        with _neutral_folder() as folder:
            done = subprocess.run(
                command,
                input=stdin or "",
                capture_output=True,
                text=True,
                timeout=_DEADLINE_S,
                check=False,
                cwd=folder,
                env=clean_environment(_OTHER_FOLDERS),
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


@contextmanager
def _neutral_folder() -> Iterator[Path]:
    """Yield a folder in which uv finds no configuration, nor looks for one in those above."""
    with scratch_folder() as folder:
        for name in _CONFIGURATION:
            (folder / name).touch()
        yield folder


def _uv() -> str:
    """Return the uv on the user's path, otherwise the one beside the interpreter.

    Raises:
        IrbenchError: There is neither.
    """
    beside = Path(sys.executable).parent
    found = find_program("uv") or shutil.which("uv", path=str(beside))
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
