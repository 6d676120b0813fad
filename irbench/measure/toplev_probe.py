"""Whether toplev counts on this machine: it is tried once, attached to a short program as it is to a worker."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from irbench.counters.obstacles import NotPermitted, Obstacle, Said, ToplevFailed, obstacle_from_messages
from irbench.measure.clock import sleep
from irbench.measure.perf_stat import CountingFailed, TopLev
from irbench.system.locks import temporary_folder

_COUNTED_S = 0.3
"""Enough for each of its groups of events to have its turn on the counters."""
_PROGRAM = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    pass\n"
"""Computes until it is killed, or until who started it is gone."""


def toplev_obstacle(program: str, level: int, paranoid: int | None) -> Obstacle | None:
    """Return why toplev tells no nodes of a level here; ``None`` where it does.

    Args:
        program: It.
        level: Of Top-Down.
        paranoid: The kernel's level of perf_event_paranoid; ``None`` where it does not tell.
    """
    with (
        temporary_folder(Path(tempfile.gettempdir()), "irbench-toplev-") as folder,
        subprocess.Popen(
            [sys.executable, "-IS", "-c", _PROGRAM],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that Ctrl-C reaches irbench alone
        ) as busy,
    ):
        try:
            with TopLev(program, level, busy.pid, folder / "toplev") as toplev:
                sleep(_COUNTED_S)
                toplev.nodes()
        except CountingFailed as failed:
            return _obstacle(failed, paranoid)
        finally:
            busy.kill()
    return None


def _obstacle(failed: CountingFailed, paranoid: int | None) -> Obstacle:
    said = obstacle_from_messages(failed.messages, paranoid)
    return said if isinstance(said, NotPermitted) else ToplevFailed(Said(str(failed)))
