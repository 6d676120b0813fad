"""A training step as Keras compiles it, and beginnings of it that show what each of its parts costs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from irbench.errors import IrbenchError
from irbench.spec import Load, Scalar
from irbench.spec.training import TrainingArtifact
from irbench.spi import Phases
from irbench_tf.training.models import has_own_step, load_trained
from irbench_tf.training.pipeline import batches

_STEP_NAME = "train"
"""What xprof takes for a step of training."""


def make_session(training: TrainingArtifact, load: Load, device: str, phases: Phases) -> KerasTrainingSession:
    """Load the model, open the pipeline, and make the functions; TensorFlow compiles each in its first call."""
    import tensorflow as tf

    if load.threads is not None:
        tf.config.threading.set_intra_op_parallelism_threads(load.threads)
        tf.config.threading.set_inter_op_parallelism_threads(load.threads)
    with phases("load"):
        model = load_trained(training.model, training.settings.precision, training.seed)
        samples = batches(training, model, load.batch)
    with phases("compile"):
        model.optimizer.build(model.trainable_variables)
    return KerasTrainingSession(model, samples, training, _effective(model, training, load, device))


def _effective(model: Any, training: TrainingArtifact, load: Load, device: str) -> dict[str, Scalar]:
    import keras
    import tensorflow as tf

    return {
        "precision": training.settings.precision,
        "threads": load.threads,
        "streams": load.streams,
        "device": device,
        "xla": training.settings.xla,
        "version": tf.__version__,
        "keras": keras.__version__,
        "optimizer": type(model.optimizer).__name__,
        "parameters": sum(int(weight.shape.num_elements()) for weight in model.trainable_variables),
    }


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
        self, model: Any, samples: Iterator[Any], training: TrainingArtifact, effective: Mapping[str, Scalar]
    ) -> None:
        self.effective = effective
        self._model: Any = model
        self._samples: Any = samples
        self._jit = training.settings.xla == "on"
        self._batch: Any = None
        self._kept: Any = None
        self._train_step: Any = self._compiled(model.train_step)

    def next_batch(self) -> None:
        """Wait for the next batch."""
        self._batch = next(self._samples)

    def step(self) -> None:
        """Call the compiled ``train_step`` of the model, and bring the loss to the host."""
        self._wait(self._train_step(self._batch))

    def loss(self) -> float:
        """Return the loss of the last step alone, and forget those of steps before."""
        value = float(self._model.get_metrics_result()["loss"])
        self._model.reset_metrics()
        return value

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
            self._kept = self._batch or next(self._samples)
        functions = {"host": self._host, "forward": self._forward, "backward": self._backward}
        compiled = {name: self._compiled(function) for name, function in functions.items()}
        return {
            **{name: self._on_kept(function) for name, function in compiled.items()},
            "optimizer": self._on_kept(self._train_step),
        }

    def close(self) -> None:
        """Forget the model and the pipeline."""
        self._model = self._samples = self._train_step = None

    def _compiled(self, function: Callable[[Any], Any]) -> Any:
        import tensorflow as tf

        return tf.function(function, jit_compile=self._jit or None, reduce_retracing=True)

    def _on_kept(self, function: Any) -> Callable[[], None]:
        return lambda: self._wait(function(self._kept))

    @staticmethod
    def _wait(result: Any) -> None:
        """Return when a result is on the host: that of a step is its metrics by name, that of others a tensor first."""
        first = next(iter(result.values())) if isinstance(result, Mapping) else result[0]
        first.numpy()

    def _host(self, data: Any) -> Any:
        """Return one number of the batch: what is left is the call."""
        import tensorflow as tf

        return (tf.reshape(tf.nest.flatten(data)[-1], [-1])[0],)

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
        scores = self._model(inputs, training=True)
        return self._model.compute_loss(x=inputs, y=labels, y_pred=scores, sample_weight=weights, training=True)
