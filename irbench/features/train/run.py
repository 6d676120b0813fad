"""``irbench.train``: what a training step costs, and what each setting of it changes."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Unpack

from irbench.api.loaded_models import Model, model_name
from irbench.api.progress import ProgressOption, Reporter, Say, reporting
from irbench.core import registry
from irbench.environments.building import build
from irbench.errors import IrbenchError
from irbench.exporter.source import Source
from irbench.features.train.begun_run import BegunRun
from irbench.features.train.data import (
    SyntheticImages,
    classes_for,
    data_of_function,
    images_in,
    require_batches,
    require_scores,
)
from irbench.features.train.keywords import TrainKeywords
from irbench.features.train.loss_checks import LossChecks, may_share, process_kind, with_outcomes
from irbench.features.train.options import (
    DEFAULT_FORMAT,
    DEFAULT_SAMPLES,
    FEWEST_CHECKED,
    OF_DECODING,
    SYNTHETIC,
    TRAIN,
    DesignSize,
    TrainingOptions,
    TrainOptions,
)
from irbench.features.train.schedule import EqualLaunches
from irbench.features.train.step_traces import TRACED_STEPS, XPROF
from irbench.features.train.training_rows import TrainingRows, combinations_of
from irbench.measure.clock import Stopwatch
from irbench.measure.lock import measuring
from irbench.options.option import names_keywords
from irbench.options.run import RunOptions
from irbench.requests import probes
from irbench.requests.resolve import require_model
from irbench.requests.run_requests import refuse_contradictions, refuse_cost_on_gpu, requested
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.runs.measurement import StoredRun, measure_planned, refuse_within_a_worker
from irbench.runs.results import Run, finished_run
from irbench.runs.run_destination import RunDestination
from irbench.spec import Load
from irbench.spec.training import ModelFacts, TrainedModel, TrainingData
from irbench.store import bundles
from irbench.system import host
from irbench.system.file_states import exists
from irbench.worker import call_in_worker
from irbench.worker.process import SharedProcess
from irbench.worker.scratch import scratch_folder

_BUDGET_S = 1200.0
_MODEL_DEADLINE_S = 300.0
_FEWEST_STEPS = 5
_ROUND_S, _SETTLE_S = 0.1, 0.1
"""Steps of a round, and those before it: while others ran, the pipeline stood still with batches that were made."""
_LOOK_SHARE = 0.05
"""Steps are long, and a third of a small budget would go by while a first launch looked for when they get no faster."""


@names_keywords(TRAIN)
def train(model: Model, *, progress: ProgressOption = "auto", **options: Unpack[TrainKeywords]) -> Run:
    """Measure training steps of a model with each combination of settings, and what each setting changes.

    Args:
        model: A model of the zoo, a ``.keras`` file, or ``file.py:function`` that returns a Keras model.
        progress: As :func:`irbench.run` takes it.
        options: What is trained and how, and those of a run that say how it is measured.

    Returns:
        The run; its table has the effects of settings.

    Raises:
        IrbenchError: The call is impossible and nothing was measured; or results cannot be stored.
        Interrupted: Ctrl-C; what was measured is stored, and in its ``result``.
        TypeError: There is no such option.
    """
    own, shared = TRAIN.read(options)
    with reporting(progress, TRAIN) as reporter:
        stored = measure_training(model_name(model), TrainOptions(**own), RunOptions(**shared), reporter)
    return finished_run(stored)


def measure_training(
    model: str | Path,
    options: TrainOptions,
    shared: RunOptions,
    reporter: Reporter,
    begun: BegunRun | None = None,
) -> StoredRun:
    """Check what is asked for, then the losses of all rows, and measure those that train; see :func:`train`.

    A run that was ``begun`` goes on after its last launch, with what its checks of losses gave.
    """
    watch = Stopwatch()
    options = replace(options, data=_from_any_folder(options.data))
    asked, trained = training_request(model, options, shared)
    combinations_of(options, asked.threads, options.design)
    asked = _of_all_rows(asked, options)
    with measuring(str(model), insist=shared.no_lock) as lock, scratch_folder() as folder:
        if options.xprof:
            _prepare_xprof(reporter.say)
        known = {} if begun is None else begun.outcomes
        say = _silent if known else reporter.say
        with SharedProcess() as process:
            request, planned = planned_training(asked, trained, options, say, process, options.design)
            if known:
                planned = with_outcomes(planned, known)
            else:
                checks = LossChecks(options, request.timing.deadline, reporter.say, process)
                left_s = math.inf if shared.budget is None else max(0.0, shared.budget - watch.elapsed_s)
                ids = [cell.id for cell in planned.measured]
                # without a row that trains there is nothing to time
                planned = checks.check(planned, ids, left_s, ids[:1])
        _require_some(planned)
        destination = RunDestination(shared.results) if begun is None else begun.destination
        schedule = EqualLaunches(options.launches)
        request = request.with_budget_for(1, 1)
        return measure_planned(request, (planned,), folder, destination, lock, reporter, schedule, watch)


def _silent(_line: str) -> None: ...


def _prepare_xprof(say: Say) -> None:
    """Have xprof installed before anything is measured, so that who waits for hours hears at once where it fails."""
    try:
        build(XPROF, say)
    except IrbenchError as error:
        say(f"warning: rows are measured without xprof. {error.message} {error.hint}".rstrip())


def _from_any_folder(data: str) -> str:
    """Return what names the data of a training when the current folder is another one."""
    if data == SYNTHETIC:
        return data
    return Source(data).absolute if ":" in data else str(Path(data).absolute())


def training_request(
    model: str | Path, options: TrainingOptions, shared: RunOptions
) -> tuple[RunRequest, TrainedModel]:
    """Return what is asked for, and of which model, once all is checked that is known before a model is loaded.

    Raises:
        IrbenchError: It is impossible, or some option does nothing.
    """
    host.require_linux()
    refuse_within_a_worker()
    _refuse_what_does_nothing(options)
    _require_keras_model(str(model), shared.imports)
    _require_device(options)
    shared = replace(shared, models=(str(model),), backends=(f"{registry.trainer()}:{options.device}",))
    refuse_contradictions(shared)
    request = _with_timing(requested(shared), shared, options)
    return request, TrainedModel(str(model), shared.imports, options.loss, options.optimizer, options.learning_rate)


def planned_training(
    request: RunRequest,
    trained: TrainedModel,
    options: TrainingOptions,
    say: Say,
    process: SharedProcess | None = None,
    design: DesignSize = "full",
) -> tuple[RunRequest, PlannedGroup]:
    """Load a model and make its data; return the request with the model, and the table of all rows.

    The model is loaded in ``process``, in which its losses may then be checked, unless it is code of the user's.

    Raises:
        IrbenchError: The model or the data cannot be used.
    """
    given = _given_data(options)
    load = Load(threads=request.threads[0], cpus=request.asked.cpus)
    facts: ModelFacts = call_in_worker(
        "irbench.worker.training:describe_model",
        registry.trainer(),
        trained,
        load,
        deadline_s=_MODEL_DEADLINE_S,
        returns=ModelFacts,
        process=process if may_share(trained) else None,
        kind=process_kind(registry.trainer(), "cpu", load),
    )
    if not options.xla:
        options = replace(options, xla=("on" if facts.is_jit_compiled else "off",))
    data = _fitting_data(given, options, trained, facts, request.asked.seed)
    require_batches(data, options.batch)
    threads, cpus, seed = request.threads, request.asked.cpus, request.asked.seed
    rows = TrainingRows(options, trained, facts, data, threads=threads, cpus=cpus, seed=seed, design=design)
    parts = ", ".join(filter(None, (facts.loss, facts.optimizer)))
    say(f"checking that {options.check_metric or 'the loss'} of {facts.name} falls ({parts})")
    planned = rows.group()
    return replace(request, bundles=(planned.group.main.bundle,)), planned


def _given_data(options: TrainingOptions) -> TrainingData | None:
    """Return the data that were given, checked as far as no model is needed; ``None`` for synthetic images."""
    if options.data == SYNTHETIC:
        return None
    return data_of_function(options.data) if ":" in options.data else images_in(Path(options.data))


def _fitting_data(
    given: TrainingData | None, options: TrainingOptions, trained: TrainedModel, facts: ModelFacts, seed: int
) -> TrainingData:
    """Return data that a model can be trained on: those that were given, or images that are made for it."""
    if given is not None and given.is_function:
        return given
    if not facts.parameters:
        raise IrbenchError(
            f"{trained.source} is built by its first batch, so which images it takes is not known.",
            hint="Make its samples in a function that returns a tf.data.Dataset: --data file.py:function.",
        )
    if not facts.input_shape or not facts.classes:
        raise IrbenchError(
            f"{trained.source} does not give scores for one image of 1 or 3 channels.",
            hint="Make its samples in a function that returns a tf.data.Dataset: --data file.py:function.",
        )
    if given is not None:
        require_scores(given, facts.classes)
        return given
    height, width, channels = facts.input_shape
    classes = classes_for(facts.classes)
    return SyntheticImages(
        (height, width, channels),
        classes,
        options.samples or DEFAULT_SAMPLES,
        seed,
        options.image_format or DEFAULT_FORMAT,
    ).written()


def _of_all_rows(request: RunRequest, options: TrainOptions) -> RunRequest:
    """Return the request with what is asked of a table whose rows are all launched equally often."""
    timing = replace(
        request.timing,
        min_launches=min(options.launches, request.timing.min_launches),
        max_launches=options.launches,
    )
    return replace(request, timing=timing, traced_steps=TRACED_STEPS if options.xprof else 0)


def _with_timing(request: RunRequest, shared: RunOptions, options: TrainingOptions) -> RunRequest:
    timing = replace(
        request.timing,
        min_calls=_FEWEST_STEPS,
        round_seconds=_ROUND_S,
        settle=_SETTLE_S,
        look_share=_LOOK_SHARE,
        budget=_BUDGET_S if shared.budget is None else shared.budget,
    )
    asked = request.asking(batch=options.batch, allow_mixed=True)
    return replace(asked, timing=timing, precisions=None, training=asdict(options))


def _refuse_what_does_nothing(options: TrainingOptions) -> None:
    """Refuse options that change nothing, before anything is loaded.

    Raises:
        IrbenchError: There is one, or the loss is checked in too few steps.
    """
    of_images = {"--samples": options.samples, "--image-format": options.image_format}
    for flag, value in of_images.items():
        if value is not None and options.data != SYNTHETIC:
            raise IrbenchError(f"{flag} is an option of synthetic images.", hint="Leave it out, or leave out --data.")
    several = next((f"--{name}" for name in OF_DECODING if len(getattr(options, name)) > 1), None)
    if several is not None and ":" in options.data:
        raise IrbenchError(
            f"{several} changes nothing where a function makes the samples.",
            hint="Leave it out, and decode and cache in the function.",
        )
    if options.check_steps < FEWEST_CHECKED:
        raise IrbenchError(
            f"--check-steps {options.check_steps} is too few to tell whether a loss falls.",
            hint=f"Give {FEWEST_CHECKED} or more.",
        )


def _require_keras_model(model: str, imports: tuple[str, ...]) -> None:
    """Refuse what is no Keras model, as far as its name and its files show, before TensorFlow is imported."""
    source = Source(model)
    is_keras = source.is_zoo or source.function is not None or source.path.suffix == ".keras"
    if not is_keras and (exists(source.path) or bundles.find(model) is not None):
        raise IrbenchError(
            f"{model} is not a Keras model, and only these can be trained.",
            hint="Give a model of the zoo, a .keras file, or file.py:function that returns a model.",
        )
    require_model(model, imports)


def _require_device(options: TrainingOptions) -> None:
    """Refuse what only a GPU can do where there is none, before anything is loaded."""
    refuse_cost_on_gpu(options.objective == "cost", [f"{registry.trainer()}:{options.device}"])
    asked = "--device gpu" if options.device == "gpu" else "--gpu-thread-mode" if options.gpu_thread_mode else ""
    if not asked:
        return
    registry.require_installed(registry.trainer())
    description = registry.describe(registry.BACKENDS, registry.trainer())
    if "gpu" not in probes.probe(description).devices:
        raise IrbenchError(
            f"{asked} needs a GPU, and TensorFlow finds none here.",
            hint="Leave it out, or see what is here: irbench backends --probe",
        )
    if options.device != "gpu":
        raise IrbenchError("--gpu-thread-mode changes nothing on the CPU.", hint="Add --device gpu, or leave it out.")


def _require_some(planned: PlannedGroup) -> None:
    if planned.can_run:
        return
    failure = next(iter(planned.absent.values()))
    raise IrbenchError(f"No row trains: {failure.message}.", hint=failure.hint or "")
