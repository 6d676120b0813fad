"""Freeze idle workers, so that the spinning threads of a runtime cannot disturb the cell that is measured."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from irbench.measure.clock import now_ns, sleep
from irbench.measure.kernel_evidence import schedstat_ns

SUPPORTED = sys.platform == "linux" and not os.environ.get("IRBENCH_NO_FREEZE")
"""Whether processes can be stopped and awaited here; ``IRBENCH_NO_FREEZE`` turns it off."""

_IDLE_GAP_S = 0.005
_LONGEST_WAIT_NS = 1_000_000_000
_ATTEMPTS = 5
ATTEMPT_NS = 2_000_000_000
_POLL_S = 50e-6
_MOMENT_S = 0.05


def freeze(process_id: int) -> None:
    """Stop a worker's process group and return once the worker stands still.

    ``kill`` returns before the threads have stopped; ``waitid`` tells when they have. A thread that is just starting a
    program (``vfork``) cannot stop before that program has begun, which is stopped too: letting both run again for a
    moment frees them.

    Args:
        process_id: The worker, which leads its own process group and is a child of this process.

    Raises:
        ProcessLookupError: It is gone.
        ChildProcessError: It is gone and was already waited for.
        TimeoutError: A thread waits in the kernel for what does not come.
    """
    for _ in range(_ATTEMPTS):
        os.killpg(process_id, signal.SIGSTOP)
        if _stands_still(process_id):
            return
        os.killpg(process_id, signal.SIGCONT)
        sleep(_MOMENT_S)
    raise TimeoutError(f"process {process_id} cannot be stopped")


def is_stopped(process_id: int) -> bool:
    """Whether a child of this process stands still, whoever stopped it."""
    try:
        return os.waitid(os.P_PID, process_id, os.WSTOPPED | os.WNOWAIT | os.WNOHANG) is not None
    except ChildProcessError:
        return False


def _stands_still(process_id: int) -> bool:
    started = now_ns()
    while now_ns() - started < ATTEMPT_NS:
        if os.waitid(os.P_PID, process_id, os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None:
            return True
        sleep(_POLL_S)
    return False


def thaw(process_id: int) -> None:
    """Let a frozen process group run again."""
    os.killpg(process_id, signal.SIGCONT)


def wait_until_idle(process_id: int) -> None:
    """Wait, for a second at most, until a process's CPU time stands still for 5 ms: what is left without freezing.

    Nothing is said of one that does not come to rest: a launch without freezing is marked as a whole.
    """
    folder = Path("/proc") / str(process_id)
    started = now_ns()
    before = _cpu_ns(folder)
    while now_ns() - started < _LONGEST_WAIT_NS:
        sleep(_IDLE_GAP_S)
        after = _cpu_ns(folder)
        if after == before:
            return
        before = after


def _cpu_ns(folder: Path) -> int:
    try:
        return schedstat_ns(folder)[0]
    except (OSError, IndexError, ValueError):
        return 0
