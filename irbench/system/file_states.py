"""What a file contained, and whether it still does."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.system.file_access import open_regular

ALWAYS_READ_BYTES = 1 << 24
"""Smaller files are compared by content, however old they look."""
_UNCOUNTED = "__pycache__"
_NOT_FILES = tuple(map(Path, ("/proc", "/sys", "/dev")))


@dataclass(frozen=True)
class FileState:
    """The content of a file at one moment.

    Attributes:
        sha256: Of its content; empty where it is unknown, which no content equals.
        modified_ns: When its content was changed, as the file system keeps it.
        inode_changed_ns: When anything of it was changed; no program can set it back.
    """

    sha256: str
    size_bytes: int
    modified_ns: int
    inode_changed_ns: int


def digest(path: Path, *, follow: bool = True) -> str:
    """Return the SHA-256 of a file."""
    with open_regular(path, follow=follow) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def exists(path: Path) -> bool:
    """Return whether there is a file or folder; an invalid name is not an error."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Return whether there is a regular file; an invalid name or an unreadable folder around it is not an error."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Return whether there is a folder; an invalid name or an unreadable folder around it is not an error."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_utf8(path: Path | str) -> bool:
    """Whether a path is UTF-8, as all texts are that are stored."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def require_utf8(path: Path | str) -> None:
    """Refuse a path that cannot be stored.

    Raises:
        IrbenchError: It is not UTF-8.
    """
    if not is_utf8(path):
        raise IrbenchError(
            f"The path {os.fsencode(path).decode(errors='backslashreplace')} is not UTF-8.",
            hint="Rename the file or folder: results are stored as UTF-8.",
        )


def is_of_another_user(path: Path, *, follow: bool = True) -> bool:
    """Whether a file belongs to neither this user nor root; one that is not there belongs to nobody.

    Args:
        path: The file.
        follow: Whether it is what a symbolic link leads to, not the link itself.
    """
    try:
        return path.stat(follow_symlinks=follow).st_uid not in (os.getuid(), 0)
    except OSError:
        return False


def file_state(path: Path, settled_before_ns: int | None = None) -> FileState:
    """Return the state of a file.

    Args:
        path: A regular file.
        settled_before_ns: Since when it was read, in nanoseconds since 1970. The content of a file that was changed
            later is unknown: what was read may be the old one.
    """
    status = path.stat()
    unsettled = settled_before_ns is not None and status.st_ctime_ns >= settled_before_ns
    return FileState("" if unsettled else digest(path), status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def is_unchanged(path: Path, state: FileState) -> bool:
    """Return whether a file has the content that it had.

    A large file is not read where its size and times are the same.
    """
    try:
        if not path.is_file() or any(path.is_relative_to(folder) for folder in _NOT_FILES):
            return False
        status = path.stat()
        if not state.sha256 or status.st_size != state.size_bytes:
            return False
        times = (status.st_mtime_ns, status.st_ctime_ns)
        if status.st_size > ALWAYS_READ_BYTES and times == (state.modified_ns, state.inode_changed_ns):
            return True
        return digest(path) == state.sha256
    except (OSError, ValueError):  # a name that no file can have
        return False


def files_below(folder: Path) -> Iterator[Path]:
    """Yield every regular file in a folder and below it, sorted; links to folders are followed once.

    What cannot be looked at is left out, and so is a name that no folder can have.
    """
    seen: set[str] = set()
    if not exists(folder):
        return
    for root, folders, names in os.walk(folder, followlinks=True):
        seen.add(os.path.realpath(root))
        folders[:] = sorted(name for name in folders if os.path.realpath(Path(root, name)) not in seen)
        yield from (path for name in sorted(names) if is_file(path := Path(root, name)))


def names_digest(folder: Path, settled_before_ns: int | None = None) -> str:
    """Return a digest of the names in a folder; empty where it is not a folder, or was changed since that moment."""
    try:
        names = sorted(path.name for path in folder.iterdir() if path.name != _UNCOUNTED)
        changed_ns = folder.stat().st_ctime_ns
    except (OSError, ValueError):
        return ""
    if settled_before_ns is not None and changed_ns >= settled_before_ns:
        return ""
    return hashlib.sha256("\0".join(names).encode(errors="surrogateescape")).hexdigest()
