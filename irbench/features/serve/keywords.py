"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.serve.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, TypedDict

from irbench.options.input_request import Data
from irbench.options.own_code import OwnCells


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
