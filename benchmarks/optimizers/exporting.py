"""A PyTorch model as an ONNX file: ``python -m benchmarks.optimizers.exporting MODEL EXPORTER FILE``.

Runs in the environment of ``requirements-optimizers.lock``.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import onnx
import torch

from benchmarks.optimizers.models import Example, build
from benchmarks.optimizers.written_graphs import finish

_OPSET = 17
"""Of the older exporter, which knows hardly any later operator; the newer one chooses its own."""


def export(model: str, exporter: str, path: str) -> None:
    """Write a model with every dynamic dimension that it has."""
    example = build(model)
    named: dict[str, Any] = {"input_names": list(example.inputs), "output_names": list(example.outputs)}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about deprecations of the older exporter, and traced Python
        if exporter == "dynamo":
            torch.onnx.export(
                example.model, _arguments(example), path, **named, dynamo=True, external_data=False,
                dynamic_shapes=_shapes(example),
            )  # fmt: skip
        else:
            torch.onnx.export(
                example.model, _arguments(example), path, **named, dynamo=False, opset_version=_OPSET,
                dynamic_axes={**example.axes, **{name: {0: "batch"} for name in example.outputs}},
            )  # fmt: skip
    written = onnx.load(path)
    finish(written, example.axes)
    onnx.save(written, path)


def _arguments(example: Example) -> tuple[Any, ...]:
    return tuple(example.inputs.values())


def _shapes(example: Example) -> tuple[Any, ...]:
    shapes = tuple({axis: _dimension(name) for axis, name in example.axes[key].items()} for key in example.inputs)
    return (*shapes[:2], shapes[2:]) if len(shapes) > 2 else shapes if _is_plain(example) else (shapes,)


def _dimension(name: str) -> Any:
    return torch.export.Dim.AUTO if name == "total" else torch.export.Dim(name)


def _is_plain(example: Example) -> bool:
    """Whether the model names its inputs; where it takes any number of them, their shapes are one tuple."""
    return type(example.model).__name__ != "_First"


if __name__ == "__main__":
    export(*sys.argv[1:])
