"""How uv is configured: by variables, and by files of the user and of the system; never by the current folder."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from irbench.errors import IrbenchError

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
_CONFIGURATION = Path("uv") / "uv.toml"


def require_absolute_places() -> None:
    """Refuse variables of uv that name something in the current folder, which may be a stranger's.

    Raises:
        IrbenchError: There is one.
    """
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
    found = hashlib.sha256()
    configured = [f"{name}={os.environ.get(name, '')}" for name in (*_INDEXES, *_CHOICES)]
    for text in (*configured, *map(_content, _files())):
        found.update(_CREDENTIALS.sub("", text).encode(errors="surrogateescape") + b"\0")
    return found.hexdigest()


def _places(name: str) -> list[str]:
    """Return what a variable names: one place, or several."""
    return [place for place in re.split(_PLACES[name], os.environ.get(name, "").strip()) if place]


def _files() -> Iterator[Path]:
    """Yield the files that decide what uv installs wherever it is called."""
    named = {name: [Path(place) for place in _places(name)] for name in _FILES}
    for files in named.values():
        yield from files
    if named["UV_CONFIG_FILE"]:
        return
    yield Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / _CONFIGURATION
    for folder in (os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep):
        yield Path(folder) / _CONFIGURATION
    yield Path("/etc") / _CONFIGURATION


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
