"""A training step as Keras compiles it, and beginnings of it that show what each of its parts costs."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from irbench.errors import IrbenchError
from irbench.spec import Load, Scalar
from irbench.spec.training import TrainingArtifact
from irbench.spi import Phases
from irbench_tf.model_errors import PYTHON_ON_TENSORS, cause_of, is_python_on_tensors
from irbench_tf.probe import gpu_settings, require_gpu
from irbench_tf.training.models import OF_CLASSIFIERS, has_own_step, load_trained, optimizers_of, unused_option
from irbench_tf.training.pipeline import batches

_STEP_NAME = "train"
"""What xprof takes for a step of training."""
_NO_LOSS = "No loss to compute"
"""What Keras says of a compiled model whose loss is ``None``."""


def make_session(training: TrainingArtifact, load: Load, device: str, phases: Phases) -> KerasTrainingSession:
    """Load the model, open the pipeline, and make the functions; TensorFlow compiles each in its first call.

    As ``fit`` does, the first step builds what is not built by then: the model, its metrics and its optimizers.
    """
    import tensorflow as tf

    on_gpu = device == "gpu"
    if on_gpu:
        require_gpu(tf.config.list_physical_devices())
    with phases("load"):
        model = load_trained(training.model, training.settings.precision, training.seed)
        samples = batches(training, model, load.batch)
    if model.run_eagerly and training.settings.xla == "on":
        raise IrbenchError(
            f"{training.model.source} is compiled with run_eagerly=True, and XLA compiles no such step.",
            hint="Leave out --xla on, or compile the model without run_eagerly.",
        )
    settings: dict[str, Scalar] = {
        "precision": training.settings.precision,
        "threads": load.threads,
        "streams": load.streams,
        "device": device,
        "xla": training.settings.xla,
        "eager": bool(model.run_eagerly),
        "version": tf.__version__,
        "keras": version("keras"),
        **(gpu_settings() if on_gpu else {}),
    }
    return KerasTrainingSession(model, samples, training, settings)


def _device_of(weight: Any) -> str:
    """Return ``cpu`` or ``gpu``: where TensorFlow keeps a weight, and so where its products are computed."""
    return str(weight.value.device).rpartition("device:")[2].partition(":")[0].lower()


def trace_in(folder: Path) -> bytes:
    """Return the trace that the profiler wrote into a folder.

    Raises:
        IrbenchError: There is none, or one of another machine too.
    """
    traces = list(folder.rglob("*.xplane.pb"))
    if len(traces) != 1:
        raise IrbenchError(
            f"TensorFlow's profiler wrote {len(traces)} traces in place of one.",
            hint="Measure without --xprof, or with another version of TensorFlow.",
        )
    return traces[0].read_bytes()


class KerasTrainingSession:
    """A model with its optimizer and its pipeline."""

    def __init__(
        self, model: Any, samples: Iterator[Any], training: TrainingArtifact, settings: Mapping[str, Scalar]
    ) -> None:
        self._settings = settings
        self._model: Any = model
        self._samples: Any = samples
        self._training = training
        self._jit = training.settings.xla == "on"
        self._batch: Any = None
        self._kept: Any = None
        self._reported: Any = None
        self._train_step: Any = self._compiled(model.train_step)

    @property
    def effective(self) -> Mapping[str, Scalar]:
        """What is used; which optimizers, how many parameters and where most of them lie is known after a step."""
        used = [type(own).__name__ for own in optimizers_of(self._model).values() if own.built]
        weights = self._model.trainable_variables
        on = Counter[str]()
        for weight in weights:
            on[_device_of(weight)] += int(weight.shape.num_elements())
        placed = {"device": on.most_common(1)[0][0]} if on else {}
        return {**self._settings, **placed, "optimizer": ", ".join(used), "parameters": on.total()}

    def next_batch(self) -> None:
        """Wait for the next batch."""
        try:
            self._batch = next(self._samples)
        except StopIteration:
            raise IrbenchError(
                f"{self._training.data.source} has no samples.", hint="Return a dataset that is not empty."
            ) from None
        except Exception as error:
            raise IrbenchError(
                f"{self._training.data.source} cannot make a batch: {cause_of(error)}",
                hint="Samples must have one shape; iterating over the dataset in Python shows where it fails.",
            ) from error

    def step(self) -> None:
        """Call the compiled ``train_step`` of the model, and bring what it reports to the host."""
        self._reported = self._called(self._train_step, self._batch)

    def metrics(self) -> Mapping[str, float]:
        """Return what the last step reports, and forget the steps before; see :class:`irbench.spi.TrainingSession`."""
        import tensorflow as tf

        if unused := unused_option(self._model, self._training.model):
            raise IrbenchError(
                f"{unused} changes nothing: a training step of {self._training.model.source} does not use it.",
                hint=f"Leave out {unused}, or change it in the code of the model.",
            )
        reported = self._reported if isinstance(self._reported, Mapping) else {}
        numbers = {
            name: tf.get_static_value(value) for name, value in reported.items() if not isinstance(value, Mapping)
        }
        self._model.reset_metrics()
        return {name: float(value) for name, value in numbers.items() if value is not None and np.ndim(value) == 0}

    def trace(self, steps: int) -> bytes:
        """Trace steps; see :class:`irbench.spi.TrainingSession`."""
        import tensorflow as tf

        with tempfile.TemporaryDirectory() as folder:
            with tf.profiler.experimental.Profile(folder):
                for number in range(steps):
                    with tf.profiler.experimental.Trace(_STEP_NAME, step_num=number, _r=1):  # _r marks a root event
                        self.next_batch()
                        self.step()
            return trace_in(Path(folder))

    @property
    def beginnings(self) -> Mapping[str, Callable[[], None]]:
        """Beginnings of the step, on a batch that is taken once; see :class:`irbench.spi.TrainingSession`."""
        if has_own_step(self._model):
            return {}
        if self._kept is None:
            self._kept = next(self._samples) if self._batch is None else self._batch
        functions = {"host": self._host, "forward": self._forward, "backward": self._backward}
        compiled = {name: self._compiled(function) for name, function in functions.items()}
        compiled["optimizer"] = self._train_step
        return {name: partial(self._called, function, self._kept) for name, function in compiled.items()}

    def close(self) -> None:
        """Forget the model and the pipeline."""
        self._model = self._samples = self._train_step = None

    def _compiled(self, function: Callable[[Any], Any]) -> Any:
        """Return a function of a batch as ``fit`` calls it: as it is, where the model was compiled to run eagerly."""
        import tensorflow as tf

        if self._model.run_eagerly:
            return function
        return tf.function(function, jit_compile=self._jit or None, reduce_retracing=True)

    def _called(self, function: Any, data: Any) -> Any:
        """Call a function of a batch, and return once what it returns is on the host.

        Raises:
            IrbenchError: It failed, for the reason that it gives.
        """
        try:
            result = function(data)
            first: Any = next(iter(result.values()), None) if isinstance(result, Mapping) else result
            while isinstance(first, tuple | list | Mapping) and first:
                first = next(iter(first.values() if isinstance(first, Mapping) else first))
            if hasattr(first, "numpy"):
                first.numpy()
        except Exception as error:
            raise IrbenchError(
                f"A training step of {self._training.model.source} failed: {cause_of(error)}", hint=self._remedy(error)
            ) from error
        return result

    def _remedy(self, error: Exception) -> str:
        if _NO_LOSS in str(error):
            return f"Compile the model with a loss, or give one: `--loss {OF_CLASSIFIERS}`."
        if is_python_on_tensors(error):
            return f"{PYTHON_ON_TENSORS} Or compile the model with run_eagerly=True."
        if self._jit:
            return "Train it without XLA, `--xla off`, to see whether the model itself can be trained."
        return (
            "model.fit on batches of these samples shows where it fails: irbench batches a dataset of single samples."
        )

    def _host(self, data: Any) -> Any:
        """Return one number of the batch: what is left is the call."""
        import tensorflow as tf

        return (tf.reshape(tf.nest.flatten(data, expand_composites=True)[-1], [-1])[0],)

    def _forward(self, data: Any) -> Any:
        return (self._loss_of(data),)

    def _backward(self, data: Any) -> Any:
        import tensorflow as tf

        with tf.GradientTape() as tape:
            loss = self._model.optimizer.scale_loss(self._loss_of(data))
        return loss, tape.gradient(loss, self._model.trainable_variables)

    def _loss_of(self, data: Any) -> Any:
        """Return the loss of a batch with the model in training, as ``keras.Model.train_step`` computes it."""
        import keras

        inputs, labels, weights = keras.utils.unpack_x_y_sample_weight(data)
        takes_training = self._model._call_has_training_arg  # noqa: SLF001 - the step of Keras asks it too
        scores = self._model(inputs, training=True) if takes_training else self._model(inputs)
        return self._model._compute_loss(x=inputs, y=labels, y_pred=scores, sample_weight=weights, training=True)  # noqa: SLF001 - it calls compute_loss with what that takes
