"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.reduce.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, TypedDict

from irbench.options.input_request import Data


class ReduceKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.reduce`; ``None`` is the default of each.

    Attributes:
        expect: The difference to keep; also 'openvino wrong' and 'ort fails'. Without a number it is 1.2x (for example
            ``"ort slower than openvino by 1.5x"``).
        expect_wrong: The backend whose outputs are wrong (for example ``"ort"``).
        expect_failure: The backend that refuses the graph, or crashes (for example ``"ort"``).
        min_share: Least share of the slower backend's total loss that a part must show (for example ``"2%", or 0.02``;
            default: 1%).
        imports: Module to import before a model is exported, which registers custom layers (for example
            ``["my_layers"]``).
        batch: Batch size (for example ``8``; default: 1, or the model's own).
        shape: Shape of an input, or size of a dynamic dimension: length=128; ``batch`` overrides its batch (for example
            ``{"tokens": (1, 128)}``).
        data: Sample that the inputs come from: a .npz, .npy or image file, or a data set (for example ``"speech/", or
            {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        seed: Seed for inputs and for the measurement order (for example ``0``; default: 0).
        precision: fp32, bf16, fp16, int8, or native (the runtime's default) (for example ``"fp32"``; default: fp32, or
            that of the graph).
        threads: Threads per process in total, or native: each runtime's default (for example ``4, or "native"``;
            default: the available physical cores).
        cpus: Processors for the backends to use (for example ``[0, 1], or "0-3,8"``; default: all available).
        set: Set an option of a backend (for example ``{"ort": {"dynamic_block_base": 4}}``).
        io: What is timed: copy includes copying inputs and outputs, bound does not (for example ``"copy" or "bound"``;
            default: copy).
        budget: Time limit for the whole search (for example ``"90s", or 90``; default: 10m).
        deadline: Time limit for one step of a backend, after which it counts as failed (for example ``"90s", or 90``;
            default: 300s, or with ``budget`` half of what is left if that is less, at least 30s).
        output: Folder for reduced.onnx, inputs.npz, expected.npz and report.md (for example ``"./data"``; default:
            MODEL-reduced).
        no_lock: Measure even if another irbench is measuring on this machine.
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
    """

    expect: str | None
    expect_wrong: str | None
    expect_failure: str | None
    min_share: str | float | None
    imports: str | Iterable[str] | None
    batch: str | int | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    seed: int | None
    precision: str | None
    threads: str | int | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    io: Literal["copy", "bound"] | None
    budget: str | float | timedelta | None
    deadline: str | float | timedelta | None
    output: str | PathLike[str] | None
    no_lock: bool | None
    results: str | PathLike[str] | None
