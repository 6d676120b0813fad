"""Training: a model, its data and settings, described as a model whose one inference is a training step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from irbench.spec.cells import Precision
from irbench.spec.models import Artifact

TRAINING: Literal["training"] = "training"
"""The kind of artifacts that are trained, and the workload of their bundles."""
INPUT, STEP = "input", "step"
"""The parts of a training step: waiting for the next batch, and the compiled step until its loss is known."""

BEGINNINGS = ("host", "forward", "backward", "optimizer")
"""What beginnings of a step add, each to the one before: the last is the whole step."""
BEGINNING_CALLS = 9
"""How often each of them is called in a launch, by turns, after one call that compiles it."""

TrainingPrecision: TypeAlias = Literal["fp32", "mixed_bfloat16", "mixed_float16"]
"""``fp32``, or a policy of Keras: products in 16 bits, weights and their updates in 32."""
Switch: TypeAlias = Literal["off", "on"]
ImageFormat: TypeAlias = Literal["png", "jpeg"]

LOAD_PRECISIONS: dict[TrainingPrecision, Precision] = {
    "fp32": "fp32",
    "mixed_bfloat16": "bf16",
    "mixed_float16": "fp16",
}
"""The precision of a load for each precision of a training."""


@dataclass(frozen=True)
class TrainedModel:
    """What is trained, and how its weights are updated.

    Attributes:
        source: As the user named it: a model of the zoo, a ``.keras`` file, or ``file.py:function``.
        imports: Modules that are imported before.
        loss: As Keras names it; empty for the one that the model was compiled with.
        optimizer: As Keras names it; empty for the one that the model was compiled with.
        learning_rate: Of the optimizer; ``None`` for its own.
    """

    source: str
    imports: tuple[str, ...] = ()
    loss: str = ""
    optimizer: str = ""
    learning_rate: float | None = None


@dataclass(frozen=True)
class TrainingData:
    """Where samples come from.

    Attributes:
        source: A folder with one folder of images for each class, or ``module:function`` that returns a
            ``tf.data.Dataset`` of single samples with their labels.
        classes: Names of the folders, in the order of their labels; empty for a function.
        samples: How many files there are; 0 where that is not known.
        synthetic: Whether irbench wrote them.
        sha256: Digest of the file of a function, or of the names, sizes and times of change of all images; empty where
            irbench wrote them.
    """

    source: str
    classes: tuple[str, ...] = ()
    samples: int = 0
    synthetic: bool = False
    sha256: str = ""

    @property
    def is_function(self) -> bool:
        """Whether code of the user's makes the samples."""
        return not self.classes


@dataclass(frozen=True)
class TrainingSettings:
    """What the rows of a table of training steps may differ in, besides the batch.

    Attributes:
        precision: Of the model's layers.
        xla: Whether the step is compiled by XLA (``jit_compile``).
        prefetch: How many batches are made ahead: a number, or ``auto`` for ``tf.data.AUTOTUNE``.
        cache: Whether decoded samples are kept in memory after the first epoch.
        workers: How many samples are decoded at a time: a number, or ``auto``.
    """

    precision: TrainingPrecision = "fp32"
    xla: Switch = "off"
    prefetch: str = "auto"
    cache: Switch = "off"
    workers: str = "auto"


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a model once it was loaded.

    Attributes:
        name: What it calls itself.
        input_shape: Of a sample: height, width and channels; empty for anything else, and where it is not built.
        classes: How many scores it gives for a sample; 0 where that is not known.
        parameters: Weights that training changes; 0 for a model that is not built.
        loss: The loss that it is trained with, those of several by output; empty where the model computes its own.
        optimizer: What updates its weights; several by the names that the model has for them.
        is_jit_compiled: Whether it was compiled with ``jit_compile=True``.
        steps_per_execution: How many steps ``fit`` makes in one call, as it was compiled.
    """

    name: str
    input_shape: tuple[int, ...]
    classes: int
    parameters: int
    loss: str
    optimizer: str
    is_jit_compiled: bool = False
    steps_per_execution: int = 1


@dataclass(frozen=True, kw_only=True)
class TrainingArtifact(Artifact):
    """A model that is trained, with its data and settings: what a backend makes a training session of.

    Attributes:
        model: What is trained.
        data: On what.
        settings: How.
        seed: Of initial weights, of the order of samples, and of dropout.
    """

    model: TrainedModel
    data: TrainingData
    settings: TrainingSettings
    seed: int = 0
