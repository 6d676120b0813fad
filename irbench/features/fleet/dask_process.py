"""The Dask side of a fleet: its scheduler and its client, in a confined process that its coordinator starts.

What targets send is unpickled here, which may run code of theirs, and nowhere else. So the process is confined before
anybody else can send it anything: it reads Python and libraries alone, writes nothing, starts no processes, and
connects to no ports but the cluster's. With the coordinator it speaks MessagePack over standard input and output: each
message begins with its length, four bytes.
"""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from irbench.errors import first_line
from irbench.features.fleet import on_target
from irbench.system.confinement import TCP_SINCE, Confinement, confine
from irbench.system.installation import DISTRIBUTION
from irbench.system.prepared_types import prepared
from irbench.system.signals import die_with_parent

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
_MEMORY_BYTES = 6 << 30
"""Of addresses: a target that sends more makes this process fail, and not the machine."""

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
        measures: Whether it has the resource that jobs need.
        id: Another one after each start.
    """

    name: str
    address: str
    measures: bool
    id: str = ""


class Open(msgspec.Struct, frozen=True, tag=True):
    """Start a scheduler, or join one that runs.

    Attributes:
        address: Of one that runs; empty to start one.
        host: The address that one which is started listens on; empty for all of this machine's.
        port: On which it listens; 0 for any that is free.
        is_trusted: Whether code of targets may run in a process that the kernel cannot confine.
    """

    address: str = ""
    host: str = ""
    port: int = 0
    tls: Tls | None = None
    is_trusted: bool = False


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
    """The scheduler is reached: at a port of this machine, or where it ran."""

    port: int


class NotOpened(msgspec.Struct, frozen=True, tag=True):
    """The scheduler is not reached, or could not be started.

    Attributes:
        said: What the system said of it.
        is_unconfined: Whether the reason is that the kernel cannot confine this process.
    """

    said: str = ""
    is_unconfined: bool = False


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
            match msgspec.msgpack.decode(request, type=prepared(Request)):
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
                    async with asyncio.timeout(_LOOK_S):
                        await self._changed.wait()

    async def _look(self) -> set[str]:
        """Tell which workers there are if they changed, and return their addresses."""
        async with asyncio.timeout(CONNECT_S):
            told = await self._client.scheduler.identity(n_workers=-1)
        members = tuple(
            Member(str(worker["name"]), address, RESOURCE in worker.get("resources", {}), str(worker["id"]))
            for address, worker in told["workers"].items()
        )
        if members != self._members:
            self._members = members
            self._tell(Members(members))
        return set(told["workers"])

    async def _call(self, call: Call) -> None:
        from distributed import KilledWorker

        is_version = call.task == "version"
        future = self._client.submit(
            *((metadata.version, DISTRIBUTION) if is_version else (on_target.call, call.task, *call.arguments)),
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
        except BaseException as error:  # noqa: BLE001 - what a target raised, which may be anything
            self._tell(Failure(call.number, is_lost=isinstance(error, KilledWorker)))
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


async def _scheduler(request: Open, secret: Any) -> Any:
    """Return a scheduler that listens."""
    from distributed import Scheduler

    class OwnScheduler(Scheduler):  # type: ignore[misc]
        """A scheduler that serves no HTTP: its pages show names, logs and stacks to whoever reaches their port."""

        def start_http_server(self, *_: object, **__: object) -> None: ...

    protocol = "tcp" if request.tls is None else "tls"
    return await OwnScheduler(protocol=protocol, host=request.host or None, port=request.port, security=secret)


async def _serve(request: Open, folder: Path, output: int) -> Event | None:
    """Serve the coordinator, or return why that is not possible."""
    from distributed import Client

    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(os.dup(output), "wb")
    )
    writer = asyncio.StreamWriter(transport, protocol, reader, loop)
    secret = _security_in_files(request.tls, folder)
    if request.address:
        address, port = _looked_up(request.address)
        ports: tuple[int, ...] = (port,)
    else:
        # nobody who connects is listened to before the certificate is given to the first worker
        scheduler = await _scheduler(request, secret)
        port = scheduler.port
        host = request.host or "127.0.0.1"
        address = f"{scheduler.address.partition('://')[0]}://{f'[{host}]' if ':' in host else host}:{port}"
        ports = (port, *WORKER_PORTS)
    if not _is_confined(folder, ports) and not request.is_trusted:
        return NotOpened(is_unconfined=True)
    client: Any = await Client(
        address,
        asynchronous=True,
        security=secret,
        set_as_default=False,
        direct_to_workers=False,
        timeout=CONNECT_S,
    )
    writer.write(framed(Opened(port)))
    await _Endpoint(client, reader, writer).serve()
    with suppress(OSError):
        await writer.drain()
    return None


def _security_in_files(tls: Tls | None, folder: Path) -> Any:
    """Return the security of connections, with certificates in files: otherwise Dask writes some for each."""
    if tls is None:
        return security(None)
    paths = {name: folder / f"{name}.pem" for name in ("ca", "cert", "key")}
    for name, path in paths.items():
        path.touch(mode=0o600)
        path.write_text(getattr(tls, name), encoding="ascii")
    return security(Tls(**{name: str(path) for name, path in paths.items()}))


def _is_confined(folder: Path, ports: tuple[int, ...]) -> bool:
    """Confine this process for good, and return whether the kernel holds all of it."""
    threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208 - those that run already would stay free
    support = confine(Confinement(readable=(folder,), ports=ports))
    return threads == 1 and support.seccomp and support.landlock >= TCP_SINCE


def _looked_up(address: str) -> tuple[str, int]:
    """Return the address of a scheduler by numbers, and its port: names are looked up by UDP, which is refused later.

    Raises:
        OSError: It is not reached.
        ValueError: It has no port.
    """
    protocol, _, place = address.rpartition("://")
    host, _, port = place.rpartition(":")
    if not port.isdecimal():
        raise ValueError("it has no port")
    with socket.create_connection((host.strip("[]"), int(port)), CONNECT_S) as reached:
        found = str(reached.getpeername()[0])
    return f"{protocol or 'tcp'}://{f'[{found}]' if ':' in found else found}:{port}", int(port)


def main() -> None:
    """Be the Dask side of a fleet until standard input is closed."""
    die_with_parent()
    length = int.from_bytes(os.read(0, LENGTH_BYTES), "big")
    data = b""
    while len(data) < length and (piece := os.read(0, length - len(data))):
        data += piece
    request = msgspec.msgpack.decode(data, type=prepared(Open))
    folder = Path(sys.argv[1])
    output = os.dup(1)
    os.dup2(2, 1)  # what libraries print
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    # whoever reaches the port can open connections
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    # libraries of numerics start threads when they are imported, which could not be confined any more
    os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
    import dask.config

    dask.config.set({**SETTINGS, "temporary-directory": str(folder)})
    try:
        failure = asyncio.run(_serve(request, folder, output))
    except (OSError, TypeError, ValueError) as error:
        failure = NotOpened(first_line(error))
    if failure is not None:
        os.write(output, framed(failure))
    os._exit(0)  # threads of Dask may wait for workers that are gone


if __name__ == "__main__":
    main()
