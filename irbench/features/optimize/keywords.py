"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.optimize.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Literal, TypedDict

from irbench.options.input_request import Data


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
        imports: Module to import before a model is exported, which registers custom layers (for example
            ``["my_layers"]``).
        batch: Fix the batch size first; dynamic by default (for example ``8``).
        shape: Fix the shape of an input, or a dynamic dimension (length=128), first (for example ``{"tokens": (1,
            128)}``).
        data: Samples to check and calibrate on, as irbench run takes them; generated inputs by default (for example
            ``"speech/", or {"x": array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        classes: Outputs with a score for each class, whose top-1 agreement is measured (for example ``["label"]``;
            default: those that end in a softmax or have a Keras loss for classes, otherwise the only output).
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
    imports: str | Iterable[str] | None
    batch: str | int | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    classes: str | Iterable[str] | None
    distribution: Literal["uniform", "symmetric", "normal", "bytes"] | None
    output: str | PathLike[str] | None
