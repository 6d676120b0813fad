"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.profile.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, TypedDict

from irbench.options.input_request import Data


class ProfileKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.profile`; ``None`` is the default of each.

    Attributes:
        backends: Backends to profile, with an optional device: ort:cuda (for example ``["ort", "openvino:gpu"]``;
            default: all installed that can read the model).
        compare: Profile each backend at two optimisation levels, and show what changed; graph is the exported graph
            (for example ``"graph+extended"``).
        batch: Samples per call (for example ``8``; default: 1, or the model's own).
        optimize: Optimisation level of the graph (for example ``"extended"``; default: none).
        shape: Shape of an input, or size of a dynamic dimension: length=128; ``batch`` overrides its batch (for example
            ``{"tokens": (1, 128)}``).
        data: Samples that take turns as inputs, one in each call unless ``batch`` joins them: a folder of .npz, .npy,
            images or data sets, or one file (for example ``"speech/", or {"x": array}``).
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
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
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
