"""``irbench.fleet``: measure a plan on every target, and go on where it stopped."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import msgspec

from irbench.api.progress import ProgressOption, Reporter, Say, reporting
from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.features.fleet.asked_models import command_of, plan_of_models
from irbench.features.fleet.coordinator import Coordinator
from irbench.features.fleet.job_queue import JobQueue
from irbench.features.fleet.jobs import Shipments, jobs_of, refuse_own_code
from irbench.features.fleet.journal import fleet_names, journal_to_write, read_journal
from irbench.features.fleet.keywords import FleetKeywords, FleetServeKeywords, FleetTuneKeywords
from irbench.features.fleet.options import FLEET, FLEET_SERVE, FLEET_TUNE, FleetOptions
from irbench.features.fleet.progress import FleetProgress
from irbench.features.fleet.report import Fleet, report_of
from irbench.features.fleet.targets import FleetFile, read_targets, this_machine
from irbench.features.plan.expansion import in_order, select
from irbench.features.plan.reading import PlanSource, SweepPlan, read_plan
from irbench.features.plan.table_options import SweepSetup
from irbench.features.serve.options import SERVE, ServeOptions
from irbench.features.serve.run import serving_plan
from irbench.features.tune.least_budget import warn_of_small_budget
from irbench.features.tune.options import TUNE, TuneOptions
from irbench.features.tune.service_level import refuse_contradictions_of_search
from irbench.options.option import names_keywords
from irbench.options.run import RunOptions
from irbench.requests.run_requests import refuse_contradictions
from irbench.runs.results import Interrupted
from irbench.store.folders import default_root
from irbench.system import host
from irbench.system.installation import require_libraries

if TYPE_CHECKING:
    from irbench.features.fleet.diagnosis import FleetDiagnosis

_LIBRARIES = ("distributed", "asyncssh")

T = TypeVar("T")


def require_extra() -> None:
    """Refuse where the libraries of the extra are missing."""
    require_libraries(_LIBRARIES, "A fleet needs distributed and asyncssh.", "fleet")


def fleet_file(targets: Path | None, scheduler: str | None) -> FleetFile:
    """Return the fleet that options ask for."""
    fleet = this_machine() if targets is None and scheduler is None else FleetFile()
    if targets is not None:
        fleet = read_targets(targets)
    if scheduler is not None:
        address = msgspec.structs.replace(fleet.scheduler, address=scheduler)
        fleet = msgspec.structs.replace(fleet, scheduler=address)
    return fleet


@names_keywords(FLEET)
def fleet(plan: PlanSource, *, progress: ProgressOption = "auto", **options: Unpack[FleetKeywords]) -> Fleet:
    """Measure every table of a plan on every target, and collect the runs here; without targets, on this machine.

    Args:
        plan: A TOML file, the name of a plan that comes with irbench, or what such a file holds.
        progress: As :func:`irbench.run` takes it.
        options: Where is measured, and how.

    Returns:
        The fleet with its targets, its tables and its rows machine by machine; what could not be measured has the
        reason.

    Raises:
        IrbenchError: The plan, the targets or the scheduler are not usable; or no target can be reached.
        Interrupted: Ctrl-C; what was measured is stored, and in its ``result``.
    """
    call = FLEET.from_keywords(options)
    with reporting(progress, FLEET) as reporter:
        return _whole(run_fleet(read_plan(plan), call, reporter))


@names_keywords(FLEET_TUNE)
def fleet_tune(
    model: str | PathLike[str], *, progress: ProgressOption = "auto", **options: Unpack[FleetTuneKeywords]
) -> Fleet:
    """Search for the best setting of a model on every target, and collect what was found here.

    Args:
        model: A model that :func:`irbench.tune` takes by its name or path.
        progress: As :func:`irbench.run` takes it.
        options: Where is searched, and what :func:`irbench.tune` takes.

    Returns:
        The fleet; its ``rows`` are the recommended settings, and ``best`` those that are best of all machines.

    Raises:
        IrbenchError: The model, the targets or the scheduler are not usable; or no target can be reached.
        Interrupted: Ctrl-C; what was found is stored, and in its ``result``.
    """
    own, shared = FLEET_TUNE.read(options)
    with reporting(progress, FLEET_TUNE) as reporter:
        return _whole(run_fleet(plan_of_tuning(str(model), shared, reporter.say), FleetOptions(**own), reporter))


@names_keywords(FLEET_SERVE)
def fleet_serve(
    *models: str | PathLike[str], progress: ProgressOption = "auto", **options: Unpack[FleetServeKeywords]
) -> Fleet:
    """Search on every target for the highest rate of requests at which models keep a service level.

    Args:
        models: Models that :func:`irbench.serve` takes by their names or paths; a job for each on each target.
        progress: As :func:`irbench.run` takes it.
        options: Where is measured, and what :func:`irbench.serve` takes; ``slo`` must be given.

    Returns:
        The fleet; ``limit`` of its ``rows`` has the highest rate that passes, in requests per second.

    Raises:
        IrbenchError: The models, the targets or the scheduler are not usable; or no target can be reached.
        Interrupted: Ctrl-C; what was measured is stored, and in its ``result``.
    """
    own, shared = FLEET_SERVE.read(options)
    with reporting(progress, FLEET_SERVE) as reporter:
        return _whole(run_fleet(plan_of_serving(tuple(map(str, models)), shared), FleetOptions(**own), reporter))


def plan_of_serving(models: tuple[str, ...], options: Mapping[str, Any]) -> SweepPlan:
    """Return a search on every target for the highest rate that keeps a service level as a plan.

    Raises:
        IrbenchError: The options cannot be obeyed together, or say of no model or service level.
    """
    own, shared = SERVE.split(options)
    if not models:
        raise IrbenchError("No model is given.", hint="Name one: irbench fleet serve MODEL --slo 'p99<=50ms'")
    if own.get("slo") is None:
        raise IrbenchError(
            "What answers must keep is not given.",
            hint="Machines are compared by the highest rate that keeps a service level: --slo 'p99<=50ms'",
        )
    run = RunOptions(models, **shared)
    serving_plan(ServeOptions(**own), run)
    refuse_contradictions(run)
    return plan_of_models("serve", FLEET_SERVE, models, options)


def plan_of_tuning(model: str, options: Mapping[str, Any], say: Say) -> SweepPlan:
    """Return a search on every target as a plan, and say where none has the time that it takes.

    Raises:
        IrbenchError: The options cannot be obeyed together.
    """
    own, shared = TUNE.split(options)
    asked = TuneOptions(model, RunOptions(**shared), **own)
    refuse_contradictions_of_search(asked)
    warn_of_small_budget(asked, say)
    return plan_of_models("tune", FLEET_TUNE, (model,), options)


def _whole(outcome: tuple[Fleet, bool]) -> Fleet:
    """Return what came of a call that was not interrupted.

    Raises:
        Interrupted: It was.
    """
    result, ended = outcome
    if not ended:
        raise Interrupted("what was measured is stored: the same call with resume=True goes on", result)
    return result


def run_fleet(plan: SweepPlan, call: FleetOptions, reporter: Reporter) -> tuple[Fleet, bool]:
    """Measure what is left of a plan on every target.

    Returns:
        What came of it, and whether it was not interrupted.

    Raises:
        IrbenchError: The plan, the targets or the scheduler are not usable; or no target can be reached.
    """
    host.require_linux()
    require_extra()
    machines = fleet_file(call.targets, call.scheduler)
    expansion = select(plan.expansion, call.only, call.skip)
    refuse_own_code(expansion.tables)
    root = call.results or default_root()
    setup = SweepSetup(call.name or plan.name, plan.folder, root)
    tables = in_order(expansion.tables, expansion.seed)
    shipments = Shipments(tables, setup, reporter.say)
    journal = journal_to_write(root, setup.name, plan.document, len(plan.expansion.tables), resume=call.resume)
    journal.begin()

    def coordinator_of(fleet: FleetFile) -> Coordinator:
        pools = {target.name: target.shares for target in fleet.targets}
        journal.ask({target.name: target.price_per_hour for target in fleet.targets}, {*pools.values()})
        known = journal.document
        jobs = jobs_of(tables, tuple(dict.fromkeys(pools.values())), known.fleet, setup, command_of(known.plan))
        left = [job for job in jobs if job.id not in known.jobs or not known.jobs[job.id].is_done]
        progress = FleetProgress(reporter, len(jobs), len(jobs) - len(left))
        queue = JobQueue(left, pools, call.patience, known.begun)
        return Coordinator(fleet, queue, shipments, journal, root, progress)

    try:
        complete(_measured(machines, coordinator_of, reporter.say))
        ended = True
    except KeyboardInterrupt:
        ended = False
    finally:
        journal.close()
    return report_of(journal.document, root), ended


def complete(work: Coroutine[Any, Any, T]) -> T:
    """Wait until work with a cluster is done, and return its result.

    Beside an event loop that runs here, as in a notebook, it is done in a thread.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()

    async def named() -> T:
        task = asyncio.current_task()
        assert task is not None
        begun.set_result((asyncio.get_running_loop(), task))
        return await work

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(asyncio.run, named())
        try:
            return done.result()
        except KeyboardInterrupt:
            loop, task = begun.result()
            loop.call_soon_threadsafe(task.cancel)
            raise


async def _measured(fleet: FleetFile, coordinator_of: Callable[[FleetFile], Coordinator], say: Say) -> None:
    """Have the targets of a fleet measure; where its file names none, these are the workers of its cluster."""
    from irbench.features.fleet.workers import opened, with_targets

    coordinator = coordinator_of(fleet) if fleet.targets else None
    if coordinator is not None and coordinator.queue.is_over:
        say("nothing is left to measure")
        return
    async with opened(fleet, coordinator.hear if coordinator else lambda _name, _problem: None) as cluster:
        coordinator = coordinator or coordinator_of(await with_targets(fleet, cluster))
        await coordinator.run(cluster)


def fleet_status(name: str | None, root: Path) -> Fleet:
    """Return how far a fleet is; ``None`` means the one that measured last.

    Raises:
        IrbenchError: There is none.
    """
    names = fleet_names(root)
    wanted = name or next(iter(names), "")
    document = read_journal(root, wanted) if wanted else None
    if document is None:
        said = f"There is no fleet {name!r} in {root}." if name else f"No fleet has measured in {root}."
        near = did_you_mean(name, names) if name else ""
        raise IrbenchError(said, hint=f"{near}Measure one: irbench fleet run PLAN --targets fleet.toml")
    return report_of(document, root)


def diagnose_fleet(targets: Path | None, scheduler: str | None, reporter: Reporter, *, peak: bool) -> FleetDiagnosis:
    """Look at every target as ``irbench doctor`` looks at a machine.

    Raises:
        IrbenchError: The targets or the scheduler are not usable, or no target can be reached.
    """
    require_extra()
    from irbench.features.fleet.diagnosis import diagnosed

    return complete(diagnosed(fleet_file(targets, scheduler), reporter.say, peak=peak))


def hold_fleet_up(targets: Path, output: Path, reporter: Reporter) -> None:
    """Start the cluster of a fleet, write the file that others join it with, and hold it until Ctrl-C.

    Raises:
        IrbenchError: The targets are not usable, none can be reached, or the file cannot be written.
    """
    require_extra()
    from irbench.features.fleet.held_cluster import held

    fleet = read_targets(targets)
    if fleet.scheduler.address:
        raise IrbenchError(f"{targets} names a scheduler that runs already.", hint="Remove `address` from it.")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a script's shell has what it starts with & ignore it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        complete(held(fleet, output, reporter.say))
