"""A target that may not measure is a line with its reason, and is asked for nothing that it would never begin."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import metadata
from typing import Any

import pytest

pytest.importorskip("distributed")
pytest.importorskip("asyncssh")

from irbench import __version__
from irbench.errors import ExitCode
from irbench.features.fleet import diagnosis, workers
from irbench.features.fleet.cluster import TargetLost
from irbench.features.fleet.dask_process import Member
from irbench.features.fleet.diagnosis import FleetDiagnosis
from irbench.features.fleet.messages import TargetFacts, packed
from irbench.features.fleet.targets import FleetFile, Target


class Cluster:
    """Workers of Dask, of which one without the resource never begins a job that needs it."""

    def __init__(self, *members: Member, doctor: bytes | Exception = b'{"verdict": "0 findings"}') -> None:
        self._members = {member.name: member for member in members}
        self._doctor = doctor

    async def members(self) -> dict[str, Member]:
        return self._members

    async def call(self, member: Member, task: str, *_: Any, measures: bool = False) -> Any:
        if task == "describe":
            return packed(facts(member.name))
        if task == "version":
            return __version__.encode()
        if measures and not member.measures:
            await asyncio.Event().wait()
        if isinstance(self._doctor, Exception):
            raise self._doctor
        return self._doctor


def facts(machine: str) -> TargetFacts:
    return TargetFacts(
        irbench_version=__version__,
        python="3.12",
        machine=machine,
        processor="p",
        processors=1,
        memory_bytes=1,
        distributions={"distributed": metadata.version("distributed")},
        utc="",
    )


def diagnosed(monkeypatch: pytest.MonkeyPatch, cluster: Cluster, *names: str) -> FleetDiagnosis:
    @asynccontextmanager
    async def opened(*_: object) -> AsyncIterator[Cluster]:
        yield cluster

    monkeypatch.setattr(workers, "opened", opened)
    fleet = FleetFile(tuple(Target(name=name) for name in names))

    async def all_of_it() -> FleetDiagnosis:
        async with asyncio.timeout(20):
            return await diagnosis.diagnosed(fleet, lambda _: None, peak=False)

    return asyncio.run(all_of_it())


def codes(found: FleetDiagnosis) -> dict[str, str]:
    return {target.name: target.problem.code if target.problem else "" for target in found.targets}


def test_a_worker_without_the_resource_is_refused_and_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    cluster = Cluster(Member("a", "tls://a", measures=True), Member("b", "tls://b", measures=False))
    found = diagnosed(monkeypatch, cluster, "a", "b")
    assert codes(found) == {"a": "", "b": "no-resource"}
    assert [target.doctor is None for target in found.targets] == [False, True]
    assert found.exit_code == ExitCode.FAILED_CELL


@pytest.mark.parametrize(("doctor", "code"), [(TargetLost(), "cut"), (b"a traceback", "answers-otherwise")])
def test_a_target_that_goes_or_says_what_no_doctor_says_keeps_what_is_known_of_it(
    monkeypatch: pytest.MonkeyPatch, doctor: bytes | Exception, code: str
):
    found = diagnosed(monkeypatch, Cluster(Member("a", "tls://a", measures=True), doctor=doctor), "a")
    assert codes(found) == {"a": code}
    assert found.targets[0].facts is not None
    assert found.exit_code == ExitCode.USAGE
