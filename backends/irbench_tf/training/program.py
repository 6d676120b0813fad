"""A training as a script for Keras and tf.data, without irbench."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from irbench.spec import Load
from irbench.spec.training import TrainedModel, TrainingArtifact, TrainingPrecision, TrainingSettings
from irbench_tf.loading.sources import is_zoo_classifier
from irbench_tf.training.models import OF_CLASSIFIERS, USUAL_OPTIMIZER
from irbench_tf.training.pipeline import SHUFFLED


def program(training: TrainingArtifact, load: Load) -> str:
    """Return the script."""
    return "\n".join((*_runtime(training, load), *_model(training), *_data(training, load), "model.fit(data)"))


def _runtime(training: TrainingArtifact, load: Load) -> Iterator[str]:
    mode = load.options.get("gpu_thread_mode")
    if mode is not None:
        yield "import os"
        yield f"os.environ['TF_GPU_THREAD_MODE'] = {mode!r}  # before TensorFlow is imported"
    yield "import keras"
    yield "import tensorflow as tf"
    if load.threads is not None:
        yield f"tf.config.threading.set_intra_op_parallelism_threads({load.threads})"
        yield f"tf.config.threading.set_inter_op_parallelism_threads({load.threads})"
    if training.settings.precision != "fp32":
        yield f"keras.config.set_dtype_policy({training.settings.precision!r})  # before the model is made"


def _model(training: TrainingArtifact) -> Iterator[str]:
    trained, jit = training.model, training.settings.xla == "on"
    yield from (f"import {_module(named)}" for named in trained.imports)
    path, _, function = trained.source.rpartition(":")
    if path:
        yield f"from {_module(path)} import {function}"
        yield f"model = {function}()"
    elif trained.source.endswith(".keras"):
        if training.settings.precision != "fp32":
            yield "# layers of a file keep their own policy: make this model in code in place of loading it"
        yield f"model = keras.models.load_model({trained.source!r})"
    else:
        yield f"model = make_model()  # {trained.source}"
    yield from _compiled(trained, training.settings.precision, jit=jit)


def _module(named: str) -> str:
    """Return what Python imports a file or a module by, beside the file."""
    return Path(named).stem if named.endswith(".py") else named


def _compiled(trained: TrainedModel, precision: TrainingPrecision, *, jit: bool) -> Iterator[str]:
    """Yield what compiles a model as :func:`irbench_tf.training.models.load_trained` does."""
    loss, optimizer = trained.loss or OF_CLASSIFIERS, trained.optimizer or USUAL_OPTIMIZER
    if is_zoo_classifier(trained.source):
        yield f"model.compile(optimizer={optimizer!r}, loss={loss!r})"
    elif trained.loss:
        yield "if model.compiled:  # all else that it was compiled with stays"
        yield "    compiled = {**model._compile_config.config, 'optimizer': model.optimizer, 'auto_scale_loss': False}"
        yield f"    of_outputs = keras.tree.map_structure(lambda own: own and {loss!r}, model.loss) or {loss!r}"
        yield "    keras.Model.compile(model, **{**compiled, 'loss': of_outputs})"
        yield "else:"
        yield f"    model.compile(optimizer={optimizer!r}, loss={loss!r})"
    if trained.optimizer and not is_zoo_classifier(trained.source):
        made = f"keras.optimizers.get({trained.optimizer!r})"
        scaled = f"keras.optimizers.LossScaleOptimizer({made})"
        yield f"model.optimizer = {scaled if precision == 'mixed_float16' else made}"
    if trained.learning_rate is not None:
        schedules = "  # where this follows a schedule, make the optimizer again with the rate in its place"
        yield f"model.optimizer.learning_rate = {trained.learning_rate}{'' if trained.optimizer else schedules}"
    yield f"model.jit_compile = {jit}"


def _data(training: TrainingArtifact, load: Load) -> Iterator[str]:
    settings = training.settings
    if training.data.is_function:
        path, _, function = training.data.source.rpartition(":")
        yield f"from {_module(path)} import {function}"
        yield f"data = {function}().shuffle({SHUFFLED})"
    else:
        yield from _decoded(settings)
    ahead = {"0": "", "auto": ".prefetch(tf.data.AUTOTUNE)"}.get(settings.prefetch, f".prefetch({settings.prefetch})")
    yield f"data = data.batch({load.batch}, drop_remainder=True){ahead}"
    if settings.prefetch == "0" or settings.workers == "1":
        yield "options = tf.data.Options()  # otherwise tf.data adds a prefetch and parallel calls by itself"
        yield "options.experimental_optimization.inject_prefetch = False"
        yield "options.experimental_optimization.map_parallelization = False"
        yield "data = data.with_options(options)"


def _decoded(settings: TrainingSettings) -> Iterator[str]:
    calls = {"1": "", "auto": ", num_parallel_calls=tf.data.AUTOTUNE"}
    mapped = f"map(decode{calls.get(settings.workers, f', num_parallel_calls={settings.workers}')})"
    yield "# yours: paths of files, their labels, and what makes a sample of both"
    yield "data = tf.data.Dataset.from_tensor_slices((files, labels))"
    if settings.cache == "on":
        yield f"data = data.{mapped}.cache().shuffle(len(files))"
    else:
        yield f"data = data.shuffle(len(files)).{mapped}"
