"""A user's own code that is a row of a table, in place of a backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Program:
    """What runs a row that is no backend's.

    Attributes:
        kind: ``callable``: a function of Python that the row's process imports, and irbench times. ``command``: a
            program that the row's process starts, and that times itself.
        target: ``package.module:function`` or ``path/to/file.py:function``; or a command line as a shell takes it.
    """

    kind: Literal["callable", "command"]
    target: str
