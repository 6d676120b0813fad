"""Calling uv. Which index it asks is the user's choice, and never that of a file beside a model.

uv reads ``uv.toml`` and ``pyproject.toml`` of the folder that it is called in and of those above, and what an index
there offers runs when it is installed. So it is called in a folder of its own, whose two files say nothing and end its
search. ``--no-config`` would leave out what the user configured for all projects, such as a mirror, as well.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from irbench.errors import ExitCode, IrbenchError
from irbench.system.installation import extra_command
from irbench.system.programs import clean_environment, find_program
from irbench.worker.scratch import scratch_folder

_SPACES, _COMMAS, _ONE = r"\s+", ",", r"\Z"
_INDEXES = {
    "UV_INDEX": _SPACES, "UV_DEFAULT_INDEX": _ONE, "UV_INDEX_URL": _ONE, "UV_EXTRA_INDEX_URL": _SPACES,
    "UV_FIND_LINKS": _COMMAS,
}  # fmt: skip
"""Variables that name addresses or folders of distributions, and what separates these."""
_FILES = {"UV_CONSTRAINT": _SPACES, "UV_OVERRIDE": _SPACES, "UV_BUILD_CONSTRAINT": _SPACES, "UV_CONFIG_FILE": _ONE}
"""Variables that name files whose content decides, likewise."""
_PLACES = {**_INDEXES, **_FILES, "UV_CACHE_DIR": _ONE}
"""All variables that name a place; where uv keeps what it downloaded changes nothing of what it installs."""
_CHOICES = (
    "UV_NO_CONFIG", "UV_NO_INDEX", "UV_INDEX_STRATEGY", "UV_EXCLUDE_NEWER", "UV_PRERELEASE", "UV_RESOLUTION",
    "UV_TORCH_BACKEND",
)  # fmt: skip
"""Variables that decide, with those, what is installed."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_CREDENTIALS = re.compile(r"(?<=://)[^/?#\s\"']*@")
_INDEX_NAME = re.compile(r"[A-Za-z0-9._-]+=")
_USER_CONFIGURATION = Path("uv") / "uv.toml"


def require_absolute_places() -> None:
    """Refuse variables of uv that name something in the current folder, which may be a stranger's."""
    for name in _PLACES:
        for place in _places(name):
            path = _INDEX_NAME.sub("", place, count=1) if name.endswith("INDEX") else place
            if not Path(path).is_absolute() and _ADDRESS.match(path) is None:
                raise IrbenchError(
                    f"{name} is not used: {path} is a place in the current folder.",
                    hint=f"Name it from the root if you trust what it holds: {name}={Path(path).absolute()}",
                )


def digest_of_settings() -> str:
    """Return a digest of all that decides which index uv asks, and what it takes from there.

    Who asks decides nothing: credentials may change, and an environment is used again.
    """
    digest = hashlib.sha256()
    configured = [f"{name}={os.environ.get(name, '')}" for name in (*_INDEXES, *_CHOICES)]
    for text in (*configured, *map(_content, _files())):
        digest.update(_CREDENTIALS.sub("", text).encode(errors="surrogateescape") + b"\0")
    return digest.hexdigest()


def _places(name: str) -> list[str]:
    return [place for place in re.split(_PLACES[name], os.environ.get(name, "").strip()) if place]


def _files() -> Iterator[Path]:
    """Yield the files that decide what uv installs wherever it is called."""
    named = {name: [Path(place) for place in _places(name)] for name in _FILES}
    for files in named.values():
        yield from files
    if named["UV_CONFIG_FILE"]:
        return
    yield Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / _USER_CONFIGURATION
    for folder in (os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep):
        yield Path(folder) / _USER_CONFIGURATION
    yield Path("/etc") / _USER_CONFIGURATION


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


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

    Paths among its arguments are absolute.

    Raises:
        Unsolvable: No version fits.
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
    beside = Path(sys.executable).parent
    program = find_program("uv") or shutil.which("uv", path=str(beside))
    if program is None:
        raise IrbenchError(
            "Environments with other versions are built by uv, which is not installed.",
            hint=f"Give the Python of an existing environment, or install uv with: {extra_command('versions')}",
            exit_code=ExitCode.NOT_INSTALLED,
        )
    return program


def _plain(text: str) -> str:
    """Return what uv wrote in one line, without the words that it begins lines with."""
    return " ".join(_PREFIX.sub("", _CAUSE.sub(":", text)).split())
