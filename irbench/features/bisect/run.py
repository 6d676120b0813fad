"""``irbench.bisect``: find the version of a runtime that changed the speed or the answers of a model."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Unpack

from irbench.api.loaded_models import Model, model_name
from irbench.api.progress import ProgressOption, Reporter, reporting
from irbench.core.address import BackendAddress
from irbench.environments.runtime_sources import normalised, releases_between
from irbench.errors import IrbenchError
from irbench.features.ab.run import require_readable_models
from irbench.features.bisect.by_answer import OutputComparer
from irbench.features.bisect.by_speed import SpeedComparer
from irbench.features.bisect.halving import VersionJudge, search
from irbench.features.bisect.keywords import BisectKeywords
from irbench.features.bisect.options import BISECT, BisectOptions
from irbench.features.bisect.report import Bisection, BisectReport, told_in_words
from irbench.features.verify.options import VerifyOptions
from irbench.features.verify.run import planned_trials
from irbench.options.option import names_keywords
from irbench.options.run import RunOptions
from irbench.requests.resolve import Environments, resolve_bundles
from irbench.requests.run_requests import refuse_contradictions, refuse_several_values
from irbench.runs.results import Interrupted
from irbench.spec import PythonEnvironment
from irbench.system import host
from irbench.worker.scratch import scratch_folder

_USUAL_THRESHOLD = 0.03
_MANY = ("batch", "streams", "instances", "threads", "precision", "optimize")
"""Options of a run that may ask for several rows or tables."""


@names_keywords(BISECT)
def bisect(
    model: Model,
    *,
    progress: ProgressOption = "auto",
    **options: Unpack[BisectKeywords],
) -> Bisection:
    """Find the version of a runtime that changed the speed or the answers of a model, by halving.

    Args:
        model: Anything that :func:`irbench.run` takes.
        progress: As :func:`irbench.run` takes it.
        options: Which versions are searched for what, and those of a run that say what is measured and how.

    Returns:
        What was found; ``changed_by`` is the version.

    Raises:
        IrbenchError: There is no such model or version, or the first or last cannot be installed or measured.
        Interrupted: Ctrl-C; what was found by then is in its ``result``.
        TypeError: There is no such option.
    """
    own, shared = BISECT.read(options)
    with reporting(progress, BISECT) as reporter:
        bisection = bisect_with(BisectOptions(model=model_name(model), run=RunOptions(**shared), **own), reporter)
    if bisection.report.conclusion == "interrupted":
        raise Interrupted("the search is not complete", bisection)
    return bisection


def bisect_with(options: BisectOptions, reporter: Reporter) -> Bisection:
    """Search what the options ask for; an interrupt leaves the report incomplete."""
    host.require_linux()
    refuse_several_values(options.run, _MANY)
    run = replace(options.run, models=(options.model,))
    refuse_contradictions(run)
    require_readable_models(run.models, run.imports)
    reporter.say(f"listing releases of {options.runtime}")
    versions = releases_between(options.runtime, options.first, options.last)
    pairs = _VersionPairs(options, reporter)
    address = pairs.backend(versions[0], versions[-1])
    threshold = options.threshold if options.threshold or options.by == "answer" else _USUAL_THRESHOLD
    with ExitStack() as scratch:
        judge = _judge(replace(options, backend=address, threshold=threshold, run=run), pairs, reporter, scratch)
        empty = BisectReport(
            model=options.model,
            runtime=options.runtime,
            backend=address,
            by=options.by,
            threshold=threshold,
            versions=versions,
            steps=(),
            conclusion="interrupted",
            results=None if run.results is None else str(run.results),
        )
        return Bisection(search(empty, judge, reporter.say, told_in_words(reporter.say)))


class _VersionPairs:
    def __init__(self, options: BisectOptions, reporter: Reporter) -> None:
        self._runtime = normalised(options.runtime)
        self._environments = Environments(options.backend, reporter.say, insist=options.run.no_lock)

    def __call__(self, baseline: str, version: str) -> tuple[PythonEnvironment, ...]:
        return self._of(baseline, version)[1]

    def backend(self, baseline: str, version: str) -> str:
        """Return the backend that runs the runtime, as users name it."""
        address, (environment, _) = self._of(baseline, version)
        if normalised(environment.runtime) != self._runtime:
            raise IrbenchError(
                f"{address} runs {environment.runtime}, and versions of {self._runtime} are searched.",
                hint="Leave `--backend` out, or name a backend of this runtime.",
            )
        return str(address)

    def _of(self, baseline: str, version: str) -> tuple[BackendAddress, tuple[PythonEnvironment, ...]]:
        return self._environments.of([f"{self._runtime}=={each}" for each in (baseline, version)])


def _judge(options: BisectOptions, pairs: _VersionPairs, reporter: Reporter, scratch: ExitStack) -> VersionJudge:
    run = options.run
    if options.by == "speed":
        note = run.note or f"bisect {options.runtime} {options.first} to {options.last}"
        measured = replace(run, backends=(str(options.backend),), within=options.threshold, note=note)
        return SpeedComparer(measured, pairs, reporter)
    (bundle,) = resolve_bundles(run.models, everything=False, say=reporter.say, imports=run.imports)
    verified = VerifyOptions(options.model, data=run.data, value=run.value, feedback=run.feedback, shape=run.shape)
    folder = scratch.enter_context(scratch_folder())
    trials = planned_trials(verified, bundle, (BackendAddress.parse(str(options.backend)),), folder)
    return OutputComparer(trials.trials, options.threshold, pairs)
