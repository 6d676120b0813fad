"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.bisect.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, Required, TypedDict

from irbench.options.input_request import Data


class BisectKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.bisect`; ``None`` is the default of each.

    Attributes:
        runtime: Distribution whose versions are searched: onnxruntime (for example ``"onnxruntime"``).
        first: Oldest version (for example ``"1.22"``).
        last: Newest version (for example ``"1.23.2"``).
        by: What changed: speed measures each version against the oldest, answer compares its outputs with those of the
            oldest (for example ``"speed" or "answer"``; default: speed).
        threshold: Smallest change that counts; with ``by`` answer, the largest relative error that does not count (for
            example ``"2%", or 0.02``; default: 3%, or the tolerance of the precision).
        backend: Backend to measure, with an optional device: ort:cuda (for example ``"ort"``; default: the one of the
            runtime).
        imports: Module to import before a model is exported, which registers custom layers (for example
            ``["my_layers"]``).
        batch: Batch size (for example ``8``; default: 1, or the model's own).
        shape: Shape of an input, or size of a dynamic dimension: length=128; ``batch`` overrides its batch (for example
            ``{"tokens": (1, 128)}``).
        data: Samples that take turns as inputs, one in each call unless ``batch`` joins them: a folder of .npz, .npy,
            images or data sets, or one file (for example ``"speech/", or {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        feedback: Feed an output to an input of the next call, as in a decode loop (for example ``{"h": "h0"}``).
        seed: Seed for inputs and for the measurement order (for example ``0``; default: 0).
        streams: Concurrent inferences (for example ``8``; default: 1).
        precision: fp32, bf16, fp16, int8, or native (the runtime's default) (for example ``"fp32"``; default: fp32, or
            that of the graph).
        threads: Threads per process in total, or native: each runtime's default (for example ``4, or "native"``;
            default: the available physical cores).
        cpus: Processors for the backends to use (for example ``[0, 1], or "0-3,8"``; default: all available).
        set: Set an option of a backend (for example ``{"ort": {"dynamic_block_base": 4}}``).
        io: What is timed: copy includes copying inputs and outputs, bound does not (for example ``"copy" or "bound"``;
            default: copy).
        budget: Time limit for each comparison; one that stays undecided is repeated twice, each time with twice as much
            (for example ``"90s", or 90``; default: 90s).
        deadline: Time limit for one step of a backend, after which it counts as failed (for example ``"90s", or 90``;
            default: 300s, or with ``budget`` half of what is left if that is less, at least 30s).
        warmup: How long each row warms up in every launch: a time (2s), or a number of calls (500) (for example ``"2s",
            or 500 for calls``; default: until calls get no faster).
        no_lock: Measure even if another irbench is measuring on this machine.
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
    """

    runtime: Required[str]
    first: Required[str]
    last: Required[str]
    by: Literal["speed", "answer"] | None
    threshold: str | float | None
    backend: str | None
    imports: str | Iterable[str] | None
    batch: str | int | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    feedback: Mapping[str, str] | None
    seed: int | None
    streams: str | int | None
    precision: str | None
    threads: str | int | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    io: Literal["copy", "bound"] | None
    budget: str | float | timedelta | None
    deadline: str | float | timedelta | None
    warmup: str | int | timedelta | None
    no_lock: bool | None
    results: str | PathLike[str] | None
