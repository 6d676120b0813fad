"""Whether a file of weights that a model names may be opened, and what is said where it may not."""

from __future__ import annotations

import errno
import os.path
import stat
from pathlib import Path, PurePosixPath
from shlex import quote

from irbench.errors import IrbenchError

_FROM_MEMORY = "*/_ORT_MEM_ADDR_/*"
"""At this location ONNX Runtime takes the offset for an address in its own memory."""

_LONGEST = 80
_SAVE_AGAIN = "save the model again with a relative location."


def size_of_file(folder: Path, location: str) -> int:
    """Return the size in bytes of a file of weights."""
    if invalid := _invalid_location(folder, location):
        raise invalid
    origin, shown = folder / PurePosixPath(location), shortened(location)
    _refuse_links(folder, origin, location)
    try:
        status = origin.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise IrbenchError(f"The model's weights '{shown}' are missing.", hint=f"Copy the file to {origin}.") from error
    except OSError as error:  # a closed folder, or a name too long for any file
        hint = f"Copy the file to {folder}, and see that you can read it."
        if error.errno == errno.ENAMETOOLONG:
            hint = "Save the model again with a shorter location."
        raise IrbenchError(
            f"The model's weights '{shown}' cannot be opened: {error.strerror or error}.", hint=hint
        ) from error
    if not stat.S_ISREG(status.st_mode):
        raise _not_regular(origin, shown, status.st_mode)
    return status.st_size


def shortened(text: str) -> str:
    """Return a text of a model as errors quote it: its beginning where it is longer than any name in use."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text):,} characters)"


def _invalid_location(folder: Path, location: str) -> IrbenchError | None:
    parts = PurePosixPath(location)
    if not location:
        return IrbenchError(
            "The model says that weights are in another file, and not in which: their location is empty.",
            hint=f"Export the model again, or {_SAVE_AGAIN}",
        )
    if "\0" in location or location.startswith(_FROM_MEMORY):
        return IrbenchError(
            f"The model refers to weights at '{shortened(location)}', which no file can be called.",
            hint=f"Export the model again, or {_SAVE_AGAIN}",
        )
    if not parts.is_absolute() and ".." not in parts.parts:
        return None
    return _crooked_location(folder.absolute(), location)


def _crooked_location(folder: Path, location: str) -> IrbenchError:
    """Return what to say of an absolute location, or one with ``..`` in it."""
    parts = PurePosixPath(location)
    within = os.path.relpath(os.path.normpath(folder / parts), os.path.normpath(folder))
    if PurePosixPath(within).parts[:1] == ("..",):
        return IrbenchError(
            f"The model refers to weights at '{shortened(location)}', outside its own folder.",
            hint=f"Move the file next to the model, and {_SAVE_AGAIN}",
        )
    form = "an absolute path" if parts.is_absolute() else "a path with '..' in it"
    return IrbenchError(
        f"The model refers to weights at '{shortened(location)}', which is {form}.",
        hint=f"Runtimes refuse that. Save the model again with the location '{shortened(within)}'."
        if within != "."
        else f"That is a folder. Export the model again, or {_SAVE_AGAIN}",
    )


def _not_regular(origin: Path, shown: str, mode: int) -> IrbenchError:
    if stat.S_ISDIR(mode):
        return IrbenchError(
            f"The model's weights '{shown}' are a folder.",
            hint=f"Save the model again with the location of a file, or put the file of weights where {origin} is, "
            "in place of the folder.",
        )
    kind = "a pipe" if stat.S_ISFIFO(mode) else "no file"
    return IrbenchError(
        f"The model's weights '{shown}' are {kind}.", hint=f"Remove {origin}, and copy the file of weights there."
    )


def _refuse_links(folder: Path, origin: Path, location: str) -> None:
    """Refuse weights that are reached over a link, which may lead to any file of the user's."""
    try:
        inside, target = folder.resolve(), origin.resolve()
    except (OSError, RuntimeError):  # a loop of links, or a name too long; opening it says which
        return
    if target == inside / PurePosixPath(location):
        return
    shown = shortened(location)
    if not _is_there(target):
        raise IrbenchError(
            f"The model's weights '{shown}' are a symbolic link to {target}, which cannot be reached.",
            hint=f"Copy the file that is meant to {origin}, in place of the link.",
        )
    copy = f"ake a copy without links: cp -rL {quote(str(folder))} COPY"
    leads_out = not target.is_relative_to(inside)
    raise IrbenchError(
        f"The model's weights '{shown}' are a symbolic link to {target}, which runtimes refuse.",
        hint=f"That is outside the model's folder. If it is what you want to read, m{copy}"
        if leads_out
        else f"M{copy}",
    )


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a folder around it is closed
        return False
