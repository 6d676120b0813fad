"""``irbench.sweep``: measure everything that a plan asks for, and go on where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

import msgspec

from irbench import __version__
from irbench.api.progress import ProgressOption, Reporter, reporting
from irbench.core.quantities import plural
from irbench.errors import IrbenchError
from irbench.features.plan.expansion import SweepTable, in_order, select
from irbench.features.plan.problems import problems_here
from irbench.features.plan.reading import PlanSource, SweepPlan, plan_error, read_plan
from irbench.features.plan.table_options import SweepSetup
from irbench.features.sweep.execution import measure_tables
from irbench.features.sweep.keywords import SweepKeywords
from irbench.features.sweep.options import SWEEP, SweepOptions
from irbench.features.sweep.report import Sweep, overview_of
from irbench.measure.clock import utc_now
from irbench.options.option import names_keywords
from irbench.runner.continuation import confinement_change, confinement_remedy
from irbench.runs.results import Interrupted
from irbench.store.folders import default_root, former_root
from irbench.store.listing import folders_of_sweep
from irbench.store.sweeps import Header, StateFile, TablesAsked
from irbench.system import host
from irbench.worker.requested_confinement import is_confinement_asked_for, require_confinement


@names_keywords(SWEEP)
def sweep(plan: PlanSource, *, progress: ProgressOption = "auto", **options: Unpack[SweepKeywords]) -> Sweep:
    """Measure everything that a plan asks for, table after table in random order; each is stored as a run.

    Args:
        plan: A TOML file, the name of a plan that comes with irbench, or what such a file holds.
        progress: As :func:`irbench.run` takes it.
        options: Which cells are measured, and how.

    Returns:
        The sweep with its tables; one that could not be measured has the reason.

    Raises:
        IrbenchError: The plan is wrong, or nothing can be measured; all that is wrong is named.
        Interrupted: Ctrl-C; what was measured is stored, and in its ``result``.
    """
    call = SWEEP.from_keywords(options)
    with reporting(progress, SWEEP) as reporter:
        result, ended = run_sweep(read_plan(plan), call, reporter)
    if not ended:
        raise Interrupted("what was measured is stored: call irbench.sweep with resume=True to go on", result)
    return result


def run_sweep(plan: SweepPlan, call: SweepOptions, reporter: Reporter) -> tuple[Sweep, bool]:
    """Measure what is left of a plan.

    Returns:
        The sweep, and whether it was not interrupted.
    """
    host.require_linux()
    require_confinement()
    expansion = select(plan.expansion, call.only, call.skip)
    name, root = call.name or plan.name, call.results or default_root()
    setup = SweepSetup(name, plan.folder, root, call.no_lock, call.command)
    problems = tuple(problems_here(expansion.tables, setup))
    if problems:
        raise plan_error(f"The plan {name}", problems)
    state = _state(plan, expansion.tables, call, setup, reporter)
    try:
        tables = in_order(expansion.tables, state.header.seed)
        ended = measure_tables(tables, state, setup, reporter)
        return Sweep(state.folder, overview_of(tables, state, name, root)), ended
    finally:
        state.close()


def _state(
    plan: SweepPlan, tables: Sequence[SweepTable], call: SweepOptions, setup: SweepSetup, reporter: Reporter
) -> StateFile:
    root, name, asked = setup.results, setup.name, msgspec.to_builtins(tuple(tables))
    state = StateFile.open(root, name)
    if state is not None:
        if not call.resume:
            done = len(state.progress.done)
            state.close()
            raise IrbenchError(
                f"The sweep {name} was begun at {state.header.created} and has {done} measured tables.",
                hint="Go on with --resume, or choose another name with --name.",
            )
        _require_confinement_as_begun(state)
        _say_other_seed(state.header.seed, call.seed, reporter)
        _forget_deleted(state, root, reporter)
        if asked not in state.progress.asked[-1:]:
            state.add(TablesAsked(asked))
        return state
    if call.resume:
        reporter.say(f"no sweep {name} was begun: beginning it{_begun_here_text(root, name)}")
    header = Header(
        name=name,
        created=utc_now().isoformat(timespec="seconds"),
        irbench_version=__version__,
        seed=plan.expansion.seed if call.seed is None else call.seed,
        plan=msgspec.to_builtins(plan.document, enc_hook=str),
        tables=asked,
        confined=is_confinement_asked_for(),
    )
    return StateFile.begin(root, header)


def _begun_here_text(root: Path, name: str) -> str:
    """Return where a sweep of this name was begun, if that is where former releases put it; else nothing."""
    here = former_root(root)
    try:
        is_begun = here is not None and StateFile.read(here, name) is not None
    except IrbenchError:  # it is damaged: whoever goes on with it is told
        is_begun = True
    return "; to go on with that in ./results, stop this and add --results results" if is_begun else ""


def _require_confinement_as_begun(state: StateFile) -> None:
    begun, is_set = state.header.confined, is_confinement_asked_for()
    if begun is not None and begun != is_set:
        state.close()
        raise IrbenchError(
            f"The sweep {state.header.name} cannot be continued: {confinement_change(is_set=is_set)}.",
            hint=f"{confinement_remedy(is_set=is_set)}, or choose another name with --name.",
        )


def _forget_deleted(state: StateFile, root: Path, reporter: Reporter) -> None:
    stored = {folder.name for folder in folders_of_sweep(root, state)}
    forgotten = state.progress.forget({done.run for done in state.progress.done.values()} - stored)
    if forgotten:
        reporter.say(f"measuring {plural(len(forgotten), 'table')} again, because their runs were deleted")


def _say_other_seed(seed: int, requested: int | None, reporter: Reporter) -> None:
    if requested is not None and requested != seed:
        reporter.say(f"warning: the sweep goes on in the order of seed {seed}, with which it was begun")
