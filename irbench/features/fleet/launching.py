"""Starting the scheduler and the workers of a cluster: on this machine, or on others over ssh."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol

import msgspec

from irbench import __version__
from irbench.errors import first_line, one_line
from irbench.features.fleet.cluster_process import ProcessRequest
from irbench.features.fleet.problems import TargetProblem
from irbench.features.fleet.targets import Target
from irbench.worker.failures import how_it_ended

_START_S = 60.0
_CONNECT_S = 15.0
_END_S = 10.0
_KEEPALIVE_S = 15
_MODULE = "irbench.features.fleet.cluster_process"
_LONGEST_ERRORS = 4000


class Started(Protocol):
    """A process that was started somewhere, and answered."""

    @property
    def address(self) -> str:
        """Where it is reached."""
        ...

    async def ended(self) -> str:
        """Wait until it has ended, and return how: the end of a sentence."""
        ...


class Unreachable(Exception):
    """A process could not be started on a target, or the connection to it was cut."""

    def __init__(self, problem: TargetProblem) -> None:
        super().__init__(problem.text())
        self.problem = problem


class _LocalProcess:
    def __init__(self, process: asyncio.subprocess.Process, address: str) -> None:
        self._process = process
        self.address = address
        self._errors = asyncio.ensure_future(_tail(process.stderr))

    async def ended(self) -> str:
        return _how_it_ended(await self._process.wait(), await self._errors)


class _RemoteProcess:
    def __init__(self, process: Any, address: str) -> None:
        self._process = process
        self.address = address
        self._errors = asyncio.ensure_future(_tail(process.stderr))

    async def ended(self) -> str:
        await self._process.wait_closed()
        return _how_it_ended(self._process.returncode, await self._errors)


def _how_it_ended(code: int | None, last_line: str) -> str:
    """Return how a process ended; its last line is a reason only where it ended by itself, with an error.

    Args:
        code: A negative one is a signal; ``None`` where a connection ended without any.
        last_line: Of what it printed to stderr.
    """
    if code is None:
        return "ended without an exit code"
    return f"{how_it_ended(code)} ({one_line(last_line)})" if code > 0 and last_line else how_it_ended(code)


@asynccontextmanager
async def started_here(
    request: ProcessRequest, python: str = "", variables: Mapping[str, str] | None = None
) -> AsyncIterator[Started]:
    """Yield a scheduler or a worker on this machine, which ends with the block.

    Raises:
        Unreachable: It does not start.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            python or sys.executable,
            "-m",
            _MODULE,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, **(variables or {})},
            start_new_session=True,  # Ctrl-C is for the coordinator, which ends the rest
        )
    except OSError as error:
        said = error.strerror or first_line(error)
        raise Unreachable(TargetProblem(code="python-missing", subject=python, said=said)) from error
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(_line(request))
        address = await _answer(process.stdout, process.stderr)
        yield _LocalProcess(process, address)
    finally:
        with contextlib.suppress(OSError):
            process.stdin.close()
        await _wait_or_kill(process)


async def _wait_or_kill(process: asyncio.subprocess.Process) -> None:
    try:
        await asyncio.wait_for(process.wait(), _END_S)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()


@asynccontextmanager
async def connected(target: Target) -> AsyncIterator[Any]:
    """Yield the connection to a target.

    Raises:
        Unreachable: There is none, its host key is not a known one, or it takes no key of ours.
    """
    import asyncssh

    user, _, host = target.host.rpartition("@")
    options: dict[str, Any] = {"username": user} if user else {}
    if target.identity is not None:
        options["client_keys"] = [str(target.identity)]
    if target.known_hosts is not None:
        options["known_hosts"] = str(target.known_hosts)
    try:
        connection = await asyncio.wait_for(
            asyncssh.connect(
                host, target.port, keepalive_interval=_KEEPALIVE_S, password=None, agent_forwarding=False, **options
            ),
            _CONNECT_S,
        )
    except asyncssh.HostKeyNotVerifiable as error:
        raise Unreachable(TargetProblem(code="unknown-host-key", host=host, port=target.port)) from error
    except asyncssh.PermissionDenied as error:
        raise Unreachable(TargetProblem(code="no-key-accepted", host=target.host)) from error
    except (asyncssh.KeyImportError, ValueError, FileNotFoundError) as error:
        raise Unreachable(TargetProblem(code="key-unreadable", said=first_line(error))) from error
    except (OSError, asyncssh.Error, TimeoutError) as error:
        said = getattr(error, "strerror", None) or first_line(error)
        raise Unreachable(TargetProblem(code="not-reached", host=target.host, port=target.port, said=said)) from error
    async with connection:
        yield connection


@asynccontextmanager
async def started_over_ssh(connection: Any, request: ProcessRequest, target: Target) -> AsyncIterator[Started]:
    """Yield a worker on a target, which ends with the block or with the connection.

    Raises:
        Unreachable: It does not start.
    """
    words = (*(f"{name}={value}" for name, value in target.variables.items()), target.python or "python3")
    command = f"exec env {shlex.join(words)} -m {_MODULE}"
    async with connection.create_process(command, encoding=None) as process:
        process.stdin.write(_line(request))
        address = await _answer(process.stdout, process.stderr)
        try:
            yield _RemoteProcess(process, address)
        finally:
            process.stdin.write_eof()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait_closed(), _END_S)
            process.terminate()


def address_towards(connection: Any) -> str:
    """Return the address of this machine that a target sees."""
    host: str = connection.get_extra_info("sockname")[0]
    return host


def _line(request: ProcessRequest) -> bytes:
    return msgspec.json.encode(request) + b"\n"


async def _answer(output: Any, errors: Any) -> str:
    """Return the address that a process answers with."""
    try:
        line: bytes = await asyncio.wait_for(output.readline(), _START_S)
    except TimeoutError as error:
        raise Unreachable(TargetProblem(code="no-answer")) from error
    if not line.endswith(b"\n"):
        raise Unreachable(TargetProblem(code="not-started", needed=__version__, said=await _tail(errors)))
    return line.decode(errors="replace").strip()


async def _tail(stream: Any) -> str:
    """Return the last line of a stream that ends."""
    kept = b""
    while piece := await stream.read(_LONGEST_ERRORS):
        kept = (kept + piece)[-_LONGEST_ERRORS:]
    lines = kept.decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else ""
