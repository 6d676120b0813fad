"""What a stored run asked for, as the options that ask for it again."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from irbench.across_runs.repetition_obstacles import OwnCode, RepetitionObstacle
from irbench.core import registry
from irbench.core.result import SEARCH_RUN
from irbench.core.run_kinds import command_of_part, run_kind
from irbench.core.stored_plan import StoredPlan
from irbench.errors import IrbenchError
from irbench.exporter.source import Source
from irbench.options.run import RunOptions
from irbench.options.stored import options_of
from irbench.render.table_title import planned_command_text
from irbench.stats.rederive import planned_timing
from irbench.store import bundles
from irbench.system.document_damage import damage_text
from irbench.worker.requested_confinement import is_confinement_asked_for


def stored_options(plan: StoredPlan, results: str = "") -> RunOptions:
    """Return the options that ask for a stored run again, every default that was resolved written out.

    Raises:
        IrbenchError: They do not ask for all of it.
    """
    refusal = repetition_refusal(plan, results)
    if refusal is not None:
        raise refusal
    try:
        models = map(_model, plan.models, plan.sources or plan.models)
        return replace(options_of(plan), models=tuple(models))
    except (AttributeError, KeyError, TypeError, ValueError) as error:  # options have types of their own
        raise IrbenchError(
            f"The run does not record what was asked for in a form that irbench writes: {damage_text(error)}.",
            hint=f"Choose another: irbench results{results}",
        ) from error


def repetition_refusal(plan: StoredPlan, results: str = "") -> IrbenchError | None:
    """Return why neither options of a run nor a plan ask for a stored run again, and what does; ``None`` if they do."""
    kind = run_kind(plan)
    if plan.is_part_of == SEARCH_RUN:
        return IrbenchError(
            "The run is a part of a search, which chose its rows while it ran.",
            hint=f"Search again: {measuring_command(plan)}; or repeat the run that confirms what it found.",
        )
    if kind is not None and not kind.is_in_plans:
        return IrbenchError(
            f"The run measures {kind.measures}, and plans ask for speeds of inferences and cold starts only.",
            hint=f"Measure it again: {measuring_command(plan)}",
        )
    if not plan.models or plan.asked is None:
        return IrbenchError(
            "The run does not record what was asked for.", hint=f"Choose another: irbench results{results}"
        )
    if plan.data_in_memory is not None:
        return IrbenchError(
            "The inputs of the run were arrays in memory, which are not stored.",
            hint="Save them as .npz files and measure with --data.",
        )
    if plan.environments:
        return IrbenchError(
            "The run compares versions of a runtime, each in an environment of its own.",
            hint="Compare them again by their versions; irbench show names them.",
        )
    if planned_timing(plan).busy_processors:
        return IrbenchError(
            "A process kept a processor busy during the run, which no option asks for.",
            hint=f"Search again with irbench tune --flip-map, or choose another run: irbench results{results}",
        )
    return None


def measuring_command(plan: StoredPlan) -> str:
    """Return the command that measures a stored run again: as it was called, or its name where Python called it."""
    called = planned_command_text(plan)
    if called:
        return called
    kind = run_kind(plan)
    if plan.is_part_of:
        return command_of_part(plan)
    return "irbench run" if kind is None else kind.command


def _model(name: str, source: str) -> str:
    """Return what names a model again: its file, the bundle that still has its name, or what it was exported from."""
    is_file = source.endswith(".onnx")
    return source if source and (is_file or bundles.find(name) is None) else name


_RELEASE = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==[A-Za-z0-9][A-Za-z0-9.+!_-]*")
"""What irbench stores of a release that the index has; anything else may be a path, or is asked of the index again."""


def own_code_obstacle(stored: RunOptions, beside: Sequence[str] = ()) -> RepetitionObstacle | None:
    """Return an obstacle that names all code of a stored plan that is not part of irbench; ``None`` without any.

    These are the rows of the user's own code, models that a function makes, a measure of accuracy, modules to import
    for an export, and options that name files or folders: a runtime reads compiled code and settings from there, and
    writes what it likes. ``beside`` names code that other options have.
    """
    rows = [f"{name}={program.target}" for name, program in stored.cells.items()]
    functions = [model for model in stored.models if Source(model).function is not None]
    measures = [stored.metric.function] if stored.metric is not None else []
    code = [*rows, *functions, *measures, *stored.imports, *beside, *_paths(stored)]
    return OwnCode(named=tuple(code)) if code else None


def environments_obstacle(environments: Sequence[Mapping[str, Any]]) -> RepetitionObstacle | None:
    """Return an obstacle that names all Pythons and packages of a plan that are not releases of known runtimes."""
    known = registry.distributions()
    named = (environment["requirement"] or environment["python"] for environment in environments)
    releases = {text: _RELEASE.fullmatch(text) for text in named if text}
    foreign = [text for text, release in releases.items() if release is None or release["name"] not in known]
    return OwnCode(named=tuple(foreign)) if foreign else None


def _paths(stored: RunOptions) -> Iterator[str]:
    for backend, key, text in _options(stored):
        if text and (os.sep in text or _may_name_file(backend, key)):
            yield f"{backend}.{key}={text}"


def _options(stored: RunOptions) -> Iterator[tuple[str, str, str]]:
    for backend, settings in stored.set.items():
        yield from ((backend, key, text) for key, text in settings.items())
    for backend, varied in stored.vary.items():
        yield from ((backend, key, text) for key, texts in varied.items() for text in texts)


def _may_name_file(backend: str, key: str) -> bool:
    name = backend.partition(":")[0]
    if name not in registry.names(registry.BACKENDS):  # of another machine: it is refused later
        return False
    return registry.describe(registry.BACKENDS, name).may_name_file(key)


def refuse_stored_folders(stored: RunOptions) -> None:
    """Refuse a stored plan whose options name folders, where models are confined: some of them models may write."""
    named = next((text for _, _, text in _options(stored) if Path(text).is_absolute()), None)
    if named is not None and is_confinement_asked_for():
        raise IrbenchError(
            f"The stored plan names {named}, and IRBENCH_CONFINE is set: who stored it is not to choose what a model "
            "may write.",
            hint="Measure with irbench run and a folder of your own, or unset IRBENCH_CONFINE.",
        )
