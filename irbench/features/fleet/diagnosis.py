"""Looking at every target as ``irbench doctor`` looks at a machine: its versions, what disturbs it, and its peaks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from irbench.api.display import Displayable
from irbench.api.progress import Say
from irbench.errors import ExitCode, IrbenchError
from irbench.features.fleet.cluster import CallFailed, Cluster, TargetLost
from irbench.features.fleet.coordinator import clock_ahead_s, problem_of_answer
from irbench.features.fleet.dask_process import Member
from irbench.features.fleet.messages import TargetFacts, unpacked
from irbench.features.fleet.options import FLEET
from irbench.features.fleet.problems import TargetProblem, problem_of_target
from irbench.features.fleet.progress import problem_line
from irbench.features.fleet.targets import FleetFile
from irbench.measure.clock import Stopwatch
from irbench.roofline import Bandwidth, ComputePeak
from irbench.system.prepared_types import prepared

if TYPE_CHECKING:
    from rich.console import RenderableType

_WORKERS_S = 60.0
_NO_WORKER = TargetProblem(code="no-answer")


class FoundByDoctor(msgspec.Struct, frozen=True):
    """One finding of a doctor on a target; see :mod:`irbench.features.doctor.findings`."""

    code: str
    found: str = ""
    remedy: str = ""


class BackendFound(msgspec.Struct, frozen=True):
    """A backend on a target: the version of its runtime, and why it cannot run; ``None`` where it can."""

    name: str
    version: str | None = None
    problem: str | None = None


class PeaksFound(msgspec.Struct, frozen=True):
    """What a machine attains at most; see :class:`irbench.roofline.MachinePeaks`."""

    compute: tuple[ComputePeak, ...] = ()
    bandwidth: tuple[Bandwidth, ...] = ()


class DoctorAnswer(msgspec.Struct, frozen=True):
    """What is read of the answer of a doctor on a target."""

    verdict: str
    findings: tuple[FoundByDoctor, ...] = ()
    backends: tuple[BackendFound, ...] = ()
    peak: PeaksFound | None = None


class TargetDiagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about a target.

    Attributes:
        problem: Why it may not measure; ``None`` where it may.
        clock_ahead_s: By how much its clock is ahead of this machine's; ``None`` where nobody knows.
    """

    name: str
    problem: TargetProblem | None = None
    facts: TargetFacts | None = None
    doctor: DoctorAnswer | None = None
    clock_ahead_s: float | None = None


class FleetDiagnosis(Displayable):
    """What was found out about all targets."""

    _command = FLEET

    def __init__(self, targets: Sequence[TargetDiagnosis]) -> None:
        self.targets = tuple(targets)

    @property
    def exit_code(self) -> int:
        """2 where no target may measure, 3 where some may not, otherwise 0."""
        usable = [not target.problem for target in self.targets]
        return int(ExitCode.OK if all(usable) else ExitCode.FAILED_CELL if any(usable) else ExitCode.USAGE)

    def to_json(self) -> str:
        """Return it as JSON."""
        from irbench.render.text_formats import json_text

        return json_text({"targets": msgspec.to_builtins(self.targets)}, indent=2)

    def __repr__(self) -> str:
        """Return how many targets may measure."""
        usable = sum(not target.problem for target in self.targets)
        return f"<FleetDiagnosis: {usable} of {len(self.targets)} targets may measure>"

    def __rich__(self) -> RenderableType:
        """Return the table as ``irbench fleet doctor`` prints it; called by rich."""
        from irbench.features.fleet.view import diagnosis_view

        return diagnosis_view(self.targets)


async def diagnosed(fleet: FleetFile, say: Say, *, peak: bool) -> FleetDiagnosis:
    """Look at every target, all of them at once.

    Args:
        fleet: Its targets.
        say: Receives what goes on.
        peak: Whether the peaks of each machine are measured, too.
    """
    from irbench.features.fleet.workers import opened, with_targets

    unusable: dict[str, TargetProblem] = {}

    def tell(name: str, problem: TargetProblem) -> None:
        if problem.lasts or problem.code == "no-worker":  # its row says it
            unusable[name] = problem
        else:
            say(problem_line(name, problem))

    async with opened(fleet, tell) as cluster:
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
        answer = msgspec.json.decode(told, type=prepared(DoctorAnswer))
    except TargetLost:
        return msgspec.structs.replace(known, problem=TargetProblem(code="cut"))
    except (CallFailed, ValueError, RecursionError) as error:
        return msgspec.structs.replace(known, problem=await problem_of_answer(cluster, member, error))
    return msgspec.structs.replace(known, doctor=answer)
