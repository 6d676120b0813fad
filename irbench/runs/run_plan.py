"""The plan of a run and its settings, in words."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from irbench.core import registry
from irbench.core.address import is_gpu
from irbench.core.quantities import duration_text, plural
from irbench.core.row import cell_names
from irbench.perf_events.obstacles import not_counted
from irbench.render.table_title import SEPARATOR, inputs_text
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.spec import BATCH, Cell, Group, SoakPlan, Timing
from irbench.spec.cells import IO_TEXTS
from irbench.spec.requested_sizes import dynamic_names
from irbench.spi import Description
from irbench.stats.intervals import FEWEST_LAUNCHES
from irbench.stats.launch_planning import GUESSED_START_S, launch_limits, least_table_s
from irbench.stats.time_left import expected_seconds
from irbench.stats.workload_facts import given_inputs
from irbench.store.entries import RunEntry
from irbench.system import host

_START_OF_FRAMEWORK = 4.0
"""The start of a framework as a multiple of that of a runtime: it imports and compiles more."""


def outline(groups: Sequence[PlannedGroup], request: RunRequest, prepared_s: float = 0.0) -> str:
    """Return a line for each table (model, sizes, rows), then about how long all takes.

    ``prepared_s`` is how long the command has been preparing it, which a budget contains.
    """
    lines = [_line(group, request.asked.generate) for group in groups]
    if request.soak is not None:
        return "\n".join((*lines, _soak_text(groups, request.soak)))
    if request.serving is not None:
        return "\n".join((*lines, _serving_text(groups, request)))
    if request.asked.cold:
        return "\n".join((*lines, _cold_text(groups, request.timing)))
    speeds = _speed_text(groups, request, prepared_s)
    return "\n".join((*lines, speeds, *_counters_text(groups, request)))


def _speed_text(groups: Sequence[PlannedGroup], request: RunRequest, prepared_s: float) -> str:
    timing, used_s = request.timing, 0.0 if request.budget_s is None else prepared_s
    least_s = sum(_least_s(group, timing) for group in groups if group.can_run)
    whole_s = timing.budget * sum(group.weight for group in groups)
    expected_s = sum(expected_table_s(group, request, groups, used_s) for group in groups)
    rows = plural(sum(len(group.measured) for group in groups), "configuration")
    preparation = f", after {duration_text(used_s)} of preparation" if used_s >= 1 else ""
    planned = f"{rows}, about {duration_text(expected_s)}{preparation}: {_launches_text(groups, timing)} x"
    planned += f" {timing.blocks} blocks each"
    budget = f"no launch begins that would end after {whole_s:.0f} s"
    if least_s > whole_s - used_s:
        return f"{planned}, but {budget}{'' if request.is_part_of else _budget_advice(least_s + used_s, request)}"
    return f"{planned}; {budget}"


def expected_table_s(
    group: PlannedGroup, request: RunRequest, groups: Sequence[PlannedGroup], used_s: float = 0.0
) -> float:
    """Return about how long a table takes before anything is known of it: as starts are usual, within its budget."""
    if not group.can_run:
        return 0.0
    budget_s = request.timing.budget * sum(each.weight for each in groups) - used_s
    timing = _timing_of(group, request.timing)
    timing = replace(timing, budget=budget_s * group.weight / sum(each.weight for each in groups))
    waits = max(1.0, os.getloadavg()[0] / len(host.allowance(request.asked.cpus).cpus))  # for processors
    return expected_seconds([waits * _usual_start_s(cell) for cell in group.measured], timing)


def _usual_start_s(cell: Cell) -> float:
    """Return the usual start of a cell: a framework that models are made with takes several times as long."""
    if cell.program is not None:
        return GUESSED_START_S
    described: Mapping[str, Description] = registry.describe_all(registry.BACKENDS)
    frameworks = {each.distribution for each in described.values() if each.is_original}
    own = described.get(cell.backend)
    return GUESSED_START_S * (_START_OF_FRAMEWORK if own is not None and own.distribution in frameworks else 1.0)


def _timing_of(group: PlannedGroup, timing: Timing) -> Timing:
    return timing.on_gpu() if any(is_gpu(cell.device) for cell in group.measured) else timing


def _least_s(group: PlannedGroup, timing: Timing) -> float:
    return least_table_s(len(group.measured), _timing_of(group, timing), GUESSED_START_S)


def _budget_advice(least_s: float, request: RunRequest) -> str:
    """Return which budget is enough; counters take as much of that of a whole run as speeds do."""
    if request.counting is None:
        return f": give about --budget {math.ceil(least_s)}s, or measure fewer rows"
    enough = f"give about --budget {math.ceil(2 * least_s)}s, measure fewer rows, or leave `--counters` out"
    halved = ", because `--counters` takes half of the budget" if request.budget_s is not None else ""
    return f"{halved}: {enough}"


def _counters_text(groups: Sequence[PlannedGroup], request: RunRequest) -> Iterator[str]:
    counting = request.counting
    if counting is None:
        return
    launches = plural(counting.plan.launches, "more launch")
    whole_s = request.timing.budget * sum(group.weight for group in groups)
    yield (
        f"counters: {launches} of each row, which are not timed, with perf {counting.version};"
        f" no round of them begins that would end after {whole_s:.0f} s more"
    )
    for names, obstacle in not_counted(counting.plan.asked, counting.unavailable):
        yield f"not counted: {names}: {obstacle.why()}. {obstacle.remedy()}"


def _launches_text(groups: Sequence[PlannedGroup], timing: Timing) -> str:
    """Return how many launches there are in all, and how many each row has where that is another number."""
    limits = [launch_limits(len(group.measured), timing) for group in groups if group.can_run]
    total = f"{_span(sum(least for least, _ in limits), sum(most for _, most in limits))} launches"
    if len(limits) == 1 and groups[0].weight == 1:
        return total
    return f"{total} ({_span(timing.min_launches, timing.max_launches)} for each row)"


def _span(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


def _cold_text(groups: Sequence[PlannedGroup], timing: Timing) -> str:
    return (
        f"cold starts: up to {timing.max_launches} rounds, in each a launch of every row with a cold and with a warm"
        f" cache; no round begins that would end after {timing.budget * len(groups):.0f} s"
    )


def _soak_text(groups: Sequence[PlannedGroup], soak: SoakPlan) -> str:
    rows = plural(sum(len(group.measured) for group in groups), "row")
    if soak.calls is not None:
        return f"soak: {rows} one after the other, {soak.calls} calls each"
    whole_s = soak.seconds * sum(len(group.measured) for group in groups)
    return f"soak: {rows} one after the other, {soak.seconds:.0f} s each, {whole_s:.0f} s in all, plus start-up"


def _serving_text(groups: Sequence[PlannedGroup], request: RunRequest) -> str:
    plan = request.serving
    assert plan is not None
    rows = plural(sum(len(group.measured) for group in groups), "row")
    launches = FEWEST_LAUNCHES if request.budget_s is None else request.timing.max_launches
    until = "" if request.budget_s is None else f"; no round begins that would end after {request.budget_s:.0f} s"
    if plan.searches:
        return f"loads: {rows}, in up to {launches} rounds; each tries rates for {plan.seconds:g} s each{until}"
    loads = plural(max(1, len(plan.rates_per_s)), "load")
    whole_s = launches * sum(len(group.measured) for group in groups) * max(1, len(plan.rates_per_s)) * plan.seconds
    return f"loads: {rows} x {loads} of {plan.seconds:g} s, {launches} rounds, about {whole_s:.0f} s and starts{until}"


def name_taken_text(name: str, taken: Sequence[RunEntry], results: str) -> str:
    """Return that stored runs have a name already, and what the name means once this run is stored."""
    when = taken[0].created[: len("yyyy-mm-dd")]
    others = f" and {plural(len(taken) - 1, 'other run')}" if len(taken) > 1 else ""
    call = f"irbench show {shlex.quote(name)}{results}"
    return (
        f"warning: run {taken[0].run_id} of {when}{others} is called {name!r}, too: {call}"
        f" and irbench.load({name!r}) will mean the newest"
    )


def settings(request: RunRequest, groups: Sequence[PlannedGroup]) -> str:
    """Return the threads, the precisions of the rows, the copies and the inputs of a run in one line."""
    cells = [cell for group in groups for cell in group.measured]
    precisions = dict.fromkeys(cell.load.precision for cell in cells)
    processors = host.allowance(request.asked.cpus).cpus
    known = [count for count in request.threads if count is not None]
    counted = [" and ".join((*map(str, known[:-1]), plural(known[-1], "thread")))] if known else []
    threads = " and ".join((*counted, *(["threads as the runtimes choose"] if None in request.threads else [])))
    listing = ",".join(str(cpu) for cpu in processors)
    where = f"{'processor' if len(processors) == 1 else 'processors'} {listing}"
    workloads = [workload for group in groups for workload in group.group.workloads]
    inputs = dict.fromkeys(inputs_text(given_inputs(workload.feeding)) for workload in workloads)
    io, seed = IO_TEXTS[request.asked.io], f"seed {request.asked.seed}"
    facts = (f"{threads} on {where}", ", ".join(precisions), io, *inputs, seed)
    return SEPARATOR.join(fact for fact in facts if fact)


def too_many_threads(groups: Sequence[PlannedGroup]) -> Iterator[str]:
    """Yield a warning where a row asks for more threads than can run at a time."""
    loads = [cell.load for group in groups for cell in group.measured]
    most = max(loads, key=lambda load: load.all_threads or 0, default=None)
    if most is None:
        return
    processors = len(host.allowance(most.cpus).cpus)
    if (most.all_threads or 0) > processors:
        several = f"--instances {most.instances} " if most.instances > 1 else ""
        yield (
            f"{several}--threads {most.threads} on {plural(processors, 'processor')}: threads will wait for each other;"
            " a warning below the table says how long, unless other programs ran too."
        )


def _sizes_text(group: Group, new_tokens: int | None) -> str:
    """Return the sizes of the inputs, not those of dimensions that only a decoder's own file has: they grow."""
    batches = " and ".join(map(str, dict.fromkeys(workload.batch for workload in group.workloads)))
    named = {BATCH, *dynamic_names(group.main.bundle)}
    sizes = {name: str(size) for name, size in group.main.sizes.items() if name in named}
    generated = () if new_tokens is None else (plural(new_tokens, "new token"),)
    return ", ".join((*(f"{name} {size}" for name, size in {**sizes, BATCH: batches}.items()), *generated))


def _line(planned: PlannedGroup, new_tokens: int | None) -> str:
    group, cells = planned.group, planned.measured
    models = ", ".join(dict.fromkeys(workload.bundle.name for workload in group.workloads))
    names = cell_names(group)
    several = len({cell.load.precision for cell in cells}) > 1
    rows = ", ".join(
        f"{cell.label} {cell.load.precision}" if several and names[cell.id] == cell.label else names[cell.id]
        for cell in cells
    )
    in_parts = planned.weight > 1 and not any(cell.shared_session for cell in cells)
    parts = f"; {planned.weight} parts, because a launch has at most {Timing.most_cells} rows"
    return f"{models} ({_sizes_text(group, new_tokens)}): {rows or 'no row that can run'}{parts if in_parts else ''}"
