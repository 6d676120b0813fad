"""One call in a process of its own, which ends with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from irbench.system.confinement import Confinement
from irbench.worker.failures import WorkerDied
from irbench.worker.process import Worker
from irbench.worker.scratch import scratch_folder

_REMARK = re.compile(r"[IW]\d{4} |\d{4}-\d\d-\d\d [\d:.]+: [IW] |WARNING: All log messages before absl")
"""How what libraries log with glog or absl begins where it is no error: which devices there are, for example."""
_LAST_WORDS = 200


def call_in_worker(
    target: str,
    *args: Any,
    deadline_s: float,
    say: Callable[[Any], None] | None = None,
    environment: Mapping[str, str] | None = None,
    python: str | None = None,
    confinement: Confinement | None = None,
    returns: Any = Any,
    says: Any = Any,
) -> Any:
    """Run one function in a fresh process and return its result.

    Args:
        target: ``module:function``.
        args: Its arguments, pickled.
        deadline_s: The process is killed when it has not answered by then.
        say: Receives progress; the function then gets something to speak with as its last argument.
        environment: Variables to set besides the present ones.
        python: Another interpreter than ours; ``None`` for ours.
        confinement: As of :class:`Worker`.
        returns: The type of what it returns; another answer of a confined process is refused.
        says: The type of its progress; other progress of a confined process is refused too.

    Raises:
        IrbenchError: What the function raised, with its message, hint and exit code.
        WorkerDied: The process crashed or passed its deadline; the last line of its log is in the hint.
    """
    with (
        scratch_folder() as folder,
        Worker(folder / "log", environment=environment, python=python, confinement=confinement) as worker,
    ):
        try:
            return worker.ask(target, *args, deadline_s=deadline_s, say=say, returns=returns, says=says)
        except WorkerDied as error:
            # the log goes with the folder, so its last line must come along
            lines = [line for line in error.log_tail.splitlines() if _REMARK.match(line) is None]
            last = [f"The last it said: {line[-_LAST_WORDS:]}" for line in lines[-1:]]
            hint = " ".join(filter(None, [error.hint, *last]))
            raise type(error)(error.message, hint=hint, log_tail=error.log_tail, crash=error.crash) from None
