"""Finding programs that irbench starts, and the environment that they are started with.

An empty or relative entry of a search path is the folder that irbench is called in: the one that a model was downloaded
to, perhaps with a program, a module or a library of somebody else's beside it.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Container
from pathlib import Path

_SEARCHED = frozenset({"PATH", "PYTHONPATH", "LD_LIBRARY_PATH"})
_SEPARATORS = {"LD_LIBRARY_PATH": ":;"}


def find_program(name: str) -> str | None:
    """Return the path of a program in an absolute folder of ``PATH``; ``None`` where there is none."""
    return shutil.which(name, path=_absolute_entries(os.environ.get("PATH", os.defpath)))


def required_program(name: str) -> str:
    """Return what :func:`find_program` finds."""
    path = find_program(name)
    if path is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    return path


def clean_environment(without: Container[str] = ()) -> dict[str, str]:
    """Return our environment variables without the entries of search paths that depend on the current folder."""
    environment = {name: value for name, value in os.environ.items() if name not in without}
    for name in environment.keys() & _SEARCHED:
        kept = _absolute_entries(environment[name], _SEPARATORS.get(name, os.pathsep))
        environment[name] = kept or (os.defpath if name == "PATH" else "")
        if not environment[name]:  # an empty text would be an entry again
            del environment[name]
    return environment


def _absolute_entries(path: str, separators: str = os.pathsep) -> str:
    entries = re.split(f"[{separators}]", path)
    return os.pathsep.join(entry for entry in entries if Path(entry).is_absolute())
