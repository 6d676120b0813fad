"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.gate.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, TypedDict

from irbench.options.input_request import Data
from irbench.options.own_code import OwnCells, OwnMetric


class GateKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.gate`; ``None`` is the default of each.

    Attributes:
        limit: Smallest slowdown that matters: the run ends when it is excluded, or when a regression is found (for
            example ``"2%", or 0.02``; default: 5%).
        fail_on: Also fail if another figure gets worse by more: peak_memory:20%, ready:50%, size:0%, max_err:0.001 (for
            example ``["p50>5%", "fps<-3%"]``).
        budget: Time limit for the whole gate, preparation included (for example ``"90s", or 90``; default: 2m).
        backends: Backends to compare, with an optional device: ort:cuda; none for the rows of ``cells`` alone (for
            example ``["ort", "openvino:gpu"]``; default: all installed that can read the model).
        batch: Batch sizes; each is compared with the same one (for example ``[1, 8]``; default: 1, or the model's own).
        streams: Concurrent inferences (for example ``[1, 8]``; default: 1).
        threads: Threads per process in total, or native: each runtime's default (for example ``[1, 4], or "native"``;
            default: the available physical cores).
        precision: fp32, bf16, fp16, int8, or native (the runtime's default) (for example ``["fp32", "bf16"]``; default:
            fp32, or that of the graph).
        optimize: Optimisation levels; each is compared with the same one (for example ``["none", "int8"]``; default:
            none).
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
        seed: Seed for inputs and for the measurement order (for example ``0``; default: 0).
        allow_own_code: Allow a stored run as BASE to run the code and use the files that its plan names.
        cells: Your own code as a row: name=package.module:function, also of stages in order, a command that prints a
            duration for each call, or the address of a model of a server: name=http://host:8000/v2/models/NAME (for
            example ``{"mine": my_function}, {"mine": {"decode": decode, "model": "ort"}}, or {"mine": "./loop
            {model}"}``).
        instances: Processes that run the model side by side, each on its own processors: compared by throughput (for
            example ``[1, 8]``; default: 1).
        min_accuracy: Minimum share of samples whose top-1 class is that of the reference; rows below it are not
            measured (for example ``"99%", or 0.99``).
        classes: Outputs with a score for each class, whose top-1 agreement is measured (for example ``["label"]``;
            default: those that end in a softmax or have a Keras loss for classes, otherwise the only output).
        metric: Your own measure of the outputs, with its minimum (>=) or maximum (<=): fn(inputs, outputs) or
            fn(inputs, outputs, expected); rows that miss it are not measured (for example ``"file.py:fn>=0.9", or
            (my_function, ">=0.9")``).
        cpus: Processors for the backends to use (for example ``[0, 1], or "0-3,8"``; default: all available).
        set: Set an option of a backend (for example ``{"ort": {"dynamic_block_base": 4}}``).
        io: What is timed: copy includes copying inputs and outputs, bound does not (for example ``"copy" or "bound"``;
            default: copy).
        tail: Also measure p99, from 1,000 consecutive calls per launch; p99.9 takes 5 launches or more.
        sustain: Also run each row alone for this long in every launch (for example ``"90s", or 90``; default: off).
        energy: Also measure joules per inference and watts, of each row alone: for 3s in every launch without
            ``sustain``.
        deadline: Time limit for one step of a backend, after which it counts as failed (for example ``"90s", or 90``;
            default: 300s, or with ``budget`` half of what is left if that is less, at least 30s).
        warmup: How long each row warms up in every launch: a time (2s), or a number of calls (500) (for example ``"2s",
            or 500 for calls``; default: until calls get no faster).
        no_lock: Measure even if another irbench is measuring on this machine.
        name: Name the run, for irbench show NAME (for example ``"before"``).
        note: Store a note with the run (for example ``"without the patch"``).
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
    """

    limit: str | float | None
    fail_on: str | Iterable[str] | None
    budget: str | float | timedelta | None
    backends: str | Iterable[str] | None
    batch: str | int | Iterable[int] | None
    streams: str | int | Iterable[int] | None
    threads: str | int | Iterable[int | str] | None
    precision: str | Iterable[str] | None
    optimize: str | Iterable[str] | None
    imports: str | Iterable[str] | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    generate: str | int | None
    prompt: str | int | Iterable[int] | None
    seed: int | None
    allow_own_code: bool | None
    cells: OwnCells | None
    instances: str | int | Iterable[int] | None
    min_accuracy: str | float | None
    classes: str | Iterable[str] | None
    metric: OwnMetric | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    io: Literal["copy", "bound"] | None
    tail: bool | None
    sustain: str | float | timedelta | None
    energy: bool | None
    deadline: str | float | timedelta | None
    warmup: str | int | timedelta | None
    no_lock: bool | None
    name: str | None
    note: str | None
    results: str | PathLike[str] | None
