"""How far apart two processors are: a ping-pong over shared memory between two pinned processes.

A virtual machine's processors move between *near* (same cache) and *far* (another die) for
seconds to minutes. That makes a small two-threaded model 1.6 times slower, and no other counter sees it.

The peer is a process of each launch, so this module imports little.
"""

from __future__ import annotations

import mmap
import os
import signal
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Self

from irbench.measure.clock import now_ns
from irbench.system.programs import python_process

_PING, _PONG = 0, 64
"""Offsets in the shared page, a cache line apart."""
_BATCHES, _EXCHANGES = 9, 40
_MOST_SPINS = 100_000


class CoreLink:
    """A pinned peer process to play ping-pong with; ``None``-like where only one processor is allowed."""

    def __init__(self, cpus: tuple[int, ...]) -> None:
        self._cpus = cpus
        self._peer: subprocess.Popen[bytes] | None = None
        if len(cpus) < 2 or not hasattr(os, "memfd_create"):
            return
        descriptor = os.memfd_create("irbench-corelink")
        os.ftruncate(descriptor, mmap.PAGESIZE)
        self._page = mmap.mmap(descriptor, mmap.PAGESIZE)
        arguments = (str(descriptor), str(cpus[1]), str(os.getpid()))
        command, environment = python_process("-m", "irbench.measure.core_to_core", *arguments)
        self._peer = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=(descriptor,),
            start_new_session=True,
            env=environment,
        )
        os.close(descriptor)

    def core_to_core_ns(self) -> float | None:
        """Return half a round trip between the first two allowed processors, interpreter included, in nanoseconds.

        Takes under a millisecond. ``None`` with one processor, or when the peer did not answer.
        """
        if self._peer is None or self._peer.stdin is None or self._peer.poll() is not None:
            return None
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {self._cpus[0]})
        try:
            self._page[_PING] = self._page[_PONG] = 0
            self._peer.stdin.write(b"!")
            self._peer.stdin.flush()
            return self._play()
        except BrokenPipeError:
            return None
        finally:
            os.sched_setaffinity(0, allowed)

    def _play(self) -> float | None:
        page = self._page
        trips: list[float] = []
        turn = 0
        for batch in range(_BATCHES + 1):
            start_ns = now_ns()
            for _ in range(_EXCHANGES):
                turn = turn % 255 + 1
                page[_PING] = turn
                # the peer has yet to wake up in the first batch, which is therefore not counted
                spins = _MOST_SPINS if batch else 50 * _MOST_SPINS
                while page[_PONG] != turn:
                    spins -= 1
                    if not spins:
                        return None
            trips.append((now_ns() - start_ns) / _EXCHANGES / 2)
        return statistics.median(trips[1:])

    def close(self) -> None:
        """End the peer."""
        if self._peer is None:
            return
        self._peer.kill()
        self._peer.wait()
        if self._peer.stdin is not None:
            self._peer.stdin.close()
        self._page.close()
        self._peer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def peer(descriptor: int, cpu: int, coordinator: int) -> None:
    """Answer pings from the coordinator until its end of the pipe closes. Runs in the peer process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.sched_setaffinity(0, {cpu})
    page = mmap.mmap(descriptor, mmap.PAGESIZE)
    while os.read(0, 1) and Path(f"/proc/{coordinator}").exists():
        turn = 0
        for _ in range((_BATCHES + 1) * _EXCHANGES):
            turn = turn % 255 + 1
            spins = _MOST_SPINS
            while page[_PING] != turn and spins:
                spins -= 1
            if not spins:
                break
            page[_PONG] = turn


if __name__ == "__main__":
    peer(*map(int, sys.argv[1:]))
