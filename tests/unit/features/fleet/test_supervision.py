"""A target that cannot be used is told, and the others go on; where none can, the call ends with what is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

pytest.importorskip("distributed")
pytest.importorskip("asyncssh")

import asyncssh

from irbench.errors import IrbenchError
from irbench.features.fleet import supervision
from irbench.features.fleet.launching import Unreachable
from irbench.features.fleet.problems import TargetProblem
from irbench.features.fleet.targets import FleetFile, SchedulerAddress, Target

FAILURES = [
    asyncssh.ChannelOpenError(asyncssh.OPEN_RESOURCE_SHORTAGE, "no session"),
    asyncssh.ConnectionLost("it went away"),
    ConnectionResetError("reset by peer"),
]


class Listener:
    def __init__(self) -> None:
        self.unreachable: dict[str, TargetProblem] = {}
        self.told: list[tuple[str, str]] = []

    def refuse(self, name: str, problem: TargetProblem) -> None:
        self.told.append((name, problem.code))

    def not_there(self, name: str, problem: TargetProblem) -> None:
        self.told.append((name, problem.code))

    def worker_ended(self, name: str, said: str) -> None:
        self.told.append((name, said))


class Running:
    """A process that does not end."""

    address = "tls://127.0.0.1:8786"

    async def ended(self) -> str:
        await asyncio.Event().wait()
        return ""


class Connection:
    """A connection on which no process can be started."""

    def __init__(self, failure: Exception) -> None:
        self.failure = failure

    def create_process(self, *_: object, **__: object) -> Any:
        raise self.failure

    def get_extra_info(self, _: str) -> tuple[str, int]:
        return ("127.0.0.1", 1)


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> dict[str, Exception]:
    """Have processes of this machine run; return by what those of other machines fail, by name."""
    failures: dict[str, Exception] = {}

    @asynccontextmanager
    async def running(*_: object) -> AsyncIterator[Running]:
        yield Running()

    @asynccontextmanager
    async def connected(target: Target) -> AsyncIterator[Connection]:
        if "LATE" in target.variables:
            await asyncio.sleep(0.1)
        yield Connection(failures[target.name])

    monkeypatch.setattr(supervision, "started_here", running)
    monkeypatch.setattr(supervision, "joined", running)
    monkeypatch.setattr(supervision, "connected", connected)
    return failures


async def opened(fleet: FleetFile, listener: Listener, told: int = 0) -> str:
    """Return the address of a cluster when so much was told of its targets."""
    async with asyncio.timeout(30), supervision.cluster_of_own(fleet, listener) as own:
        while len(listener.told) < told:
            await asyncio.sleep(0.01)
        return own.address


@pytest.mark.parametrize("failure", FAILURES, ids=repr)
def test_the_call_ends_where_the_only_target_fails_after_it_was_connected(
    reached: dict[str, Exception], failure: Exception
):
    reached["far"] = failure
    with pytest.raises(IrbenchError, match="far") as refusal:
        asyncio.run(opened(FleetFile((Target(name="far", host="h"),)), Listener()))
    assert refusal.value.hint


@pytest.mark.parametrize("failure", FAILURES, ids=repr)
def test_a_target_that_fails_after_it_was_connected_is_told_while_the_others_go_on(
    reached: dict[str, Exception], failure: Exception
):
    reached["far"] = failure
    listener = Listener()
    asyncio.run(opened(FleetFile((Target(name="near"), Target(name="far", host="h"))), listener, told=1))
    assert list(listener.unreachable) == ["far"]


def test_a_scheduler_that_does_not_start_ends_the_call_in_a_line(monkeypatch: pytest.MonkeyPatch):
    def refused(*_: object) -> Any:
        raise Unreachable(TargetProblem(code="no-answer"))

    monkeypatch.setattr(supervision, "started_here", refused)
    with pytest.raises(IrbenchError, match="scheduler"):
        asyncio.run(opened(FleetFile((Target(name="near"),)), Listener()))


def test_what_nobody_foresaw_ends_the_call_with_it(reached: dict[str, Exception]):
    reached["far"] = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        asyncio.run(opened(FleetFile((Target(name="far", host="h"),)), Listener()))


def test_a_target_whose_keeping_fails_as_nobody_foresaw_is_told_while_the_others_go_on(reached: dict[str, Exception]):
    reached["far"] = ZeroDivisionError("by zero")
    listener = Listener()
    fleet = FleetFile((Target(name="near"), Target(name="far", host="h", variables={"LATE": "1"})))
    asyncio.run(opened(fleet, listener, told=1))
    assert listener.told == [("far", "failed")]


@pytest.mark.parametrize(("host", "address"), [("::1", "tls://[::1]:8786"), ("10.0.0.1", "tls://10.0.0.1:8786")])
@pytest.mark.usefixtures("reached")
def test_the_address_of_the_scheduler_can_be_connected_to(host: str, address: str):
    fleet = FleetFile((Target(name="near"),), scheduler=SchedulerAddress(host=host))
    assert asyncio.run(opened(fleet, Listener())) == address
