"""What runs beside a model, each in a process of its own: pressure of irbench's own, another model, or a command.

A host is told to :meth:`press`, and asked what it has :meth:`counted` since some moment in the past. Its process is
frozen in between.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from irbench.core.record import NeighbourActivity
from irbench.errors import IrbenchError
from irbench.measure.clock import now_ns, process_cpu_ns
from irbench.measure.disturbances import PROC, read_processes, tree, tree_cpu_ns
from irbench.measure.pacing import precise_sleep
from irbench.measure.pressure import PressureProgram
from irbench.spec import Neighbour
from irbench.system.programs import clean_environment
from irbench.worker.cell import CellTask
from irbench.worker.cell_hosts import RunHost
from irbench.worker.watchdog import descendants

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
            self._process = subprocess.Popen(shlex.split(command), stdin=subprocess.DEVNULL, env=clean_environment())
        except OSError as error:
            raise IrbenchError(f"{command} cannot be started: {error.strerror}.", hint="Name a program.") from error

    def press(self, _intensity: int) -> None:
        """Make sure that it still runs, or has left a daemon that does.

        Raises:
            IrbenchError: It has ended.
        """
        code = self._process.poll()
        unread = os.WEXITED | os.WNOHANG | os.WNOWAIT  # leaves the command's exit code for poll
        with suppress(ChildProcessError):  # this process, which adopts daemons, has no children any more
            while (ended := os.waitid(os.P_ALL, 0, unread)) is not None and ended.si_pid != self._process.pid:
                os.waitpid(ended.si_pid, 0)
        if code or (code == 0 and not descendants({os.getpid()})):
            raise IrbenchError(
                f"the command ended with exit code {code}.", hint="Give one that runs until it is stopped."
            )

    def counted(self) -> NeighbourActivity:
        """Return what it and its descendants did since it was started; raises as :meth:`press` does."""
        self.press(0)
        processes = read_processes(PROC)
        own = os.getpid()
        running_ns = tree_cpu_ns(tree(own, processes) - {own}, processes)
        return NeighbourActivity(now_ns(), running_ns + processes[own].children_cpu_ns)


class ModelHost(RunHost):
    """Holds another model, which is called again and again."""

    def __init__(self, task: CellTask) -> None:
        super().__init__(task)
        self._repeated: RepeatedCalls | None = None

    def begin(self, rate: float | None) -> None:
        """Call it from now on: so often in a second, or as soon as it has answered."""
        self._repeated = RepeatedCalls(self._calls(), rate)

    def press(self, _intensity: int) -> None:
        """Begin a turn: the call that was under way when it was frozen is no sample of anything."""
        assert self._repeated is not None
        self._repeated.begin_turn()

    def counted(self) -> NeighbourActivity:
        """Return what it did since some moment in the past, with the calls that ended since it was asked last."""
        assert self._repeated is not None
        return NeighbourActivity(now_ns(), process_cpu_ns(os.getpid()), call_ns=self._repeated.taken_ns())


class RepeatedCalls:
    """Calls that threads make again and again, in turns between which the process is frozen.

    At a rate, each turn begins at a random phase: if all began alike, none of the rounds of a turn would meet the
    calls of a low rate, or each would.

    Args:
        calls: One for each thread.
        rate: How many all threads together make in a second; ``None`` calls again as soon as it has answered.
        draw: Returns a phase at random, from 0 to 1.

    Attributes:
        pace_ns: From one call of a thread to its next.
    """

    def __init__(
        self,
        calls: Sequence[Callable[[], object]],
        rate: float | None,
        draw: Callable[[], float] | None = None,
    ) -> None:
        self.pace_ns = 0 if rate is None else round(1e9 * len(calls) / rate)
        self._draw = draw or np.random.default_rng().random
        self._changed = threading.Condition()
        self._turn = self._entered = 0
        self._threads = len(calls)
        self._call_ns: list[int] = []
        for call in calls:
            threading.Thread(target=self._repeat, args=(call,), daemon=True).start()
        with self._changed:
            self._wait_for_threads()

    def begin_turn(self) -> None:
        """Wait until calls that are under way have ended, and count those that begin from now on."""
        with self._changed:
            self._turn += 1
            self._entered = 0
            self._changed.notify_all()
            self._wait_for_threads()
            self._call_ns.clear()

    def taken_ns(self) -> NDArray[np.int64]:
        """Return how long calls of the turn took that ended since this was asked last, int64."""
        with self._changed:
            calls, self._call_ns = self._call_ns, []
        return np.array(calls, np.int64)

    def _wait_for_threads(self) -> None:
        self._changed.wait_for(lambda: self._entered == self._threads, _LONGEST_CALL_S)

    def _repeat(self, call: Callable[[], object]) -> None:
        turn, due_ns = -1, 0
        with precise_sleep():
            while True:
                turn, due_ns = self._until_due(turn, due_ns)
                began_ns = now_ns()
                call()
                ended_ns = now_ns()
                with self._changed:
                    if turn == self._turn:
                        self._call_ns.append(ended_ns - began_ns)
                due_ns = max(due_ns + self.pace_ns, ended_ns)  # calls that could not be made are not made up for

    def _until_due(self, turn: int, due_ns: int) -> tuple[int, int]:
        """Wait until a call is due, in the turn that has begun meanwhile; return that turn and when it was due."""
        with self._changed:
            while True:
                if turn != self._turn:
                    turn, due_ns = self._turn, now_ns() + round(self._draw() * self.pace_ns)
                    self._entered += 1
                    self._changed.notify_all()
                left_ns = due_ns - now_ns()
                if left_ns <= 0:
                    return turn, due_ns
                self._changed.wait(left_ns / 1e9)
