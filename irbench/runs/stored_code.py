"""Code that measuring a stored plan again would run: who stored it need not be who runs it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from irbench.across_runs.repetition_obstacles import Obstacle, OwnCode
from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.exporter.source import Source
from irbench.options.run import RunOptions
from irbench.worker.requested_confinement import is_confinement_asked_for

_RELEASE = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==[A-Za-z0-9][A-Za-z0-9.+!_-]*")
"""What irbench stores of a release that the index has; anything else may be a path, or is asked of the index anew."""


def own_code_obstacle(stored: RunOptions) -> Obstacle | None:
    """Return an obstacle that names all code of a stored plan that is no part of irbench; ``None`` without any.

    These are the rows of the user's own code, models that a function makes, a measure of accuracy, modules to import
    for an export, and options that name files or folders: a runtime reads compiled code and settings from there, and
    writes what it likes.

    Args:
        stored: From :func:`~irbench.runs.stored_plan.stored_options`.
    """
    rows = [f"{name}={program.target}" for name, program in stored.cells.items()]
    functions = [model for model in stored.models if Source(model).function is not None]
    measures = [stored.metric.function] if stored.metric is not None else []
    code = [*rows, *functions, *measures, *stored.imports, *_paths(stored)]
    return OwnCode(named=tuple(code)) if code else None


def environments_obstacle(environments: Sequence[Mapping[str, Any]]) -> Obstacle | None:
    """Return an obstacle that names all Pythons and packages of a stored plan that are no releases of known runtimes.

    Args:
        environments: Those of the plan.
    """
    known = registry.distributions()
    named = (found["requirement"] or found["python"] for found in environments)
    releases = {text: _RELEASE.fullmatch(text) for text in named if text}
    foreign = [text for text, release in releases.items() if release is None or release["name"] not in known]
    return OwnCode(named=tuple(foreign)) if foreign else None


def _paths(stored: RunOptions) -> Iterator[str]:
    """Yield the options of a plan that may name a file or a folder: by their keys, and by their values."""
    for backend, key, text in _options(stored):
        if text and (os.sep in text or _may_name_file(backend, key)):
            yield f"{backend}.{key}={text}"


def _options(stored: RunOptions) -> Iterator[tuple[str, str, str]]:
    """Yield each option of a backend: whose, its key and its value."""
    for backend, found in stored.set.items():
        yield from ((backend, key, text) for key, text in found.items())
    for backend, varied in stored.vary.items():
        yield from ((backend, key, text) for key, texts in varied.items() for text in texts)


def _may_name_file(backend: str, key: str) -> bool:
    name = backend.partition(":")[0]
    if name not in registry.names(registry.BACKENDS):  # of another machine: it is refused later
        return False
    return registry.describe(registry.BACKENDS, name).may_name_file(key)


def refuse_stored_folders(stored: RunOptions) -> None:
    """Refuse a stored plan whose options name folders, where models are confined: some of them models may write.

    Raises:
        IrbenchError: An option of a backend is the path of a folder or file.
    """
    named = next((text for _, _, text in _options(stored) if Path(text).is_absolute()), None)
    if named is not None and is_confinement_asked_for():
        raise IrbenchError(
            f"The stored plan names {named}, and IRBENCH_CONFINE is set: who stored it is not to choose what a model "
            "may write.",
            hint="Measure with irbench run and a folder of your own, or unset IRBENCH_CONFINE.",
        )
