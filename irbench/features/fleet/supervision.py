"""The cluster of a fleet: one that runs already, or a scheduler here and a worker on each target, kept running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

import asyncssh
import msgspec

from irbench.errors import IrbenchError, first_line
from irbench.features.fleet.cluster import Cluster, joined
from irbench.features.fleet.cluster_process import ProcessRequest, Tls
from irbench.features.fleet.launching import (
    Started,
    Unreachable,
    address_towards,
    connected,
    started_here,
    started_over_ssh,
)
from irbench.features.fleet.problems import TargetProblem
from irbench.features.fleet.targets import FleetFile, Target
from irbench.measure.clock import Stopwatch, utc_now

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 30.0
_STEADY_S = 60.0
"""A worker that ran for so long is started again at once."""
_WORKERS_S = 30
_LOOPBACK = "127.0.0.1"
_CERTIFICATE_NAME = "irbench fleet"
_VALID = timedelta(days=30)
"""Before and after now: the clock of a target may be wrong."""


class Listener(Protocol):
    """What is told of targets that are not there."""

    unreachable: dict[str, TargetProblem]

    def refuse(self, name: str, problem: TargetProblem) -> None:
        """Take in that a target may not measure, and why."""
        ...

    def not_there(self, name: str, problem: TargetProblem) -> None:
        """Take in why a target is not there, which is tried again."""
        ...

    def worker_ended(self, name: str, how: str) -> None:
        """Take in how a worker ended, as the end of a sentence; it is started again."""
        ...


@dataclass(frozen=True)
class OwnCluster:
    """A cluster that this process has started.

    Attributes:
        address: Of its scheduler, as this machine reaches it.
        tls: The certificates that others need to join it.
    """

    cluster: Cluster
    address: str
    tls: Tls


@asynccontextmanager
async def opened(fleet: FleetFile, listener: Listener | None) -> AsyncIterator[Cluster]:
    """Yield the cluster that a fleet asks for; one that is started, which takes a listener, ends with the block.

    Raises:
        IrbenchError: It cannot be reached, or no target can be used.
    """
    if fleet.scheduler.address:
        files = fleet.tls
        tls = None if files is None else Tls(str(files.ca), str(files.cert), str(files.key))
        async with joined(fleet.scheduler.address, tls) as cluster:
            yield cluster
    else:
        assert listener is not None
        async with cluster_of_own(fleet, listener) as running:
            yield running.cluster


async def with_targets(fleet: FleetFile, cluster: Cluster) -> FleetFile:
    """Return a fleet whose targets are the workers of a cluster that measure, where its file names none.

    Raises:
        IrbenchError: No worker measures.
    """
    if fleet.targets:
        return fleet
    for _ in range(_WORKERS_S):
        names = sorted({member.name for member in (await cluster.members()).values() if member.measures})
        if names:
            return msgspec.structs.replace(fleet, targets=tuple(Target(name=name) for name in names))
        await asyncio.sleep(1)
    raise IrbenchError(
        "No worker of the cluster measures.", hint="Start some: dask worker ADDRESS --nthreads 1 --resources measure=1"
    )


@asynccontextmanager
async def cluster_of_own(fleet: FleetFile, listener: Listener) -> AsyncIterator[OwnCluster]:
    """Yield a cluster with a worker on each target; all of it ends with the block.

    Raises:
        IrbenchError: No target at all can be used.
    """
    tls = certificates()
    async with AsyncExitStack() as stack:
        try:
            scheduler = await stack.enter_async_context(started_here(_scheduler(fleet, tls)))
        except Unreachable as reason:
            raise _refusal(("The scheduler", reason.problem)) from reason
        port = scheduler.address.rpartition(":")[2]
        address = _address(_own_address(fleet), port)
        cluster = await stack.enter_async_context(joined(address, tls))
        keepers = [_Keeper(target, fleet, port, tls, listener) for target in fleet.targets]
        tasks = [asyncio.create_task(keeper.keep()) for keeper in keepers]
        try:
            await _require_one(keepers, tasks)
            for keeper in keepers:
                keeper.others_go_on.set()
            yield OwnCluster(cluster, address, tls)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _scheduler(fleet: FleetFile, tls: Tls) -> ProcessRequest:
    is_local = not any(target.host for target in fleet.targets)
    host = _LOOPBACK if is_local else fleet.scheduler.host
    return ProcessRequest(host=host, port=fleet.scheduler.port, tls=tls)


def _own_address(fleet: FleetFile) -> str:
    return fleet.scheduler.host or _LOOPBACK


def _address(host: str, port: str) -> str:
    return f"tls://[{host}]:{port}" if ":" in host else f"tls://{host}:{port}"


async def _require_one(keepers: Sequence[_Keeper], tasks: Sequence[asyncio.Task[None]]) -> None:
    """Wait until some worker runs, or none does; a task of a keeper that ends before has failed, and says why."""
    waiting: set[asyncio.Future[Any]] = {*(keeper.first for keeper in keepers), *tasks}
    problems: list[tuple[str, TargetProblem]] = []
    while len(problems) < len(keepers):
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        outcomes = [future.result() for future in done]
        if None in outcomes:
            return
        problems += outcomes
    raise _refusal(*problems)


def _refusal(first: tuple[str, TargetProblem], *others: tuple[str, TargetProblem]) -> IrbenchError:
    name, problem = first
    remedy = problem.remedy()
    return IrbenchError(
        f"{name} cannot be used: {problem.text()}.",
        hint=f"{remedy[:1].upper()}{remedy[1:]}.",
        details=[f"{other} cannot be used: {reason.text()}: {reason.remedy()}" for other, reason in others],
    )


class _Keeper:
    """Keeps a worker running on one target.

    Attributes:
        first: Why the first start failed; ``None`` where it did not.
        others_go_on: Set when some worker runs: otherwise the call ends with what is wrong, and says it once.
    """

    def __init__(self, target: Target, fleet: FleetFile, port: str, tls: Tls, listener: Listener) -> None:
        self._target = target
        self._fleet = fleet
        self._port = port
        self._tls = tls
        self._listener = listener
        self.first: asyncio.Future[tuple[str, TargetProblem] | None] = asyncio.get_running_loop().create_future()
        self.others_go_on = asyncio.Event()

    async def keep(self) -> None:
        """Start the worker whenever it is not there, until that would not help any more."""
        try:
            await self._keep()
        except Exception as error:
            if not self.others_go_on.is_set():
                raise
            said = f"{type(error).__name__}: {first_line(error)}"
            self._listener.refuse(self._target.name, TargetProblem(code="failed", said=said))

    async def _keep(self) -> None:
        name = self._target.name
        pause_s = _FIRST_PAUSE_S
        while True:
            watch = Stopwatch()
            try:
                async with self._started() as started:
                    self._tell_first(None)
                    self._listener.unreachable.pop(name, None)
                    how = await started.ended()
                self._listener.worker_ended(name, how)
            except Unreachable as reason:
                problem = reason.problem
                self._tell_first(problem)
                await self.others_go_on.wait()
                is_news = self._listener.unreachable.get(name) != problem
                self._listener.unreachable[name] = problem
                if problem.lasts:
                    self._listener.refuse(name, problem)
                    return
                if is_news:
                    self._listener.not_there(name, problem)
            pause_s = _FIRST_PAUSE_S if watch.elapsed_s > _STEADY_S else min(2 * pause_s, _LONGEST_PAUSE_S)
            await asyncio.sleep(pause_s)

    def _tell_first(self, problem: TargetProblem | None) -> None:
        if not self.first.done():
            self.first.set_result(None if problem is None else (self._target.name, problem))

    @asynccontextmanager
    async def _started(self) -> AsyncIterator[Started]:
        """Yield the worker.

        Raises:
            Unreachable: It does not start, or what connects to it fails, also while it runs.
        """
        try:
            async with self._started_somewhere() as started:
                yield started
        except (OSError, asyncssh.Error) as error:
            raise Unreachable(TargetProblem(code="cut", said=first_line(error))) from error

    @asynccontextmanager
    async def _started_somewhere(self) -> AsyncIterator[Started]:
        target = self._target
        if not target.host:
            request = self._request(_own_address(self._fleet))
            async with started_here(request, target.python, target.variables) as started:
                yield started
            return
        async with connected(target) as connection:
            request = self._request(self._fleet.scheduler.host or address_towards(connection))
            async with started_over_ssh(connection, request, target) as started:
                yield started

    def _request(self, host: str) -> ProcessRequest:
        return ProcessRequest(name=self._target.name, scheduler=_address(host, self._port), tls=self._tls)


def certificates() -> Tls:
    """Return a new key with a certificate that is its own authority, for every part of a cluster."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _CERTIFICATE_NAME)])
    now = utc_now()
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _VALID)
        .not_valid_after(now + _VALID)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    written = certificate.public_bytes(serialization.Encoding.PEM).decode()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Tls(written, written, secret.decode())
