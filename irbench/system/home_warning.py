"""The warning that irbench's own folder cannot be written: a module without imports, as every command asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

HOME_VARIABLE = "IRBENCH_HOME"
"""Names the folder."""


class HomeWarning(UserWarning):
    """irbench's folder cannot be written, and another one stands in for it; issued once in a process.

    Attributes:
        wanted: The folder; ``None`` where the user has no home folder.
    """

    def __init__(self, preferred: Path | None, used: Path) -> None:
        self.wanted, self.used = preferred, used
        # words outside of render/, because Python itself shows them to whoever calls irbench from Python
        reason = "The user has no home folder" if preferred is None else f"{preferred} cannot be written"
        super().__init__(f"{reason}: models are kept in {used}. Set {HOME_VARIABLE} to a folder that you can write.")
