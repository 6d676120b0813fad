"""A cluster of Dask as its client sees it: which workers there are, and calls whose arguments and answers are bytes.

Whoever measures on a target may send anything. Dask's ``deserializers`` do not keep its pickles away: its own form
``dask`` has a pickle in each header, exceptions and warnings of workers are pickles, and so is any part of a message
that says so. So its one function that reads pickles refuses all of them here, and results are MessagePack.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from io import BytesIO
from pickle import Unpickler
from typing import Any

import dask.config
from distributed import Client
from distributed.protocol import pickle

from irbench.errors import IrbenchError
from irbench.features.fleet.cluster_process import RESOURCE, Tls, security

_FORMS = ["msgpack"]
_CONNECT_S = 15


class TargetLost(Exception):
    """The worker of a call is gone."""


class SchedulerLost(IrbenchError):
    """The scheduler is gone, and with it every target."""

    def __init__(self) -> None:
        super().__init__("The scheduler of the cluster is gone.", hint="Start it again, and go on with --resume.")


class CallFailed(Exception):
    """A call did not return what it should; why is not known, because that would have to be unpickled."""


@dataclass(frozen=True)
class Member:
    """A worker of a cluster.

    Attributes:
        name: Of the target.
        address: Another one after each start.
        measures: Whether it has the resource that jobs need.
    """

    name: str
    address: str
    measures: bool


@contextmanager
def pickles_refused() -> Iterator[None]:
    """Have this process read no pickle that Dask receives, but for the names of bytes."""
    read = pickle.loads
    pickle.loads = _name_of_bytes
    try:
        yield
    finally:
        pickle.loads = read


class _NamesOfBytes(Unpickler):
    """Reads what Dask's form of bytes begins with, and refuses any other name: names are what a pickle calls."""

    def find_class(self, module: str, name: str, /) -> Any:
        if (module, name) == ("builtins", "bytes"):
            return bytes
        raise ValueError("irbench reads no pickle from a cluster")


def _name_of_bytes(data: bytes, **_: object) -> Any:
    return _NamesOfBytes(BytesIO(data)).load()


class _BytesClient(Client):  # type: ignore[misc]
    """A client that looks at no exception, and at nothing that workers print or warn of."""

    def _handle_task_erred(self, key: Any = None, exception: Any = None, traceback: Any = None) -> None:  # noqa: ARG002
        super()._handle_task_erred(key=key, exception="the call failed", traceback=None)

    def _handle_error(self, exception: Any = None) -> None: ...

    async def _handle_event(self, topic: Any, event: Any) -> None: ...


class Cluster:
    """A cluster that runs, as long as its block lasts."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def members(self) -> Mapping[str, Member]:
        """Return the workers by their addresses.

        Raises:
            SchedulerLost: Nobody answers.
        """
        try:
            told = await asyncio.wait_for(self._client.scheduler.identity(n_workers=-1), _CONNECT_S)
        except (OSError, TimeoutError) as error:
            raise SchedulerLost from error
        return {
            address: Member(str(worker["name"]), address, RESOURCE in worker.get("resources", {}))
            for address, worker in told["workers"].items()
        }

    async def call(self, member: Member, function: Callable[..., Any], *args: object, measures: bool = False) -> Any:
        """Return what a function returns that a worker calls.

        Raises:
            TargetLost: The worker is gone.
            SchedulerLost: The scheduler is gone.
            CallFailed: The function raised something, or returned what is neither bytes nor text, numbers and lists.
        """
        future = self._client.submit(
            function,
            *args,
            workers=[member.address],
            allow_other_workers=False,
            resources={RESOURCE: 1} if measures else None,
            retries=0,
            pure=False,
        )
        try:
            return await future
        except asyncio.CancelledError:
            raise
        except Exception as error:
            is_there = member.address in await self.members()
            raise (CallFailed() if is_there else TargetLost()) from error
        finally:
            with contextlib.suppress(Exception):
                await future.cancel()


@asynccontextmanager
async def joined(address: str, tls: Tls | None) -> AsyncIterator[Cluster]:
    """Yield the cluster whose scheduler has an address.

    Raises:
        IrbenchError: It is not reached.
    """
    secret = security(tls)
    with pickles_refused(), dask.config.set({"distributed.comm.timeouts.connect": f"{_CONNECT_S}s"}):
        try:
            client: Any = await _BytesClient(
                address,
                asynchronous=True,
                security=secret,
                serializers=_FORMS,
                deserializers=_FORMS,
                set_as_default=False,
            )
        except (OSError, TypeError, ValueError) as error:
            raise IrbenchError(
                f"The scheduler {address} is not reached.", hint="Check the address, and [tls] in the file of targets."
            ) from error
        try:
            yield Cluster(client)
        finally:
            await client.close()
