"""The Dask side of a fleet: its scheduler and its client, in a confined process that its coordinator starts.

What targets send is unpickled here, which may run code of theirs, and nowhere else. So the process has no files but a
folder of its own, starts no programs, and reaches nothing but the ports of the cluster. With the coordinator it speaks
MessagePack over standard input and output: each message begins with its length, four bytes.
"""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from irbench.errors import first_line
from irbench.features.fleet import on_target
from irbench.system.confinement import TCP_SINCE, Confinement, Ports, confine, limit_memory

RESOURCE = "measure"
"""Of which each worker that measures has one: Dask runs one job at a time on it, whoever else submits some."""
WORKER_PORTS = range(8801, 8901)
"""On which workers that irbench starts are reached; a worker takes the first that is free on its machine."""
SETTINGS = {
    "distributed.scheduler.allowed-failures": 0,  # a job that is lost is told to us, and not run elsewhere
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.worker-ttl": "60s",  # a target that sleeps says nothing of it
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.worker.profile.enabled": False,  # samples every 10 ms, beside what is measured
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.admin.large-graph-warning-threshold": "1GiB",  # files are sent as arguments
    "distributed.diagnostics.nvml": False,
}
"""Settings of Dask without which it would lose jobs, run them twice, or disturb them."""
CONNECT_S = 15
LENGTH_BYTES = 4
_LOOK_S = 5.0
"""The longest time after which the scheduler is asked for its workers, if no event tells that they changed."""
_MEMORY_BYTES = 4 << 30
"""What is larger, sent by a target that means harm, fails in this process and not on this machine."""

Task: TypeAlias = Literal["describe", "take_piece", "measure", "clear", "diagnose", "version"]
"""What a worker is asked to do: functions of :mod:`irbench.features.fleet.on_target.tasks`, and for the version of
irbench, which every version of irbench answers."""


class Tls(msgspec.Struct, frozen=True):
    """Certificates, and the key of this side, in PEM."""

    ca: str
    cert: str
    key: str


class Member(msgspec.Struct, frozen=True):
    """A worker of a cluster.

    Attributes:
        name: Of the target.
        address: Another one after each start.
        measures: Whether it has the resource that jobs need.
    """

    name: str
    address: str
    measures: bool


class Open(msgspec.Struct, frozen=True, tag=True):
    """Start a scheduler, or join one that runs.

    Attributes:
        address: Of one that runs; empty to start one.
        host: The address that one which is started listens on; empty for all of this machine's.
        port: On which it listens; 0 for any that is free.
    """

    address: str = ""
    host: str = ""
    port: int = 0
    tls: Tls | None = None


class Call(msgspec.Struct, frozen=True, tag=True):
    """Have a worker do something.

    Attributes:
        number: By which the answer names it.
        worker: Its address.
        arguments: Bytes, text, numbers or truth values.
        measures: Whether it takes the resource of jobs.
        most_bytes: Of the answer; a larger one is a failure.
    """

    number: int
    worker: str
    task: Task
    arguments: tuple[Any, ...]
    measures: bool
    most_bytes: int


class Withdraw(msgspec.Struct, frozen=True, tag=True):
    """Nobody waits for a call any more."""

    number: int


class Opened(msgspec.Struct, frozen=True, tag=True):
    """The scheduler is reached: at a port of this machine, or where it ran.

    Attributes:
        is_confined: Whether the kernel keeps this process from files, programs, and ports of others.
    """

    port: int
    is_confined: bool


class NotOpened(msgspec.Struct, frozen=True, tag=True):
    """The scheduler is not reached, or could not be started; what the system said of it."""

    said: str


class Members(msgspec.Struct, frozen=True, tag=True):
    """The workers that the cluster has now."""

    members: tuple[Member, ...]


class Answer(msgspec.Struct, frozen=True, tag=True):
    """What a call returned."""

    number: int
    data: bytes


class Failure(msgspec.Struct, frozen=True, tag=True):
    """A call did not return what it should.

    Attributes:
        is_lost: Whether its worker is gone.
    """

    number: int
    is_lost: bool


Request: TypeAlias = Open | Call | Withdraw
Event: TypeAlias = Opened | NotOpened | Members | Answer | Failure


def framed(message: Request | Event) -> bytes:
    """Return a message with its length before it."""
    data = msgspec.msgpack.encode(message)
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def security(tls: Tls | None) -> Any:
    """Return the security of a connection; without certificates it is not encrypted."""
    from distributed import Security

    if tls is None:
        return Security()
    roles = ("client", "scheduler", "worker")
    pairs = {f"tls_{role}_{part}": getattr(tls, part) for role in roles for part in ("cert", "key")}
    return Security(require_encryption=True, tls_ca_file=tls.ca, **pairs)


class _Endpoint:
    """Calls workers for the coordinator, and tells it which there are."""

    def __init__(self, client: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._client = client
        self._reader = reader
        self._writer = writer
        self._calls: dict[int, tuple[str, asyncio.Task[None]]] = {}
        self._changed = asyncio.Event()
        self._members: tuple[Member, ...] | None = None

    async def serve(self) -> None:
        """Obey the coordinator until it is gone, or the scheduler is."""
        self._client.subscribe_topic("all", lambda _: self._changed.set())
        tasks = {asyncio.ensure_future(self._obey()), asyncio.ensure_future(self._watch())}
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)

    async def _obey(self) -> None:
        while (request := await read_frame(self._reader)) is not None:
            match msgspec.msgpack.decode(request, type=Request):
                case Call() as call:
                    self._calls[call.number] = (call.worker, asyncio.ensure_future(self._call(call)))
                case Withdraw(number) if number in self._calls:
                    self._calls[number][1].cancel()
                case _:
                    pass

    async def _watch(self) -> None:
        with suppress(OSError, TimeoutError):
            while True:
                self._changed.clear()
                there = await self._look()
                for number, (worker, task) in tuple(self._calls.items()):
                    if worker not in there and task.cancel():
                        self._tell(Failure(number, is_lost=True))
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), _LOOK_S)

    async def _look(self) -> set[str]:
        """Tell which workers there are if they changed, and return their addresses."""
        told = await asyncio.wait_for(self._client.scheduler.identity(n_workers=-1), CONNECT_S)
        members = tuple(
            Member(str(worker["name"]), address, RESOURCE in worker.get("resources", {}))
            for address, worker in told["workers"].items()
        )
        if members != self._members:
            self._members = members
            self._tell(Members(members))
        return set(told["workers"])

    async def _call(self, call: Call) -> None:
        is_version = call.task == "version"
        future = self._client.submit(
            *((metadata.version, "irbench") if is_version else (on_target.call, call.task, *call.arguments)),
            workers=[call.worker],
            allow_other_workers=False,
            resources={RESOURCE: 1} if call.measures else None,
            retries=0,
            pure=False,
        )
        try:
            data = await future
            data = data.encode() if is_version else data
            is_whole = type(data) is bytes and len(data) <= call.most_bytes
            self._tell(Answer(call.number, data) if is_whole else Failure(call.number, is_lost=False))
            await self._writer.drain()
        except asyncio.CancelledError:
            raise
        except BaseException:  # noqa: BLE001 - what a target raised, which may be anything
            self._tell(Failure(call.number, is_lost=call.worker not in await self._look()))
        finally:
            del self._calls[call.number]
            with suppress(Exception):
                await future.cancel()

    def _tell(self, event: Event) -> None:
        self._writer.write(framed(event))


async def read_frame(reader: asyncio.StreamReader, most_bytes: int | None = None) -> bytes | None:
    """Return the next message of a stream without its length; ``None`` at its end.

    Raises:
        ValueError: It is longer than it may be.
    """
    try:
        length = int.from_bytes(await reader.readexactly(LENGTH_BYTES), "big")
        if most_bytes is not None and length > most_bytes:
            raise ValueError(f"a message of {length} bytes")
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


@asynccontextmanager
async def _scheduler(request: Open, port: int) -> AsyncIterator[None]:
    from distributed import Scheduler

    class OwnScheduler(Scheduler):  # type: ignore[misc]
        """A scheduler that serves no HTTP: its pages show names, logs and stacks to whoever reaches their port."""

        def start_http_server(self, *_: object, **__: object) -> None: ...

        async def listen(self, port_or_addr: Any = None, allow_offload: bool = True, **options: Any) -> None:
            # otherwise Dask asks for the address of this machine by UDP
            await super().listen(port_or_addr, allow_offload, default_host="127.0.0.1", **options)

    scheduler = OwnScheduler(
        protocol="tcp" if request.tls is None else "tls",
        host=request.host or None,
        port=port,
        security=security(request.tls),
    )
    async with scheduler:
        yield


async def _serve(request: Open, address: str, opened: Opened, output: int) -> None:
    from distributed import Client

    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(output, "wb"))
    writer = asyncio.StreamWriter(transport, protocol, reader, loop)
    scheduler = None if request.address else _scheduler(request, opened.port)
    try:
        if scheduler is not None:
            await scheduler.__aenter__()
        client: Any = await Client(
            address,
            asynchronous=True,
            security=security(request.tls),
            set_as_default=False,
            direct_to_workers=False,
            timeout=CONNECT_S,
        )
    except (OSError, TypeError, ValueError) as error:
        writer.write(framed(NotOpened(first_line(error))))
    else:
        writer.write(framed(opened))
        await _Endpoint(client, reader, writer).serve()
    with suppress(OSError):
        await writer.drain()


def _place(request: Open) -> tuple[str, str, int, Ports]:
    """Return how the scheduler is reached, and which ports that takes.

    Raises:
        OSError: Its name is not known, or no port is free.
        ValueError: Its address is none.
    """
    if request.address:
        protocol, _, place = request.address.rpartition("://")
        host, _, port = place.rpartition(":")
        # names are looked up by UDP, which is out of reach later
        (*_, (found, *_)), *_ = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
        return f"{protocol or 'tcp'}://", str(found), int(port), Ports(connect=(int(port),))
    host = request.host or "127.0.0.1"
    port_number = request.port
    if not port_number:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as free:
            free.bind((host, 0))
            port_number = free.getsockname()[1]
    protocol = "tcp" if request.tls is None else "tls"
    return f"{protocol}://", host, port_number, Ports((port_number,), (port_number, *WORKER_PORTS))


def main() -> None:
    """Be the Dask side of a fleet until standard input is closed."""
    length = int.from_bytes(os.read(0, LENGTH_BYTES), "big")
    data = b""
    while len(data) < length and (piece := os.read(0, length - len(data))):
        data += piece
    request = msgspec.msgpack.decode(data, type=Open)
    folder = Path(sys.argv[1])
    output = os.dup(1)
    os.dup2(2, 1)  # what libraries print
    try:
        scheme, host, port, ports = _place(request)
    except (OSError, ValueError) as error:
        os.write(output, framed(NotOpened(first_line(error))))
        return
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (most_files, most_files)
    )  # whoever reaches the port can open connections
    limit_memory(_MEMORY_BYTES)
    support = confine(Confinement(writable=(folder,), ports=ports))
    is_confined = support.seccomp and support.landlock >= TCP_SINCE
    import dask.config

    dask.config.set({**SETTINGS, "temporary-directory": str(folder)})
    address = f"{scheme}[{host}]:{port}" if ":" in host else f"{scheme}{host}:{port}"
    try:
        asyncio.run(_serve(request, address, Opened(port, is_confined), output))
    finally:
        os._exit(0)  # threads of Dask may wait for workers that are gone


if __name__ == "__main__":
    main()
