"""Looking at every target as ``irbench doctor`` looks at a machine: its versions, what disturbs it, and its peaks."""

from __future__ import annotations

import asyncio

import msgspec

from irbench.api.progress import Say
from irbench.errors import IrbenchError
from irbench.features.fleet.cluster import CallFailed, Cluster, TargetLost
from irbench.features.fleet.coordinator import clock_ahead_s, problem_of_answer
from irbench.features.fleet.dask_process import Member
from irbench.features.fleet.diagnosis_report import DoctorAnswer, FleetDiagnosis, TargetDiagnosis
from irbench.features.fleet.messages import TargetFacts, unpacked
from irbench.features.fleet.problems import TargetProblem, problem_of_target
from irbench.features.fleet.progress import problem_line
from irbench.features.fleet.targets import FleetFile
from irbench.features.fleet.workers import opened, with_targets
from irbench.measure.clock import Stopwatch

_WORKERS_S = 60.0
_NO_WORKER = TargetProblem(code="no-answer")


async def diagnosed(fleet: FleetFile, say: Say, *, peak: bool) -> FleetDiagnosis:
    """Look at every target, all of them at once.

    Args:
        fleet: Its targets.
        say: Receives what goes on.
        peak: Whether the peaks of each machine are measured, too.
    """
    unusable: dict[str, TargetProblem] = {}

    def tell(name: str, problem: TargetProblem) -> None:
        if problem.lasts:  # its row says it
            unusable[name] = problem
        else:
            say(problem_line(name, problem))

    async with opened(fleet, tell, say) as cluster:
        fleet = await with_targets(fleet, cluster)
        wanted, watch = {target.name for target in fleet.targets}, Stopwatch()
        while wanted - (await cluster.members()).keys() - unusable.keys() and watch.elapsed_s < _WORKERS_S:
            await asyncio.sleep(0.5)
        members = [member for name, member in sorted((await cluster.members()).items()) if name in wanted]
        known = await asyncio.gather(*(_described(cluster, member) for member in members))
        machines: dict[str, str] = {}
        for place, (member, diagnosis) in enumerate(zip(members, known, strict=True)):
            if (facts := diagnosis.facts) is not None:
                problem = problem_of_target(facts, fleet, machines, measures=member.measures)
                machines.setdefault(facts.machine, member.name)
                known[place] = msgspec.structs.replace(diagnosis, problem=problem)
        found = await asyncio.gather(
            *(_looked_at(cluster, *pair, peak=peak) for pair in zip(members, known, strict=True))
        )
    by_name = {diagnosis.name: diagnosis for diagnosis in found}
    return FleetDiagnosis(
        [
            by_name.get(target.name) or TargetDiagnosis(name=target.name, problem=unusable.get(target.name, _NO_WORKER))
            for target in fleet.targets
        ]
    )


async def _described(cluster: Cluster, member: Member) -> TargetDiagnosis:
    try:
        facts = unpacked(await cluster.call(member, "describe"), TargetFacts, member.name)
    except TargetLost:
        return TargetDiagnosis(name=member.name, problem=TargetProblem(code="cut"))
    except (CallFailed, IrbenchError) as error:
        return TargetDiagnosis(name=member.name, problem=await problem_of_answer(cluster, member, error))
    return TargetDiagnosis(name=member.name, facts=facts, clock_ahead_s=clock_ahead_s(facts))


async def _looked_at(cluster: Cluster, member: Member, known: TargetDiagnosis, *, peak: bool) -> TargetDiagnosis:
    """Have a target look at its machine: one that may not measure is not asked, since its worker may take no job."""
    if known.problem is not None:
        return known
    try:
        told = await cluster.call(member, "diagnose", peak, measures=True)
        answer = msgspec.json.decode(told, type=DoctorAnswer)
    except TargetLost:
        return msgspec.structs.replace(known, problem=TargetProblem(code="cut"))
    except (CallFailed, ValueError, RecursionError) as error:
        return msgspec.structs.replace(known, problem=await problem_of_answer(cluster, member, error))
    return msgspec.structs.replace(known, doctor=answer)
