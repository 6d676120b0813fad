"""What travels to the coordinator in place of an answer where a call raised."""

from __future__ import annotations

import errno

from irbench.errors import ExitCode, IrbenchError
from irbench.worker.wire import Problem

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_MAKE_ROOM = "Make room on its disk, or name folders on another: IRBENCH_HOME for models, TMPDIR for temporary files."


def problem_of(error: BaseException) -> Problem:
    """Return message, hint and exit code of an exception, of whatever kind."""
    if isinstance(error, IrbenchError):
        return Problem(error.message, error.hint, int(error.exit_code))
    if isinstance(error, MemoryError):
        return Problem("It ran out of memory.", "Use a smaller batch or fewer streams.", None)
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return Problem(
            f"{error.filename or 'A file'} cannot be written: {error.strerror}.", _MAKE_ROOM, int(ExitCode.USAGE)
        )
    message = getattr(error, "message", None)
    hint = getattr(error, "hint", None)
    if isinstance(message, str) and isinstance(hint, str):  # a Refusal, or a plugin's exception of the same shape
        return Problem(message, hint, None)
    first_line = (str(error).strip().splitlines() or [""])[0]
    return Problem(f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__, "", None)
