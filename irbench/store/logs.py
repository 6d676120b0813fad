"""The logs of a run's workers, as they are taken along to another store or archive."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from irbench.store.files import readable
from irbench.store.folders import LOGS
from irbench.system.regular_files import open_regular

__all__ = ["read_logs"]

_SUFFIX = ".log"


def read_logs(run: Path, most_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the end of each log of a run, sorted; a run that fails says why last.

    Nothing is read through a link: the folder may be from elsewhere, and lead to files that are nobody else's business.

    Args:
        run: The run's folder.
        most_bytes: Of each log.

    Raises:
        IrbenchError: A log, or the folder of logs, is a link, of another kind, or cannot be read.
    """
    folder = run / LOGS
    if not os.path.lexists(folder):
        return
    with readable(folder):
        if folder.is_symlink():
            raise OSError(errno.ELOOP, "it is a symbolic link")
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        for name in sorted(name for name in os.listdir(descriptor) if name.endswith(_SUFFIX)):  # noqa: PTH208 - of a descriptor
            with readable(folder / name), open_regular(name, follow=False, folder=descriptor) as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - most_bytes))
                yield name, file.read(most_bytes)
    finally:
        os.close(descriptor)
