"""``irbench.reduce``: the smallest part of a graph that still shows a difference between backends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from irbench.api.loaded_models import Model, model_name
from irbench.api.progress import ProgressOption, Reporter, reporting
from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.errors import IrbenchError
from irbench.features.reduce.expectation import Expectation, SlowerThan
from irbench.features.reduce.judge import AnswerJudge, Judge
from irbench.features.reduce.keywords import ReduceKeywords
from irbench.features.reduce.options import MIN_SHARE, REDUCE, ReduceOptions
from irbench.features.reduce.report import Reduction, ReductionReport, told_in_words
from irbench.features.reduce.reproduction import REPORT_FILE
from irbench.features.reduce.search import Reducer, unwritable
from irbench.features.reduce.search_facts import Tell
from irbench.features.reduce.speed import SpeedJudge
from irbench.measure.lock import measuring
from irbench.options.option import names_keywords
from irbench.options.run import RunOptions
from irbench.requests.resolve import require_models, resolve_backends
from irbench.requests.run_requests import refuse_contradictions, refuse_several_values
from irbench.runs.measurement import refuse_within_a_worker
from irbench.runs.results import Interrupted
from irbench.runs.run_destination import describe_environment
from irbench.system import host
from irbench.system.file_states import is_folder
from irbench.system.signals import signals_deferred
from irbench.worker.scratch import scratch_folder

ONE_VALUE = ("batch", "precision", "threads")
_OF_MEASUREMENTS = ("batch", "threads", "cpus", "io", "seed", "deadline", "no_lock", "results")
_ADVICE = {"batch": "Give the shape of an input: --shape NAME=8x3x224x224."}


@names_keywords(REDUCE)
def reduce(
    model: Model,
    *,
    progress: ProgressOption = "auto",
    **options: Unpack[ReduceKeywords],
) -> Reduction:
    """Find the smallest part of a model's graph that still shows a difference between backends, and write it.

    Args:
        model: Anything that :func:`irbench.run` takes.
        progress: As :func:`irbench.run` takes it.
        options: The difference, and those of a run that say what the inputs are and how the graph is measured.

    Returns:
        What was found; ``folder`` has the files.

    Raises:
        IrbenchError: The call is impossible, or the model cannot be run; nothing was searched.
        Interrupted: Ctrl-C; the smallest graph until then is written, and in its ``result``.
        TypeError: There is no such option.
    """
    own, shared = REDUCE.read(options)
    with reporting(progress, REDUCE) as reporter:
        reduction = reduce_with(ReduceOptions(model_name(model), RunOptions(**shared), **own), reporter)
    if reduction.report.conclusion == "interrupted":
        raise Interrupted("the search is not complete", reduction)
    return reduction


def reduce_with(options: ReduceOptions, reporter: Reporter) -> Reduction:
    """Search for the smallest graph, and write it; an interrupt leaves the search incomplete."""
    host.require_linux()
    refuse_within_a_worker()
    refuse_several_values(options.run, ONE_VALUE)
    refuse_ineffective(options)
    backends = expected_backends(options.expectation)
    note = f"reduce {Path(options.model).name}"
    run = replace(options.run, models=(options.model,), backends=tuple(map(str, backends)), note=note)
    refuse_contradictions(run)
    require_models(run.models, everything=False, imports=run.imports)
    options = replace(options, output=output_folder(options), run=run)
    tell = told_in_words(reporter.say)
    with scratch_folder() as folder, _judge(options, reporter, tell) as judge:
        report = Reducer(options, judge, folder, tell).reduced()
        report = replace(report, environment=describe_environment(), command=run.command)
        with signals_deferred():
            _write_report(report)
    return Reduction(report)


@contextmanager
def _judge(options: ReduceOptions, reporter: Reporter, tell: Tell) -> Iterator[Judge]:
    """Yield what runs graphs; where it times them, the machine's lock is held."""
    run, expected = options.run, options.expectation
    if not isinstance(expected, SlowerThan):
        yield AnswerJudge(expected, run, reporter.say)
        return
    with measuring(f"reduce {Path(options.model).name}", insist=run.no_lock) as lock:
        yield SpeedJudge(expected, run, options.min_share, lock, reporter, tell, options.budget)


def _write_report(report: ReductionReport) -> None:
    if report.folder is None:
        return
    folder = Path(report.folder)
    try:
        (folder / REPORT_FILE).write_text(Reduction(report).to_text("md"))
        (folder / "report.json").write_text(Reduction(report).to_text("json"))
    except OSError as error:
        raise unwritable(folder, error) from error


def refuse_ineffective(options: ReduceOptions) -> None:
    """Refuse options of a measurement where nothing is timed."""
    if isinstance(options.expectation, SlowerThan):
        return
    usual = RunOptions()
    changed = [name for name in _OF_MEASUREMENTS if getattr(options.run, name) != getattr(usual, name)]
    if options.min_share != MIN_SHARE:
        changed.append("min_share")
    if changed:
        option = changed[0].replace("_", "-")
        raise IrbenchError(
            f"--{option} does not apply: nothing is timed where answers or failures are searched for.",
            hint=_ADVICE.get(option, "Leave it out."),
        )


def expected_backends(expectation: Expectation) -> tuple[BackendAddress, ...]:
    """Return the backends that are expected to differ, which must be installed and read ONNX."""
    backends = resolve_backends(expectation.backends)
    if len(backends) < len(expectation.backends):
        raise IrbenchError(f"{backends[0]} cannot be slower than itself.", hint="Name two backends.")
    for address in backends:
        if "onnx" not in registry.backend(address.name).consumes:
            able = [name for name in registry.installed_backends() if "onnx" in registry.backend(name).consumes]
            raise IrbenchError(
                f"{address} does not read ONNX graphs, and a reduced graph is one.",
                hint=f"Backends that do: {', '.join(able)}.",
            )
        registry.require_installed(address.name)
    return backends


def output_folder(options: ReduceOptions) -> Path:
    """Return the folder for the files, which is empty or not there yet."""
    name = Path(options.model).stem if options.model.endswith(".onnx") else Path(options.model).name
    folder = options.output or Path(f"{name}-reduced")
    try:
        is_there = folder.exists()
    except OSError as error:  # a name too long for any folder
        raise IrbenchError(
            f"{folder} cannot be made: {error.strerror}.", hint="Name another folder with -o."
        ) from error
    if is_there and not (is_folder(folder) and not any(folder.iterdir())):
        raise IrbenchError(
            f"{folder} {'is not empty' if is_folder(folder) else 'is a file'}.",
            hint="Remove it, or name another folder with -o.",
        )
    return folder
