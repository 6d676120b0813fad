"""Convert the options of a run to a request for the runner: resolve names and refuse conflicting settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from irbench.api.progress import Say
from irbench.core import registry
from irbench.core.address import BackendAddress, is_gpu
from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.notices import Context
from irbench.optimizer import variant
from irbench.options.option import refuse_excluded
from irbench.options.run import RUN, RunOptions
from irbench.options.values import Settings, alternatives
from irbench.render.optimized_graphs import in_words
from irbench.requests.class_outputs import with_classes
from irbench.requests.generation import GenerationRequest, generations
from irbench.requests.known_refusals import without_refused_rows
from irbench.requests.optimization_levels import (
    graph_notes,
    ineffective_layouts,
    ineffective_levels,
    refuse_ineffective_levels,
    with_suitable_int8,
)
from irbench.requests.requested_counters import counting_of
from irbench.requests.requested_energy import energy_notes
from irbench.requests.resolve import able_backends, disambiguate, resolve_backends, resolve_bundles
from irbench.requests.user_code import accuracy_limit, require_found
from irbench.runner.conditions import with_conditions
from irbench.runner.plan import PlannedGroup, plan
from irbench.runner.prepare import Report, prepare, with_files_of_graphs
from irbench.runner.request import RunRequest
from irbench.runner.requested_cells import environment_notes
from irbench.runner.requested_inputs import refuse_unknown_values, require_data
from irbench.spec import Bundle, Goal, Precision, Timing, WarmUpLength, asked_objective
from irbench.spec.requested_sizes import refuse_unknown_names
from irbench.system import host
from irbench.system.prepared_types import prepared

QUICK = Timing(min_launches=3, max_launches=3, blocks=6, max_blocks=9, sized_for=25.0)
THOROUGH = Timing(
    min_launches=10, max_launches=20, blocks=12, max_blocks=18, most_blocks=24, target=0.005, budget=900.0
)
LONGEST_NAME = 100
"""Characters in the name of a run."""
_BUDGET_WITH_TAIL_S = 300.0
"""Of a table, where none is given: 1,000 uninterrupted calls of each row in each launch take their time."""


_SUSTAIN_FOR_ENERGY_S = 3.0
"""Counters of energy are read a thousand times a second at most, so that 3 s leave no error that matters."""
_NO_BACKENDS = ("none",)


def refuse_contradictions(options: RunOptions) -> None:
    """Refuse options that cannot be obeyed together, before anything is looked up."""
    refuse_excluded(options, RUN.options)
    if not all(options.models):
        raise IrbenchError("The name of a model is empty.", hint="List the models: irbench models")
    if options.dynamic and options.shapes is None:
        raise IrbenchError(
            "--dynamic measures a session that meets several shapes.",
            hint="Give them, `--shapes length=64,128` for example.",
        )
    if options.generate is None and options.prompt:
        raise IrbenchError(
            "--prompt is for generations.", hint="Say how many tokens follow it: --generate 128, for example."
        )
    if options.generate is None and options.objective == "tokens/s":
        raise IrbenchError(
            "`--objective tokens/s` is for generations.",
            hint="Say how many tokens each call generates, `--generate 128` for example, or use `--objective fps`.",
        )
    refuse_cost_on_gpu(options.objective == "cost", options.backends or ())
    _refuse_name(options.name)
    require_data(options.inputs)


def refuse_cost_on_gpu(by_cost: bool, backends: Iterable[str]) -> None:
    """Refuse to compare rows by processor time where a GPU does the work of some, which would look free.

    Raises:
        IrbenchError: One of the backends runs on a GPU.
    """
    on_gpu = [name for name in backends if is_gpu(BackendAddress.parse(name).device)]
    if by_cost and on_gpu:
        raise IrbenchError(
            f"`--objective cost` is processor time, and {on_gpu[0]} computes on a GPU: the row would look free.",
            hint="Leave --objective out to compare their speed, or leave out the rows on GPUs.",
        )


def require_batch_to_wait_for(batches: Iterable[int]) -> None:
    """Refuse that calls wait for their batch to be full where none can be; ``batches`` are those of all rows.

    Raises:
        IrbenchError: All are 1.
    """
    if set(batches) == {1}:
        raise IrbenchError(
            "At batch 1 a call answers one request, and has no batch to wait for.",
            hint="Give larger batches, `--batch 4,8` for example, or leave `--batch-wait` out.",
        )


def _backends(options: RunOptions) -> tuple[BackendAddress, ...]:
    """Return the backends; those of other environments need not be installed in ours."""
    if options.environments:
        return tuple(map(registry.parse_backend, options.backends or ()))
    if options.backends != _NO_BACKENDS:
        return resolve_backends(options.backends or ())
    if not options.cells:
        raise IrbenchError(
            "`--backends none` leaves nothing to measure.", hint="Add a row of your own: `--cell name=...`"
        )
    return ()


def _refuse_own_pace(options: RunOptions) -> None:
    commands = [name for name, program in options.cells.items() if program.kind == "command"]
    if commands and options.pace is not None:
        raise IrbenchError(
            f"--pace does not apply to {commands[0]}: a command of your own issues its calls itself.",
            hint="Leave one of them out, or write it as a function of Python.",
        )


def _refuse_programs_that_generate(options: RunOptions) -> None:
    others = [(name, program.kind) for name, program in options.cells.items() if program.kind != "callable"]
    if others and options.generate is not None:
        name, kind = others[0]
        raise IrbenchError(
            f"--generate does not apply to {name}: a {kind} is called for single inferences.",
            hint="Leave one of them out, or write a function of Python that returns the generated tokens.",
        )


def requested(options: RunOptions) -> RunRequest:
    """Return what was asked for, without its models."""
    require_found(options.cells)
    notes_on_energy = energy_notes(options.energy)
    limit = accuracy_limit(options)
    _refuse_own_pace(options)
    _refuse_programs_that_generate(options)
    backends = _backends(options)
    cpus = allowed_cpus(options.cpus)
    refuse_too_many_instances(options.instances, cpus)
    named = tuple(dict.fromkeys(variant(level).name for level in options.optimize))
    variants, notes = with_suitable_int8(named, backends)
    if not options.cells:
        refuse_ineffective_levels(backends, variants)
    _refuse_wrong_settings(options.set, backends)
    varied = _alternatives(options, backends)
    return RunRequest(
        bundles=(),
        backends=backends,
        asked=options,
        precisions=_precisions(options.precision),
        variants=variants,
        threads=asked_threads(options.threads, cpus),
        alternatives=varied,
        goal=_goal(options),
        timing=_timing(options),
        budget_s=options.budget,
        notes=(*notes, *notes_on_energy, *environment_notes(options.environments)),
        accuracy=limit,
        counting=counting_of(options),
    )


def _goal(options: RunOptions) -> Goal | None:
    if options.objective is None and options.max_latency is None:
        return None
    limit_ms = None if options.max_latency is None else 1e3 * options.max_latency
    return Goal(asked_objective(options.objective or "fps"), limit_ms)


def _silent(_line: str) -> None: ...


def planned(
    request: RunRequest,
    scratch: Path,
    say: Say,
    status: Say | None = None,
    *,
    tells_refused: bool = True,
    tells_notes: bool = True,
) -> tuple[RunRequest, tuple[PlannedGroup, ...]]:
    """Return the request with its models and each group's share of the budget, and the groups.

    Args:
        request: What :func:`requested` returned.
        scratch: A folder that is gone after the run.
        say: Receives what is exported and optimised, and the notes.
        status: Receives each step of that; ``None`` where nobody watches.
        tells_refused: Whether rows that are known to be impossible are reported; not where nobody asked for them.
        tells_notes: Whether notes are reported; not where they are shown below the tables.
    """
    say = once(say)
    asked = request.asked
    bundles = resolve_bundles(asked.models, everything=asked.all, say=say, imports=asked.imports)
    report = in_words(say, status or _silent)
    said = say if tells_refused else _silent
    return planned_models(request, bundles, scratch, report, said, say if tells_notes else _silent)


def planned_models(
    request: RunRequest,
    bundles: Sequence[Bundle],
    scratch: Path,
    report: Report,
    say_refused: Say = _silent,
    say_notes: Say = _silent,
) -> tuple[RunRequest, tuple[PlannedGroup, ...]]:
    """Return what :func:`planned` does, of models that were found already.

    Args:
        request: What :func:`requested` returned.
        bundles: The models, in their order.
        scratch: A folder that is gone after the run.
        report: Called with each step of a graph that is optimised, because none is kept.
        say_refused: Receives rows that are known to be impossible.
        say_notes: Receives the notes.
    """
    asked = request.asked
    bundles = with_classes(disambiguate(bundles), asked.classes)
    if asked.generate is not None:
        generation = GenerationRequest(asked.generate, request.prompts, asked.feedback, given=tuple(asked.value))
        bundles = generations(bundles, generation)
    swept = {} if asked.shapes is None or not asked.shapes[0] else {asked.shapes[0]: ()}
    refuse_unknown_names({**asked.shape, **swept}, bundles)
    refuse_unknown_values(request.inputs, bundles)
    backends = request.backends if asked.backends else able_backends(request.backends, bundles)
    request = replace(request, bundles=tuple(map(with_files_of_graphs, bundles)), backends=backends)
    groups = without_refused_rows(plan(request, prepare(request, scratch, report)), say_refused)
    if request.corun is not None:
        named = dict(zip(asked.models, (bundle.name for bundle in request.bundles), strict=True))
        groups = with_conditions(groups, request, named)
    if asked.cold:
        _refuse_several_samples(groups)
    levels, layouts = tuple(ineffective_levels(request, groups)), tuple(ineffective_layouts(groups))
    notes = (*request.notes, *levels, *layouts, *graph_notes(groups))
    for note in notes:
        say_notes(note.text(Context()))
    passes = 1 if request.counting is None else 2  # rows are launched once more to be counted
    return replace(request, notes=notes).with_budget_for(1, passes * sum(group.weight for group in groups)), groups


def once(say: Say) -> Say:
    """Return a function that says each line once: a graph is made for each batch."""
    said: set[str] = set()

    def say_new(line: str) -> None:
        if line not in said:
            said.add(line)
            say(line)

    return say_new


def _refuse_several_samples(groups: Sequence[PlannedGroup]) -> None:
    """Refuse data of which only the first sample would be the input of a first inference."""
    most = max(planned.group.feeds for planned in groups)
    if most > 1:
        raise IrbenchError(
            f"--cold and `--data` with {most} samples cannot be combined: a process that starts answers one.",
            hint="Give `--data` one sample, for example a single file with one, or a --batch that joins them.",
        )


def refuse_several_values(options: RunOptions, names: Iterable[str]) -> None:
    """Refuse options of a search that ask for several rows or tables."""
    for name in names:
        if len(getattr(options, name) or ()) > 1:
            raise IrbenchError(f"--{name} takes one value in a search.", hint="Search once for each value.")


def budget_s(options: RunOptions) -> float:
    """Return the time that a table may take, in seconds; where a budget is given, that of the whole run."""
    return _timing(options).budget if options.budget is None else options.budget


def _timing(options: RunOptions) -> Timing:
    """Return the protocol's numbers, of the types with which a stored run is read again."""
    timing = QUICK if options.quick else THOROUGH if options.thorough else Timing()
    chosen = replace(
        timing,
        tail=options.tail,
        budget=max(timing.budget, _BUDGET_WITH_TAIL_S) if options.tail else timing.budget,
        within=timing.within if options.within is None else options.within,
        deadline=timing.deadline if options.deadline is None else options.deadline,
        deadline_by="default" if options.deadline is None else "user",
        pace=timing.pace if options.pace is None else options.pace,
        **_warm_up(options.warmup),
        sustain=_sustain_s(options),
        energy=options.energy,
    )
    try:
        return msgspec.convert(asdict(chosen), prepared(Timing))
    except msgspec.ValidationError as error:
        raise IrbenchError(
            f"The timing is not valid: {error}.", hint="Give the options the types that irbench run --help names."
        ) from error


def _warm_up(length: WarmUpLength | None) -> dict[str, Any]:
    """Return the numbers of the warm-up; one whose length is given does not look for when calls get no faster."""
    if length is None:
        return {}
    return {"warm_up": length.seconds or 0.0, "warm_up_calls": length.calls or 0, "look_calls": 0}


def _sustain_s(options: RunOptions) -> float:
    """Return how long each row runs alone in each launch; energy is measured of nothing else."""
    usual_s = _SUSTAIN_FOR_ENERGY_S if options.energy else Timing.sustain
    return usual_s if options.sustain is None else options.sustain


def _alternatives(
    options: RunOptions, backends: Sequence[BackendAddress]
) -> Mapping[str, tuple[Mapping[str, str], ...]]:
    sets_by_backend = alternatives(options.vary)
    for backend, sets in sets_by_backend.items():
        for each in sets:
            _refuse_wrong_settings({backend: each}, backends, option="--vary")
        both = set(options.vary[backend]) & set(options.set.get(backend, {}))
        if both:
            key = f"{backend}.{min(both)}"
            raise IrbenchError(f"--set {key} and --vary {key} cannot be combined.", hint="Leave one of them out.")
    return sets_by_backend


def _refuse_wrong_settings(settings: Settings, backends: Sequence[BackendAddress], option: str = "--set") -> None:
    taking_part = tuple(dict.fromkeys(address.name for address in backends))
    for backend, properties in settings.items():
        registry.backend(backend)
        if backend not in taking_part:
            raise IrbenchError(
                f"{option} {backend}.{next(iter(properties), '')} is for a backend that is not part of the run.",
                hint=f"Backends of the run: {', '.join(taking_part)}.",
            )
    for backend, properties in settings.items():
        registry.require_options(backend, properties)


def _refuse_name(name: str) -> None:
    """Refuse a name that no listing could show, or that means something else."""
    if name != name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise IrbenchError(
            f"{name!r} is not a valid name for a run.", hint=f"Use at most {LONGEST_NAME} printable characters."
        )
    if name == "latest":
        raise IrbenchError("`latest` is reserved for the newest run.", hint="Choose another name.")


def _precisions(names: tuple[str, ...] | None) -> tuple[Precision, ...] | None:
    if names is None:
        return None
    known = get_args(Precision)
    for precision in names:
        if precision not in known:
            near = did_you_mean(precision, known)
            raise IrbenchError(f"There is no precision {precision!r}.", hint=f"{near}Precisions: {', '.join(known)}.")
    return tuple(precision for precision in known if precision in names)


def asked_threads(
    counts: tuple[int | Literal["native"], ...] | None, cpus: tuple[int, ...] | None
) -> tuple[int | None, ...]:
    """Return the threads of the processes of each row, each number once."""
    return tuple(dict.fromkeys(total_threads(count, cpus) for count in counts or (None,)))


def total_threads(count: int | Literal["native"] | None, cpus: tuple[int, ...] | None) -> int | None:
    """Return the threads of each process; ``None`` leaves them to the runtimes."""
    if count is None:
        return host.allowance(cpus).threads
    return count if isinstance(count, int) else None


def allowed_cpus(cpus: tuple[int, ...] | None, flag: str = "--cpus") -> tuple[int, ...] | None:
    """Return the processors that were asked for."""
    allowed = host.allowance().cpus
    missing = sorted(set(cpus or ()) - set(allowed))
    if missing:
        listing = ",".join(str(cpu) for cpu in allowed)
        raise IrbenchError(
            f"{flag} contains processor {missing[0]}, which is not available.", hint=(f"Available: {listing}")
        )
    return cpus


def refuse_too_many_instances(instances: tuple[int, ...], cpus: tuple[int, ...] | None) -> None:
    """Refuse more processes than there are processors, of which each is to have its own."""
    processors = len(host.allowance(cpus).cpus)
    if max(instances) > processors:
        raise IrbenchError(
            f"--instances {max(instances)} needs as many processors, and {processors} can be used.",
            hint="Each instance has processors of its own: use fewer of them, or more processors with --cpus.",
        )
