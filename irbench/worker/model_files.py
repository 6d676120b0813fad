"""Questions of the coordinator about ONNX files of unknown origin, each answered by a process that can harm nobody.

Code that runs in a worker asks :mod:`irbench.onnx.reading` itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.errors import IrbenchError
from irbench.onnx.reading.external_data import size_of_file
from irbench.onnx.rewriting.bind import bind
from irbench.spec import Artifact, TensorSpec
from irbench.worker.file_reader import other_answer, read_file

if TYPE_CHECKING:
    from irbench.cost_model import ModelCost
    from irbench.cost_model.formulas import ModelFormulas, NoFormulas
    from irbench.onnx.reading.inventory import Inventory
    from irbench.onnx.reading.precision import GraphPrecision
    from irbench.onnx.reading.signature import Signature
    from irbench.onnx.reading.value_shapes import ValueShape
    from irbench.onnx.rewriting.bind import BoundCopy

_CHECK_DEADLINE_S = 300.0
_COUNT_DEADLINE_S = 300.0
"""Formulas of a graph that is as large as irbench reads any are counted at many sizes."""
_SHAPES = ("onnx", "onnx.shape_inference", "irbench.onnx.contributed")


def examine_file(path: Path) -> tuple[Signature, int]:
    """Return what :func:`irbench.onnx.reading.check.examine` does; raises as it and :func:`read_file` do."""
    from irbench.onnx.reading.signature import Signature

    target, imports, returns = "irbench.onnx.reading.check:examine", (*_SHAPES, "onnx.checker"), tuple[Signature, int]
    found: tuple[Signature, int] = read_file(
        target, path, returns=returns, imports=imports, deadline_s=_CHECK_DEADLINE_S
    )
    return found


def read_signature(path: Path, every_output: bool = True) -> Signature:
    """Return inputs, outputs and operator set of a file.

    Args:
        path: The file.
        every_output: Whether an output of unknown rank is refused, or left out.

    Raises:
        IrbenchError: As :func:`read_file`, or irbench cannot feed such a graph.
    """
    from irbench.onnx.reading.signature import Signature

    target = "irbench.onnx.reading.signature:read"
    found: Signature = read_file(target, path, every_output, returns=Signature, imports=_SHAPES)
    return found


def read_inventory(path: Path) -> Inventory:
    """Return nodes and weights of a file; raises as :func:`read_file` does."""
    from irbench.onnx.reading.inventory import Inventory

    found: Inventory = read_file("irbench.onnx.reading.inventory:take_inventory", path, returns=Inventory)
    return found


def read_graph_precision(path: Path) -> GraphPrecision:
    """Return the precisions that a file holds; raises as :func:`read_file` does."""
    from irbench.onnx.reading.precision import GraphPrecision

    target = "irbench.onnx.reading.precision:read_precision"
    found: GraphPrecision = read_file(target, path, returns=GraphPrecision)
    return found


def read_external_files(path: Path) -> tuple[str, ...]:
    """Return where a file keeps weights, relative to its folder, sorted: regular files below it, without links.

    Raises:
        IrbenchError: As :func:`read_file`, or as :func:`irbench.onnx.reading.external_data.size_of_file`.
    """
    target = "irbench.onnx.reading.external_data:files_of_model"
    found: tuple[str, ...] = read_file(target, path, returns=tuple[str, ...])
    for location in found:
        size_of_file(path.parent, location)
    return found


def require_sound_weights(path: Path) -> None:
    """Refuse a file whose weights in other files lie where they must not, or are too short.

    Raises:
        IrbenchError: As :func:`read_file`, or as :func:`irbench.onnx.reading.external_data.require_sound`.
    """
    read_file("irbench.onnx.reading.external_data:require_sound", path)


def problem_of_weights(path: Path) -> IrbenchError | None:
    """Return what :func:`require_sound_weights` would raise; ``None`` where it raises nothing."""
    try:
        require_sound_weights(path)
    except IrbenchError as error:
        return error
    return None


def bound_shapes(artifact: Artifact, sizes: Mapping[str, int], scratch: Path) -> Artifact:
    """Return what :func:`irbench.onnx.rewriting.bind.bind` does; raises as it and :func:`read_file` do."""
    return bind(artifact, sizes, scratch, _plan)


def read_cost(path: Path, inputs: Sequence[TensorSpec]) -> ModelCost:
    """Return the cost of a graph for inputs of these shapes; raises as :func:`read_file` does."""
    from irbench.cost_model import ModelCost

    target = "irbench.cost_model.counting:cost_of_file"
    found: ModelCost = read_file(
        target, path, tuple(inputs), returns=ModelCost, imports=_SHAPES, deadline_s=_COUNT_DEADLINE_S
    )
    return found


def read_formulas(path: Path, inputs: Sequence[TensorSpec]) -> ModelFormulas | NoFormulas:
    """Return the cost as formulas in the dimensions that have no size; raises as :func:`read_file` does."""
    from irbench.cost_model.formulas import ModelFormulas, NoFormulas

    target, returns = "irbench.cost_model.formulas:formulas_of_file", tuple[ModelFormulas | None, NoFormulas | None]
    found: tuple[ModelFormulas | None, NoFormulas | None] = read_file(
        target, path, tuple(inputs), returns=returns, imports=_SHAPES, deadline_s=_COUNT_DEADLINE_S
    )
    formulas = found[0] or found[1]
    if formulas is None:
        raise other_answer(path)
    return formulas


def read_value_shapes(path: Path, inputs: Sequence[TensorSpec]) -> tuple[ValueShape, ...]:
    """Return the shapes of all values for inputs of these shapes; raises as :func:`read_file` does."""
    from irbench.onnx.reading.value_shapes import ValueShape

    target, returns = "irbench.onnx.reading.value_shapes:shapes_of_file", tuple[ValueShape, ...]
    found: tuple[ValueShape, ...] = read_file(target, path, tuple(inputs), returns=returns, imports=_SHAPES)
    return found


def _plan(path: Path, bound: Artifact) -> BoundCopy:
    from irbench.onnx.rewriting.bind import BoundCopy

    target = "irbench.onnx.rewriting.bind:plan_copy"
    found: BoundCopy = read_file(target, path, bound, returns=BoundCopy)
    return found
