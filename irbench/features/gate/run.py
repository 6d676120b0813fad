"""``irbench.gate``: whether a model or a setting is slower than another one, measured until that is decided."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Unpack

from irbench.across_runs.checked_runs import CheckedRun, read_run
from irbench.across_runs.measured_cells import FIGURES, measured_graphs
from irbench.api.loaded_models import Model, model_name
from irbench.api.progress import ProgressOption, Reporter, reporting
from irbench.core.result import GroupResult
from irbench.errors import IrbenchError
from irbench.features.gate.decision import GatedRow, GatedTable, UntilDecided, gated_rows, pair_names
from irbench.features.gate.keywords import GateKeywords
from irbench.features.gate.options import GATE, GateOptions
from irbench.features.gate.report import Gate, GateReport
from irbench.features.gate.sides import Side, Sides, read_side, with_settings
from irbench.measure.clock import Stopwatch
from irbench.measure.lock import measuring
from irbench.notices.warnings import TooFewLaunches
from irbench.options.conditions import Condition, slower_than
from irbench.options.option import names_keywords
from irbench.options.run import RunOptions
from irbench.requests.resolve import require_model, resolve_bundles
from irbench.runner.plan import PlannedGroup, with_rows
from irbench.runner.request import RunRequest
from irbench.runner.requested_inputs import fixed_batch
from irbench.runs.measurement import (
    StoredRun,
    checked_request,
    measure_planned,
    plan_run,
    refuse_within_a_worker,
)
from irbench.runs.planned_graphs import requires_graphs
from irbench.runs.repetition import own_code_obstacle, refuse_stored_folders, stored_options
from irbench.runs.results import Interrupted, Run
from irbench.runs.run_destination import RunDestination
from irbench.spec import Timing
from irbench.spec.generation import PROMPT
from irbench.stats.rederive import planned_timing
from irbench.store.folders import default_root, results_option, run_argument
from irbench.store.listing import find_run
from irbench.store.runs import read_launches
from irbench.system import host
from irbench.worker.requested_confinement import require_confinement
from irbench.worker.scratch import scratch_folder

TIMING = Timing(min_launches=6, max_launches=40, most_blocks=30, sized_share=0.75)
"""Intervals from six launches on rest on no assumption, and no later look is paid for by an early one that is wide.
What scatters on a busy machine are blocks, of which launches may therefore have many. Where the load of the machine
grows, six must still fit, for which a quarter of the budget is left."""
_NOT_FROM_PLANS = ("quick", "thorough", "name", "note", "baseline", "budget", "results", "no_lock", "command")
"""What a stored run was asked for besides its rows and their figures."""
_MEASURED_WITH: Mapping[str, str] = {
    "energy": "--energy",
    "p99": "--tail",
    "sustained": "--sustain 10s",
    **dict.fromkeys(("first_token", "token", "tokens_per_s"), "--generate 64"),
}
"""By figure, the option that measures it."""


@names_keywords(GATE)
def gate(
    base: Model,
    new: Model,
    *,
    progress: ProgressOption = "auto",
    **options: Unpack[GateKeywords],
) -> Gate:
    """Decide whether a model or a setting is slower than another one: both are measured side by side until it is clear.

    Args:
        base: What is there: anything that :func:`irbench.run` takes, a name with settings behind it
            (``"model.onnx@threads=1"``), or a stored run as :func:`irbench.load` takes it, whose plan is measured
            again.
        new: What may be slower: a model, with settings where ``base`` has some.
        progress: As :func:`irbench.run` takes it.
        options: The smallest slowdown that matters, what else must not get worse, and what every row has in common.

    Returns:
        What was decided; ``passed`` and ``regressed`` are both false where nothing was.

    Raises:
        IrbenchError: The call is impossible and nothing was measured; or results cannot be stored.
        Interrupted: Ctrl-C; what was measured is stored, and in its ``result``.
        TypeError: There is no such option.
    """
    own, shared = GATE.read(options)
    before = str(base.folder) if isinstance(base, Run) else model_name(base)
    request = GateOptions(before, model_name(new), RunOptions(**shared), frozenset(shared), **own)
    with reporting(progress, GATE) as reporter:
        found = gate_with(request, reporter)
    if found.report.outcome == "interrupted":
        raise Interrupted("the gate was not decided", found)
    return found


def gate_with(options: GateOptions, reporter: Reporter) -> Gate:
    """Measure both sides until it is decided; an interrupt leaves the report undecided."""
    host.require_linux()
    refuse_within_a_worker()
    require_confinement()
    watch = Stopwatch()
    asked = _asked(options)
    request = replace(checked_request(asked.run, reporter.say), side_by_side=True, is_part_of="gate")
    request = replace(request, timing=_timing(request.timing, options.limit))
    what = " and ".join(Path(model).name for model in asked.run.models)
    with measuring(what, insist=asked.run.no_lock) as lock, scratch_folder() as folder:
        request = request.asking(batch=_batches(asked, reporter))
        request, groups = plan_run(request, folder, reporter, keep=partial(_paired, asked))
        if watch.elapsed_s >= options.budget:  # one launch still verifies the outputs, and shows what others need
            reporter.say(
                f"warning: preparing the models took {watch.elapsed_s:.0f} s, the whole --budget of"
                f" {options.budget:g}s: the gate ends undecided after one launch, unless NEW's outputs are wrong"
            )
        sides = asked.sides(request)
        schedule = UntilDecided(sides, options.conditions, tables=sum(group.can_run for group in groups))
        destination = RunDestination(asked.run.results)
        stored = measure_planned(request, groups, folder, destination, lock, reporter, schedule, watch)
    return Gate(_report(options, groups, schedule, stored), Run(stored.document, stored.folder))


@dataclass(frozen=True)
class _Asked:
    """What is measured.

    Attributes:
        run: Options that have the rows of both sides.
        base: As the user named it, or the model of the stored run.
        stored: The run that BASE is; ``None`` for a model.
    """

    run: RunOptions
    base: Side
    new: Side
    stored: CheckedRun | None = None

    def sides(self, request: RunRequest) -> Sides:
        """Return the sides by the names that models have in this run; one model is both where settings are compared."""
        names = [bundle.name for bundle in request.bundles]
        return Sides(replace(self.base, model=names[0]), replace(self.new, model=names[-1]))


def _asked(options: GateOptions) -> _Asked:
    base, new = read_side(options.base), read_side(options.new)
    run = replace(options.run, budget=options.budget)
    stored = _stored_base(base, run)
    if stored is not None:
        planned = _planned_again(options, stored)
        base, run = replace(base, model=planned.models[0]), _with_given(planned, run, options.given)
    if _is_same_file(base.model, new.model):
        new = replace(new, model=base.model)
    if base == new:
        raise IrbenchError(
            f"BASE and NEW are both {base.model} with the same settings.",
            hint="Name two models, or one model with two settings: model.onnx@threads=1 model.onnx@threads=2.",
        )
    run = replace(with_settings(run, base, new, options.given), models=(base.model, new.model))
    for condition in options.conditions:
        _require_measured(condition, run)
    return _Asked(run, base, new, stored)


def _is_same_file(model: str, other: str) -> bool:
    try:
        return Path(model).samefile(other)
    except (OSError, ValueError):  # names of models of the zoo, for example
        return False


def _batches(asked: _Asked, reporter: Reporter) -> tuple[int, ...] | None:
    """Return the batch sizes to measure: where one of two models has a fixed batch, the other one takes it, too.

    Raises:
        IrbenchError: Both have a fixed batch, and these differ.
    """
    if asked.run.batch is not None or asked.base.model == asked.new.model:
        return asked.run.batch
    models = resolve_bundles(asked.run.models, everything=False, say=reporter.say, imports=asked.run.imports)
    batches = tuple(dict.fromkeys(batch for bundle in models if (batch := fixed_batch(bundle)) is not None))
    if len(batches) > 1:
        raise IrbenchError(
            f"BASE and NEW have different fixed batch sizes (first input dimension): {batches[0]} and {batches[1]}.",
            hint="Export both with the same batch size, or with a dynamic batch dimension.",
        )
    return batches or None


def _stored_base(base: Side, run: RunOptions) -> CheckedRun | None:
    """Return the stored run that BASE names; ``None`` where it is a model, which comes first."""
    try:
        require_model(base.model, run.imports)
    except IrbenchError as no_model:
        root = run.results or default_root()
        try:
            folder = find_run(root, base.model)
        except IrbenchError as no_run:
            hint = f"{no_model.hint} · of runs: {no_run.hint}" if no_run.hint else no_model.hint
            message = f"{base.model} is neither a model nor a stored run: {no_run.message}"
            raise IrbenchError(message, hint=hint) from None
        found, problems = read_run(folder)
        if found is None:
            remedy = problems[0].hint or f"Name another run: irbench results{results_option(root)}"
            raise IrbenchError(" ".join(problem.text() for problem in problems), hint=remedy) from None
        return found
    return None


def _planned_again(options: GateOptions, stored: CheckedRun) -> RunOptions:
    """Return the options that ask for the run again that BASE is.

    Raises:
        IrbenchError: It has several models or chosen rows, its model is not where it was, or it runs own code.
    """
    planned = stored_options(stored.document.plan)
    refuse_stored_folders(planned)
    refused = None if options.allow_own_code else own_code_obstacle(planned)
    if refused is not None:
        raise IrbenchError(f"{options.base}: {refused.text()}.", hint="Read it, then give `--allow-own-code`.")
    if len(planned.models) != 1 or planned.rows is not None or planned.cold:
        raise IrbenchError(
            f"{options.base} is no run of all rows of one model, which a gate measures again.",
            hint=f"Name the model instead of the run. {_compare(options, stored)}",
        )
    try:
        require_model(planned.models[0], planned.imports)
    except IrbenchError as gone:
        raise IrbenchError(
            f"The model of {options.base} cannot be measured again: {gone.message}", hint=_compare(options, stored)
        ) from gone
    return planned


def _with_given(planned: RunOptions, run: RunOptions, given: Collection[str]) -> RunOptions:
    """Return the options of a stored run, with those in their place that the user gave."""
    return replace(planned, **{name: getattr(run, name) for name in {*_NOT_FROM_PLANS, *given}})


def _require_measured(condition: Condition, run: RunOptions) -> None:
    """Refuse a condition on a figure that these options do not measure, or of which a run has one measured value."""
    figure = condition.figure
    needed = _MEASURED_WITH.get(figure, "")
    if needed and not getattr(run, needed.split()[0].removeprefix("--")):
        raise IrbenchError(
            f"`--fail-on '{condition.text}'` needs {needed.split()[0]}, which measures {figure}.", hint=f"Add {needed}."
        )
    if figure == "new_shape":
        raise IrbenchError(
            f"`--fail-on '{condition.text}'` cannot be decided by a gate, which calls each model with one shape.",
            hint="Compare stored runs: irbench run --shapes ... --dynamic, then irbench compare.",
        )
    if not FIGURES[figure].is_judged_in_one_run:
        raise IrbenchError(
            f"`--fail-on '{condition.text}'` cannot be decided by a gate: a run has one value of {figure}, without an"
            " interval.",
            hint="Compare stored runs, four or more on each side: irbench compare.",
        )


def _compare(options: GateOptions, stored: CheckedRun) -> str:
    base = run_argument(stored.folder)
    condition = slower_than(options.limit).text
    return (
        "With figures that are stored, one run is compared with the other:"
        f" irbench run {quote(options.new)} --name new, then irbench compare {base} new --fail-on '{condition}'."
    )


def _timing(timing: Timing, limit: float) -> Timing:
    """Return the numbers of a gate; what progress reports as the target of an interval is the limit."""
    return replace(
        timing,
        min_launches=TIMING.min_launches,
        max_launches=TIMING.max_launches,
        most_blocks=TIMING.most_blocks,
        sized_share=TIMING.sized_share,
        target=limit,
    )


def _paired(asked: _Asked, request: RunRequest, groups: tuple[PlannedGroup, ...]) -> tuple[PlannedGroup, ...]:
    """Return the groups with the rows that have a counterpart, BASE's first one as the baseline.

    Raises:
        IrbenchError: No row has one, or the model of a stored run is another now.
    """
    sides = asked.sides(request)
    kept: list[PlannedGroup] = []
    for planned in groups:
        pairs = sides.pairs_of(planned.group)
        if not pairs:
            continue
        of_pairs = with_rows(planned, {row for pair in pairs for row in (pair.base, pair.new)})
        kept.append(replace(of_pairs, group=replace(of_pairs.group, baseline=pairs[0].base)))
    if not kept:
        raise IrbenchError(
            "No row of NEW has a counterpart in BASE.",
            hint="Rows are compared with each other where backend, batch and all other settings are equal.",
        )
    if asked.stored is not None:
        require = requires_graphs(measured_graphs(asked.stored.document), any_name=True)
        require(request, tuple(_rows_of_base(sides, planned) for planned in kept))
    return tuple(kept)


def _rows_of_base(sides: Sides, planned: PlannedGroup) -> PlannedGroup:
    return with_rows(planned, {pair.base for pair in sides.pairs_of(planned.group)})


def _report(
    options: GateOptions, groups: Sequence[PlannedGroup], schedule: UntilDecided, stored: StoredRun
) -> GateReport:
    document = stored.document
    launches = tuple(read_launches(stored.folder, document))
    timing = planned_timing(document.plan)
    rows: list[GatedRow] = []
    for number, planned in enumerate(groups):
        pairs = schedule.sides.pairs_of(planned.group)
        own = [record for record in launches if record.group == number]
        found: Sequence[GatedRow]
        if number < len(document.groups):
            gated = GatedTable(planned.group, document.groups[number], own, timing, schedule.tables)
            found = gated_rows(gated, pairs, options.conditions)
        else:  # the run ended before
            names = pair_names(planned.group, pairs)
            found = [GatedRow(names[pair], pair.base, pair.new, "undecided") for pair in pairs]
        prompt = planned.group.main.sizes.get(PROMPT) if len(groups) > 1 else None
        of_table = "" if prompt is None else f" prompt {prompt}"
        rows += [
            replace(row, name=f"{row.name}{of_table}", outcome=row.outcome if row.is_begun else "not-measured")
            for row in found
        ]
    return GateReport(
        base=options.base,
        new=options.new,
        limit=options.limit,
        conditions=tuple(condition.text for condition in options.conditions),
        rows=tuple(rows),
        run=document.run_id,
        is_interrupted=document.was_interrupted,
        is_as_loaded=any(table.condition == "busy" for table in document.groups),
        seconds=sum(table.seconds for table in document.groups),
        stopped_by=tuple(table.stopped_by for table in document.groups),
        confidence=Timing().confidence,
        needed_s=needed_budget_s(groups, document.groups),
        results=None if options.run.results is None else str(options.run.results),
    )


def needed_budget_s(groups: Sequence[PlannedGroup], tables: Sequence[GroupResult]) -> int | None:
    """Return a budget in which each table that had too few launches has time for them; ``None`` where all had enough.

    Tables share a budget by their weights, once what the command prepared is taken off it.
    """
    weights = sum(planned.weight for planned in groups)
    needed = [
        before_s + (warning.needed_s - before_s) * weights / planned.weight
        for planned, table in zip(groups, tables, strict=False)  # an interrupt leaves tables out
        for before_s in [0.0 if table.basis is None else table.basis.before_s]
        for warning in table.warnings
        if isinstance(warning, TooFewLaunches)
    ]
    return math.ceil(max(needed)) if needed else None
