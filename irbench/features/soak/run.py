"""``irbench.soak``: call rows for a long time to see whether their memory grows or their calls become slower."""

from __future__ import annotations

from typing import Unpack

from irbench.api.loaded_models import Model, model_name
from irbench.api.progress import ProgressOption, reporting
from irbench.errors import IrbenchError
from irbench.features.soak.keywords import SoakKeywords
from irbench.features.soak.options import SOAK, SoakOptions
from irbench.options.option import names_keywords
from irbench.options.run import RunOptions
from irbench.runs.measurement import measure
from irbench.runs.results import Run, finished_run
from irbench.spec import SoakPlan


@names_keywords(SOAK)
def soak(
    *models: Model,
    progress: ProgressOption = "auto",
    **options: Unpack[SoakKeywords],
) -> Run:
    """Call each row for a long time, one after the other, and say whether its memory grows.

    Args:
        models: As :func:`irbench.run` takes them.
        progress: As :func:`irbench.run` takes it.
        options: How long rows are called, and those of a run that say what is called and how.

    Returns:
        The run; its ``soaks`` hold the tables.

    Raises:
        IrbenchError: The call or the plan is impossible and nothing was measured; or results cannot be stored.
        Interrupted: Ctrl-C; what was measured is stored, and in its ``result``.
        TypeError: There is no such option.
    """
    models = tuple(map(model_name, models))
    own, shared = SOAK.read(options)
    plan = soak_plan(SoakOptions(**own))
    with reporting(progress, SOAK) as reporter:
        stored = measure(RunOptions(models=tuple(map(str, models)), **shared), reporter, plan)
    return finished_run(stored)


def soak_plan(options: SoakOptions) -> SoakPlan:
    """Return how long rows are called, with defaults."""
    if options.duration is not None and options.calls is not None:
        raise IrbenchError("A duration and a number of calls cannot be combined.", hint="Give --for or --calls.")
    usual = SoakPlan()
    return SoakPlan(
        seconds=usual.seconds if options.duration is None else options.duration,
        calls=options.calls,
        growth_limit=usual.growth_limit if options.growth_limit is None else options.growth_limit,
    )
