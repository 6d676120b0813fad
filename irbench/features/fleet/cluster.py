"""A cluster of Dask as its coordinator sees it: which workers there are, and calls whose answers are bytes.

Nothing of Dask is in this process: :mod:`irbench.features.fleet.dask_process` speaks with the cluster, and is believed
no more than a target is. What it sends is checked as data, and bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import count

import msgspec

from irbench.errors import IrbenchError, one_line
from irbench.features.fleet.dask_process import (
    Answer,
    Call,
    Event,
    Failure,
    Member,
    Members,
    NotOpened,
    Open,
    Opened,
    Task,
    Withdraw,
    framed,
    read_frame,
)
from irbench.features.fleet.on_target.files import private_folder
from irbench.system.locks import temporary_folder
from irbench.system.prepared_types import prepared
from irbench.system.programs import python_process

_START_S = 60
_DEADLINES_S: Mapping[Task, float] = {"describe": 60, "clear": 60, "version": 60, "take_piece": 600}
"""By which a worker must have answered; what it measures takes as long as it takes."""
_SMALL_BYTES = 1 << 20
LARGEST_ANSWER_BYTES = 1 << 28
"""Of a job, whose answer is an archive of runs."""
_MOST_WORKERS = 10_000
_KEPT_VARIABLES = ("PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONSAFEPATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL")
"""All that the Dask side knows of our environment, in which there may be secrets."""


class TargetLost(Exception):
    """The worker of a call is gone."""


class SchedulerLost(IrbenchError):
    """The scheduler is gone, and with it every target."""

    def __init__(self) -> None:
        super().__init__("The scheduler of the cluster is gone.", hint="Start it again, and go on with --resume.")


class CallFailed(Exception):
    """A call did not return what it should; why is not known, because a target would say it by running code."""


class Cluster:
    """A cluster that runs, as long as the block of :func:`joined` lasts.

    Attributes:
        port: On which its scheduler is reached.
        changed: Set when workers came or went, or the scheduler is gone.
    """

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.port = port
        self.changed = asyncio.Event()
        assert process.stdin is not None
        self._process = process
        self._requests = process.stdin
        self._members: Mapping[str, Member] | None = None
        self._numbers = count()
        self._answers: dict[int, tuple[int, asyncio.Future[bytes]]] = {}
        self._is_over = False

    async def members(self) -> Mapping[str, Member]:
        """Return the workers by their names: the same object for as long as they do not change.

        Raises:
            SchedulerLost: The scheduler is gone.
        """
        while self._members is None and not self._is_over:
            await self.changed.wait()
            self.changed.clear()
        if self._is_over or self._members is None:
            raise SchedulerLost
        return self._members

    async def call(
        self,
        member: Member,
        task: Task,
        *arguments: bytes | str | int | bool,
        measures: bool = False,
        most_bytes: int = _SMALL_BYTES,
    ) -> bytes:
        """Return what a worker answers.

        Raises:
            TargetLost: The worker is gone.
            SchedulerLost: The scheduler is gone.
            CallFailed: The worker raised something, returned no bytes or too many, or did not answer in time.
        """
        if self._is_over:
            raise SchedulerLost
        number = next(self._numbers)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._answers[number] = (most_bytes, answer)
        try:
            self._write(Call(number, member.address, task, arguments, measures, most_bytes))
            async with asyncio.timeout(_DEADLINES_S.get(task)):
                with contextlib.suppress(ConnectionError):  # which listening finds out
                    await self._requests.drain()
                return await answer
        except TimeoutError as error:
            raise CallFailed from error
        finally:
            del self._answers[number]
            if not self._is_over and (answer.cancelled() or not answer.done()):
                self._write(Withdraw(number))  # not waited for: whoever gives up is not held up by who reads nothing

    async def listen(self) -> None:
        """Take in what the Dask side tells, until it is gone."""
        assert self._process.stdout is not None
        try:
            while (frame := await read_frame(self._process.stdout, LARGEST_ANSWER_BYTES + _SMALL_BYTES)) is not None:
                self._take(msgspec.msgpack.decode(frame, type=prepared(Event)))
        except (ValueError, RecursionError):  # msgspec's are ValueErrors too
            pass  # it is ended, since nothing more that it sends can be trusted
        finally:
            self._is_over = True
            self.changed.set()
            for _, answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(SchedulerLost())

    def _take(self, event: Event) -> None:
        match event:
            case Members(members):
                if len(members) > _MOST_WORKERS:
                    raise ValueError(f"{len(members)} workers")
                self._members = {member.name: member for member in members}
                self.changed.set()
            case Answer(number, data) if self._is_awaited(number):
                most_bytes, answer = self._answers[number]
                if len(data) > most_bytes:
                    answer.set_exception(CallFailed())
                else:
                    answer.set_result(data)
            case Failure(number, is_lost) if self._is_awaited(number):
                self._answers[number][1].set_exception(TargetLost() if is_lost else CallFailed())
            case _:  # nobody waits for it any more
                pass

    def _is_awaited(self, number: int) -> bool:
        return number in self._answers and not self._answers[number][1].done()

    def _write(self, request: Call | Withdraw) -> None:
        with contextlib.suppress(ConnectionError):
            self._requests.write(framed(request))


@asynccontextmanager
async def joined(request: Open) -> AsyncIterator[Cluster]:
    """Yield a cluster that is started, or joined where it runs.

    Raises:
        IrbenchError: It is not reached, or cannot be started.
    """
    with temporary_folder(private_folder("scratch"), "dask-") as folder:
        command, environment = python_process("-m", "irbench.features.fleet.dask_process", str(folder))
        environment = {name: value for name, value in environment.items() if name in _KEPT_VARIABLES}
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,  # tracebacks of Dask for what is told as events
            env={**environment, "TMPDIR": str(folder)},
            cwd=folder,
            start_new_session=True,  # Ctrl-C is for the coordinator, which ends the rest
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(framed(request))
            try:
                async with asyncio.timeout(_START_S):
                    first = await read_frame(process.stdout, _SMALL_BYTES)
                event = NotOpened("") if first is None else msgspec.msgpack.decode(first, type=prepared(Event))
            except (TimeoutError, ValueError, RecursionError):
                event = NotOpened("it does not answer")
            if not isinstance(event, Opened):
                raise _not_opened(request, event)
            cluster = Cluster(process, event.port)
            listening = asyncio.ensure_future(cluster.listen())
            try:
                yield cluster
            finally:
                listening.cancel()
                await asyncio.wait((listening,))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def _not_opened(request: Open, event: Event) -> IrbenchError:
    if isinstance(event, NotOpened) and event.is_unconfined:
        return IrbenchError(
            "This kernel cannot confine the process that reads what targets send, so they could run code as you.",
            hint="Use Linux 6.7 or newer. If you trust all targets with this account: trusted = true above [[targets]]",
        )
    said = f": {one_line(event.said)}" if isinstance(event, NotOpened) and event.said else ""
    if request.address:
        return IrbenchError(
            f"The scheduler {request.address} cannot be reached{said}.",
            hint="Check the address, and [tls] in the file of targets.",
        )
    return IrbenchError(
        f"The scheduler of Dask does not start{said}.",
        hint="Check `host` and `port` of [scheduler] in the file of targets.",
    )
