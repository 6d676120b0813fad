"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.fleet.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, TypedDict

from irbench.options.input_request import Data
from irbench.options.own_code import OwnCells, OwnMetric


class ServeKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.serve`; ``None`` is the default of each.

    Attributes:
        scenario: How requests arrive: server: on their own, at a mean rate; offline: all at once; single: each after
            the answer to the one before; multistream: 8 at a time (for example ``"server", "offline", "single" or
            "multistream"``; default: server).
        rate: Requests per second, on average; a load for each. Without it, the highest rate that keeps ``slo`` is
            searched (for example ``[10, 50]``).
        slo: Service level that answers must keep: that percentile of latency, from arrival to answer, within a time
            (for example ``"p99<=50ms"``).
        duration: How long requests of each load arrive, in every launch (for example ``"90s", or 90``; default: 5s).
        queue: Refuse requests that arrive while this many others wait for the same process (for example ``20``;
            default: any number waits).
        timeout: Give up requests that wait longer than this (for example ``"50ms", or 0.05``; default: they wait).
        batch_wait: With ``batch`` above 1: how long a call waits for its batch to be full, from the arrival of its
            first request (for example ``"50ms", or 0.05``; default: not at all).
        all: Serve every exported model.
        imports: Module to import before a model is exported, which registers custom layers (for example
            ``["my_layers"]``).
        shape: Shape of an input, or size of a dynamic dimension: length=128; ``batch`` overrides its batch (for example
            ``{"tokens": (1, 128)}``).
        data: Samples that take turns as inputs, one in each call unless ``batch`` joins them: a folder of .npz, .npy,
            images or data sets, or one file (for example ``"speech/", or {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        seed: Seed for inputs, and for the times at which requests arrive (for example ``0``; default: 0).
        backends: Backends that answer, with an optional device: ort:cuda (for example ``["ort", "openvino:gpu"]``;
            default: all installed that can read the model).
        cells: Your own code as a row: name=package.module:function, also of stages in order, a command that prints a
            duration for each call, or the address of a model of a server: name=http://host:8000/v2/models/NAME (for
            example ``{"mine": my_function}, {"mine": {"decode": decode, "model": "ort"}}, or {"mine": "./loop
            {model}"}``).
        batch: Requests that a call answers at most; one that is not full costs as much; one table for each (for example
            ``[1, 8]``; default: 1, or the model's own).
        streams: Calls in flight at most, of each process (for example ``[1, 8]``; default: 1).
        instances: Processes that answer, each on its own processors and with a queue of its own; requests are spread
            over them at random (for example ``[1, 8]``; default: 1).
        precision: fp32, bf16, fp16, int8, or native (the runtime's default) (for example ``["fp32", "bf16"]``; default:
            fp32, or that of the graph).
        optimize: Optimisation levels; one row for each (for example ``["none", "int8"]``; default: none).
        threads: Threads per process in total, or native: each runtime's default (for example ``[1, 4], or "native"``;
            default: the available physical cores).
        cpus: Processors for the backends to use (for example ``[0, 1], or "0-3,8"``; default: all available).
        set: Set an option of a backend (for example ``{"ort": {"dynamic_block_base": 4}}``).
        budget: Time for the whole command; no round of launches begins that would end later (for example ``"90s", or
            90``; default: six launches of each row).
        deadline: Time limit for one step of a backend, after which it counts as failed (for example ``"90s", or 90``;
            default: 300s).
        no_lock: Measure even if another irbench is measuring on this machine.
        name: Name the run, for irbench show NAME (for example ``"before"``).
        note: Store a note with the run (for example ``"without the patch"``).
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
    """

    scenario: Literal["server", "offline", "single", "multistream"] | None
    rate: str | float | Iterable[float] | None
    slo: str | None
    duration: str | float | timedelta | None
    queue: str | int | None
    timeout: str | float | timedelta | None
    batch_wait: str | float | timedelta | None
    all: bool | None
    imports: str | Iterable[str] | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    seed: int | None
    backends: str | Iterable[str] | None
    cells: OwnCells | None
    batch: str | int | Iterable[int] | None
    streams: str | int | Iterable[int] | None
    instances: str | int | Iterable[int] | None
    precision: str | Iterable[str] | None
    optimize: str | Iterable[str] | None
    threads: str | int | Iterable[int | str] | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    budget: str | float | timedelta | None
    deadline: str | float | timedelta | None
    no_lock: bool | None
    name: str | None
    note: str | None
    results: str | PathLike[str] | None


class TuneKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.tune`; ``None`` is the default of each.

    Attributes:
        objective: What is to be the best: the median latency, FPS, or cost, the processor time per sample; tokens/s
            with ``generate`` (for example ``"latency", "fps", "cost" or "tokens/s"``; default: fps).
        max_latency: Only settings whose p90 latency is at most this (for example ``"50ms", or 0.05``).
        slo: Service level of requests that arrive on their own: the best setting keeps it at the highest rate of them
            (for example ``"p99<=50ms"``).
        batch_wait: With ``slo``: how long a call waits for its batch to be full, from the arrival of its first request
            (for example ``"50ms", or 0.05``; default: not at all).
        min_accuracy: Minimum share of samples whose top-1 class is that of the reference; rows below it are not
            measured (for example ``"99%", or 0.99``).
        classes: Outputs with a score for each class, whose top-1 agreement is measured (for example ``["label"]``;
            default: those that end in a softmax or have a Keras loss for classes, otherwise the only output).
        metric: Your own measure of the outputs, with its minimum (>=) or maximum (<=): fn(inputs, outputs) or
            fn(inputs, outputs, expected); rows that miss it are not measured (for example ``"file.py:fn>=0.9", or
            (my_function, ">=0.9")``).
        budget: Time limit for preparing, searching and confirming (for example ``"90s", or 90``; default: 5m).
        flip_map: Also measure under which nearby conditions another setting would win; takes up to half of ``budget``
            on top.
        backends: Backends to try, with an optional device: ort:cuda (for example ``["ort", "openvino:gpu"]``; default:
            all installed that can read the model).
        batch: Batch sizes to try (for example ``[1, 8]``; default: 1,2,4,8,16; 1 for latency and with ``data``).
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
        data: Samples that take turns as inputs, one in each call unless ``batch`` joins them: a folder of .npz, .npy,
            images or data sets, or one file (for example ``"speech/", or {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        generate: Generate this many tokens in each call, with a decoder that takes and gives its cache (for example
            ``20``; default: off).
        prompt: With ``generate``: tokens in the prompt; one table for each (for example ``[1, 8]``; default: 32).
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
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
    """

    objective: Literal["latency", "fps", "cost", "tokens/s"] | None
    max_latency: str | float | timedelta | None
    slo: str | None
    batch_wait: str | float | timedelta | None
    min_accuracy: str | float | None
    classes: str | Iterable[str] | None
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
    generate: str | int | None
    prompt: str | int | Iterable[int] | None
    io: Literal["copy", "bound"] | None
    seed: int | None
    within: str | float | None
    deadline: str | float | timedelta | None
    warmup: str | int | timedelta | None
    no_lock: bool | None
    name: str | None
    note: str | None
    results: str | PathLike[str] | None


class FleetKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.fleet`; ``None`` is the default of each.

    Attributes:
        targets: The machines that measure (for example ``"fleet.toml"``; default: this machine).
        scheduler: Scheduler of a Dask cluster that runs already; its workers with --resources measure=1 measure (for
            example ``"tls://10.0.0.1:8786"``; default: one that this call starts).
        resume: Go on where the fleet stopped: nothing is measured twice. What failed is tried again.
        only: Measure only these cells: batch=8,backends=ort, or the beginning of an id (for example
            ``"batch=8,backends=ort"``).
        skip: Leave these cells out (for example ``"batch=8,backends=ort"``).
        patience: How long to wait for a target that is not there (for example ``"90s", or 90``; default: 10m).
        name: Name the fleet (for example ``"before"``; default: that of the plan).
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
    """

    targets: str | PathLike[str] | None
    scheduler: str | None
    resume: bool | None
    only: str | Iterable[str] | None
    skip: str | Iterable[str] | None
    patience: str | float | timedelta | None
    name: str | None
    results: str | PathLike[str] | None


class FleetTuneKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.fleet_tune`; ``None`` is the default of each.

    Attributes:
        targets: The machines that measure (for example ``"fleet.toml"``; default: this machine).
        scheduler: Scheduler of a Dask cluster that runs already; its workers with --resources measure=1 measure (for
            example ``"tls://10.0.0.1:8786"``; default: one that this call starts).
        resume: Go on where the fleet stopped: nothing is measured twice. What failed is tried again.
        patience: How long to wait for a target that is not there (for example ``"90s", or 90``; default: 10m).
        name: Name the fleet (for example ``"before"``; default: tune- and the name of the model).
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
        objective: What is to be the best: the median latency, FPS, or cost, the processor time per sample; tokens/s
            with ``generate`` (for example ``"latency", "fps", "cost" or "tokens/s"``; default: fps).
        max_latency: Only settings whose p90 latency is at most this (for example ``"50ms", or 0.05``).
        slo: Service level of requests that arrive on their own: the best setting keeps it at the highest rate of them
            (for example ``"p99<=50ms"``).
        batch_wait: With ``slo``: how long a call waits for its batch to be full, from the arrival of its first request
            (for example ``"50ms", or 0.05``; default: not at all).
        min_accuracy: Minimum share of samples whose top-1 class is that of the reference; rows below it are not
            measured (for example ``"99%", or 0.99``).
        classes: Outputs with a score for each class, whose top-1 agreement is measured (for example ``["label"]``;
            default: those that end in a softmax or have a Keras loss for classes, otherwise the only output).
        budget: Time limit for preparing, searching and confirming (for example ``"90s", or 90``; default: 5m).
        backends: Backends to try, with an optional device: ort:cuda (for example ``["ort", "openvino:gpu"]``; default:
            all installed that can read the model).
        batch: Batch sizes to try (for example ``[1, 8]``; default: 1,2,4,8,16; 1 for latency and with ``data``).
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
        shape: Shape of an input, or size of a dynamic dimension: length=128; ``batch`` overrides its batch (for example
            ``{"tokens": (1, 128)}``).
        data: Samples that take turns as inputs, one in each call unless ``batch`` joins them: a folder of .npz, .npy,
            images or data sets, or one file (for example ``"speech/", or {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        generate: Generate this many tokens in each call, with a decoder that takes and gives its cache (for example
            ``20``; default: off).
        prompt: With ``generate``: tokens in the prompt; one table for each (for example ``[1, 8]``; default: 32).
        io: What is timed: copy includes copying inputs and outputs, bound does not (for example ``"copy" or "bound"``;
            default: copy).
        seed: Seed for inputs and for the measurement order (for example ``0``; default: 0).
        within: Differences up to this count as the same (for example ``"2%", or 0.02``; default: 2%).
        deadline: Time limit for one step of a backend, after which it counts as failed (for example ``"90s", or 90``;
            default: 300s, or with ``budget`` half of what is left if that is less, at least 30s).
        warmup: How long each row warms up in every launch: a time (2s), or a number of calls (500) (for example ``"2s",
            or 500 for calls``; default: until calls get no faster).
        note: Store a note with the run (for example ``"without the patch"``).
    """

    targets: str | PathLike[str] | None
    scheduler: str | None
    resume: bool | None
    patience: str | float | timedelta | None
    name: str | None
    results: str | PathLike[str] | None
    objective: Literal["latency", "fps", "cost", "tokens/s"] | None
    max_latency: str | float | timedelta | None
    slo: str | None
    batch_wait: str | float | timedelta | None
    min_accuracy: str | float | None
    classes: str | Iterable[str] | None
    budget: str | float | timedelta | None
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
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    generate: str | int | None
    prompt: str | int | Iterable[int] | None
    io: Literal["copy", "bound"] | None
    seed: int | None
    within: str | float | None
    deadline: str | float | timedelta | None
    warmup: str | int | timedelta | None
    note: str | None


class FleetServeKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.fleet_serve`; ``None`` is the default of each.

    Attributes:
        targets: The machines that measure (for example ``"fleet.toml"``; default: this machine).
        scheduler: Scheduler of a Dask cluster that runs already; its workers with --resources measure=1 measure (for
            example ``"tls://10.0.0.1:8786"``; default: one that this call starts).
        resume: Go on where the fleet stopped: nothing is measured twice. What failed is tried again.
        patience: How long to wait for a target that is not there (for example ``"90s", or 90``; default: 10m).
        name: Name the fleet (for example ``"before"``; default: serve- and the name of the model).
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
        rate: Requests per second, on average; a load for each. Without it, the highest rate that keeps ``slo`` is
            searched (for example ``[10, 50]``).
        slo: Service level that answers must keep: that percentile of latency, from arrival to answer, within a time
            (for example ``"p99<=50ms"``).
        duration: How long requests of each load arrive, in every launch (for example ``"90s", or 90``; default: 5s).
        queue: Refuse requests that arrive while this many others wait for the same process (for example ``20``;
            default: any number waits).
        timeout: Give up requests that wait longer than this (for example ``"50ms", or 0.05``; default: they wait).
        batch_wait: With ``batch`` above 1: how long a call waits for its batch to be full, from the arrival of its
            first request (for example ``"50ms", or 0.05``; default: not at all).
        shape: Shape of an input, or size of a dynamic dimension: length=128; ``batch`` overrides its batch (for example
            ``{"tokens": (1, 128)}``).
        data: Samples that take turns as inputs, one in each call unless ``batch`` joins them: a folder of .npz, .npy,
            images or data sets, or one file (for example ``"speech/", or {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        seed: Seed for inputs, and for the times at which requests arrive (for example ``0``; default: 0).
        backends: Backends that answer, with an optional device: ort:cuda (for example ``["ort", "openvino:gpu"]``;
            default: all installed that can read the model).
        batch: Requests that a call answers at most; one that is not full costs as much; one table for each (for example
            ``[1, 8]``; default: 1, or the model's own).
        streams: Calls in flight at most, of each process (for example ``[1, 8]``; default: 1).
        instances: Processes that answer, each on its own processors and with a queue of its own; requests are spread
            over them at random (for example ``[1, 8]``; default: 1).
        precision: fp32, bf16, fp16, int8, or native (the runtime's default) (for example ``["fp32", "bf16"]``; default:
            fp32, or that of the graph).
        optimize: Optimisation levels; one row for each (for example ``["none", "int8"]``; default: none).
        threads: Threads per process in total, or native: each runtime's default (for example ``[1, 4], or "native"``;
            default: the available physical cores).
        cpus: Processors for the backends to use (for example ``[0, 1], or "0-3,8"``; default: all available).
        set: Set an option of a backend (for example ``{"ort": {"dynamic_block_base": 4}}``).
        budget: Time for the whole command; no round of launches begins that would end later (for example ``"90s", or
            90``; default: six launches of each row).
        deadline: Time limit for one step of a backend, after which it counts as failed (for example ``"90s", or 90``;
            default: 300s).
        note: Store a note with the run (for example ``"without the patch"``).
    """

    targets: str | PathLike[str] | None
    scheduler: str | None
    resume: bool | None
    patience: str | float | timedelta | None
    name: str | None
    results: str | PathLike[str] | None
    rate: str | float | Iterable[float] | None
    slo: str | None
    duration: str | float | timedelta | None
    queue: str | int | None
    timeout: str | float | timedelta | None
    batch_wait: str | float | timedelta | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    seed: int | None
    backends: str | Iterable[str] | None
    batch: str | int | Iterable[int] | None
    streams: str | int | Iterable[int] | None
    instances: str | int | Iterable[int] | None
    precision: str | Iterable[str] | None
    optimize: str | Iterable[str] | None
    threads: str | int | Iterable[int | str] | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    budget: str | float | timedelta | None
    deadline: str | float | timedelta | None
    note: str | None
