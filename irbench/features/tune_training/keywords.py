"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.tune_training.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from os import PathLike
from typing import Literal, TypedDict


class TuneTrainingKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.tune_training`; ``None`` is the default of each.

    Attributes:
        objective: What rows are compared by: samples per second, or processor time per sample (for example
            ``"samples/s" or "cost"``; default: samples/s).
        budget: Time limit for searching and confirming (for example ``"90s", or 90``; default: 10m).
        batch: Samples of a step (for example ``[1, 8]``; default: 32).
        precision: fp32, or a policy of Keras: mixed_bfloat16, mixed_float16 (for example ``["fp32",
            "mixed_bfloat16"]``; default: fp32).
        xla: Whether XLA compiles the step (jit_compile) (for example ``["off", "on"]``; default: off, on).
        prefetch: Batches that the pipeline makes ahead: a number, or auto for tf.data.AUTOTUNE (for example
            ``"0,1,auto"``; default: auto, 1, 0).
        cache: Whether decoded samples are kept in memory (for example ``["off", "on"]``; default: off).
        workers: Samples that are decoded at a time (for example ``"1,auto"``; default: auto, 1).
        gpu_thread_mode: TF_GPU_THREAD_MODE: which threads launch the kernels of a GPU: global, gpu_private, gpu_shared
            (for example ``["global", "gpu_private"]``; default: TensorFlow's own).
        threads: Threads of the process of a row, or native: the runtime's default (for example ``[1, 4], or "native"``;
            default: the available physical cores).
        imports: Module to import before the model is loaded, which registers custom layers (for example
            ``["my_layers"]``).
        data: Samples: synthetic images; a folder with one folder of images for each class; or file.py:function that
            returns a tf.data.Dataset of single samples with labels (for example ``"photos/"``; default: synthetic).
        samples: Synthetic images (for example ``20``; default: 2000).
        image_format: Format of synthetic images (for example ``"png" or "jpeg"``; default: png).
        loss: Loss, as Keras names it: sparse_categorical_crossentropy, mean_squared_error (for example
            ``"sparse_categorical_crossentropy"``; default: that of the compiled model; cross-entropy for classifiers of
            the zoo).
        optimizer: Optimizer, as Keras names it: adam, sgd (for example ``"sgd"``; default: that of the compiled model,
            otherwise adam).
        learning_rate: Learning rate of the optimizer (for example ``1000``; default: the optimizer's own).
        seed: Seed of weights, of the order of samples, and of the measurement order (for example ``0``; default: 0).
        device: Where to train (for example ``"cpu" or "gpu"``; default: cpu).
        cpus: Processors for the backends to use (for example ``[0, 1], or "0-3,8"``; default: all available).
        check_steps: Steps in which the loss must fall before a setting is confirmed, at least 8 (for example ``20``;
            default: 32).
        check_metric: Of the metrics that a step reports, the one that must fall in these steps (for example
            ``"d_loss"``; default: loss, or the only one).
        loss_distance: How far above the loss of fp32 another row may end these steps, as a share of what that fell by
            (for example ``"2%", or 0.02``; default: 25%).
        within: Differences up to this count as the same (for example ``"2%", or 0.02``; default: 2%).
        deadline: Time limit for one step of a backend, after which it counts as failed (for example ``"90s", or 90``;
            default: 300s, or with ``budget`` half of what is left if that is less, at least 30s).
        no_lock: Measure even if another irbench is measuring on this machine.
        name: Name the run, for irbench show NAME (for example ``"before"``).
        note: Store a note with the run (for example ``"without the patch"``).
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
    """

    objective: Literal["samples/s", "cost"] | None
    budget: str | float | timedelta | None
    batch: str | int | Iterable[int] | None
    precision: str | Iterable[str] | None
    xla: str | Iterable[str] | None
    prefetch: str | int | Iterable[str | int] | None
    cache: str | Iterable[str] | None
    workers: str | int | Iterable[str | int] | None
    gpu_thread_mode: str | Iterable[str] | None
    threads: str | int | Iterable[int | str] | None
    imports: str | Iterable[str] | None
    data: str | None
    samples: str | int | None
    image_format: Literal["png", "jpeg"] | None
    loss: str | None
    optimizer: str | None
    learning_rate: float | None
    seed: int | None
    device: Literal["cpu", "gpu"] | None
    cpus: str | int | Iterable[int] | None
    check_steps: str | int | None
    check_metric: str | None
    loss_distance: str | float | None
    within: str | float | None
    deadline: str | float | timedelta | None
    no_lock: bool | None
    name: str | None
    note: str | None
    results: str | PathLike[str] | None
