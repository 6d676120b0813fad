"""From a program to ONNX: the exporter that reads it, and the older one that traces where that one fails."""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Mapping
from pathlib import Path

import onnx
import torch
from torch.export import ExportedProgram

from irbench.errors import IrbenchError, first_line
from irbench.spec import Scalar
from irbench.spec.tensors import renamed
from irbench_torch.sources import Loaded
from irbench_torch.tracing import Traced

_OLDEST, _NEWEST_TRACED = 18, 20
"""The first operator set that the exporter writes, and the last that the older one does."""
_LINES = re.compile(r'File "(.+)", line (\d+), in .*\n(.*)')
_FAILURES = (RuntimeError, ValueError, TypeError, NotImplementedError)
"""How exporters fail: ``torch.onnx.OnnxExporterError`` is the first of them."""
_OTHERWISE = "Write that part with other operations. Nothing was kept."
_LARGEST_FILE = 1_800_000_000
"""Bytes of weights that fit into one file of protobuf, with room for the graph."""


def write_onnx(traced: Traced, loaded: Loaded, path: Path, opset: int) -> tuple[onnx.ModelProto, Mapping[str, Scalar]]:
    """Write a program as ONNX, and return the model and how it was made.

    Raises:
        IrbenchError: No exporter can; names the first operator that is not supported, and the line it comes from.
    """
    weights = sum(tensor.numel() * tensor.element_size() for tensor in traced.program.state_dict.values())
    outputs = [spec.name for spec in traced.outputs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            written = torch.onnx.export(
                traced.program, dynamo=True, opset_version=max(opset, _OLDEST), output_names=outputs, verbose=False
            )
            assert written is not None
            written.save(path, external_data=weights > _LARGEST_FILE)
            facts: dict[str, Scalar] = {"onnx_exporter": "dynamo"}
        except _FAILURES as error:
            try:
                _trace_onnx(traced, loaded, path, min(opset, _NEWEST_TRACED))
            except _FAILURES:
                raise _not_converted(loaded.name, error) from error
            facts = {"onnx_exporter": "torchscript", "dynamo_failed": first_line(error)}
    model = onnx.load(path, load_external_data=False)
    names = [value.name for value in model.graph.input]
    if names != [spec.name for spec in traced.input_tensors]:
        raise IrbenchError(
            f"The ONNX model of {loaded.name} has the inputs {', '.join(names)}, not those of the module.",
            hint="Remove inputs that the module does not use.",
        )
    _name_dimensions(model, traced)
    path.write_bytes(model.SerializeToString())
    return model, {**facts, "nodes": len(model.graph.node)}


def _trace_onnx(traced: Traced, loaded: Loaded, path: Path, opset: int) -> None:
    if isinstance(loaded.module, ExportedProgram):
        raise TypeError("a program cannot be traced again")
    specs = {spec.name: spec for spec in (*traced.input_tensors, *traced.outputs)}
    axes = {
        name: {axis: size for axis, size in enumerate(spec.shape) if isinstance(size, str)}
        for name, spec in specs.items()
    }
    torch.onnx.export(
        loaded.module.eval(),
        loaded.args,
        str(path),
        kwargs=dict(loaded.kwargs),
        dynamo=False,
        input_names=[spec.name for spec in traced.input_tensors],
        output_names=[spec.name for spec in traced.outputs],
        dynamic_axes={name: own for name, own in axes.items() if own},
        opset_version=opset,
    )


def _name_dimensions(model: onnx.ModelProto, traced: Traced) -> None:
    """Give dynamic dimensions the names that they have in irbench."""
    names: dict[str, str] = {}
    for values, specs in ((model.graph.input, traced.input_tensors), (model.graph.output, traced.outputs)):
        for value, spec in zip(values, specs, strict=True):
            for dimension, size in zip(value.type.tensor_type.shape.dim, spec.shape, strict=True):
                if isinstance(size, int):
                    dimension.dim_value = size
                    continue
                names.setdefault(dimension.dim_param, size)
                dimension.dim_param = size
    for value in model.graph.value_info:
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param:
                dimension.dim_param = str(renamed(dimension.dim_param, names))


def _not_converted(name: str, error: Exception) -> IrbenchError:
    """Return that a program cannot be converted: which operator is at fault, and the line of the user's code."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    node = _node_at_fault(error)
    if node is None:
        return IrbenchError(f"{name} cannot be converted to ONNX: {first_line(cause)}", hint=_OTHERWISE)
    lines = _LINES.findall(str(node.meta.get("stack_trace", "")))
    where = f" at {Path(lines[-1][0]).name}:{lines[-1][1]} ({lines[-1][2].strip()})" if lines else ""
    return IrbenchError(
        f"{name} cannot be converted to ONNX: {node.target}{where}: {first_line(cause)}", hint=_OTHERWISE
    )


def _node_at_fault(error: BaseException | None) -> torch.fx.Node | None:
    """Return the node that the exporter was translating when it failed; its errors have it in their frames alone."""
    while error is not None:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            node = frame.f_locals.get("node")
            if isinstance(node, torch.fx.Node):
                return node
        error = error.__cause__
    return None
