"""How uv is configured: by variables, and by files of the user and of the system; never by the current folder."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from irbench.errors import IrbenchError

__all__ = ["digest_of_settings", "require_absolute_places"]

_PLACES = (
    "UV_INDEX", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_CONFIG_FILE",
    "UV_CONSTRAINT", "UV_OVERRIDE", "UV_BUILD_CONSTRAINT", "UV_CACHE_DIR",
)  # fmt: skip
"""Variables that name addresses or paths."""
_CHOICES = (
    "UV_NO_CONFIG", "UV_NO_INDEX", "UV_INDEX_STRATEGY", "UV_EXCLUDE_NEWER", "UV_PRERELEASE", "UV_RESOLUTION",
    "UV_TORCH_BACKEND",
)  # fmt: skip
"""Variables that decide, with those, what is installed."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_INDEX_NAME = re.compile(r"[A-Za-z0-9._-]+=")
_CONFIGURATION = Path("uv") / "uv.toml"


def require_absolute_places() -> None:
    """Refuse variables of uv that name something in the current folder, which may be a stranger's.

    Raises:
        IrbenchError: There is one.
    """
    for name in _PLACES:
        for place in re.split(r"[\s,]+", os.environ.get(name, "").strip()):
            path = _INDEX_NAME.sub("", place, count=1) if name.endswith("INDEX") else place
            if path and not Path(path).is_absolute() and _ADDRESS.match(path) is None:
                raise IrbenchError(
                    f"{name} is not used: {path} is a place in the current folder.",
                    hint=f"Name it from the root if you trust what it holds: {name}={Path(path).absolute()}",
                )


def digest_of_settings() -> str:
    """Return a digest of all that decides which index uv asks, and what it takes from there."""
    found = hashlib.sha256()
    for name in (*_PLACES, *_CHOICES):
        found.update(f"{name}={os.environ.get(name, '')}\0".encode())
    for path in _files():
        found.update(_content(path) + b"\0")
    return found.hexdigest()


def _files() -> Iterator[Path]:
    """Yield the files that uv reads wherever it is called."""
    if "UV_CONFIG_FILE" in os.environ:
        yield Path(os.environ["UV_CONFIG_FILE"])
        return
    yield Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / _CONFIGURATION
    for folder in (os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep):
        yield Path(folder) / _CONFIGURATION
    yield Path("/etc") / _CONFIGURATION


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
