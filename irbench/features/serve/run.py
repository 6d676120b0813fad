"""``irbench.serve``: give models requests as they arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from irbench.api.loaded_models import Model, model_name
from irbench.api.progress import ProgressOption, reporting
from irbench.errors import IrbenchError
from irbench.features.serve.keywords import ServeKeywords
from irbench.features.serve.options import SERVE, ServeOptions
from irbench.options.option import names_keywords
from irbench.options.run import RunOptions
from irbench.requests.run_requests import require_batch_to_wait_for
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.runs.measurement import measure
from irbench.runs.results import Run, finished_run
from irbench.spec.serving import Queueing, Scenario, ServingPlan

_SPREAD: tuple[Scenario, ...] = ("server", "offline")
"""Scenarios whose requests are spread over instances."""


@names_keywords(SERVE)
def serve(
    *models: Model,
    progress: ProgressOption = "auto",
    **options: Unpack[ServeKeywords],
) -> Run:
    """Give each row requests as they arrive, and say which load it holds.

    Args:
        models: As :func:`irbench.run` takes them.
        progress: As :func:`irbench.run` takes it.
        options: How requests arrive and what answers must keep, and those of a run that say what is called and how.

    Returns:
        The run; its ``serving`` holds the tables.

    Raises:
        IrbenchError: The call or the plan is impossible and nothing was measured; or results cannot be stored.
        Interrupted: Ctrl-C; what was measured is stored, and in its ``result``.
        TypeError: There is no such option.
    """
    models = tuple(map(model_name, models))
    own, shared = SERVE.read(options)
    run_options = RunOptions(models=tuple(map(str, models)), **shared)
    plan = serving_plan(ServeOptions(**own), run_options)
    with reporting(progress, SERVE) as reporter:
        stored = measure(run_options, reporter, plan, refuse_wait_for_one)
    return finished_run(stored)


def serving_plan(options: ServeOptions, run: RunOptions) -> ServingPlan:
    """Return which loads rows are given, with defaults; ``run`` says what the rows are.

    Raises:
        IrbenchError: No load is given, or one that contradicts the scenario or the batch of the rows.
    """
    _refuse_contradictions(options, run.instances)
    if options.batch_wait:
        require_batch_to_wait_for(run.batch or ())
    usual = ServingPlan()
    return ServingPlan(
        scenario=options.scenario,
        rates_per_s=tuple(sorted(options.rate)),
        level=options.slo,
        seconds=usual.seconds if options.duration is None else options.duration,
        queueing=Queueing(
            options.queue,
            None if options.timeout is None else 1e3 * options.timeout,
            1e3 * (options.batch_wait or 0.0),
        ),
    )


def _refuse_contradictions(options: ServeOptions, instances: Sequence[int]) -> None:
    scenario = options.scenario
    if scenario == "server" and not options.rate and options.slo is None:
        raise IrbenchError(
            "The rate of requests is missing.",
            hint='Give --rate 10,50,100, or --slo "p99<=50ms" to search for the highest rate that keeps it.',
        )
    if scenario != "server" and options.rate:
        raise IrbenchError(
            f"--rate does not apply to --scenario {scenario}.",
            hint="Remove --rate, or use --scenario server.",
        )
    if scenario != "server" and (options.queue or options.timeout):
        raise IrbenchError(
            f"--queue and --timeout do not apply to --scenario {scenario}.",
            hint="Remove them, or use --scenario server.",
        )
    if scenario not in _SPREAD and max(instances) > 1:
        raise IrbenchError(
            f"--instances does not apply to --scenario {scenario}: each request waits for the one before.",
            hint="Remove --instances, or use --scenario server or offline.",
        )


def refuse_wait_for_one(request: RunRequest, groups: tuple[PlannedGroup, ...]) -> tuple[PlannedGroup, ...]:
    """Return the groups of a plan; which batch a model has by itself is not known before.

    Raises:
        IrbenchError: Calls shall wait for their batch to be full, and each answers one request.
    """
    if request.serving is not None and request.serving.queueing.batch_wait_ms > 0:
        require_batch_to_wait_for(planned.group.main.batch for planned in groups)
    return groups
