"""irbench's own folder, and one that stands in for it where it cannot be written.

In a container the user may be any number, without a home folder, and the image read-only. What is kept in the folder
can be made again, so a private folder among the temporary files serves as well until they are removed.
"""

from __future__ import annotations

import contextlib
import os
import stat
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from irbench.system.home_warning import HOME_VARIABLE, HomeWarning

_PRIVATE, _OF_OTHERS = 0o700, 0o077


def home() -> Path:
    """Return the folder in which things are kept; it may have to be made.

    It is ``IRBENCH_HOME``, or one in the user's cache folder. Where this user may not write there, it is a folder among
    the temporary files that no other user can read, and a :class:`~irbench.system.home_warning.HomeWarning` says so.
    """
    chosen = _wanted()
    if chosen is not None and _may_be_written(chosen):
        return chosen
    used = _stand_in()
    if _is_private(used, make=True):
        _warn_once(chosen, used)
        return used
    return chosen or used  # writing there fails with the reason


def homes() -> tuple[Path, ...]:
    """Return the folders in which things are looked for, the one where they are kept first; does not make any."""
    chosen = _wanted()
    if chosen is not None and _may_be_written(chosen):
        return (chosen,)
    used = _stand_in()
    return tuple(folder for folder in (used if _is_private(used) else None, chosen) if folder is not None)


def _wanted() -> Path | None:
    """Return the folder that was named, or that in the user's cache; ``None`` for a user without a home folder."""
    chosen = os.environ.get(HOME_VARIABLE)
    if chosen:
        return Path(os.path.expanduser(chosen)).absolute()  # noqa: PTH111 - Path's raises where no home is known
    import platformdirs

    return _of_user(partial(platformdirs.user_cache_path, "irbench", appauthor=False))


def data_home() -> Path | None:
    """Return the folder of irbench among the user's data; ``None`` for a user without a home folder."""
    import platformdirs

    return _of_user(partial(platformdirs.user_data_path, "irbench"))


def _of_user(place: Callable[[], Path]) -> Path | None:
    """Return a folder below the user's home; where that is unknown, platformdirs raises or, formerly, leaves a "~"."""
    try:
        folder = place()
    except RuntimeError:
        return None
    return folder if folder.is_absolute() else None


def _may_be_written(folder: Path) -> bool:
    """Whether permissions allow writing to a folder, or making it; other obstacles show when something is written."""
    for place in (folder, *folder.parents):
        try:
            status = place.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            return not isinstance(error, PermissionError)  # a folder above it may not be looked into
        return not stat.S_ISDIR(status.st_mode) or os.access(place, os.W_OK | os.X_OK)
    return True


def _stand_in() -> Path:
    """Return the folder of this user among the temporary files."""
    # not tempfile.gettempdir(): a worker's is its own
    return Path(os.environ.get("TMPDIR") or "/tmp") / f"irbench-{os.getuid()}"  # noqa: S108 - it is checked


def _is_private(folder: Path, *, make: bool = False) -> bool:
    """Whether a folder is this user's alone: others may have put something of that name among the temporary files."""
    try:
        if make:
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=_PRIVATE)
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & _OF_OTHERS


@cache
def _warn_once(preferred: Path | None, used: Path) -> None:
    warnings.warn(HomeWarning(preferred, used), stacklevel=3)
