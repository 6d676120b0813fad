"""Keywords of Python, written by ``make generated`` from :mod:`irbench.options.run`; change that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, TypedDict

from irbench.options.input_request import Data
from irbench.options.own_code import OwnCells, OwnMetric


class RunKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.run`; ``None`` is the default of each.

    Attributes:
        backends: Backends to compare, with an optional device: ort:cuda; none for the rows of ``cells`` alone (for
            example ``["ort", "openvino:gpu"]``; default: all installed that can read the model).
        batch: Batch sizes (for example ``[1, 8]``; default: 1, or the model's own).
        streams: Concurrent inferences (for example ``[1, 8]``; default: 1).
        threads: Threads per process in total, or native: each runtime's default (for example ``[1, 4], or "native"``;
            default: the available physical cores).
        precision: fp32, bf16, fp16, int8, or native (the runtime's default) (for example ``["fp32", "bf16"]``; default:
            fp32, or that of the graph).
        optimize: Optimisation levels to compare: none, basic, extended, all; with a conversion: basic-int8, int8,
            int8-static. Converted graphs are compared although their precision differs (for example ``["none",
            "int8"]``; default: none).
        quick: 3 launches: fast, with wide intervals.
        budget: Time limit for the whole run (for example ``"90s", or 90``; default: 90s per table, 5m with ``tail``).
        all: Run every exported model.
        imports: Module to import before a model is exported, which registers custom layers (for example
            ``["my_layers"]``).
        shape: Shape of an input, or size of a dynamic dimension: length=128; ``batch`` overrides its batch (for example
            ``{"tokens": (1, 128)}``).
        shapes: Several shapes of an input, or sizes of a dimension (length=128,64): one table for each (for example
            ``{"tokens": [(1, 128), (1, 64)]}``).
        dynamic: With ``shapes``: also measure the graph with dynamic shapes in a session that meets all of them, and
            the first call of a new shape.
        data: Samples that take turns as inputs, one in each call unless ``batch`` joins them: a folder of .npz, .npy,
            images or data sets, or one file (for example ``"speech/", or {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        feedback: Feed an output to an input of the next call, as in a decode loop (for example ``{"h": "h0"}``).
        generate: Generate this many tokens in each call, with a decoder that takes and gives its cache (for example
            ``20``; default: off).
        prompt: With ``generate``: tokens in the prompt; one table for each (for example ``[1, 8]``; default: 32).
        seed: Seed for inputs and for the measurement order (for example ``0``; default: 0).
        cells: Your own code as a row: name=package.module:function, also of stages in order, a command that prints a
            duration for each call, or the address of a model of a server: name=http://host:8000/v2/models/NAME (for
            example ``{"mine": my_function}, {"mine": {"decode": decode, "model": "ort"}}, or {"mine": "./loop
            {model}"}``).
        instances: Processes that run the model side by side, each on its own processors: compared by throughput (for
            example ``[1, 8]``; default: 1).
        vary: Values of an option of a backend, or default where it is not set: one row for each (for example ``{"ort":
            {"intra_op.allow_spinning": [0, 1]}}``).
        rows: Measure only the rows with these ids, as irbench show --format json prints them (for example
            ``["ort-cpu-fp32-x1"]``; default: all combinations).
        baseline: Row that speedups are relative to: ort, or ort@batch=8,threads=2 (also streams, instances, precision,
            optimize, model) (for example ``"ort@streams=1"``; default: tf, otherwise the first).
        apart: Give every model and batch a table of its own.
        objective: What rows are compared by: the median latency, FPS, or cost, the processor time per sample; tokens/s
            with ``generate`` (for example ``"latency", "fps", "cost" or "tokens/s"``; default: fps with streams,
            instances or several batches, otherwise latency).
        max_latency: Only rows whose p90 latency is at most this may be the best; compared by FPS without ``objective``
            (for example ``"50ms", or 0.05``).
        min_accuracy: Minimum share of samples whose top-1 class is that of the reference; rows below it are not
            measured (for example ``"99%", or 0.99``).
        classes: Outputs with a score for each class, whose top-1 agreement is measured (for example ``["label"]``;
            default: those that end in a softmax or have a Keras loss for classes, otherwise the only output).
        metric: Your own measure of the outputs, with its minimum (>=) or maximum (<=): fn(inputs, outputs) or
            fn(inputs, outputs, expected); rows that miss it are not measured (for example ``"file.py:fn>=0.9", or
            (my_function, ">=0.9")``).
        within: Differences up to this count as the same (for example ``"2%", or 0.02``; default: 2%).
        allow_mixed: Also compare rows whose precision a runtime changed by itself, and mark them.
        cpus: Processors for the backends to use (for example ``[0, 1], or "0-3,8"``; default: all available).
        set: Set an option of a backend (for example ``{"ort": {"dynamic_block_base": 4}}``).
        io: What is timed: copy includes copying inputs and outputs, bound does not (for example ``"copy" or "bound"``;
            default: copy).
        require_full: Refuse a row if any of its nodes runs on another device than the one requested.
        tail: Also measure p99, from 1,000 consecutive calls per launch; p99.9 takes 5 launches or more.
        pace: Also measure latency when calls arrive at a fixed interval, with idle gaps between them (for example
            ``"10ms", or 0.01``; default: off).
        sustain: Also run each row alone for this long in every launch (for example ``"90s", or 90``; default: off).
        energy: Also measure joules per inference and watts, of each row alone: for 3s in every launch without
            ``sustain``.
        cold: Measure cold starts instead: process start to first output, with a cold and with a warm cache.
        counters: Also count with perf, in launches of their own: software, ipc, cache, branch, topdown, topdown-l2, or
            events that perf list names (for example ``"software", or ["cache", "branch"]``).
        timeline: With ``counters``: also show counts over time, in steps of this length (for example ``"100ms", or
            0.1``).
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

    backends: str | Iterable[str] | None
    batch: str | int | Iterable[int] | None
    streams: str | int | Iterable[int] | None
    threads: str | int | Iterable[int | str] | None
    precision: str | Iterable[str] | None
    optimize: str | Iterable[str] | None
    quick: bool | None
    budget: str | float | timedelta | None
    all: bool | None
    imports: str | Iterable[str] | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    shapes: str | Mapping[str, str | Iterable[Any]] | Iterable[Any] | None
    dynamic: bool | None
    data: Data | None
    value: Mapping[str, Any] | None
    feedback: Mapping[str, str] | None
    generate: str | int | None
    prompt: str | int | Iterable[int] | None
    seed: int | None
    cells: OwnCells | None
    instances: str | int | Iterable[int] | None
    vary: Mapping[str, Mapping[str, Iterable[object]]] | None
    rows: str | Iterable[str] | None
    baseline: str | None
    apart: bool | None
    objective: Literal["latency", "fps", "cost", "tokens/s"] | None
    max_latency: str | float | timedelta | None
    min_accuracy: str | float | None
    classes: str | Iterable[str] | None
    metric: OwnMetric | None
    within: str | float | None
    allow_mixed: bool | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    io: Literal["copy", "bound"] | None
    require_full: bool | None
    tail: bool | None
    pace: str | float | timedelta | None
    sustain: str | float | timedelta | None
    energy: bool | None
    cold: bool | None
    counters: str | Iterable[str] | None
    timeline: str | float | timedelta | None
    thorough: bool | None
    deadline: str | float | timedelta | None
    warmup: str | int | timedelta | None
    no_lock: bool | None
    name: str | None
    note: str | None
    results: str | PathLike[str] | None


class ResumeKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.resume`; ``None`` is the default of each.

    Attributes:
        allow_own_code: With --resume: run the code and use the files that the run's plan names.
        no_lock: Measure even if another irbench is measuring on this machine.
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
    """

    allow_own_code: bool | None
    no_lock: bool | None
    results: str | PathLike[str] | None
