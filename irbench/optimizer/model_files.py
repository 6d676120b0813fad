"""Read and write the model files of the optimiser."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.graph_record import GraphStep
from irbench.onnx.reading import external_data
from irbench.system.locks import temporary_folder

if TYPE_CHECKING:
    import onnx_ir

MAX_BYTES = 2_000_000_000
"""Of weights within a file: a protobuf message holds 2 GiB, the graph included."""

_STANDARD = ("", "ai.onnx", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview.training")


def load(path: Path) -> onnx_ir.Model:
    """Return the model of a file in the form that passes expect.

    Weights are in memory and are not inputs of the graph; ONNX's own operator set is called ``""``.
    """
    import onnx_ir
    from onnx_ir.passes import common

    model = onnx_ir.from_proto(external_data.load(path))
    imports = model.graph.opset_imports
    if "ai.onnx" in imports:
        imports[""] = imports.pop("ai.onnx")
    if common.RemoveInitializersFromInputsPass()(model).modified:
        model.ir_version = max(model.ir_version or 0, 4)  # from which on weights need not be inputs
    return model


def write(model: onnx_ir.Model, path: Path) -> None:
    """Write the model; weights go to a file beside it where a protobuf message could not hold them."""
    import onnx_ir

    large = _weights_bytes(model) >= MAX_BYTES
    onnx_ir.save(model, path, external_data=weights_beside(path).name if large else None)


def step_of(name: str, model: onnx_ir.Model, *, modified: bool = False) -> GraphStep:
    """Return a step after which the graph is that of ``model``, with the operators that it has then."""
    operators = Counter(
        f"{node.domain}.{node.op_type}" if node.domain else node.op_type for node in model.graph.all_nodes()
    )
    return GraphStep(name, modified, dict(sorted(operators.items())))


def weights_beside(path: Path) -> Path:
    """Return where the weights of a model lie that :func:`write` kept out of its file."""
    return path.with_name(f"{path.name}.data")


def copy_model(source: Path, target: Path) -> None:
    """Copy what :func:`write` wrote, weights that lie beside it included, under another name.

    Raises:
        OSError: The target cannot be written; what stood there before still does.
    """
    with temporary_folder(target.parent, f".{target.name}-") as folder:
        unfinished = folder / target.name  # the graph names its weights by the name that they keep
        if weights_beside(source).is_file():
            write(load(source), unfinished)
            _replace_with_weights(unfinished, target)
        else:
            shutil.copyfile(source, unfinished)
            unfinished.replace(target)


def _replace_with_weights(unfinished: Path, target: Path) -> None:
    """Move a graph and its weights to their place; where the graph cannot be moved, the old weights come back."""
    weights, former = weights_beside(target), unfinished.with_name("former.data")
    if weights.is_file():
        weights.rename(former)
    try:
        weights_beside(unfinished).replace(weights)
        unfinished.replace(target)
    except BaseException:  # an interrupt as well
        if former.is_file():
            former.replace(weights)
        raise


def vendors_of(model: onnx_ir.Model) -> frozenset[str]:
    """Return the domains of operators that ONNX does not define, nor the model itself."""
    nodes = (node for node in model.graph.all_nodes() if node.op_identifier() not in model.functions)
    return frozenset(node.domain for node in nodes).difference(_STANDARD)


def _weights_bytes(model: onnx_ir.Model) -> int:
    constants = (value.const_value for value in model.graph.initializers.values())
    return sum(constant.nbytes for constant in constants if constant is not None)
