"""Finding programs that irbench starts, and the environment that they are started with.

An empty or relative entry of a search path is the folder that irbench is called in: the one that a model was downloaded
to, perhaps with a program, a module or a library of somebody else's beside it.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
from collections.abc import Container
from pathlib import Path

_SEARCHED = frozenset({"PATH", "PYTHONPATH", "LD_LIBRARY_PATH"})
_SEPARATORS = {"LD_LIBRARY_PATH": ":;"}
_SAFE_PATH = "PYTHONSAFEPATH"
_SET_HERE = "irbench"
"""Any text has Python leave the current folder out; this one tells what we set from what the user did."""
_OF_OUR_PYTHON = frozenset({"PYTHONPATH", "PYTHONHOME"})
"""Variables that would make another interpreter search our folders."""


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
    """Return the user's environment variables without the entries of search paths that depend on the current folder."""
    environment = {name: value for name, value in os.environ.items() if name not in without}
    if environment.get(_SAFE_PATH) == _SET_HERE:  # a script of the user's may import the modules beside it
        del environment[_SAFE_PATH]
    for name in environment.keys() & _SEARCHED:
        kept = _absolute_entries(environment[name], _SEPARATORS.get(name, os.pathsep))
        environment[name] = kept or (os.defpath if name == "PATH" else "")
        if not environment[name]:  # an empty text would be an entry again
            del environment[name]
    return environment


def python_process(
    *arguments: str, python: str | None = None, isolated: bool = False, without: Container[str] = ()
) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment of a Python that imports nothing from the folder that it is started in.

    Neither do those that it starts in turn. Every Python that irbench starts is started with this.

    Args:
        arguments: ``-m``, ``-c`` or a script, and what follows.
        python: Another interpreter, which is not told of our packages; ``None`` for ours.
        isolated: The standard library is all that it needs.
        without: Variables that it is not given.
    """
    environment = clean_environment(without)
    if python:
        environment = {name: value for name, value in environment.items() if name not in _OF_OUR_PYTHON}
    environment[_SAFE_PATH] = environment.get(_SAFE_PATH) or _SET_HERE
    return [python or sys.executable, *(("-I", "-S") if isolated else ("-P",)), *arguments], environment


def _absolute_entries(path: str, separators: str = os.pathsep) -> str:
    entries = re.split(f"[{separators}]", path)
    return os.pathsep.join(entry for entry in entries if Path(entry).is_absolute())
