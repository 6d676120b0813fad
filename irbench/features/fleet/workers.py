"""Workers on targets: started on this machine or over ssh, and started again whenever they end."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

import asyncssh
import msgspec

from irbench import __version__
from irbench.errors import IrbenchError, first_line, one_line
from irbench.features.fleet.cluster import Cluster, joined
from irbench.features.fleet.dask_process import Open, Tls
from irbench.features.fleet.problems import Code, TargetProblem
from irbench.features.fleet.targets import FleetFile, Target
from irbench.features.fleet.worker_process import WorkerRequest
from irbench.measure.clock import Stopwatch, utc_now
from irbench.system.programs import python_process
from irbench.worker.failures import how_it_ended

_START_S = 60.0
_CONNECT_S = 15.0
_END_S = 10.0
_KEEPALIVE_S = 15
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 30.0
_STEADY_S = 60.0
"""A worker that ran for so long is started again at once."""
_MODULE = "irbench.features.fleet.worker_process"
_LONGEST_ERRORS = 4000
_LOOPBACK = "127.0.0.1"
_WORKERS_S = 30
_CERTIFICATE_NAME = "irbench fleet"
_VALID = timedelta(days=30)
"""Before and after now: the clock of a target may be wrong."""

Tell: TypeAlias = Callable[[str, TargetProblem], None]
"""Is told of each target that is not there, by its name: one whose problem does not last is tried again."""


class Unreachable(Exception):
    """A worker could not be started on a target, or the connection to it was cut."""

    def __init__(self, problem: TargetProblem) -> None:
        super().__init__(problem.text())
        self.problem = problem


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
async def opened(fleet: FleetFile, tell: Tell) -> AsyncIterator[Cluster]:
    """Yield the cluster that a fleet asks for; one that is started ends with the block.

    Raises:
        IrbenchError: It cannot be reached, or no target can be used.
    """
    if not fleet.scheduler.address:
        async with cluster_of_own(fleet, tell) as own:
            yield own.cluster
        return
    tls = None
    if fleet.scheduler.address.startswith("tls://") and fleet.tls is None:
        raise IrbenchError(
            f"The scheduler {fleet.scheduler.address} needs certificates.",
            hint="Name ca, cert and key in [tls] of the file of targets.",
        )
    if fleet.tls is not None:
        try:
            tls = Tls(*(path.read_text(encoding="ascii") for path in (fleet.tls.ca, fleet.tls.cert, fleet.tls.key)))
        except (OSError, ValueError) as error:
            raise IrbenchError(
                f"The certificates of the cluster cannot be read: {first_line(error)}.",
                hint="Check [tls] in the file of targets.",
            ) from error
    async with joined(Open(address=fleet.scheduler.address, tls=tls, is_trusted=fleet.trusted)) as cluster:
        there = await cluster.members()
        names = ", ".join(sorted(name for name, member in there.items() if member.measures)) or "none"
        for target in fleet.targets:
            if target.name not in there:
                tell(target.name, TargetProblem(code="no-worker", subject=target.name, needed=names))
        yield cluster


async def with_targets(fleet: FleetFile, cluster: Cluster) -> FleetFile:
    """Return a fleet whose targets are the workers of a cluster that measure, where its file names none.

    Raises:
        IrbenchError: No worker measures.
    """
    if fleet.targets:
        return fleet
    for _ in range(_WORKERS_S):
        names = sorted(name for name, member in (await cluster.members()).items() if member.measures)
        if names:
            return msgspec.structs.replace(fleet, targets=tuple(Target(name=name) for name in names))
        await asyncio.sleep(1)
    raise IrbenchError(
        "No worker of the cluster measures.", hint="Start some: dask worker ADDRESS --nthreads 1 --resources measure=1"
    )


@asynccontextmanager
async def cluster_of_own(fleet: FleetFile, tell: Tell) -> AsyncIterator[OwnCluster]:
    """Yield a cluster with a worker on each target; all of it ends with the block.

    Raises:
        IrbenchError: No target at all can be used.
    """
    tls = certificates()
    is_local = not any(target.host for target in fleet.targets)
    host = _LOOPBACK if is_local else fleet.scheduler.host
    request = Open(host=host, port=fleet.scheduler.port, tls=tls, is_trusted=is_local or fleet.trusted)
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(joined(request))
        keepers = [_Keeper(target, fleet, cluster.port, tls, tell) for target in fleet.targets]
        tasks = [asyncio.create_task(keeper.keep()) for keeper in keepers]
        try:
            await _require_one(keepers, tasks)
            for keeper in keepers:
                keeper.others_go_on.set()
            yield OwnCluster(cluster, _address(fleet.scheduler.host or _LOOPBACK, cluster.port), tls)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _address(host: str, port: int) -> str:
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
    (name, problem), *others = problems
    remedy = problem.remedy()
    raise IrbenchError(
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

    def __init__(self, target: Target, fleet: FleetFile, port: int, tls: Tls, tell: Tell) -> None:
        self._target = target
        self._fleet = fleet
        self._port = port
        self._tls = tls
        self._tell = tell
        self.first: asyncio.Future[tuple[str, TargetProblem] | None] = asyncio.get_running_loop().create_future()
        self.others_go_on = asyncio.Event()

    async def keep(self) -> None:
        """Start the worker whenever it is not there, until that would not help any more."""
        name, pause_s = self._target.name, _FIRST_PAUSE_S
        told: TargetProblem | None = None
        while True:
            watch = Stopwatch()
            try:
                async with self._started() as ended:
                    self._set_first(None)
                    problem = TargetProblem(code="worker-ended", said=await ended())
            except Unreachable as reason:
                problem = reason.problem
            except (OSError, asyncssh.Error) as error:  # of the connection, also while the worker runs
                problem = TargetProblem(code="cut", said=first_line(error))
            except Exception as error:
                if not self.others_go_on.is_set():
                    raise
                problem = TargetProblem(code="failed", said=f"{type(error).__name__}: {first_line(error)}")
            self._set_first((name, problem))
            await self.others_go_on.wait()
            if problem != told or problem.code == "worker-ended":
                self._tell(name, problem)
            if problem.lasts:
                return
            told = problem
            pause_s = _FIRST_PAUSE_S if watch.elapsed_s > _STEADY_S else min(2 * pause_s, _LONGEST_PAUSE_S)
            await asyncio.sleep(pause_s)

    def _set_first(self, outcome: tuple[str, TargetProblem] | None) -> None:
        if not self.first.done():
            self.first.set_result(outcome)

    @asynccontextmanager
    async def _started(self) -> AsyncIterator[Callable[[], Any]]:
        """Yield what waits for the end of the worker, and returns how it ended.

        Raises:
            Unreachable: It does not start.
        """
        target, scheduler = self._target, self._fleet.scheduler.host
        async with AsyncExitStack() as stack:
            if target.host:
                connection = await stack.enter_async_context(connected(target))
                command = shlex.join((target.python or "python3", "-P", "-m", _MODULE))
                process: Any = await connection.create_process(f"exec {command}", encoding=None)
                is_over, host = process.wait_closed, ""
                scheduler = scheduler or str(connection.get_extra_info("sockname")[0])
            else:
                process = await _process_here(target)
                is_over, host = process.wait, _LOOPBACK
            stack.push_async_callback(_end, process, is_over)
            address = _address(scheduler or _LOOPBACK, self._port)
            request = WorkerRequest(name=target.name, scheduler=address, host=host, tls=self._tls)
            process.stdin.write(b"".join(msgspec.json.encode(line) + b"\n" for line in (target.variables, request)))
            await _require_answer(process)
            errors = asyncio.ensure_future(_last_line(process.stderr))

            async def ended() -> str:
                await is_over()
                return _how_it_ended(process.returncode, await errors)

            yield ended


async def _process_here(target: Target) -> asyncio.subprocess.Process:
    command, environment = python_process("-m", _MODULE, python=target.python or None)
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the coordinator, which ends the rest
        )
    except OSError as error:
        said = error.strerror or first_line(error)
        raise Unreachable(TargetProblem(code="python-missing", subject=target.python, said=said)) from error


async def _end(process: Any, is_over: Callable[[], Any]) -> None:
    """End a worker by what it takes for the end of its coordinator; one that goes on is killed."""
    with contextlib.suppress(OSError):
        process.stdin.write_eof()
    try:
        async with asyncio.timeout(_END_S):
            await is_over()
    except TimeoutError:
        with contextlib.suppress(OSError):
            process.kill()
            await is_over()


def _how_it_ended(code: int | None, last_line: str) -> str:
    """Return how a process ended; its last line is a reason only where it ended by itself, with an error.

    Args:
        code: A negative one is a signal; ``None`` where a connection ended without any.
        last_line: Of what it printed to stderr.
    """
    if code is None:
        return "ended without an exit code"
    return f"{how_it_ended(code)} ({one_line(last_line)})" if code > 0 and last_line else how_it_ended(code)


async def _require_answer(process: Any) -> None:
    """Wait until a worker has told its address: then it has joined the cluster."""
    try:
        async with asyncio.timeout(_START_S):
            line: bytes = await process.stdout.readline()
    except (TimeoutError, ValueError) as error:
        raise Unreachable(TargetProblem(code="no-answer")) from error
    if not line.endswith(b"\n"):
        said = one_line(await _last_line(process.stderr))
        raise Unreachable(TargetProblem(code="not-started", needed=__version__, said=said))


async def _last_line(stream: Any) -> str:
    """Return the last line of a stream that ends."""
    kept = b""
    while piece := await stream.read(_LONGEST_ERRORS):
        kept = (kept + piece)[-_LONGEST_ERRORS:]
    lines = kept.decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else ""


@asynccontextmanager
async def connected(target: Target) -> AsyncIterator[Any]:
    """Yield the connection to a target.

    Raises:
        Unreachable: There is none, its host key is not a known one, or it takes no key of ours.
    """
    user, _, host = target.host.rpartition("@")
    options: dict[str, Any] = {"username": user} if user else {}
    if target.identity is not None:
        options["client_keys"] = [str(target.identity)]
    file = target.known_hosts or Path("~/.ssh/known_hosts").expanduser()
    known: list[Any] = []

    def look_up(host: str, address: str, port: int) -> Any:
        found = asyncssh.match_known_hosts(str(file) if file.exists() else b"", host, address, port)
        known.extend((*found[0], *found[2]))  # also those that are revoked
        return found

    where: Any = {"host": target.host, "port": target.port}
    try:
        async with asyncio.timeout(_CONNECT_S):
            connection = await asyncssh.connect(
                host,
                target.port,
                known_hosts=look_up,
                keepalive_interval=_KEEPALIVE_S,
                password=None,
                agent_forwarding=False,
                **options,
            )
    except asyncssh.HostKeyNotVerifiable as error:
        code: Code = "changed-host-key" if known else "unknown-host-key"
        shown = str(file if target.known_hosts else "~/.ssh/known_hosts")
        raise Unreachable(TargetProblem(code=code, subject=shown, **where)) from error
    except asyncssh.PermissionDenied as error:
        raise Unreachable(TargetProblem(code="no-key-accepted", **where)) from error
    except (asyncssh.KeyImportError, ValueError, FileNotFoundError) as error:
        raise Unreachable(TargetProblem(code="key-unreadable", said=first_line(error))) from error
    except (OSError, asyncssh.Error, TimeoutError) as error:
        said = getattr(error, "strerror", None) or first_line(error)
        raise Unreachable(TargetProblem(code="not-reached", said=said, **where)) from error
    async with connection:
        yield connection


def certificates() -> Tls:
    """Return a new key with a certificate that is its own authority, for every part of a cluster.

    ``Security.temporary`` of Dask makes one that is valid from now on, which a target whose clock is behind refuses.
    """
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
