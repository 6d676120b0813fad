"""A scheduler or a worker of Dask, started by us: ``python -m irbench.features.fleet.cluster_process``.

What it is to be comes as a line of JSON on standard input, because whoever looks at processes sees their arguments and
environment, and the line has a private key. The process ends when standard input is closed: with the coordinator, or
with the connection to it. A scheduler answers with a line that has its address.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import msgspec


class Tls(msgspec.Struct, frozen=True):
    """Certificates in PEM, or the paths of their files; what they are is told apart by Dask."""

    ca: str
    cert: str
    key: str


class ProcessRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is to be.

    Attributes:
        name: Of a worker; empty for a scheduler.
        scheduler: The address of the scheduler, of a worker.
        host: The address that a scheduler is reached at; empty for any of this machine's.
    """

    name: str = ""
    scheduler: str = ""
    host: str = ""
    port: int = 0
    tls: Tls | None = None


RESOURCE = "measure"
"""Of which each worker that measures has one: Dask runs one job at a time on it, whoever else submits some."""

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
    "distributed.nanny.pre-spawn-environ": {},  # sets the threads of every library to 1
}
"""Settings of Dask without which it would lose jobs, run them twice, or disturb them."""


def security(tls: Tls | None) -> Any:
    """Return the security of a connection; without certificates it is not encrypted."""
    from distributed import Security

    if tls is None:
        return Security()
    roles = ("client", "scheduler", "worker")
    pairs = {f"tls_{role}_{part}": getattr(tls, part) for role in roles for part in ("cert", "key")}
    return Security(require_encryption=True, tls_ca_file=tls.ca, **pairs)


async def _serve(request: ProcessRequest) -> None:
    from distributed import Nanny, Scheduler

    no_limit: Any = None  # Dask declares text alone
    if request.name:
        server: Any = Nanny(
            request.scheduler,
            name=request.name,
            nthreads=1,
            memory_limit=no_limit,
            resources={RESOURCE: 1},
            security=security(request.tls),
            dashboard=False,
        )
    else:
        server = Scheduler(
            protocol="tcp" if request.tls is None else "tls",
            host=request.host or None,
            port=request.port,
            security=security(request.tls),
            dashboard=False,
        )
    async with server:
        print(server.address, flush=True)  # noqa: T201 - the answer
        ended = asyncio.ensure_future(server.finished())
        hung_up = asyncio.ensure_future(_hung_up())
        await asyncio.wait({ended, hung_up}, return_when=asyncio.FIRST_COMPLETED)


async def _hung_up() -> None:
    loop = asyncio.get_running_loop()
    over = loop.create_future()

    def look() -> None:
        if not os.read(sys.stdin.fileno(), 4096) and not over.done():
            over.set_result(None)

    loop.add_reader(sys.stdin.fileno(), look)
    try:
        await over
    finally:
        loop.remove_reader(sys.stdin.fileno())


def _first_line() -> bytes:
    """Return the first line of standard input, and nothing behind it."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(sys.stdin.fileno(), 1)
        if not byte:
            break
        line += byte
    return line


def main() -> None:
    """Be what standard input asks for until it is closed."""
    import dask.config

    request = msgspec.json.decode(_first_line(), type=ProcessRequest)
    dask.config.set(SETTINGS)
    # what a nanny starts reads the settings from here
    os.environ["DASK_INTERNAL_INHERIT_CONFIG"] = dask.config.serialize(SETTINGS)
    asyncio.run(_serve(request))


if __name__ == "__main__":
    main()
