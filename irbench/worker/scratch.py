"""Folders that go with their process: at once where it ends in order, at the next use where it was killed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.system.locks import temporary_folder


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield an empty folder, after removing those whose owners were killed."""
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(temporary_folder(Path(tempfile.gettempdir()), "irbench-scratch-"))
        except OSError as error:
            raise no_temporary_folder(error) from error
        yield folder


def no_temporary_folder(error: OSError) -> IrbenchError:
    """Return what to say where no folder for temporary files can be made."""
    return IrbenchError(
        f"There is no folder for temporary files: {error.strerror or error}.",
        hint="Set TMPDIR to a folder that you can write.",
    )
