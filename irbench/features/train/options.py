"""The options of ``irbench train``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from irbench.options import kinds
from irbench.options.option import CommandOptions, flag, option
from irbench.options.run import RunOptions
from irbench.spec import Timing
from irbench.spec.training import ImageFormat, Switch, TrainingPrecision

SYNTHETIC = "synthetic"
DEFAULT_SAMPLES = 2000
DEFAULT_FORMAT: ImageFormat = "png"
FEWEST_CHECKED = 8
"""Steps of which a quarter scatters."""
OF_DECODING = ("cache", "workers")
"""Settings of what makes samples of images; a function of the user's does that by itself."""
GpuThreadMode: TypeAlias = Literal["global", "gpu_private", "gpu_shared"]
Compared: TypeAlias = Literal["samples/s", "cost"]
DesignSize: TypeAlias = Literal["full", "half"]


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """What is trained, on what, and with which settings: what ``irbench train`` and ``tune-training`` share."""

    batch: tuple[int, ...] = option(kinds.COUNTS, "Samples of a step.", default=(32,))
    precision: tuple[TrainingPrecision, ...] = option(
        kinds.some_of(TrainingPrecision),
        f"fp32, or a policy of Keras: {', '.join(name for name in get_args(TrainingPrecision) if name != 'fp32')}.",
        default=("fp32",),
        metavar="NAME,...",
    )
    xla: tuple[Switch, ...] = option(
        kinds.some_of(Switch),
        "Whether XLA compiles the step (jit_compile).",
        default=(),
        default_text="as the model was compiled, otherwise off",
        metavar="on|off,...",
    )
    prefetch: tuple[str, ...] = option(
        kinds.counts_or("auto", "0,1,auto"),
        "Batches that the pipeline makes ahead: a number, or auto for tf.data.AUTOTUNE.",
        default=("auto",),
    )
    cache: tuple[Switch, ...] = option(
        kinds.some_of(Switch), "Whether decoded samples are kept in memory.", default=("off",), metavar="on|off,..."
    )
    workers: tuple[str, ...] = option(
        kinds.counts_or("auto", "1,auto", least=1),
        "Samples that are decoded at a time.",
        default=("auto",),
    )
    gpu_thread_mode: tuple[GpuThreadMode, ...] = option(
        kinds.some_of(GpuThreadMode),
        f"TF_GPU_THREAD_MODE: which threads launch the kernels of a GPU: {', '.join(get_args(GpuThreadMode))}.",
        default=(),
        default_text="TensorFlow's own",
        metavar="NAME,...",
    )
    device: Literal["cpu", "gpu"] = option(kinds.one_of(Literal["cpu", "gpu"]), "Where to train.", default="cpu")
    data: str = option(
        kinds.text('"photos/"', "synthetic|DIR|FN"),
        "Samples: synthetic images; a folder with one folder of images for each class; or file.py:function that returns"
        " a tf.data.Dataset of single samples with labels.",
        default=SYNTHETIC,
    )
    samples: int | None = option(kinds.COUNT, "Synthetic images.", default_text=str(DEFAULT_SAMPLES))
    image_format: ImageFormat | None = option(
        kinds.one_of(ImageFormat), "Format of synthetic images.", default_text=DEFAULT_FORMAT
    )
    loss: str = option(
        kinds.text('"sparse_categorical_crossentropy"', "NAME"),
        "Loss, as Keras names it: sparse_categorical_crossentropy, mean_squared_error.",
        default="",
        default_text="that of the compiled model; cross-entropy for classifiers of the zoo",
    )
    optimizer: str = option(
        kinds.text('"sgd"', "NAME"),
        "Optimizer, as Keras names it: adam, sgd.",
        default="",
        default_text="that of the compiled model, otherwise adam",
    )
    learning_rate: float | None = option(
        kinds.POSITIVE, "Learning rate of the optimizer.", default_text="the optimizer's own"
    )
    check_steps: int = option(
        kinds.COUNT,
        f"Steps in which the loss must fall before a row is timed, at least {FEWEST_CHECKED}.",
        default=32,
    )
    check_metric: str = option(
        kinds.text('"d_loss"', "NAME"),
        "Of the metrics that a step reports, the one that must fall in these steps.",
        default="",
        default_text="loss, or the only one",
    )
    loss_distance: float = option(
        kinds.SHARE,
        "How far above the loss of fp32 another row may end these steps, as a share of what that fell by.",
        default=0.25,
        default_text="25%",
    )
    objective: Compared = option(
        kinds.one_of(Compared),
        "What rows are compared by: samples per second, or processor time per sample.",
        default="samples/s",
    )


@dataclass(frozen=True, kw_only=True)
class TrainOptions(TrainingOptions):
    """What is measured of all combinations of settings."""

    design: DesignSize = option(
        kinds.one_of(DesignSize),
        "Whether all combinations of settings are rows, or one half from which effects can still be told.",
        default="full",
    )
    launches: int = option(
        kinds.COUNT,
        f"Launches of each row; an interval takes {Timing.min_launches}, and fewer are a quick look without.",
        default=Timing.min_launches,
    )
    xprof: bool = flag(
        "After the rows are measured, also trace steps of each with TensorFlow's profiler, and show what xprof says of"
        " them. uv installs it into an environment of its own."
    )


TOLD_DIFFERENTLY: Mapping[str, Mapping[str, str]] = {
    "imports": {"help": "Module to import before the model is loaded, which registers custom layers"},
    "seed": {"help": "Seed of weights, of the order of samples, and of the measurement order."},
    "threads": {
        "help": "Threads of the process of a row, or native: the runtime's default.",
    },
}
"""Options of a run in other words."""
TRAIN = CommandOptions(
    "train",
    TrainOptions,
    RunOptions,
    sections={
        "Model and data": ("imports", "data", "samples", "image_format", "loss", "optimizer", "learning_rate", "seed"),
        "Settings, a row for each combination": (
            "batch", "precision", "xla", "prefetch", "cache", "workers", "gpu_thread_mode", "threads", "design",
        ),
        "How it runs": ("device", "cpus", "check_steps", "check_metric", "loss_distance"),
        "What else is measured": ("xprof",),
        "How long, and what is compared": ("launches", "objective", "within", "budget", "deadline", "no_lock"),
        "Output": ("name", "note", "results"),
    },
    changes={**TOLD_DIFFERENTLY, "budget": {"default_text": "20m"}},
)  # fmt: skip
