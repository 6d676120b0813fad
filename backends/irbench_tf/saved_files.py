"""The files of a SavedModel are looked at before TensorFlow opens them: it follows links and waits for pipes."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from shlex import quote

from irbench.errors import IrbenchError

_MOST_BYTES = (1 << 31) - 1
"""Of one message of protobuf; TensorFlow reads these files as a whole."""


def require_own_files(path: Path) -> None:
    """Refuse a folder that holds anything but regular files and folders, or a message that is too long for protobuf.

    Args:
        path: The SavedModel, which may itself be reached through a link.

    Raises:
        IrbenchError: It names the file.
    """
    pending = [path]
    while pending:
        for entry in os.scandir(pending.pop()):
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                pending.append(Path(entry.path))
            elif stat.S_ISLNK(mode):
                raise IrbenchError(
                    f"{entry.path} is a link, and the files of a SavedModel must lie in its folder.",
                    hint=f"If you trust it, copy the folder and what its links name: cp -rL {quote(str(path))} COPY",
                )
            elif not stat.S_ISREG(mode):
                raise IrbenchError(f"{entry.path} is no regular file.", hint="Such a SavedModel is not to be trusted.")
            elif entry.name.endswith(".pb") and entry.stat().st_size > _MOST_BYTES:
                raise IrbenchError(
                    f"{entry.path} is larger than 2 GB, which TensorFlow cannot read.",
                    hint="Save the model again: its weights belong into the folder variables.",
                )
