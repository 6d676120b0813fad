"""Looking at every target as ``irbench doctor`` looks at a machine: its versions, what disturbs it, and its peaks."""

from __future__ import annotations

import asyncio

import msgspec

from irbench.api.progress import Say
from irbench.errors import IrbenchError
from irbench.features.fleet.cluster import CallFailed, Cluster, Member, SchedulerLost, TargetLost
from irbench.features.fleet.coordinator import clock_ahead_s, problem_of_answer
from irbench.features.fleet.messages import TargetFacts, unpacked
from irbench.features.fleet.on_target import tasks
from irbench.features.fleet.problems import TargetProblem, problem_of_target
from irbench.features.fleet.progress import Spoken
from irbench.features.fleet.report import DoctorAnswer, FleetDiagnosis, TargetDiagnosis
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
        found = await asyncio.gather(*(_diagnosed(cluster, member, peak=peak) for member in members))
    machines: dict[str, str] = {}
    by_name = {}
    for member, diagnosis in zip(members, found, strict=True):
        problem = diagnosis.problem
        if diagnosis.facts is not None:
            problem = problem or problem_of_target(diagnosis.facts, fleet, machines, measures=member.measures)
            machines.setdefault(diagnosis.facts.machine, member.name)
        by_name[member.name] = msgspec.structs.replace(diagnosis, problem=problem)
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


async def _diagnosed(cluster: Cluster, member: Member, *, peak: bool) -> TargetDiagnosis:
    facts = None
    try:
        facts = unpacked(await cluster.call(member, tasks.describe), TargetFacts, member.name)
        ahead_s = clock_ahead_s(facts)
        told = await cluster.call(member, tasks.diagnose, peak, measures=True)
        answer = msgspec.json.decode(told if isinstance(told, bytes) else b"", type=DoctorAnswer)
    except SchedulerLost:
        raise
    except TargetLost:
        return TargetDiagnosis(name=member.name, facts=facts, problem=TargetProblem(code="cut"))
    except (CallFailed, IrbenchError, ValueError):
        problem = await problem_of_answer(cluster, member)
        return TargetDiagnosis(name=member.name, facts=facts, problem=problem)
    return TargetDiagnosis(name=member.name, facts=facts, doctor=answer, clock_ahead_s=ahead_s)
