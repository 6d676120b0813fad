"""``irbench.run``: measure models on backends and return the result."""

from __future__ import annotations

from typing import Unpack

from irbench.api.loaded_models import Model, model_name
from irbench.api.progress import ProgressOption, Reporter, reporting
from irbench.options.keywords import RunKeywords
from irbench.options.option import names_keywords
from irbench.options.python_words import with_keywords
from irbench.options.run import RUN, RunOptions, run_options
from irbench.runs.measurement import describe_plan, measure
from irbench.runs.results import Run, finished_run


@names_keywords(RUN)
def run(*models: Model, progress: ProgressOption = "auto", **options: Unpack[RunKeywords]) -> Run:
    """Measure models on backends under one timing protocol.

    Every row runs in processes of its own, which are gone when this returns or raises. The run is stored.

    Args:
        models: Names of zoo models, exported bundles, ONNX files, or anything that :func:`irbench.export` takes;
            the model exported last where there is none.
        progress: ``"auto"`` shows how it goes on a terminal and in a notebook; a function is called with each
            :class:`irbench.Progress`; ``None`` shows nothing. What the function raises ends the run as Ctrl-C does,
            and is raised when all that was measured is stored.
        options: Those of a run.

    Returns:
        The run, as :func:`irbench.load` returns it again.

    Raises:
        IrbenchError: The call or the plan is impossible and nothing was measured; or results cannot be stored.
        Interrupted: Ctrl-C; what was measured is stored, and in its ``result``.
        TypeError: There is no such option.
    """
    run_options = _asked(models, options)
    with reporting(progress, RUN) as reporter:
        return run_with(run_options, reporter)


def run_with(options: RunOptions, reporter: Reporter) -> Run:
    """Measure what was asked for; returns and raises what :func:`run` does."""
    return finished_run(measure(options, reporter))


@names_keywords(RUN)
def plan(*models: Model, progress: ProgressOption = None, **options: Unpack[RunKeywords]) -> str:
    """Return what :func:`run` would measure with these arguments, how, how long at least, and where it would be stored.

    Models are exported and graphs optimised for that.

    Args:
        models: As :func:`run` takes them.
        progress: As :func:`run` takes it.
        options: Those of a run.

    Raises:
        IrbenchError: The call or the plan is impossible.
        TypeError: There is no such option.
    """
    with reporting(progress, RUN) as reporter:
        return with_keywords(describe_plan(_asked(models, options, "plan"), reporter.say), RUN.options)


def _asked(models: tuple[Model, ...], options: RunKeywords, function: str = "run") -> RunOptions:
    models = tuple(map(model_name, models))
    return run_options(models, options, function)
