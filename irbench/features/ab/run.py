"""``irbench.ab``: compare two versions of a runtime, each in a Python environment of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from irbench.api.loaded_models import Model, model_name
from irbench.api.progress import ProgressOption, Say, reporting
from irbench.exporter.foreign import from_onnx_file
from irbench.features.ab.keywords import AbKeywords
from irbench.features.ab.options import AB, AbOptions
from irbench.features.run.run import run_with
from irbench.options.option import names_keywords
from irbench.options.run import RunOptions
from irbench.requests.resolve import Environments, require_models
from irbench.requests.run_requests import refuse_contradictions
from irbench.runs.results import Run
from irbench.system import host


@names_keywords(AB)
def ab(
    *models: Model,
    progress: ProgressOption = "auto",
    **options: Unpack[AbKeywords],
) -> Run:
    """Compare two versions of a runtime: workers of two Python environments take turns in one table.

    Args:
        models: As :func:`irbench.run` takes them.
        progress: As :func:`irbench.run` takes it.
        options: The versions, and those of a run that say what is measured and how.

    Returns:
        The run; its table has a row for each version.

    Raises:
        IrbenchError: An environment cannot be built or used, the plan is impossible, or results cannot be stored.
        Interrupted: Ctrl-C; what was measured is stored, and in its ``result``.
        TypeError: There is no such option.
    """
    models = tuple(map(model_name, models))
    own, shared = AB.read(options)
    run_options = RunOptions(models=tuple(map(str, models)), **shared)
    with reporting(progress, AB) as reporter:
        return run_with(with_environments(run_options, AbOptions(**own), reporter.say), reporter)


def with_environments(options: RunOptions, versions: AbOptions, say: Say) -> RunOptions:
    """Return options of a run with their backend, and a row of it for each version."""
    host.require_linux()
    refuse_contradictions(options)
    require_readable_models(options.models, options.imports)
    address, environments = Environments(versions.backend, say, insist=options.no_lock).of((versions.a, versions.b))
    return replace(options, backends=(str(address),), environments=environments)


def require_readable_models(models: Sequence[str], imports: tuple[str, ...]) -> None:
    """Refuse models that are not there or cannot be read, before an environment is built for them."""
    require_models(models, everything=False, imports=imports)
    for model in models:
        if model.endswith(".onnx"):
            from_onnx_file(Path(model))
