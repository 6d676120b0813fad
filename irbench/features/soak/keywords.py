"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.soak.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, TypedDict

from irbench.options.input_request import Data


class SoakKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.soak`; ``None`` is the default of each.

    Attributes:
        duration: Time to call each row (for example ``"90s", or 90``; default: 60s).
        calls: Calls of each row instead of a time (for example ``20``; default: off).
        growth_limit: Growth per call that matters. Memory counts as steady below it, and as growing above it (for
            example ``1000``; default: 1000).
        deadline: Time limit for one step of a backend, after which it counts as failed (for example ``"90s", or 90``;
            default: 300s).
        all: Soak every exported model.
        imports: Module to import before a model is exported, which registers custom layers (for example
            ``["my_layers"]``).
        shape: Shape of an input, or size of a dynamic dimension: length=128; ``batch`` overrides its batch (for example
            ``{"tokens": (1, 128)}``).
        data: Samples that take turns as inputs, one in each call unless ``batch`` joins them: a folder of .npz, .npy,
            images or data sets, or one file (for example ``"speech/", or {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        seed: Seed for inputs (for example ``0``; default: 0).
        backends: Backends to call, with an optional device: ort:cuda (for example ``["ort", "openvino:gpu"]``; default:
            all installed that can read the model).
        batch: Batch sizes; one table for each (for example ``[1, 8]``; default: 1, or the model's own).
        streams: Concurrent inferences (for example ``[1, 8]``; default: 1).
        precision: fp32, bf16, fp16, int8, or native (the runtime's default) (for example ``["fp32", "bf16"]``; default:
            fp32, or that of the graph).
        optimize: Optimisation levels; one row for each (for example ``["none", "int8"]``; default: none).
        threads: Threads per process in total, or native: each runtime's default (for example ``[1, 4], or "native"``;
            default: the available physical cores).
        cpus: Processors for the backends to use (for example ``[0, 1], or "0-3,8"``; default: all available).
        set: Set an option of a backend (for example ``{"ort": {"dynamic_block_base": 4}}``).
        io: What is timed: copy includes copying inputs and outputs, bound does not (for example ``"copy" or "bound"``;
            default: copy).
        no_lock: Measure even if another irbench is measuring on this machine.
        name: Name the run, for irbench show NAME (for example ``"before"``).
        note: Store a note with the run (for example ``"without the patch"``).
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
    """

    duration: str | float | timedelta | None
    calls: str | int | None
    growth_limit: float | None
    deadline: str | float | timedelta | None
    all: bool | None
    imports: str | Iterable[str] | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    seed: int | None
    backends: str | Iterable[str] | None
    batch: str | int | Iterable[int] | None
    streams: str | int | Iterable[int] | None
    precision: str | Iterable[str] | None
    optimize: str | Iterable[str] | None
    threads: str | int | Iterable[int | str] | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    io: Literal["copy", "bound"] | None
    no_lock: bool | None
    name: str | None
    note: str | None
    results: str | PathLike[str] | None
