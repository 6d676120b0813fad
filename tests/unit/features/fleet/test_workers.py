"""A target that cannot be used is told, and the others go on; where none can, the call ends with what is wrong."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed")
pytest.importorskip("asyncssh")

import asyncssh
import msgspec
from asyncssh.constants import OPEN_RESOURCE_SHORTAGE

from irbench.errors import IrbenchError
from irbench.features.fleet import workers
from irbench.features.fleet.dask_process import Member, Tls
from irbench.features.fleet.problems import TargetProblem
from irbench.features.fleet.targets import FleetFile, SchedulerAddress, Target
from irbench.features.fleet.worker_process import WorkerRequest
from irbench.features.fleet.workers import Unreachable, cluster_of_own, connected
from irbench.system.programs import python_process

FAILURES = [
    asyncssh.ChannelOpenError(OPEN_RESOURCE_SHORTAGE, "no session"),
    asyncssh.ConnectionLost("it went away"),
    ConnectionResetError("reset by peer"),
]


class OneCluster:
    port = 8786


class Connection:
    """A connection on which no process can be started."""

    def __init__(self, failure: Exception) -> None:
        self.failure = failure

    def create_process(self, *_: object, **__: object) -> Any:
        raise self.failure

    def get_extra_info(self, _: str) -> tuple[str, int]:
        return ("127.0.0.1", 1)


def worker(folder: Path, code: str, name: str = "python") -> str:
    """Return a program in the place of Python that is a worker, and then does something."""
    python = folder / name
    read = "import os, sys, time\nsys.stdin.readline(); sys.stdin.readline()"
    python.write_text(f"#!{sys.executable}\n{read}\nprint('tls://here', flush=True)\n{code}\n")
    python.chmod(0o755)
    return str(python)


@pytest.fixture
def near(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    """A target of this machine whose worker runs until its standard input is closed, in a cluster without Dask."""

    @asynccontextmanager
    async def joined(*_: object) -> AsyncIterator[OneCluster]:
        yield OneCluster()

    monkeypatch.setattr(workers, "joined", joined)
    monkeypatch.setattr(workers, "certificates", lambda: Tls("a", "b", "c"))
    monkeypatch.setattr(workers, "_FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(workers, "_LONGEST_PAUSE_S", 0.01)
    return Target(name="near", python=worker(tmp_path, "sys.stdin.read()"))


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Exception]]:
    """Return by what processes of other machines fail, by name: one after the other, and the last again and again."""
    failures: dict[str, list[Exception]] = {}

    @asynccontextmanager
    async def connection(target: Target) -> AsyncIterator[Connection]:
        if "LATE" in target.variables:
            await asyncio.sleep(1)
        left = failures[target.name]
        yield Connection(left.pop(0) if len(left) > 1 else left[0])

    monkeypatch.setattr(workers, "connected", connection)
    return failures


class Worker:
    """A process of another machine that answers when it is told to, and runs until its input ends."""

    returncode = 0

    def __init__(self) -> None:
        self.stdin = self.stdout = self.stderr = self
        self.line: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._input_ended = asyncio.Event()

    async def create_process(self, *_: object, **__: object) -> Worker:
        return self

    def get_extra_info(self, _: str) -> tuple[str, int]:
        return ("127.0.0.1", 1)

    def write(self, _: bytes) -> None: ...

    def write_eof(self) -> None:
        self._input_ended.set()

    async def readline(self) -> bytes:
        return await self.line

    async def read(self, _: int) -> bytes:
        await self.wait_closed()
        return b""

    async def wait_closed(self) -> None:
        await self._input_ended.wait()


async def opened(fleet: FleetFile, told: list[tuple[str, TargetProblem]], count: int = 0) -> str:
    """Return the address of a cluster when so much was told of its targets."""
    async with asyncio.timeout(60), cluster_of_own(fleet, lambda *problem: told.append(problem)) as own:
        while len(told) < count:
            await asyncio.sleep(0.01)
        return own.address


def run(*targets: Target, count: int = 0) -> list[tuple[str, str]]:
    """Return what was told of targets, as many as asked for."""
    told: list[tuple[str, TargetProblem]] = []
    asyncio.run(opened(FleetFile(targets), told, count))
    return [(name, problem.code) for name, problem in told]


@pytest.mark.usefixtures("near")
@pytest.mark.parametrize("failure", FAILURES, ids=repr)
def test_the_call_ends_where_the_only_target_fails_after_it_was_connected(
    reached: dict[str, list[Exception]], failure: Exception
):
    reached["far"] = [failure]
    with pytest.raises(IrbenchError, match="far") as refusal:
        run(Target(name="far", host="h"))
    assert refusal.value.hint


@pytest.mark.parametrize("failure", FAILURES, ids=repr)
def test_a_target_that_fails_after_it_was_connected_is_told_while_the_others_go_on(
    reached: dict[str, list[Exception]], near: Target, failure: Exception
):
    reached["far"] = [failure]
    assert run(near, Target(name="far", host="h"), count=1) == [("far", "cut")]


def test_where_no_target_can_be_used_the_call_says_why_of_each(reached: dict[str, list[Exception]], near: Target):
    del near
    reached["a"], reached["b"] = [ConnectionResetError("first")], [ConnectionResetError("second")]
    with pytest.raises(IrbenchError) as refusal:
        run(Target(name="a", host="h"), Target(name="b", host="h"))
    said = " ".join((refusal.value.message, *refusal.value.details))
    assert all(text in said for text in ("a cannot be used", "first", "b cannot be used", "second"))


@pytest.mark.usefixtures("near")
def test_what_nobody_foresaw_ends_the_call_with_it(reached: dict[str, list[Exception]]):
    reached["far"] = [ZeroDivisionError()]
    with pytest.raises(ZeroDivisionError):
        run(Target(name="far", host="h"))


def test_a_target_whose_keeping_fails_as_nobody_foresaw_is_told_while_the_others_go_on(
    reached: dict[str, list[Exception]], near: Target
):
    reached["far"] = [ZeroDivisionError("by zero")]
    assert run(near, Target(name="far", host="h", variables={"LATE": "1"}), count=1) == [("far", "failed")]


def test_a_worker_that_answers_as_the_call_ends_does_not_keep_it_from_ending(
    near: Target, monkeypatch: pytest.MonkeyPatch
):
    async def ended() -> None:
        far = Worker()

        @asynccontextmanager
        async def connection(_: Target) -> AsyncIterator[Worker]:
            yield far

        monkeypatch.setattr(workers, "connected", connection)
        fleet = FleetFile((near, Target(name="far", host="h")))
        async with asyncio.timeout(20), cluster_of_own(fleet, lambda *_: None):
            far.line.set_result(b"tls://here\n")

    asyncio.run(ended())


@pytest.mark.parametrize(("host", "address"), [("::1", "tls://[::1]:8786"), ("10.0.0.1", "tls://10.0.0.1:8786")])
def test_the_address_of_the_scheduler_can_be_connected_to(near: Target, host: str, address: str):
    fleet = FleetFile((near,), scheduler=SchedulerAddress(host=host))
    assert asyncio.run(opened(fleet, [])) == address


def test_a_worker_that_ends_is_told_and_started_again_each_time(near: Target, tmp_path: Path):
    ends = Target(name="ends", python=worker(tmp_path, "sys.exit('no memory')", "ending"))
    assert run(near, ends, count=3) == [("ends", "worker-ended")] * 3


def test_a_passing_problem_is_told_once_for_as_long_as_it_is_the_same(
    reached: dict[str, list[Exception]], near: Target
):
    same = [ConnectionResetError("reset by peer") for _ in range(5)]
    reached["far"] = [*same, asyncssh.ConnectionLost("it went away")]
    assert run(near, Target(name="far", host="h"), count=2) == [("far", "cut")] * 2


def test_a_lasting_problem_is_told_once_and_nothing_is_started_again(
    reached: dict[str, list[Exception]], near: Target, tmp_path: Path
):
    lasting = Unreachable(TargetProblem(code="no-key-accepted", host="h"))
    reached["far"] = [lasting, ZeroDivisionError()]
    ends = Target(name="ends", python=worker(tmp_path, "sys.exit(1)", "ending"))
    told = run(near, Target(name="far", host="h"), ends, count=6)
    assert [code for name, code in told if name == "far"] == ["no-key-accepted"]
    assert len(reached["far"]) == 1


@pytest.mark.usefixtures("near")
def test_variables_are_sent_as_input_and_stand_in_no_command_line_or_environment(tmp_path: Path):
    shown, sent, python = tmp_path / "shown", tmp_path / "sent", tmp_path / "says"
    python.write_text(
        f"#!{sys.executable}\nimport os, sys\n"
        f"open({str(shown)!r}, 'w').write(repr([sys.argv, dict(os.environ)]))\n"
        f"open({str(sent)!r}, 'w').write(sys.stdin.readline())\n"
        "print('tls://here', flush=True)\nsys.stdin.read()\n"
    )
    python.chmod(0o755)
    run(Target(name="a", python=str(python), variables={"TOKEN": "a secret"}))
    assert "a secret" not in shown.read_text()
    assert "a secret" in sent.read_text()


TRACKER = "sys.stderr.write('resource_tracker: There appear to be 1 leaked semaphore objects\\n')"


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("raise SystemExit('MemoryError: no memory')", "ended with exit code 1 (MemoryError: no memory)"),
        (f"{TRACKER}; os.kill(os.getpid(), {signal.SIGKILL.value})", "was killed by SIGKILL"),
        (f"{TRACKER}; os.kill(os.getpid(), {signal.SIGSEGV.value})", "crashed with SIGSEGV"),
        (f"{TRACKER}", "ended with exit code 0"),
    ],
    ids=["an error", "killed", "crashed", "without an error"],
)
def test_a_worker_that_ended_is_said_to_have_ended_by_what_ended_it(near: Target, tmp_path: Path, code: str, how: str):
    told: list[tuple[str, TargetProblem]] = []
    ends = Target(name="ends", python=worker(tmp_path, code, "ending"))
    asyncio.run(opened(FleetFile((near, ends)), told, 1))
    assert told[0][1].said == how


@pytest.mark.usefixtures("near")
@pytest.mark.parametrize(
    ("lines", "said"),
    [("import sys; sys.exit('No module named irbench')", "No module named irbench"), ("print('x', end='')", "irbench")],
    ids=["an error", "no line"],
)
def test_a_python_without_irbench_is_a_line_with_what_it_said(tmp_path: Path, lines: str, said: str):
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\n{lines}\n")
    python.chmod(0o755)
    with pytest.raises(IrbenchError, match=said):
        run(Target(name="a", python=str(python)))


@pytest.mark.usefixtures("near")
def test_a_python_that_is_not_there_is_named():
    with pytest.raises(IrbenchError, match="/none/python cannot be started"):
        run(Target(name="a", python="/none/python"))


KEYS = [asyncssh.generate_private_key("ssh-ed25519") for _ in range(2)]


def line_of(key: asyncssh.SSHKey, name: str) -> str:
    return f"{name} {key.export_public_key().decode()}"


def hashed(name: str) -> str:
    salt = b"12345678901234567890"
    digest = hmac.new(salt, name.encode(), hashlib.sha1).digest()
    return f"|1|{base64.b64encode(salt).decode()}|{base64.b64encode(digest).decode()}"


def found_code(known: Path, port: int) -> str:
    """Return the code of what is wrong with a server of the first key."""

    async def connect() -> str:
        async with asyncssh.listen("127.0.0.1", port, server_host_keys=[KEYS[0]]) as server:
            target = Target(name="a", host="me@localhost", port=port or server.get_port(), known_hosts=known)
            try:
                async with asyncio.timeout(60), connected(target):
                    return ""
            except Unreachable as error:
                return error.problem.code

    return asyncio.run(connect())


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@pytest.mark.parametrize("written", [str, hashed], ids=["plain", "hashed"])
@pytest.mark.parametrize(
    ("key", "name", "code"),
    [
        (0, "[localhost]:{port}", "no-key-accepted"),
        (0, "localhost", "no-key-accepted"),
        (1, "[localhost]:{port}", "changed-host-key"),
        (1, "localhost", "changed-host-key"),
        (1, "elsewhere", "unknown-host-key"),
        (1, "[localhost]:1", "unknown-host-key"),
    ],
)
def test_a_changed_host_key_and_an_unknown_one_are_told_apart(
    tmp_path: Path, written: Callable[[str], str], key: int, name: str, code: str
):
    port, known = free_port(), tmp_path / "known_hosts"
    known.write_text(line_of(KEYS[key], written(name.format(port=port))))
    assert found_code(known, port) == code


@pytest.mark.parametrize("written", [str, hashed], ids=["plain", "hashed"])
@pytest.mark.parametrize(
    ("name", "code"), [("h", "changed-host-key"), ("[h]:22", "unknown-host-key"), ("other", "unknown-host-key")]
)
def test_the_usual_port_stands_in_no_file_of_known_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: Callable[[str], str], name: str, code: str
):
    async def refused(host: str, port: int, known_hosts: Callable[..., object], **_: object) -> None:
        known_hosts(host, "", None if port == 22 else port)
        raise asyncssh.HostKeyNotVerifiable("no")

    monkeypatch.setattr(workers.asyncssh, "connect", refused)
    known = tmp_path / "known_hosts"
    known.write_text(line_of(KEYS[1], written(name)))

    async def connect() -> str:
        with pytest.raises(Unreachable) as error:
            async with connected(Target(name="a", host="me@h", known_hosts=known)):
                pass
        return error.value.problem.code

    assert asyncio.run(connect()) == code


def test_a_key_is_unknown_where_no_host_is_known(tmp_path: Path):
    known = tmp_path / "known_hosts"
    known.touch()
    assert found_code(known, free_port()) == "unknown-host-key"


def test_a_worker_whose_coordinator_ends_before_its_scheduler_is_there_ends_too(own_home: Path):
    request = WorkerRequest(name="a", scheduler="tls://127.0.0.1:1", tls=workers.certificates())
    lines = b"".join(msgspec.json.encode(line) + b"\n" for line in ({}, request))
    command, environment = python_process("-m", "irbench.features.fleet.worker_process")
    done = subprocess.run(command, env=environment, input=lines, capture_output=True, check=False, timeout=600)
    assert (done.returncode, done.stdout) == (0, b"")


def test_a_target_that_no_worker_of_a_running_cluster_has_the_name_of_is_told_at_once(monkeypatch: pytest.MonkeyPatch):
    class Cluster:
        async def members(self) -> dict[str, Member]:
            return {
                "xeon": Member("xeon", "tcp://a:1", measures=True),
                "idle": Member("idle", "tcp://a:2", measures=False),
            }

    @asynccontextmanager
    async def joined(_: object) -> AsyncIterator[Cluster]:
        yield Cluster()

    monkeypatch.setattr(workers, "joined", joined)
    fleet = FleetFile((Target(name="xeon"), Target(name="second")), scheduler=SchedulerAddress(address="tcp://there:1"))
    told: list[tuple[str, TargetProblem]] = []

    async def join() -> None:
        async with workers.opened(fleet, lambda *problem: told.append(problem)):
            pass

    asyncio.run(join())
    ((name, problem),) = told
    assert (name, problem.code, problem.lasts) == ("second", "no-worker", False)
    assert problem.text().endswith(": xeon")


def test_an_encrypted_scheduler_without_certificates_is_refused_before_it_is_asked():
    fleet = FleetFile(scheduler=SchedulerAddress(address="tls://there:1"))

    async def join() -> None:
        async with workers.opened(fleet, lambda *_: None):
            pass

    with pytest.raises(IrbenchError, match="needs certificates"):
        asyncio.run(join())
