"""What the Dask side of a fleet sends is checked and bounded, and whoever waits for it learns of its end."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from irbench.errors import IrbenchError
from irbench.features.fleet import cluster
from irbench.features.fleet.cluster import CallFailed, Cluster, SchedulerLost, TargetLost, joined
from irbench.features.fleet.dask_process import Answer, Failure, Member, Members, NotOpened, Open, Opened, framed

pytestmark = pytest.mark.usefixtures("own_home")
A = Member("a", "tls://a:1", measures=True)
_FRAMES = """\
import os, sys, time
def read():
    length = int.from_bytes(sys.stdin.buffer.read(4), "big")
    return sys.stdin.buffer.read(length)
def tell(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
read()
"""
_START = Open()
_WAIT = "\nread_all = sys.stdin.buffer.read()\n"


class DaskSide:
    """A script in the place of the Dask side, written in lines of Python."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._script = folder / "dask_side.py"
        self.log = folder / "log"
        monkeypatch.setattr(cluster, "python_process", self._command)

    def _command(self, *_: object) -> tuple[list[str], dict[str, str]]:
        return [sys.executable, str(self._script)], dict(os.environ)

    def does(self, *lines: str) -> None:
        self._script.write_text(_FRAMES + "\n".join(lines) + _WAIT)


def tells(*events: Any) -> str:
    return f"tell({b''.join(map(framed, events))!r})"


def sends(data: bytes) -> str:
    return f"tell({len(data).to_bytes(4, 'big') + data!r})"


@pytest.fixture
def side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DaskSide:
    return DaskSide(tmp_path, monkeypatch)


def run(act: Callable[[Cluster], Awaitable[Any]], request: Open = _START) -> Any:
    """Return what an act with the cluster returns, which must not take long."""

    async def all_of_it() -> Any:
        async with asyncio.timeout(60), joined(request) as there:
            return await act(there)

    return asyncio.run(all_of_it())


async def asked(there: Cluster) -> bytes:
    return await there.call(A, "describe", most_bytes=10)


def test_a_side_that_the_kernel_cannot_confine_is_not_used_and_the_hint_says_how_it_would_be(side: DaskSide):
    side.does(tells(NotOpened(is_unconfined=True)))
    with pytest.raises(IrbenchError, match="cannot confine") as refusal:
        run(lambda there: there.members())
    assert "trusted = true" in refusal.value.hint


def test_a_worker_that_does_not_answer_in_time_has_failed_and_the_others_go_on(
    side: DaskSide, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cluster, "_DEADLINES_S", {"describe": 0.01})
    side.does(tells(Opened(8786), Members((A,))), "read()")
    with pytest.raises(CallFailed):
        run(asked)


def test_an_answer_reaches_who_asked_and_the_workers_are_known_by_their_names(side: DaskSide):
    side.does(tells(Opened(8786), Members((A,))), "read()", tells(Answer(0, b"yes")))

    async def act(there: Cluster) -> Any:
        members = await there.members()
        assert await there.members() is members
        return there.port, members, await asked(there)

    assert run(act) == (8786, {"a": A}, b"yes")


def test_an_answer_that_is_too_large_is_a_call_that_failed_and_the_next_is_answered(side: DaskSide):
    side.does(tells(Opened(1)), "read()", tells(Answer(0, b"x" * 11)), "read()", tells(Answer(1, b"x" * 10)))

    async def act(there: Cluster) -> bytes:
        with pytest.raises(CallFailed):
            await asked(there)
        return await asked(there)

    assert run(act) == b"x" * 10


@pytest.mark.parametrize(("is_lost", "error"), [(True, TargetLost), (False, CallFailed)])
def test_a_failure_says_whether_the_worker_is_gone(side: DaskSide, is_lost: bool, error: type[Exception]):
    side.does(tells(Opened(1)), "read()", tells(Failure(0, is_lost)))
    with pytest.raises(error):
        run(asked)


def test_answers_that_nobody_waits_for_are_left_alone(side: DaskSide):
    nobodys = (
        Answer(7, b"x"),
        Answer(-1, b"x"),
        Failure(1 << 60, is_lost=True),
        Opened(2),
        NotOpened("no"),
    )
    mine = (Answer(0, b"first"), Answer(0, b"again"), Failure(0, is_lost=True))
    side.does(tells(Opened(1)), "read()", tells(*nobodys, *mine))
    assert run(asked) == b"first"


_NESTED = b"\x84\xa4type\xa6Answer\xa6number\x00\xa4data\xc4\x01x\xa1z" + b"\x91" * 100_000 + b"\x00"
NO_MESSAGES = {
    "longer than allowed": "tell(b'\\xff\\xff\\xff\\xff' + b'x' * 1000)",
    "empty": sends(b""),
    "no MessagePack": sends(b"\xc1"),
    "of another type": sends(msgspec.msgpack.encode({"type": "Bomb"})),
    "without a type": sends(msgspec.msgpack.encode([1, 2])),
    "text for a number": sends(msgspec.msgpack.encode({"type": "Answer", "number": "0", "data": b""})),
    "text for bytes": sends(msgspec.msgpack.encode({"type": "Answer", "number": 0, "data": 5})),
    "nested deeply": sends(_NESTED),
    "cut short": "tell(b'\\x00\\x00\\x00\\x09x'); sys.exit()",
    "the end": "sys.exit()",
    "killed": "os.kill(os.getpid(), 9)",
}


@pytest.mark.parametrize("line", NO_MESSAGES.values(), ids=NO_MESSAGES)
def test_all_who_wait_learn_that_the_scheduler_is_gone_where_its_process_ends_or_sends_no_message(
    side: DaskSide, line: str, caplog: pytest.LogCaptureFixture
):
    side.does(tells(Opened(1)), "read(); read()", line)

    async def act(there: Cluster) -> None:
        waiting = await asyncio.gather(asked(there), asked(there), there.members(), return_exceptions=True)
        assert [type(outcome) for outcome in waiting] == [SchedulerLost] * 3
        with pytest.raises(SchedulerLost):
            await asked(there)
        with pytest.raises(SchedulerLost):
            await there.members()

    run(act)
    assert not caplog.records


def test_a_call_that_nobody_waits_for_any_more_is_withdrawn(side: DaskSide):
    side.does(
        tells(Opened(1)),
        "first, second = read(), read()",
        f"open({str(side.log)!r}, 'wb').write(second)",
    )

    async def act(there: Cluster) -> None:
        call = asyncio.create_task(asked(there))
        await asyncio.sleep(0.1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        while not side.log.exists() or not side.log.read_bytes():
            await asyncio.sleep(0.01)

    run(act)
    assert msgspec.msgpack.decode(side.log.read_bytes()) == {"type": "Withdraw", "number": 0}


def test_a_side_that_reads_nothing_holds_nobody_up_who_gives_up(side: DaskSide):
    side.does(tells(Opened(1)), "time.sleep(1000)")

    async def act(there: Cluster) -> None:
        calls = [asyncio.create_task(asked(there))]
        await asyncio.sleep(0.1)
        calls += [asyncio.create_task(there.call(A, "take_piece", b"x" * (1 << 22))) for _ in range(2)]
        await asyncio.sleep(0.1)
        for call in calls:
            call.cancel()
        async with asyncio.timeout(20):
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [asyncio.CancelledError] * 3

    run(act)


def test_a_side_that_tells_of_more_workers_than_there_can_be_is_not_believed(
    side: DaskSide, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cluster, "_MOST_WORKERS", 1)
    side.does(tells(Opened(1), Members((A, A)), Members((A,))))
    with pytest.raises(SchedulerLost):
        run(lambda there: there.members())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (tells(NotOpened("Address in use\nand more")), r"\(?Address in use"),
        (tells(Members(())), "does not start"),
        *((line, "does not start") for line in NO_MESSAGES.values()),
    ],
    ids=["refused", "another event", *NO_MESSAGES],
)
def test_a_scheduler_that_does_not_start_is_a_line_with_a_hint(side: DaskSide, line: str, said: str):
    side.does(line)
    with pytest.raises(IrbenchError, match=said) as refusal:
        run(asked)
    assert refusal.value.message.startswith("The scheduler of Dask does not start")
    assert "\n" not in refusal.value.message
    assert refusal.value.hint


def test_a_scheduler_that_is_not_reached_is_named(side: DaskSide):
    side.does(tells(NotOpened("timed out")))
    with pytest.raises(IrbenchError, match="tcp://there:1 cannot be reached: timed out"):
        run(asked, Open(address="tcp://there:1"))


def test_the_dask_side_knows_nothing_of_the_environment_and_its_process_ends_with_the_block(
    side: DaskSide, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SECRET_TOKEN", "secret")
    side.does(
        f"open({str(side.log)!r}, 'w').write(f'{{os.getpid()}}\\n' + repr(dict(os.environ)))",
        tells(Opened(1)),
    )

    async def act(_: Cluster) -> None: ...

    run(act)
    number, environment = side.log.read_text().split("\n", 1)
    assert "secret" not in environment
    assert not Path(f"/proc/{number}").exists()


def test_nothing_of_dask_is_imported_where_a_fleet_is_coordinated():
    modules = "run, coordinator, workers, cluster, diagnosis, held_cluster, answers"
    code = f"from irbench.features.fleet import {modules}; import sys; print({{*sys.modules}} & {{'dask'}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
