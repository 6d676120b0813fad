"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.ab.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, Required, TypedDict

from irbench.options.input_request import Data


class AbKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.ab`; ``None`` is the default of each.

    Attributes:
        a: Version that speedups are relative to: a release (onnxruntime==1.22.0), a wheel, or the Python of an
            environment (for example ``"onnxruntime==1.23.2"``; default: installed).
        b: Version that is compared with it, in the same forms (for example ``"onnxruntime==1.23.2"``).
        backend: Backend to measure, with an optional device: ort:cuda (for example ``"ort"``; default: the one whose
            runtime both have).
        batch: Batch sizes; one table for each, as for streams, instances, precisions and threads (for example ``[1,
            8]``; default: 1, or the model's own).
        streams: Concurrent inferences (for example ``[1, 8]``; default: 1).
        threads: Threads per process in total, or native: each runtime's default (for example ``[1, 4], or "native"``;
            default: the available physical cores).
        precision: fp32, bf16, fp16, int8, or native (the runtime's default) (for example ``["fp32", "bf16"]``; default:
            fp32, or that of the graph).
        optimize: Optimisation levels; two rows for each (for example ``["none", "int8"]``; default: none).
        quick: 3 launches: fast, with wide intervals.
        budget: Time limit for the whole run (for example ``"90s", or 90``; default: 90s per table, 5m with ``tail``).
        imports: Module to import before a model is exported, which registers custom layers (for example
            ``["my_layers"]``).
        shape: Shape of an input, or size of a dynamic dimension: length=128; ``batch`` overrides its batch (for example
            ``{"tokens": (1, 128)}``).
        data: Samples that take turns as inputs, one in each call unless ``batch`` joins them: a folder of .npz, .npy,
            images or data sets, or one file (for example ``"speech/", or {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        feedback: Feed an output to an input of the next call, as in a decode loop (for example ``{"h": "h0"}``).
        seed: Seed for inputs and for the measurement order (for example ``0``; default: 0).
        instances: Processes that run the model side by side, each on its own processors: compared by throughput (for
            example ``[1, 8]``; default: 1).
        objective: What rows are compared by: the median latency, FPS, or cost, the processor time per sample; tokens/s
            with --generate (for example ``"latency", "fps", "cost" or "tokens/s"``; default: fps with streams,
            instances or several batches, otherwise latency).
        within: Differences up to this count as the same (for example ``"2%", or 0.02``; default: 2%).
        allow_mixed: Also compare rows whose precision a runtime changed by itself, and mark them.
        cpus: Processors for the backends to use (for example ``[0, 1], or "0-3,8"``; default: all available).
        set: Set an option of a backend (for example ``{"ort": {"dynamic_block_base": 4}}``).
        io: What is timed: copy includes copying inputs and outputs, bound does not (for example ``"copy" or "bound"``;
            default: copy).
        tail: Also measure p99, from 1,000 consecutive calls per launch; p99.9 takes 5 launches or more.
        pace: Also measure latency when calls arrive at a fixed interval, with idle gaps between them (for example
            ``"10ms", or 0.01``; default: off).
        sustain: Also run each row alone for this long in every launch (for example ``"90s", or 90``; default: off).
        cold: Measure cold starts instead: process start to first output, with a cold and with a warm cache.
        thorough: 10 to 20 launches, intervals down to 0.5%, up to 15 minutes per table.
        deadline: Time limit for one step of a backend, after which it counts as failed (for example ``"90s", or 90``;
            default: 300s, or with ``budget`` half of what is left if that is less, at least 30s).
        warmup: How long each row warms up in every launch: a time (2s), or a number of calls (500) (for example ``"2s",
            or 500 for calls``; default: until calls get no faster).
        no_lock: Measure even if another irbench is measuring on this machine.
        name: Name the run, for irbench show NAME (for example ``"before"``).
        note: Store a note with the run (for example ``"without the patch"``).
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
    """

    a: str | PathLike[str] | None
    b: Required[str | PathLike[str]]
    backend: str | None
    batch: str | int | Iterable[int] | None
    streams: str | int | Iterable[int] | None
    threads: str | int | Iterable[int | str] | None
    precision: str | Iterable[str] | None
    optimize: str | Iterable[str] | None
    quick: bool | None
    budget: str | float | timedelta | None
    imports: str | Iterable[str] | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    feedback: Mapping[str, str] | None
    seed: int | None
    instances: str | int | Iterable[int] | None
    objective: Literal["latency", "fps", "cost", "tokens/s"] | None
    within: str | float | None
    allow_mixed: bool | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    io: Literal["copy", "bound"] | None
    tail: bool | None
    pace: str | float | timedelta | None
    sustain: str | float | timedelta | None
    cold: bool | None
    thorough: bool | None
    deadline: str | float | timedelta | None
    warmup: str | int | timedelta | None
    no_lock: bool | None
    name: str | None
    note: str | None
    results: str | PathLike[str] | None
