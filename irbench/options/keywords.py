"""The keywords of Python's functions, as checkers and editors read them.

Written by ``make generated`` from the declarations in :mod:`irbench.options`; change those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, Required, TypedDict

from irbench.options.input_request import Data
from irbench.options.own_code import OwnCells, OwnMetric
from irbench.options.values import RunName


class RunKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.run`; ``None`` is the default of each.

    Attributes:
        all: Run every exported model.
        imports: Module to import before a model is exported, which registers custom layers (for example
            ``["my_layers"]``).
        backends: Backends to compare, with an optional device: ort:cuda; none for the rows of ``cells`` alone (for
            example ``["ort", "openvino:gpu"]``; default: all installed that can read the model).
        cells: Your own code as a row: name=package.module:function, or a command that prints a duration for each call
            (for example ``{"mine": my_function}, or {"mine": "./loop {model}"}``).
        batch: Batch sizes (for example ``[1, 8]``; default: 1, or the model's own).
        shape: Shape of an input, or size of a dynamic dimension: length=128; ``batch`` overrides its batch (for example
            ``{"tokens": (1, 128)}``).
        data: Samples that take turns as inputs: a folder of .npz, .npy, images or data sets, or one file (for example
            ``"speech/", or {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        feedback: Feed an output to an input of the next call, as in a decode loop (for example ``{"h": "h0"}``).
        shapes: Shapes that one session is called with, of an input or a dimension (length=128,64): one table for each,
            with fixed and with dynamic shapes, and the cost of a new shape (for example ``{"tokens": [(1, 128), (1,
            64)]}``).
        streams: Concurrent inferences (for example ``[1, 8]``; default: 1).
        instances: Processes that run the model side by side, each on its own processors: compared by throughput (for
            example ``[1, 8]``; default: 1).
        precision: fp32, bf16, fp16, int8, or native (the runtime's default) (for example ``["fp32", "bf16"]``; default:
            fp32, or that of the graph).
        optimize: Optimisation levels to compare: none, basic, extended, all; with a conversion: basic-int8, int8,
            int8-static. Converted graphs are compared although their precision differs (for example ``["none",
            "int8"]``; default: none).
        baseline: Row that speedups are relative to: ort, or ort@batch=8,threads=2 (also streams, instances, precision,
            optimize, model) (for example ``"ort@streams=1"``; default: tf, otherwise the first).
        apart: Give every model and batch a table of its own.
        objective: What rows are compared by: the median latency, FPS, or cost, the processor time per sample (for
            example ``"latency", "fps" or "cost"``; default: fps with streams, instances or several batches, otherwise
            latency).
        max_latency: Only rows whose p90 latency is at most this may be the best; compared by FPS without ``objective``
            (for example ``"50ms", or 0.05``).
        min_accuracy: Minimum share of samples whose top-1 class is that of the reference; rows below it are not
            measured (for example ``"99%", or 0.99``).
        metric: Your own measure of the outputs, with its minimum (>=) or maximum (<=): fn(inputs, outputs) or
            fn(inputs, outputs, expected); rows that miss it are not measured (for example ``"file.py:fn>=0.9", or
            (my_function, ">=0.9")``).
        allow_mixed: Also compare rows whose precision a runtime changed by itself, and mark them.
        threads: Threads per process in total, or native: each runtime's default (for example ``[1, 4], or "native"``;
            default: the available physical cores).
        cpus: Processors for the backends to use (for example ``[0, 1], or "0-3,8"``; default: all available).
        set: Set an option of a backend (for example ``{"ort": {"dynamic_block_base": 4}}``).
        vary: Values of an option of a backend, or default where it is not set: one row for each (for example ``{"ort":
            {"intra_op.allow_spinning": [0, 1]}}``).
        rows: Measure only the rows with these ids, as irbench show --format json prints them (for example
            ``["ort-cpu-fp32-x1"]``; default: all combinations).
        io: What is timed: copy includes copying inputs and outputs, bound does not (for example ``"copy" or "bound"``;
            default: copy).
        require_full: Refuse a row if any of its nodes runs on another device than the one requested.
        seed: Seed for inputs and for the measurement order (for example ``0``; default: 0).
        within: Differences up to this count as the same (for example ``"2%", or 0.02``; default: 2%).
        budget: Time limit for the whole run (for example ``"90s", or 90``; default: 90s per table, 5m with ``tail``).
        deadline: Time limit for one step of a backend, after which it counts as failed (for example ``"90s", or 90``;
            default: 300s, or with ``budget`` half of what is left if that is less, at least 30s).
        quick: 3 launches: fast, with wide intervals.
        thorough: 10 to 20 launches, intervals down to 0.5%, up to 15 minutes per table.
        tail: Also measure p99, from 1,000 consecutive calls per launch; p99.9 takes 5 launches or more.
        pace: Also measure latency when calls arrive at a fixed interval, with idle gaps between them (for example
            ``"10ms", or 0.01``; default: off).
        warmup: How long each row warms up in every launch: a time (2s), or a number of calls (500) (for example ``"2s",
            or 500 for calls``; default: until calls get no faster).
        sustain: Also run each row alone for this long in every launch (for example ``"90s", or 90``; default: off).
        energy: Also measure joules per inference and watts, of each row alone: for 3s in every launch without
            ``sustain``.
        cold: Measure cold starts instead: process start to first output, with a cold and with a warm cache.
        counters: Also count with perf, in launches of their own: software, ipc, cache, branch, topdown, topdown-l2, or
            events that perf list names (for example ``"software", or ["cache", "branch"]``).
        timeline: With ``counters``: also show counts over time, in steps of this length (for example ``"100ms", or
            0.1``).
        no_lock: Measure even if another irbench is measuring on this machine.
        name: Name the run, for irbench show NAME (for example ``"before"``).
        note: Store a note with the run (for example ``"without the patch"``).
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, ./results if it is empty
            or has runs, or your data folder).
    """

    all: bool | None
    imports: str | Iterable[str] | None
    backends: str | Iterable[str] | None
    cells: OwnCells | None
    batch: str | int | Iterable[int] | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    feedback: Mapping[str, str] | None
    shapes: str | Mapping[str, str | Iterable[Any]] | Iterable[Any] | None
    streams: str | int | Iterable[int] | None
    instances: str | int | Iterable[int] | None
    precision: str | Iterable[str] | None
    optimize: str | Iterable[str] | None
    baseline: str | None
    apart: bool | None
    objective: Literal["latency", "fps", "cost"] | None
    max_latency: str | float | timedelta | None
    min_accuracy: str | float | None
    metric: OwnMetric | None
    allow_mixed: bool | None
    threads: str | int | Iterable[int | str] | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    vary: Mapping[str, Mapping[str, Iterable[object]]] | None
    rows: str | Iterable[str] | None
    io: Literal["copy", "bound"] | None
    require_full: bool | None
    seed: int | None
    within: str | float | None
    budget: str | float | timedelta | None
    deadline: str | float | timedelta | None
    quick: bool | None
    thorough: bool | None
    tail: bool | None
    pace: str | float | timedelta | None
    warmup: str | int | timedelta | None
    sustain: str | float | timedelta | None
    energy: bool | None
    cold: bool | None
    counters: str | Iterable[str] | None
    timeline: str | float | timedelta | None
    no_lock: bool | None
    name: str | None
    note: str | None
    results: str | PathLike[str] | None


class AbKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.ab`; ``None`` is the default of each.

    Attributes:
        a: Version that speedups are relative to: a release (onnxruntime==1.22.0), a wheel, or the Python of an
            environment (for example ``"onnxruntime==1.23.2"``; default: installed).
        b: Version that is compared with it, in the same forms (for example ``"onnxruntime==1.23.2"``).
        backend: Backend to measure, with an optional device: ort:cuda (for example ``"ort"``; default: the one whose
            runtime both have).
        imports: Module to import before a model is exported, which registers custom layers (for example
            ``["my_layers"]``).
        batch: Batch sizes; one table for each, as for streams, instances, precisions and threads (for example ``[1,
            8]``; default: 1, or the model's own).
        shape: Shape of an input, or size of a dynamic dimension: length=128; ``batch`` overrides its batch (for example
            ``{"tokens": (1, 128)}``).
        data: Samples that take turns as inputs: a folder of .npz, .npy, images or data sets, or one file (for example
            ``"speech/", or {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        feedback: Feed an output to an input of the next call, as in a decode loop (for example ``{"h": "h0"}``).
        streams: Concurrent inferences (for example ``[1, 8]``; default: 1).
        instances: Processes that run the model side by side, each on its own processors: compared by throughput (for
            example ``[1, 8]``; default: 1).
        precision: fp32, bf16, fp16, int8, or native (the runtime's default) (for example ``["fp32", "bf16"]``; default:
            fp32, or that of the graph).
        optimize: Optimisation levels; two rows for each (for example ``["none", "int8"]``; default: none).
        objective: What rows are compared by: the median latency, FPS, or cost, the processor time per sample (for
            example ``"latency", "fps" or "cost"``; default: fps with streams, instances or several batches, otherwise
            latency).
        allow_mixed: Also compare rows whose precision a runtime changed by itself, and mark them.
        threads: Threads per process in total, or native: each runtime's default (for example ``[1, 4], or "native"``;
            default: the available physical cores).
        cpus: Processors for the backends to use (for example ``[0, 1], or "0-3,8"``; default: all available).
        set: Set an option of a backend (for example ``{"ort": {"dynamic_block_base": 4}}``).
        io: What is timed: copy includes copying inputs and outputs, bound does not (for example ``"copy" or "bound"``;
            default: copy).
        seed: Seed for inputs and for the measurement order (for example ``0``; default: 0).
        within: Differences up to this count as the same (for example ``"2%", or 0.02``; default: 2%).
        budget: Time limit for the whole run (for example ``"90s", or 90``; default: 90s per table, 5m with ``tail``).
        deadline: Time limit for one step of a backend, after which it counts as failed (for example ``"90s", or 90``;
            default: 300s, or with ``budget`` half of what is left if that is less, at least 30s).
        quick: 3 launches: fast, with wide intervals.
        thorough: 10 to 20 launches, intervals down to 0.5%, up to 15 minutes per table.
        tail: Also measure p99, from 1,000 consecutive calls per launch; p99.9 takes 5 launches or more.
        pace: Also measure latency when calls arrive at a fixed interval, with idle gaps between them (for example
            ``"10ms", or 0.01``; default: off).
        warmup: How long each row warms up in every launch: a time (2s), or a number of calls (500) (for example ``"2s",
            or 500 for calls``; default: until calls get no faster).
        sustain: Also run each row alone for this long in every launch (for example ``"90s", or 90``; default: off).
        cold: Measure cold starts instead: process start to first output, with a cold and with a warm cache.
        no_lock: Measure even if another irbench is measuring on this machine.
        name: Name the run, for irbench show NAME (for example ``"before"``).
        note: Store a note with the run (for example ``"without the patch"``).
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, ./results if it is empty
            or has runs, or your data folder).
    """

    a: str | PathLike[str] | None
    b: Required[str | PathLike[str]]
    backend: str | None
    imports: str | Iterable[str] | None
    batch: str | int | Iterable[int] | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    feedback: Mapping[str, str] | None
    streams: str | int | Iterable[int] | None
    instances: str | int | Iterable[int] | None
    precision: str | Iterable[str] | None
    optimize: str | Iterable[str] | None
    objective: Literal["latency", "fps", "cost"] | None
    allow_mixed: bool | None
    threads: str | int | Iterable[int | str] | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    io: Literal["copy", "bound"] | None
    seed: int | None
    within: str | float | None
    budget: str | float | timedelta | None
    deadline: str | float | timedelta | None
    quick: bool | None
    thorough: bool | None
    tail: bool | None
    pace: str | float | timedelta | None
    warmup: str | int | timedelta | None
    sustain: str | float | timedelta | None
    cold: bool | None
    no_lock: bool | None
    name: str | None
    note: str | None
    results: str | PathLike[str] | None


class SoakKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.soak`; ``None`` is the default of each.

    Attributes:
        all: Soak every exported model.
        imports: Module to import before a model is exported, which registers custom layers (for example
            ``["my_layers"]``).
        duration: Time to call each row (for example ``"90s", or 90``; default: 60s).
        calls: Calls of each row instead of a time (for example ``20``; default: off).
        growth_limit: Growth per call that matters. Memory counts as steady below it, and as growing above it (for
            example ``1000``; default: 1000).
        backends: Backends to call, with an optional device: ort:cuda (for example ``["ort", "openvino:gpu"]``; default:
            all installed that can read the model).
        batch: Batch sizes; one table for each (for example ``[1, 8]``; default: 1, or the model's own).
        shape: Shape of an input, or size of a dynamic dimension: length=128; ``batch`` overrides its batch (for example
            ``{"tokens": (1, 128)}``).
        data: Samples that take turns as inputs: a folder of .npz, .npy, images or data sets, or one file (for example
            ``"speech/", or {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
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
        seed: Seed for inputs (for example ``0``; default: 0).
        deadline: Time limit for one step of a backend, after which it counts as failed (for example ``"90s", or 90``;
            default: 300s).
        no_lock: Measure even if another irbench is measuring on this machine.
        name: Name the run, for irbench show NAME (for example ``"before"``).
        note: Store a note with the run (for example ``"without the patch"``).
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, ./results if it is empty
            or has runs, or your data folder).
    """

    all: bool | None
    imports: str | Iterable[str] | None
    duration: str | float | timedelta | None
    calls: str | int | None
    growth_limit: float | None
    backends: str | Iterable[str] | None
    batch: str | int | Iterable[int] | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    streams: str | int | Iterable[int] | None
    precision: str | Iterable[str] | None
    optimize: str | Iterable[str] | None
    threads: str | int | Iterable[int | str] | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    io: Literal["copy", "bound"] | None
    seed: int | None
    deadline: str | float | timedelta | None
    no_lock: bool | None
    name: str | None
    note: str | None
    results: str | PathLike[str] | None


class TuneKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.tune`; ``None`` is the default of each.

    Attributes:
        objective: What is to be the best: the median latency, FPS, or cost, the processor time per sample (for example
            ``"latency", "fps" or "cost"``; default: fps).
        max_latency: Only settings whose p90 latency is at most this (for example ``"50ms", or 0.05``).
        min_accuracy: Minimum share of samples whose top-1 class is that of the reference; rows below it are not
            measured (for example ``"99%", or 0.99``).
        metric: Your own measure of the outputs, with its minimum (>=) or maximum (<=): fn(inputs, outputs) or
            fn(inputs, outputs, expected); rows that miss it are not measured (for example ``"file.py:fn>=0.9", or
            (my_function, ">=0.9")``).
        budget: Time limit for searching and confirming (for example ``"90s", or 90``; default: 5m).
        flip_map: Also measure under which nearby conditions another setting would win; takes up to half of ``budget``
            on top.
        backends: Backends to try, with an optional device: ort:cuda (for example ``["ort", "openvino:gpu"]``; default:
            all installed that can read the model).
        batch: Batch sizes to try (for example ``[1, 8]``; default: 1,2,4,8,16; 1 for latency).
        threads: Threads per process to try (for example ``[1, 4], or "native"``; default: up to all processors).
        streams: Concurrent inferences of each process to try (for example ``[1, 8]``; default: up to all processors; 1
            for latency).
        instances: Numbers of processes side by side, with processors of their own, to try (for example ``[1, 8]``;
            default: up to all processors; 1 for latency).
        precision: fp32, bf16, fp16, int8, or native (the runtime's default) (for example ``["fp32", "bf16"]``; default:
            fp32, or that of the graph).
        optimize: Optimisation levels to try (for example ``["none", "int8"]``; default: none,extended).
        vary: Values of an option of a backend, or default where it is not set: one row for each (for example ``{"ort":
            {"intra_op.allow_spinning": [0, 1]}}``).
        cpus: Processors for the backends to use (for example ``[0, 1], or "0-3,8"``; default: all available).
        set: Set an option of a backend (for example ``{"ort": {"dynamic_block_base": 4}}``).
        imports: Module to import before a model is exported, which registers custom layers (for example
            ``["my_layers"]``).
        shape: Shape of an input, or size of a dynamic dimension: length=128; ``batch`` overrides its batch (for example
            ``{"tokens": (1, 128)}``).
        data: Samples that take turns as inputs: a folder of .npz, .npy, images or data sets, or one file (for example
            ``"speech/", or {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        io: What is timed: copy includes copying inputs and outputs, bound does not (for example ``"copy" or "bound"``;
            default: copy).
        seed: Seed for inputs and for the measurement order (for example ``0``; default: 0).
        within: Differences up to this count as the same (for example ``"2%", or 0.02``; default: 2%).
        deadline: Time limit for one step of a backend, after which it counts as failed (for example ``"90s", or 90``;
            default: 300s, or with ``budget`` half of what is left if that is less, at least 30s).
        warmup: How long each row warms up in every launch: a time (2s), or a number of calls (500) (for example ``"2s",
            or 500 for calls``; default: until calls get no faster).
        no_lock: Measure even if another irbench is measuring on this machine.
        name: Name the run, for irbench show NAME (for example ``"before"``).
        note: Store a note with the run (for example ``"without the patch"``).
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, ./results if it is empty
            or has runs, or your data folder).
    """

    objective: Literal["latency", "fps", "cost"] | None
    max_latency: str | float | timedelta | None
    min_accuracy: str | float | None
    metric: OwnMetric | None
    budget: str | float | timedelta | None
    flip_map: bool | None
    backends: str | Iterable[str] | None
    batch: str | int | Iterable[int] | None
    threads: str | int | Iterable[int | str] | None
    streams: str | int | Iterable[int] | None
    instances: str | int | Iterable[int] | None
    precision: str | Iterable[str] | None
    optimize: str | Iterable[str] | None
    vary: Mapping[str, Mapping[str, Iterable[object]]] | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    imports: str | Iterable[str] | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    io: Literal["copy", "bound"] | None
    seed: int | None
    within: str | float | None
    deadline: str | float | timedelta | None
    warmup: str | int | timedelta | None
    no_lock: bool | None
    name: str | None
    note: str | None
    results: str | PathLike[str] | None


class ProfileKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.profile`; ``None`` is the default of each.

    Attributes:
        backends: Backends to profile, with an optional device: ort:cuda (for example ``["ort", "openvino:gpu"]``;
            default: all installed that can read the model).
        compare: Profile each backend at two optimisation levels, and show what changed; graph is the exported graph
            (for example ``"graph+extended"``).
        batch: Samples per call (for example ``20``; default: 1, or the model's own).
        optimize: Optimisation level of the graph (for example ``"extended"``; default: none).
        shape: Shape of an input, or size of a dynamic dimension: length=128; ``batch`` overrides its batch (for example
            ``{"tokens": (1, 128)}``).
        data: Samples that take turns as inputs: a folder of .npz, .npy, images or data sets, or one file (for example
            ``"speech/", or {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        imports: Module to import before a model is exported, which registers custom layers (for example
            ``["my_layers"]``).
        threads: Threads in total, or native: each runtime's default (for example ``4, or "native"``; default: the
            available physical cores).
        precision: Precision to compute in; native is the runtime's default (for example ``"fp32", "bf16", "fp16",
            "int8" or "native"``; default: fp32, or that of the graph).
        cpus: Processors for the backends to use (for example ``[0, 1], or "0-3,8"``; default: all available).
        set: Set an option of a backend (for example ``{"ort": {"dynamic_block_base": 4}}``).
        seed: Seed for inputs and for the measurement order (for example ``0``; default: 0).
        counters: Also count with perf, in launches of their own: software, ipc, cache, branch, topdown, topdown-l2, or
            events that perf list names (for example ``"software", or ["cache", "branch"]``).
        launches: Launches of each backend (for example ``20``; default: 4, and 6 counted ones).
        inferences: Profiled inferences of each launch; short ones are repeated more often (for example ``20``; default:
            20).
        budget: Time limit for all launches (for example ``"90s", or 90``; default: 5m).
        deadline: Time limit for one step of a backend, after which it counts as failed (for example ``"90s", or 90``;
            default: 300s, or with ``budget`` half of what is left if that is less, at least 30s).
        no_lock: Measure even if another irbench is measuring on this machine.
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, ./results if it is empty
            or has runs, or your data folder).
    """

    backends: str | Iterable[str] | None
    compare: str | None
    batch: str | int | None
    optimize: str | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    imports: str | Iterable[str] | None
    threads: str | int | None
    precision: Literal["fp32", "bf16", "fp16", "int8", "native"] | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    seed: int | None
    counters: str | Iterable[str] | None
    launches: str | int | None
    inferences: str | int | None
    budget: str | float | timedelta | None
    deadline: str | float | timedelta | None
    no_lock: bool | None
    results: str | PathLike[str] | None


class ReduceKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.reduce`; ``None`` is the default of each.

    Attributes:
        expect: The difference to keep; also 'openvino wrong' and 'ort fails'. Without a number it is 1.2x (for example
            ``"ort slower than openvino by 1.5x"``).
        expect_wrong: The backend whose outputs are wrong (for example ``"ort"``).
        expect_failure: The backend that refuses the graph, or crashes (for example ``"ort"``).
        output: Folder for reduced.onnx, inputs.npz, expected.npz and report.md (for example ``"./data"``; default:
            MODEL-reduced).
        budget: Time limit for the whole search (for example ``"90s", or 90``; default: 10m).
        min_share: Least share of the slower backend's total loss that a part must show (for example ``"2%", or 0.02``;
            default: 1%).
        imports: Module to import before a model is exported, which registers custom layers (for example
            ``["my_layers"]``).
        batch: Batch size (for example ``[1, 8]``; default: 1, or the model's own).
        shape: Shape of an input, or size of a dynamic dimension: length=128; ``batch`` overrides its batch (for example
            ``{"tokens": (1, 128)}``).
        data: Sample that the inputs come from: a .npz, .npy or image file, or a data set (for example ``"speech/", or
            {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        precision: fp32, bf16, fp16, int8, or native (the runtime's default) (for example ``["fp32", "bf16"]``; default:
            fp32, or that of the graph).
        threads: Threads per process in total, or native: each runtime's default (for example ``[1, 4], or "native"``;
            default: the available physical cores).
        cpus: Processors for the backends to use (for example ``[0, 1], or "0-3,8"``; default: all available).
        set: Set an option of a backend (for example ``{"ort": {"dynamic_block_base": 4}}``).
        io: What is timed: copy includes copying inputs and outputs, bound does not (for example ``"copy" or "bound"``;
            default: copy).
        seed: Seed for inputs and for the measurement order (for example ``0``; default: 0).
        deadline: Time limit for one step of a backend, after which it counts as failed (for example ``"90s", or 90``;
            default: 300s, or with ``budget`` half of what is left if that is less, at least 30s).
        no_lock: Measure even if another irbench is measuring on this machine.
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, ./results if it is empty
            or has runs, or your data folder).
    """

    expect: str | None
    expect_wrong: str | None
    expect_failure: str | None
    output: str | PathLike[str] | None
    budget: str | float | timedelta | None
    min_share: str | float | None
    imports: str | Iterable[str] | None
    batch: str | int | Iterable[int] | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    precision: str | Iterable[str] | None
    threads: str | int | Iterable[int | str] | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    io: Literal["copy", "bound"] | None
    seed: int | None
    deadline: str | float | timedelta | None
    no_lock: bool | None
    results: str | PathLike[str] | None


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
        batch: Batch size (for example ``[1, 8]``; default: 1, or the model's own).
        shape: Shape of an input, or size of a dynamic dimension: length=128; ``batch`` overrides its batch (for example
            ``{"tokens": (1, 128)}``).
        data: Samples that take turns as inputs: a folder of .npz, .npy, images or data sets, or one file (for example
            ``"speech/", or {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        feedback: Feed an output to an input of the next call, as in a decode loop (for example ``{"h": "h0"}``).
        streams: Concurrent inferences (for example ``[1, 8]``; default: 1).
        precision: fp32, bf16, fp16, int8, or native (the runtime's default) (for example ``["fp32", "bf16"]``; default:
            fp32, or that of the graph).
        threads: Threads per process in total, or native: each runtime's default (for example ``[1, 4], or "native"``;
            default: the available physical cores).
        cpus: Processors for the backends to use (for example ``[0, 1], or "0-3,8"``; default: all available).
        set: Set an option of a backend (for example ``{"ort": {"dynamic_block_base": 4}}``).
        io: What is timed: copy includes copying inputs and outputs, bound does not (for example ``"copy" or "bound"``;
            default: copy).
        seed: Seed for inputs and for the measurement order (for example ``0``; default: 0).
        budget: Time limit for each comparison; one that stays undecided is repeated twice, each time with twice as much
            (for example ``"90s", or 90``; default: 90s).
        deadline: Time limit for one step of a backend, after which it counts as failed (for example ``"90s", or 90``;
            default: 300s, or with ``budget`` half of what is left if that is less, at least 30s).
        warmup: How long each row warms up in every launch: a time (2s), or a number of calls (500) (for example ``"2s",
            or 500 for calls``; default: until calls get no faster).
        no_lock: Measure even if another irbench is measuring on this machine.
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, ./results if it is empty
            or has runs, or your data folder).
    """

    runtime: Required[str]
    first: Required[str]
    last: Required[str]
    by: Literal["speed", "answer"] | None
    threshold: str | float | None
    backend: str | None
    imports: str | Iterable[str] | None
    batch: str | int | Iterable[int] | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    feedback: Mapping[str, str] | None
    streams: str | int | Iterable[int] | None
    precision: str | Iterable[str] | None
    threads: str | int | Iterable[int | str] | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    io: Literal["copy", "bound"] | None
    seed: int | None
    budget: str | float | timedelta | None
    deadline: str | float | timedelta | None
    warmup: str | int | timedelta | None
    no_lock: bool | None
    results: str | PathLike[str] | None


class VerifyKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.verify`; ``None`` is the default of each.

    Attributes:
        data: Samples as irbench run takes them: a .npz, .npy or image file, or a folder of them; or a test_data_set_0,
            or a folder of those, whose output_*.pb are the expected outputs (for example ``"speech/", or {"x":
            array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        feedback: Feed an output to an input of the next call, as in a decode loop (for example ``{"h": "h0"}``).
        shape: Shape of an input, or size of a dynamic dimension: length=128 (for example ``{"tokens": (1, 128)}``).
        suite: Run the test suite of the onnx package (for example ``"onnx"``).
        only: Run only the cases that match, for example test_add* (for example ``"test_add*"``).
        between: Compare two versions of a runtime, each a release (onnxruntime==1.22.0), a wheel, the Python of an
            environment, or installed (for example ``("onnxruntime==1.22.0", "onnxruntime==1.23.2")``).
        backends: Backends to check, with an optional device: ort:cuda (for example ``["ort", "openvino:gpu"]``;
            default: all installed that can read the model).
    """

    data: Data | None
    value: Mapping[str, Any] | None
    feedback: Mapping[str, str] | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    suite: Literal["onnx"] | None
    only: str | None
    between: tuple[str, str] | None
    backends: str | Iterable[str] | None


class ExportKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.export`; ``None`` is the default of each.

    Attributes:
        opset: ONNX operator set, 13 to 23 (for example ``18``; default: 18).
        batch: A fixed batch size, or a dynamic one (for example ``8``; default: dynamic).
        seed: Seed for random weights and for generated inputs (for example ``0``; default: 0).
        weights: Draw random weights, or load them from a file (for example ``"random", or a path``; default: the
            model's own).
        layout: Layout of image inputs in ONNX; most runtimes are faster with nchw (for example ``"keep" or "nchw"``;
            default: nchw).
        imports: Import MODULE before the model is loaded: it registers custom layers (for example ``["my_layers"]``).
        name: Name the bundle (one model only) (for example ``"resnet50_flowers"``; default: the model's own).
        signature: Which function of a SavedModel to export (for example ``"serving_default"``; default:
            serving_default, or the only one).
        shape: Run the model with this shape of an input, or size of a dynamic dimension (sequence=64), and make it the
            default (for example ``{"tokens": (1, 128)}``).
        data: Samples, as irbench run takes them, on which outputs are compared with the original's as well (for example
            ``"speech/", or {"x": array}``).
        value: Constant for an input in that comparison (for example ``{"sr": 16000}``).
        deadline: Time limit for one step of an export, after which it counts as failed (for example ``"90s", or 90``;
            default: 1h, and 15m for comparing outputs).
        force: Export again even if no change is seen, for example of a file that tf.io.read_file reads.
        output: Write the bundle to DIR (one model only) (for example ``"./data"``).
    """

    opset: str | int | None
    batch: int | None
    seed: int | None
    weights: str | PathLike[str] | None
    layout: Literal["keep", "nchw"] | None
    imports: str | Iterable[str] | None
    name: str | None
    signature: str | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    deadline: str | float | timedelta | None
    force: bool | None
    output: str | PathLike[str] | None


class OptimizeKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.optimize`; ``None`` is the default of each.

    Attributes:
        level: How much to optimise: basic and extended use standard ONNX operators, all adds Microsoft's (for example
            ``"extended"``; default: basic).
        passes: Run these passes, in this order, instead of a level (for example ``["fold_shapes",
            "remove_redundant"]``).
        precision: Convert the result, and measure how its outputs change (for example ``"fp32", "fp16", "bf16" or
            "int8"``; default: fp32).
        calibrate: Number of inputs to calibrate static int8 with (for example ``20``; default: 64).
        quantize: How to quantise to int8; auto is static for convolutional networks, otherwise dynamic (for example
            ``"auto", "static" or "dynamic"``; default: auto).
        layout: nchw: change image inputs to NCHW where the graph transposes them itself (for example ``"keep" or
            "nchw"``; default: keep).
        batch: Fix the batch size first; dynamic by default (for example ``20``).
        shape: Fix the shape of an input, or a dynamic dimension (length=128), first (for example ``{"tokens": (1,
            128)}``).
        data: Samples to check and calibrate on, as irbench run takes them; generated inputs by default (for example
            ``"speech/", or {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        distribution: What generated floats are drawn from: uniform in [0, 1), symmetric in [-1, 1), normal with
            deviation 1, or bytes in [0, 255) (for example ``"uniform", "symmetric", "normal" or "bytes"``; default: the
            range that the model declares).
        output: Write the graph to FILE; the report goes to standard output (for example ``"better.onnx"``).
    """

    level: str | None
    passes: str | Iterable[str] | None
    precision: Literal["fp32", "fp16", "bf16", "int8"] | None
    calibrate: str | int | None
    quantize: Literal["auto", "static", "dynamic"] | None
    layout: Literal["keep", "nchw"] | None
    batch: str | int | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    distribution: Literal["uniform", "symmetric", "normal", "bytes"] | None
    output: str | PathLike[str] | None


class InspectKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.inspect`; ``None`` is the default of each.

    Attributes:
        batch: Show the graph at this batch size (for example ``20``).
        shape: Show the graph at this shape of an input, or size of a dynamic dimension (length=128) (for example
            ``{"tokens": (1, 128)}``).
    """

    batch: str | int | None
    shape: Mapping[str, str | int | Iterable[int]] | None


class CostKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.cost`; ``None`` is the default of each.

    Attributes:
        batch: Count for this batch size (for example ``20``).
        shape: Count for this shape of an input, or size of a dynamic dimension (length=128). A batch and dimensions
            that are not given have their default sizes (for example ``{"tokens": (1, 128)}``).
    """

    batch: str | int | None
    shape: Mapping[str, str | int | Iterable[int]] | None


class DoctorKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.doctor`; ``None`` is the default of each.

    Attributes:
        peak: Also measure the peak performance of this machine: matrix products per precision, and bandwidth of caches
            and memory. This takes five to fifteen minutes, longest on a busy machine; the result is kept.
        backend: Backend for --aa and ``peak`` (for example ``"ort"``; default: a reference backend, such as ort; for
            ``peak``, each that reads ONNX).
        threads: For --aa: threads per process in total, or native (for example ``4, or "native"``; default: the
            available physical cores).
        cpus: For --aa and ``peak``: processors to use (for example ``[0, 1], or "0-3,8"``; default: all available).
        budget: For --aa: time limit (for example ``"90s", or 90``; default: 90s).
        no_lock: For --aa and ``peak``: measure even if another irbench is measuring on this machine.
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, ./results if it is empty
            or has runs, or your data folder).
    """

    peak: bool | None
    backend: str | None
    threads: str | int | None
    cpus: str | int | Iterable[int] | None
    budget: str | float | timedelta | None
    no_lock: bool | None
    results: str | PathLike[str] | None


class ResultsKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.results`; ``None`` is the default of each.

    Attributes:
        model: Only runs of this model (for example ``"resnet50"``).
        backend: Only runs that measured this backend or row (for example ``"ort"``).
        since: Only runs no older than this, for example 12h or 7d (for example ``"90s", or 90``).
        limit: Only the newest N (for example ``20``).
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, ./results if it is empty
            or has runs, or your data folder).
    """

    model: str | None
    backend: str | None
    since: str | float | timedelta | None
    limit: str | int | None
    results: str | PathLike[str] | None


class CompareKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.compare`; ``None`` is the default of each.

    Attributes:
        fail_on: Exit with 1 if a row changed by more: p50>5%, fps<-3%, peak_memory>50MB, size>0%; with 6 if that cannot
            be judged (for example ``["p50>5%", "fps<-3%"]``).
        within: Differences up to this count as the same (for example ``"2%", or 0.02``; default: 2%).
        confirm: Measure a regression again, both models side by side where available, and exit with 1 only if it is
            found again. Without ``fail_on``: a time that is longer by more than ``within``.
        allow_own_code: Let ``confirm`` run the code and use the files that the stored plan names.
        force: Compare although the machines differ.
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, ./results if it is empty
            or has runs, or your data folder).
    """

    fail_on: str | Iterable[str] | None
    within: str | float | None
    confirm: bool | None
    allow_own_code: bool | None
    force: bool | None
    results: str | PathLike[str] | None


class HistoryKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.history`; ``None`` is the default of each.

    Attributes:
        backend: Only rows of this backend (for example ``"ort"``).
        machine: Fingerprint, or its beginning (for example ``"3f2a9c"``; default: machine of the newest run of the
            model).
        since: Only runs no older than this, for example 90d (for example ``"90s", or 90``).
        limit: Only the newest N runs (for example ``20``).
        fail_on: Exit with 1 if the last confirmed change is more, or the total change since the oldest run: p50>5%,
            fps<-3%; with 6 if that cannot be judged (for example ``["p50>5%", "fps<-3%"]``).
        since_run: Take the total change since this run (for example ``"v1.0"``; default: the oldest shown).
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, ./results if it is empty
            or has runs, or your data folder).
    """

    backend: str | None
    machine: str | None
    since: str | float | timedelta | None
    limit: str | int | None
    fail_on: str | Iterable[str] | None
    since_run: RunName | None
    results: str | PathLike[str] | None


class ReplayKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.replay`; ``None`` is the default of each.

    Attributes:
        force: Replay even if the machine, the versions or the confinement of workers differ.
        allow_own_code: Run the code and use the files that the receipt's plan names.
        within: Intervals that lie no further apart than this agree (for example ``"2%", or 0.02``; default: 2%).
        budget: Time limit for the whole run (for example ``"90s", or 90``; default: that of the plan).
        quick: 3 launches: shows whether the plan runs here, and decides no claim.
        no_lock: Measure even if another irbench is measuring on this machine.
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, ./results if it is empty
            or has runs, or your data folder).
    """

    force: bool | None
    allow_own_code: bool | None
    within: str | float | None
    budget: str | float | timedelta | None
    quick: bool | None
    no_lock: bool | None
    results: str | PathLike[str] | None


class ResumeKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.resume`; ``None`` is the default of each.

    Attributes:
        allow_own_code: With --resume: run the code and use the files that the run's plan names.
        no_lock: Measure even if another irbench is measuring on this machine.
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, ./results if it is empty
            or has runs, or your data folder).
    """

    allow_own_code: bool | None
    no_lock: bool | None
    results: str | PathLike[str] | None


class SweepKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.sweep`; ``None`` is the default of each.

    Attributes:
        resume: Go on where the sweep stopped: nothing is measured twice, and an interrupted table goes on after its
            last launch. Tables that could not be measured are tried again.
        only: Measure only these cells: batch=8,backends=ort, or the beginning of an id (for example
            ``"batch=8,backends=ort"``).
        skip: Leave these cells out (for example ``"batch=8,backends=ort"``).
        name: Name the sweep (for example ``"before"``; default: that of the plan).
        seed: Seed for the order of the tables (for example ``0``; default: that of the plan).
        no_lock: Measure even if another irbench is measuring on this machine.
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, ./results if it is empty
            or has runs, or your data folder).
    """

    resume: bool | None
    only: str | Iterable[str] | None
    skip: str | Iterable[str] | None
    name: str | None
    seed: int | None
    no_lock: bool | None
    results: str | PathLike[str] | None
