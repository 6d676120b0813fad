"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.export.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, TypedDict

from irbench.options.input_request import Data


class ExportKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.export`; ``None`` is the default of each.

    Attributes:
        imports: Import MODULE before the model is loaded: it registers custom layers (for example ``["my_layers"]``).
        weights: Draw random weights, or load them from a file (for example ``"random", or a path``; default: the
            model's own).
        signature: Which function of a SavedModel to export (for example ``"serving_default"``; default:
            serving_default, or the only one).
        seed: Seed for random weights and for generated inputs (for example ``0``; default: 0).
        opset: ONNX operator set, 13 to 23 (for example ``18``; default: 18).
        batch: A fixed batch size, or a dynamic one (for example ``8``; default: dynamic).
        layout: Layout of image inputs in ONNX; most runtimes are faster with nchw (for example ``"keep" or "nchw"``;
            default: nchw).
        shape: Run the model with this shape of an input, or size of a dynamic dimension (sequence=64), and make it the
            default (for example ``{"tokens": (1, 128)}``).
        data: Samples, as irbench run takes them, on which outputs are compared with the original's as well (for example
            ``"speech/", or {"x": array}``).
        value: Constant for an input in that comparison (for example ``{"sr": 16000}``).
        deadline: Time limit for one step of an export, after which it counts as failed (for example ``"90s", or 90``;
            default: 1h, and 15m for comparing outputs).
        name: Name the bundle (one model only) (for example ``"resnet50_flowers"``; default: the model's own).
        force: Export again even if no change is seen, for example of a file that tf.io.read_file reads.
        output: Write the bundle to DIR (one model only) (for example ``"./data"``).
    """

    imports: str | Iterable[str] | None
    weights: str | PathLike[str] | None
    signature: str | None
    seed: int | None
    opset: str | int | None
    batch: int | None
    layout: Literal["keep", "nchw"] | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    deadline: str | float | timedelta | None
    name: str | None
    force: bool | None
    output: str | PathLike[str] | None
