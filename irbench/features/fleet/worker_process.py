"""A worker of Dask on a target: ``python -P -m irbench.features.fleet.worker_process``.

What it is to be comes as two lines of JSON on standard input, because whoever looks at processes sees their arguments
and environment: the environment variables of everything that runs there, which may be secrets, with which the process
starts anew; then a :class:`WorkerRequest`, which has a private key. It answers with a line that has its address, and
ends when standard input is closed: with the coordinator, or with the connection to it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

import msgspec

from irbench.features.fleet.dask_process import RESOURCE, SETTINGS, WORKER_PORTS, Tls, security
from irbench.features.fleet.on_target.files import private_folder
from irbench.system.locks import temporary_folder
from irbench.system.prepared_types import prepared
from irbench.system.programs import python_process

_PREPARED = "--prepared"


class WorkerRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is to be.

    Attributes:
        name: Of its target.
        scheduler: The address of the scheduler.
        host: The address that it listens on; empty for the one by which it reaches the scheduler.
    """

    name: str
    scheduler: str
    host: str = ""
    tls: Tls


async def _serve(request: WorkerRequest, scratch: Path) -> None:
    from distributed import Worker

    class OwnWorker(Worker):  # type: ignore[misc]
        """A worker that serves no HTTP: its pages show names, logs and stacks to whoever reaches their port."""

        def start_http_server(self, *_: object, **__: object) -> None: ...

    worker = OwnWorker(
        request.scheduler,
        name=request.name,
        nthreads=1,
        memory_limit=0,
        resources={RESOURCE: 1},
        security=security(request.tls),
        host=request.host or None,
        port=f"{WORKER_PORTS.start}:{WORKER_PORTS.stop - 1}",
        local_directory=str(scratch),
    )
    sys.path[:] = [path for path in sys.path if path != worker.local_directory]  # where Dask puts it first

    def end(_: object = None) -> None:
        shutil.rmtree(scratch, ignore_errors=True)
        os._exit(0)  # a job that is measured would be waited for; it ends with this process

    hung_up = asyncio.ensure_future(asyncio.to_thread(_wait_for_end))  # also while no scheduler is there
    hung_up.add_done_callback(end)
    async with worker:
        print(worker.address, flush=True)  # noqa: T201 - the answer
        os.dup2(2, 1)  # nobody reads what is printed from now on
        await worker.finished()
        end()


def _wait_for_end() -> None:
    """Wait until standard input is closed."""
    while os.read(0, 4096):
        pass


def _line() -> bytes:
    """Return the next line of standard input, and read nothing behind it."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            break
        line += byte
    return line


def main() -> None:
    """Be what standard input asks for until it is closed."""
    if sys.argv[1:] != [_PREPARED]:
        os.environ.update(msgspec.json.decode(_line(), type=dict[str, str]))
        command, environment = python_process("-m", "irbench.features.fleet.worker_process", _PREPARED)
        os.execve(command[0], command, environment)  # noqa: S606 - ourselves
    import dask.config

    request = msgspec.json.decode(_line(), type=prepared(WorkerRequest))
    with temporary_folder(private_folder("scratch"), "worker-") as scratch:
        dask.config.set(SETTINGS)
        asyncio.run(_serve(request, scratch))


if __name__ == "__main__":
    main()
