"""Runs that callers of Python name: by a text or a folder, or by what another call returned."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Protocol, TypeAlias, Union

from irbench.errors import IrbenchError


class StoredRun(Protocol):
    """What ``run``, ``load`` and ``results`` return."""

    @property
    def folder(self) -> str | PathLike[str]:
        """Where it is stored."""
        ...


RunName: TypeAlias = Union[str, "PathLike[str]", StoredRun]
"""A run: its name, its id or the beginning of its id, its folder, ``latest``, or what ``run``, ``load`` or ``results``
returned."""


def run_name(run: RunName) -> str:
    """Return the text by which the store finds a run.

    Raises:
        IrbenchError: It is no run.
    """
    if isinstance(run, (str, PathLike)):
        return fspath(run)
    folder = getattr(run, "folder", None)
    if folder is None:
        raise IrbenchError(
            f"A value of type {type(run).__name__} is not a run.",
            hint="Give its name, its id, its folder, or what irbench.run, load or results returned.",
        )
    return str(folder)
