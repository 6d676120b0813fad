"""The logs of a run's workers, as they are taken along to another store or archive."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

from irbench.result import RunDocument
from irbench.store.files import readable
from irbench.store.folders import LOGS
from irbench.system.regular_files import open_regular

_LOG = re.compile(r"(?P<worker>.+?)(-\d+)?\.log", re.ASCII)
"""Of a row, of one of its instances (``ort-2.log``), or of a process that keeps a processor busy."""
_NEIGHBOUR = "neighbour"


def read_logs(run: Path, document: RunDocument, most_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the end of each log of a run, sorted; a run that fails says why last.

    Files of other names are left out, and nothing is read through a link: the folder may be from elsewhere, hold what
    irbench never wrote, and lead to files that are nobody else's business.

    Args:
        run: The run's folder.
        document: The run's, with the rows that may have logs.
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
        workers = {cell.id for group in document.groups for cell in group.cells} | {_NEIGHBOUR}
        for name in sorted(name for name in os.listdir(descriptor) if _is_of(name, workers)):  # noqa: PTH208 - of a descriptor
            with readable(folder / name), open_regular(name, follow=False, folder=descriptor) as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - most_bytes))
                yield name, file.read(most_bytes)
    finally:
        os.close(descriptor)


def _is_of(name: str, workers: AbstractSet[str]) -> bool:
    """Whether a file is named as the log of one of these workers is."""
    found = _LOG.fullmatch(name)
    return found is not None and name.isprintable() and bool({found["worker"], name.removesuffix(".log")} & workers)
