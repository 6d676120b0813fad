"""Looking at every target as ``irbench doctor`` looks at a machine: its versions, what disturbs it, and its peaks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from irbench.api.progress import Say
from irbench.errors import IrbenchError
from irbench.features.fleet.cluster import CallFailed, Cluster, Member, SchedulerLost, TargetLost
from irbench.features.fleet.coordinator import clock_ahead_s, problem_of_answer
from irbench.features.fleet.diagnosis_report import DoctorAnswer, FleetDiagnosis, TargetDiagnosis
from irbench.features.fleet.messages import TargetFacts, unpacked
from irbench.features.fleet.on_target import tasks
from irbench.features.fleet.problems import TargetProblem, problem_of_target
from irbench.features.fleet.progress import Spoken
from irbench.features.fleet.supervision import opened, with_targets
from irbench.features.fleet.targets import FleetFile
from irbench.measure.clock import Stopwatch

_WORKERS_S = 60.0
_NO_WORKER = TargetProblem(code="no-answer")


class _Problems(Spoken):
    """Takes in what is wrong with targets, which their rows say."""

    def refuse(self, name: str, problem: TargetProblem) -> None:
        self.unreachable[name] = problem


async def diagnosed(fleet: FleetFile, say: Say, *, peak: bool) -> FleetDiagnosis:
    """Look at every target, all of them at once.

    Args:
        fleet: Its targets.
        say: Receives what goes on.
        peak: Whether the peaks of each machine are measured, too.
    """
    problems = _Problems(say)
    async with opened(fleet, problems) as cluster:
        fleet = await with_targets(fleet, cluster)
        members = await _members(fleet, cluster, problems)
        described = await asyncio.gather(*(_described(cluster, member) for member in members))
        known = _refused(described, members, fleet)
        found = await asyncio.gather(
            *(_looked_at(cluster, member, known[member.name], peak=peak) for member in members)
        )
    by_name = {diagnosis.name: diagnosis for diagnosis in found}
    return FleetDiagnosis(
        [
            by_name.get(target.name)
            or TargetDiagnosis(name=target.name, problem=problems.unreachable.get(target.name, _NO_WORKER))
            for target in fleet.targets
        ]
    )


async def _members(fleet: FleetFile, cluster: Cluster, problems: _Problems) -> tuple[Member, ...]:
    """Return the workers of the targets, when all are there that can be."""
    wanted = {target.name for target in fleet.targets}
    watch = Stopwatch()
    while True:
        members = {member.name: member for member in (await cluster.members()).values()}
        if wanted - set(members) <= set(problems.unreachable) or watch.elapsed_s > _WORKERS_S:
            return tuple(members[name] for name in sorted(wanted & set(members)))
        await asyncio.sleep(0.5)


async def _described(cluster: Cluster, member: Member) -> TargetDiagnosis:
    try:
        facts = unpacked(await cluster.call(member, tasks.describe), TargetFacts, member.name)
    except SchedulerLost:
        raise
    except TargetLost:
        return TargetDiagnosis(name=member.name, problem=TargetProblem(code="cut"))
    except (CallFailed, IrbenchError):
        return TargetDiagnosis(name=member.name, problem=await problem_of_answer(cluster, member))
    return TargetDiagnosis(name=member.name, facts=facts, clock_ahead_s=clock_ahead_s(facts))


def _refused(
    described: Sequence[TargetDiagnosis], members: Sequence[Member], fleet: FleetFile
) -> dict[str, TargetDiagnosis]:
    """Return what is known of targets by name, with why one may not measure."""
    machines: dict[str, str] = {}
    known = {}
    for member, diagnosis in zip(members, described, strict=True):
        problem, facts = diagnosis.problem, diagnosis.facts
        if facts is not None:
            problem = problem_of_target(facts, fleet, machines, measures=member.measures)
            machines.setdefault(facts.machine, member.name)
        known[member.name] = msgspec.structs.replace(diagnosis, problem=problem)
    return known


async def _looked_at(cluster: Cluster, member: Member, known: TargetDiagnosis, *, peak: bool) -> TargetDiagnosis:
    """Have a target look at its machine: one that may not measure is not asked, since its worker may take no job."""
    if known.problem is not None:
        return known
    try:
        told = await cluster.call(member, tasks.diagnose, peak, measures=True)
        answer = msgspec.json.decode(told if isinstance(told, bytes) else b"", type=DoctorAnswer)
    except SchedulerLost:
        raise
    except TargetLost:
        return msgspec.structs.replace(known, problem=TargetProblem(code="cut"))
    except (CallFailed, ValueError):
        return msgspec.structs.replace(known, problem=await problem_of_answer(cluster, member))
    return msgspec.structs.replace(known, doctor=answer)
