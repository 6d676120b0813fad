"""Whether a file of weights that a model names may be opened, and what is said where it may not."""

from __future__ import annotations

import stat
from pathlib import Path, PurePosixPath
from shlex import quote

from irbench.errors import IrbenchError

__all__ = ["size_of_file"]

_FROM_MEMORY = "*/_ORT_MEM_ADDR_/*"
"""At this location ONNX Runtime takes the offset for an address in its own memory."""


def size_of_file(folder: Path, location: str) -> int:
    """Return the size in bytes of a file of weights.

    Args:
        folder: The model's.
        location: What the model says.

    Raises:
        IrbenchError: It leads out of the folder or over a link, or is no file that is there.
    """
    parts = PurePosixPath(location)
    outside = parts.is_absolute() or ".." in parts.parts or location.startswith(_FROM_MEMORY) or "\0" in location
    if outside or not parts.parts:
        raise IrbenchError(
            f"The model refers to weights at '{location}', outside its own folder.",
            hint="Move the file next to the model, and save the model again with a relative location.",
        )
    origin = folder / parts
    _refuse_links(folder, origin, location)
    try:
        status = origin.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise IrbenchError(
            f"The model's weights '{location}' are missing.", hint=f"Copy the file to {origin}."
        ) from error
    except OSError as error:  # a closed folder, or a name too long for any file
        raise IrbenchError(
            f"The model's weights '{location}' cannot be opened: {error.strerror or error}.",
            hint=f"Copy the file to {folder}, and see that you can read it.",
        ) from error
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe" if stat.S_ISFIFO(status.st_mode) else "no file"
        raise IrbenchError(
            f"The model's weights '{location}' are {kind}.", hint=f"Copy the file of weights to {origin} in its place."
        )
    return status.st_size


def _refuse_links(folder: Path, origin: Path, location: str) -> None:
    """Refuse weights that are reached over a link, which may lead to any file of the user's.

    Raises:
        IrbenchError: They are.
    """
    try:
        inside, target = folder.resolve(), origin.resolve()
    except (OSError, RuntimeError):  # a loop of links, or a name too long; opening it says which
        return
    if target == inside / PurePosixPath(location):
        return
    if not _is_there(target):
        raise IrbenchError(
            f"The model's weights '{location}' are a symbolic link to {target}, which cannot be reached.",
            hint=f"Copy the file that is meant to {origin}, in place of the link.",
        )
    copy = f"ake a copy without links: cp -rL {quote(str(folder))} COPY"
    leads_out = not target.is_relative_to(inside)
    raise IrbenchError(
        f"The model's weights '{location}' are a symbolic link to {target}, which runtimes refuse.",
        hint=f"That is outside the model's folder. If it is what you want to read, m{copy}"
        if leads_out
        else f"M{copy}",
    )


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a folder around it is closed
        return False
