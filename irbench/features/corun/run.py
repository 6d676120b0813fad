"""``irbench.corun``: measure models beside other programs."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Unpack

from irbench.api.loaded_models import Model, model_name
from irbench.api.progress import ProgressOption, Reporter, Say, reporting
from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.features.corun.keywords import CorunKeywords
from irbench.features.corun.options import CORUN, DEFAULT_INTENSITIES, DEFAULT_WARM_UP_S, LOWEST_RATE, CorunOptions
from irbench.options.option import names_keywords
from irbench.options.run import RunOptions
from irbench.requests.resolve import FIRST_MODEL, require_model
from irbench.requests.run_requests import allowed_cpus
from irbench.runs.measurement import StoredRun, measure
from irbench.runs.results import Run, finished_run
from irbench.spec import PRESSURES, CorunPlan, Neighbour, NeighbourKind
from irbench.spec.neighbours import FULL
from irbench.system import host
from irbench.system.controls import Control
from irbench.system.isolation import remove_left_groups, require_possible

_STRESS_NG = "stress-ng"


@names_keywords(CORUN)
def corun(*models: Model, progress: ProgressOption = "auto", **options: Unpack[CorunKeywords]) -> Run:
    """Measure models alone and beside other programs, in turns: how much slower they are.

    Args:
        models: As :func:`irbench.run` takes them; at least one.
        progress: As :func:`irbench.run` takes it.
        options: What runs beside them, and those of a run that say what is measured and how.

    Returns:
        The run; each of its tables has a row for each condition.

    Raises:
        IrbenchError: The call or the plan is impossible, or what runs beside the models ended early; or results cannot
            be stored.
        Interrupted: Ctrl-C; what was measured is stored, and in its ``result``.
        TypeError: There is no such option.
    """
    models = tuple(map(model_name, models))
    own, shared = CORUN.read(options)
    run_options = RunOptions(models=tuple(map(str, models)), **shared)
    with reporting(progress, CORUN) as reporter:
        return finished_run(corun_with(run_options, CorunOptions(**own), reporter))


def corun_with(options: RunOptions, beside: CorunOptions, reporter: Reporter) -> StoredRun:
    """Measure what was asked for; returns and raises what :func:`corun` does, but an interrupted run is returned."""
    host.require_linux()
    if not options.models:
        raise IrbenchError("No model is named.", hint="Name one; irbench models lists them.")
    remove_left_groups()
    plan, named = corun_plan(options, beside, reporter.say)
    return measure(_with_models(options, named), reporter, plan)


def _with_models(options: RunOptions, named: Sequence[str]) -> RunOptions:
    return replace(options, models=tuple(dict.fromkeys((*options.models, *named))), apart=True)


def corun_plan(options: RunOptions, beside: CorunOptions, say: Say) -> tuple[CorunPlan, tuple[str, ...]]:
    """Return what models are measured beside, and which of that are models.

    Raises:
        IrbenchError: Nothing is named, or something that is neither pressure nor a model nor a program; or a control
            cannot be applied here.
    """
    kinds = _kinds(options, beside)
    models = tuple(name for name, kind in kinds.items() if kind == "model")
    _refuse_without_effect(beside, kinds)
    used = host.allowance(allowed_cpus(options.cpus)).cpus
    free = tuple(sorted(set(host.allowance().cpus) - set(used)))
    require_possible(beside.isolate)
    neighbours = tuple(
        each
        for name, kind in kinds.items()
        for each in _graded(_neighbour(name, kind, beside, used, free), beside, free)
    )
    shared = dict.fromkeys(each.kind for each in neighbours if each.shares_processors and each.kind in PRESSURES[1:])
    if shared:
        say(
            f"warning: {' and '.join(shared)} shares processors with the models, which slows them down more than caches"
            " and memory do. Give each its own: --cpus and --neighbour-cpus."
        )
    return CorunPlan(neighbours, measured=len(dict.fromkeys(options.models))), models


def _refuse_without_effect(beside: CorunOptions, kinds: Mapping[str, NeighbourKind]) -> None:
    found = set(kinds.values())
    is_graded = any(Neighbour(kind, name).is_graded for name, kind in kinds.items())
    refused = (
        (beside.rate, "model" in found, "--rate is of a model that runs beside others."),
        (beside.intensity, is_graded, "--intensity is of pressure, or of a command with {intensity}."),
        (beside.neighbour_warmup, "command" in found, "--neighbour-warmup is of a command that runs beside others."),
    )
    for given, has_effect, why in refused:
        if given is not None and not has_effect:
            raise IrbenchError(why, hint="Name one with --with, or leave it out.")
    if beside.rate is not None and beside.rate < LOWEST_RATE:
        raise IrbenchError(
            f"--rate {beside.rate:g} is too low: each round lasts two periods of it.",
            hint=f"Give {LOWEST_RATE:g} or more.",
        )


def _kinds(options: RunOptions, beside: CorunOptions) -> dict[str, NeighbourKind]:
    """Return what each thing is that runs beside the models; unless that is said, each of several beside each."""
    if not beside.beside and len(set(options.models)) == 1:
        raise IrbenchError(
            "Nothing is named that runs beside the model.",
            hint=f"Name it: --with {PRESSURES[0]}, another model or a command; or name several models, which are"
            " measured beside each other.",
        )
    return {name: _kind(name, options) if beside.beside else "model" for name in beside.beside or options.models}


def _kind(name: str, options: RunOptions) -> NeighbourKind:
    """Return what a name is that --with has; a model that is there comes before a program, which may be any file."""
    if name in PRESSURES:
        return PRESSURES[PRESSURES.index(name)]
    refusal = None if name in options.models else _why_no_model(name, options)
    if refusal is None:
        return "model"
    program = _program(name)
    if program is not None and shutil.which(program) is not None:
        return "command"
    if program == _STRESS_NG:
        raise IrbenchError(f"{_STRESS_NG} is not installed.", hint="Install it: sudo apt install stress-ng")
    if program is not None and " " in name and not name.endswith(".onnx"):
        raise IrbenchError(f"There is no program {program}.", hint="Name a program that is installed, or its path.")
    raise IrbenchError(
        f"`--with {name}` is neither {', '.join(PRESSURES)} nor a model nor a program: {refusal.message}",
        hint=_with_hint(name, refusal),
    ) from refusal


def _with_hint(name: str, refusal: IrbenchError) -> str:
    """Return what may stand behind `--with`: the nearest pressure, else what is said of models, and examples."""
    of_models = f"{refusal.hint.rstrip('.')}{'' if refusal.hint.endswith('?') else '.'} " if refusal.hint else ""
    return (
        f"{did_you_mean(name, PRESSURES) or of_models}It takes {', '.join(PRESSURES)}, a model such as"
        f" `--with {FIRST_MODEL}`, or a program with its arguments such as `--with 'stress-ng --cpu 1'`."
    )


def _why_no_model(name: str, options: RunOptions) -> IrbenchError | None:
    try:
        require_model(name, options.imports)
    except IrbenchError as error:
        return error
    return None


def _program(name: str) -> str | None:
    try:
        words = shlex.split(name)
    except ValueError:
        return None
    return words[0] if words else None


def _neighbour(
    name: str, kind: NeighbourKind, beside: CorunOptions, used: tuple[int, ...], free: tuple[int, ...]
) -> Neighbour:
    cpus = allowed_cpus(beside.neighbour_cpus, "--neighbour-cpus") or (used if kind == "cpu" else free) or used
    return Neighbour(
        kind=kind,
        target="" if kind in PRESSURES else name,
        cpus=cpus,
        shares_processors=bool(set(cpus) & set(used)),
        rate=beside.rate if kind == "model" else None,
        warm_up_s=(beside.neighbour_warmup or DEFAULT_WARM_UP_S) if kind == "command" else 0.0,
    )


def _graded(neighbour: Neighbour, beside: CorunOptions, free: tuple[int, ...]) -> Iterator[Neighbour]:
    grades = (beside.intensity or DEFAULT_INTENSITIES) if neighbour.is_graded else (FULL,)
    yield from (replace(neighbour, intensity=intensity) for intensity in grades)
    yield from (_held_back(replace(neighbour, intensity=grades[-1]), control, free) for control in beside.isolate)


def _held_back(neighbour: Neighbour, control: Control, free: tuple[int, ...]) -> Neighbour:
    moves = control in ("affinity", "cpuset")
    if moves and not free:
        raise IrbenchError(
            f"--isolate {control} needs processors that the models do not use.", hint="Give them fewer: --cpus"
        )
    shares = neighbour.shares_processors and not moves
    return replace(neighbour, controls=(control,), free_cpus=free, shares_processors=shares)
