"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.corun.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, TypedDict

from irbench.options.input_request import Data


class CorunKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.corun`; ``None`` is the default of each.

    Attributes:
        beside: What runs beside the models: cpu, l3, bandwidth (pressure from a program of irbench's own), another
            model, or a command, in which {intensity} stands for the intensity (for example ``["bandwidth",
            "resnet50"]``; default: of several models, each beside each).
        intensity: Shares of the time in which pressure is put on, and what {intensity} of a command becomes, in percent
            (for example ``[0, 50, 100]``; default: 0,25,50,75,100).
        rate: How often a model that runs beside others is called in a second, 2 or more (for example ``1000``; default:
            as soon as it has answered).
        backends: Backends to measure, with an optional device: ort:cuda; one table for each (for example ``["ort",
            "openvino:gpu"]``; default: all installed that can read the model).
        batch: Batch sizes; one table for each, as for streams, precisions, threads and levels (for example ``[1, 8]``;
            default: 1, or the model's own).
        streams: Concurrent inferences (for example ``[1, 8]``; default: 1).
        threads: Threads per process in total, or native: each runtime's default (for example ``[1, 4], or "native"``;
            default: the available physical cores).
        precision: fp32, bf16, fp16, int8, or native (the runtime's default) (for example ``["fp32", "bf16"]``; default:
            fp32, or that of the graph).
        optimize: Optimisation levels: none, basic, extended, all; with a conversion: basic-int8, int8 (for example
            ``["none", "int8"]``; default: none).
        quick: 3 launches: fast, with wide intervals.
        budget: Time limit for the whole run (for example ``"90s", or 90``; default: 90s per table, 5m with ``tail``).
        imports: Module to import before a model is exported, which registers custom layers (for example
            ``["my_layers"]``).
        shape: Shape of an input, or size of a dynamic dimension: length=128; ``batch`` overrides its batch (for example
            ``{"tokens": (1, 128)}``).
        data: Samples that take turns as inputs, one in each call unless ``batch`` joins them: a folder of .npz, .npy,
            images or data sets, or one file (for example ``"speech/", or {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        seed: Seed for inputs and for the measurement order (for example ``0``; default: 0).
        cpus: Processors for the models to use (for example ``[0, 1], or "0-3,8"``; default: all available).
        neighbour_cpus: Processors for what runs beside the models (for example ``[0, 1], or "0-3,8"``; default: those
            that the models do not use, if there are any; of cpu, those that they use).
        isolate: Measure beside each neighbour at its highest intensity once more with each control: affinity, nice,
            cpuset, weight, memory-node, cache, memory-bandwidth (for example ``["affinity", "nice"]``; default: none).
        set: Set an option of a backend (for example ``{"ort": {"dynamic_block_base": 4}}``).
        io: What is timed: copy includes copying inputs and outputs, bound does not (for example ``"copy" or "bound"``;
            default: copy).
        tail: Also measure p99, from 1,000 consecutive calls per launch; p99.9 takes 5 launches or more.
        counters: Also count with perf, in launches of their own: software, ipc, cache, branch, topdown, topdown-l2, or
            events that perf list names (for example ``"software", or ["cache", "branch"]``).
        timeline: With ``counters``: also show counts over time, in steps of this length (for example ``"100ms", or
            0.1``).
        thorough: 10 to 20 launches, intervals down to 0.5%, up to 15 minutes per table.
        within: Differences up to this count as the same (for example ``"2%", or 0.02``; default: 2%).
        deadline: Time limit for one step of a backend, after which it counts as failed (for example ``"90s", or 90``;
            default: 300s, or with ``budget`` half of what is left if that is less, at least 30s).
        warmup: How long each row warms up in every launch: a time (2s), or a number of calls (500) (for example ``"2s",
            or 500 for calls``; default: until calls get no faster).
        neighbour_warmup: How long a command that runs beside models runs in each launch before the first block (for
            example ``"90s", or 90``; default: 1s).
        no_lock: Measure even if another irbench is measuring on this machine.
        name: Name the run, for irbench show NAME (for example ``"before"``).
        note: Store a note with the run (for example ``"without the patch"``).
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
    """

    beside: str | Iterable[str] | None
    intensity: str | int | Iterable[int] | None
    rate: float | None
    backends: str | Iterable[str] | None
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
    seed: int | None
    cpus: str | int | Iterable[int] | None
    neighbour_cpus: str | int | Iterable[int] | None
    isolate: str | Iterable[str] | None
    set: Mapping[str, Mapping[str, object]] | None
    io: Literal["copy", "bound"] | None
    tail: bool | None
    counters: str | Iterable[str] | None
    timeline: str | float | timedelta | None
    thorough: bool | None
    within: str | float | None
    deadline: str | float | timedelta | None
    warmup: str | int | timedelta | None
    neighbour_warmup: str | float | timedelta | None
    no_lock: bool | None
    name: str | None
    note: str | None
    results: str | PathLike[str] | None
