"""A cell that is called for a long time: blocks of calls, and the process's memory at the end of each."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from irbench.worker.cell import CellHost, CellTask

_RESIDENT = 1
"""The field of ``/proc/PID/statm`` that counts resident pages; see proc(5)."""


@dataclass(frozen=True)
class SoakBlock:
    """One block of calls.

    Attributes:
        calls: How many were made, settle calls included.
        wall_ns: Duration of the block, in nanoseconds.
        median_ns: Median latency of a call, in nanoseconds.
        resident_bytes: The process's resident memory after the last call; ``None`` where the kernel does not report it.
    """

    calls: int
    wall_ns: int
    median_ns: int
    resident_bytes: int | None


class SoakHost(CellHost):
    """Holds one cell's session, as for a run, and calls it in blocks.

    Args:
        task: The cell.
    """

    def __init__(self, task: CellTask) -> None:
        super().__init__(task)
        self._blocks = 0

    def block(self, samples: int) -> SoakBlock:
        """Take so many samples, and read the memory when the last one has ended.

        Inputs that take turns go on where those of the last block ended; blocks are of the same length.
        """
        streams, calls_per_sample = self._task.cell.load.streams, self._calls_per_sample
        first = self._blocks * samples * calls_per_sample
        round_ = self.take_round(self._blocks, samples, settle_calls=1, first=first)
        self._blocks += 1
        # besides the samples: one call of each stream before the window opens, and what is in flight when it closes
        calls = samples * calls_per_sample + 2 * streams - 1
        median_ns = round(float(np.median(round_.latency_ns)) / calls_per_sample)
        return SoakBlock(calls, round_.evidence.wall_ns, median_ns, resident_bytes())


def resident_bytes(process: Path = Path("/proc/self")) -> int | None:
    """Return a process's resident memory in bytes; ``None`` where the kernel does not report it.

    Args:
        process: Its folder in ``/proc``.
    """
    try:
        return int((process / "statm").read_text().split()[_RESIDENT]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return None
