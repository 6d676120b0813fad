"""Transformations of an ONNX graph, one per file.

Two families live here. What an exporter needs works on :class:`irbench.onnx.detached_weights.DetachedModel`, imports
nothing heavy and is called as a function: ``fold_constants``, ``fold_affine``, ``drop_unused``, ``upgrade_opset``. The
passes of the optimiser are :class:`Pass` instances on an ``onnx_ir.Model``, found by their entry point in the group
``irbench.passes``.

``onnx_ir.Model`` is the optimiser's one model type: it keeps weights where they are (in the file, memory-mapped,
until something reads them), knows the users of every value, and is what ``onnxscript.rewriter`` works on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import onnx_ir as ir

__all__ = ["Pass", "Rewrite"]


class Pass(Protocol):
    """What a pipeline of the optimiser is made of.

    A pass never changes what a graph computes beyond rounding, nor its signature. It states its rewrite rules,
    numbered, in the docstring of its module, and applies them until none fits. A pass that finds nothing to do, or
    whose precondition does not hold, leaves the graph alone and answers ``False``.
    """

    @property
    def name(self) -> str:
        """What ``--passes`` takes; also the name of its entry point and of its file."""
        ...

    @property
    def summary(self) -> str:
        """What it does, in a line."""
        ...

    @property
    def vendor(self) -> str | None:
        """Domain of the operators it may write that are not ONNX' own (``com.microsoft``); ``None`` if portable."""
        ...

    @property
    def opset(self) -> int:
        """Least version of ONNX' operator set that it needs; below that it changes nothing."""
        ...

    def __call__(self, model: ir.Model, /) -> bool:
        """Rewrite ``model`` in place and say whether anything changed."""
        ...


@dataclass(frozen=True)
class Rewrite:
    """A pass made of a function.

    Attributes:
        name: See :class:`Pass`.
        summary: See :class:`Pass`.
        apply: The rewrite itself, ``apply(model) -> whether it changed something``.
        opset: See :class:`Pass`; 13 is the least that irbench reads as it is.
        vendor: See :class:`Pass`.
    """

    name: str
    summary: str
    apply: Callable[[ir.Model], bool]
    opset: int = 13
    vendor: str | None = None

    def __call__(self, model: ir.Model, /) -> bool:
        """Apply the rewrite if the model's operator set is recent enough."""
        return model.graph.opset_imports.get("", 0) >= self.opset and self.apply(model)
