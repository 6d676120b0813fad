"""Folders that go with their process: at once where it ends in order, at the next use where it was killed."""

from __future__ import annotations

import tempfile
from contextlib import AbstractContextManager
from pathlib import Path

from irbench.system.locks import temporary_folder

__all__ = ["scratch_folder"]


def scratch_folder() -> AbstractContextManager[Path]:
    """Return a context with an empty folder; those whose owners were killed are removed when it is entered.

    Raises:
        OSError: The folder for temporary files cannot be written.
    """
    return temporary_folder(Path(tempfile.gettempdir()), "irbench-scratch-")
