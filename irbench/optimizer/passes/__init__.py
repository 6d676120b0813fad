"""The passes of the optimiser, one per file, and :class:`Rewrite`, which makes a pass of a function.

Each pass is an :class:`irbench.spi.Pass`, found by its entry point in the group ``irbench.passes``. It works on an
``onnx_ir.Model``, the optimiser's one model type: weights stay in the file, memory-mapped, until something reads them,
every value knows its readers, and ``onnxscript.rewriter`` works on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx_ir as ir

__all__ = ["Rewrite"]


@dataclass(frozen=True)
class Rewrite:
    """A pass made of a function.

    Attributes:
        apply: The rewrite itself, ``apply(model) -> whether it changed something``.
    """

    name: str
    summary: str
    apply: Callable[[ir.Model], bool]
    opset: int = 13
    vendor: str | None = None

    def __call__(self, model: ir.Model, /) -> bool:
        """Apply the rewrite if the model's operator set is recent enough; outputs keep their types and shapes."""
        if model.graph.opset_imports.get("", 0) < self.opset:
            return False
        described = [(value.type, value.shape) for value in model.graph.outputs]
        changed = self.apply(model)
        for value, (value_type, shape) in zip(model.graph.outputs, described, strict=True):
            value.type, value.shape = value_type, shape
        return changed
