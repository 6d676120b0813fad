"""What runs beside a model, each in a process of its own: pressure of irbench's own, another model, or a command.

A host is told to :meth:`press`, and asked what it has :meth:`counted` since some moment in the past. Its process is
frozen in between.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import threading
from collections.abc import Callable

import numpy as np

from irbench.core.record import NeighbourActivity
from irbench.errors import IrbenchError
from irbench.measure.clock import now_ns, process_cpu_ns, sleep
from irbench.measure.disturbances import PROC, read_processes, tree, tree_cpu_ns
from irbench.measure.pacing import precise_sleep
from irbench.measure.pressure import PressureProgram
from irbench.spec import Neighbour
from irbench.worker.cell import CellTask
from irbench.worker.cell_hosts import RunHost

_LONGEST_CALL_S = 60.0


class PressureHost:
    """Holds irbench's own program."""

    def __init__(self, neighbour: Neighbour) -> None:
        assert neighbour.kind != "model"
        assert neighbour.kind != "command"
        self._program = PressureProgram(neighbour.kind, neighbour.cpus, yields=neighbour.shares_processors)

    def press(self, intensity: int) -> None:
        """Work this share of the time from now on, in percent."""
        self._program.press(intensity)

    def counted(self) -> NeighbourActivity:
        """Return what was done since some moment in the past."""
        return self._program.counted()


class CommandHost:
    """Starts a command of the user's, which ends with this process."""

    def __init__(self, neighbour: Neighbour) -> None:
        command = neighbour.command_line
        try:
            self._process = subprocess.Popen(shlex.split(command), stdin=subprocess.DEVNULL)
        except OSError as error:
            raise IrbenchError(f"{command} cannot be started: {error.strerror}.", hint="Name a program.") from error

    def press(self, _intensity: int) -> None:
        """Make sure that it still runs.

        Raises:
            IrbenchError: It has ended.
        """
        code = self._process.poll()
        if code is not None:
            raise IrbenchError(
                f"the command ended with exit code {code}.", hint="Give one that runs until it is stopped."
            )

    def counted(self) -> NeighbourActivity:
        """Return what it and all that it started did since it was started; raises as :meth:`press` does."""
        self.press(0)
        processes = read_processes(PROC)
        return NeighbourActivity(now_ns(), tree_cpu_ns(tree(self._process.pid, processes), processes))


class ModelHost(RunHost):
    """Holds another model, which is called again and again."""

    def __init__(self, task: CellTask) -> None:
        super().__init__(task)
        self._call_ns: list[int] = []
        self._answered = threading.Event()

    def begin(self, rate: float | None) -> None:
        """Call it from now on: so often in a second, or as soon as it has answered."""
        pace_ns = 0 if rate is None else round(1e9 / rate)
        for call in self._calls():
            threading.Thread(target=self._repeat, args=(call, pace_ns), daemon=True).start()

    def press(self, _intensity: int) -> None:
        """Wait for an answer: the call that was under way when it was frozen is no sample of anything."""
        self._answered.clear()
        self._answered.wait(_LONGEST_CALL_S)
        self._call_ns.clear()

    def counted(self) -> NeighbourActivity:
        """Return what it did since some moment in the past, with the calls that ended since it was asked last."""
        calls, self._call_ns = self._call_ns, []
        return NeighbourActivity(now_ns(), process_cpu_ns(os.getpid()), call_ns=np.array(calls, np.int64))

    def _repeat(self, call: Callable[[], object], pace_ns: int) -> None:
        due_ns = now_ns()
        with precise_sleep():
            while True:
                began_ns = now_ns()
                call()
                ended_ns = now_ns()
                self._call_ns.append(ended_ns - began_ns)
                self._answered.set()
                due_ns = max(due_ns + pace_ns, ended_ns)  # calls that could not be made are not made up for
                if due_ns > ended_ns:
                    sleep((due_ns - ended_ns) / 1e9)
