"""Graphs that are written out: near-misses that no pattern has a choice for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

_HEADER = '<ir_version: 10, opset_import: ["" : 23, "com.microsoft" : 1, "own" : 1]> g'


@dataclass(frozen=True)
class Written:
    """A graph as text.

    Attributes:
        text: Its inputs, outputs and nodes, and functions behind it.
        arrays: Its constants by name.
    """

    text: str
    arrays: Mapping[str, Any]

    def content(self) -> bytes:
        """Return the graph."""
        model = onnx.parser.parse_model(f"{_HEADER} {self.text}")
        tensors = [numpy_helper.from_array(np.asarray(held), name) for name, held in self.arrays.items()]
        model.graph.initializer.extend(tensors)
        stated = list(model.graph.value_info)
        model = onnx.shape_inference.infer_shapes(model)
        if not model.functions:  # of which passes infer no shapes: they would refuse such graphs for that alone
            del model.graph.value_info[:]
            model.graph.value_info.extend(stated)
        for output in model.graph.output:
            for dim in output.type.tensor_type.shape.dim:
                if dim.dim_param.startswith("unk__"):
                    dim.Clear()
        onnx.checker.check_model(model, full_check=True)
        made: bytes = model.SerializeToString(deterministic=True)
        return made


WRITTEN: dict[str, dict[str, Written]] = {}
"""By the pass that they are near-misses of, and by what is wrong with them, once ``written_*`` are imported."""


def near_misses_of(name: str, shared: Mapping[str, Any]) -> Callable[..., None]:
    """Return what registers the near-misses of a pass.

    It is called with what is wrong, the inputs, the nodes, and the constants that are the graph's own; ``outputs`` are
    ``y`` where nothing else is said, ``function`` is one of the domain ``own``, and ``stated`` are values between of
    which the graph says the shapes.

    Args:
        name: The pass.
        shared: Constants that several of its graphs have, by name.
    """
    held = WRITTEN.setdefault(name, {})

    def near(
        wrong: str, inputs: str, nodes: str, outputs: str = "y", function: str = "", stated: str = "", **own: Any
    ) -> None:
        arrays = {**shared, **own}
        computed = set(re.findall(r"(\w+)\s*=", nodes)) | set(re.findall(r"\w+", inputs))
        used = set(re.findall(r"\w+", nodes)) & set(arrays) - computed
        function = f'<domain: "own", opset_import: ["" : 23]> {function}' if function else ""
        text = f"({inputs}) => ({outputs}) {f'<{stated}>' if stated else ''} {{ {nodes} }} {function}"
        held[wrong] = Written(text, {array: arrays[array] for array in sorted(used)})

    return near
