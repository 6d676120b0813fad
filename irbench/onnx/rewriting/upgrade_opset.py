"""Move a model to a later version of ONNX's operator set."""

from __future__ import annotations

from irbench.errors import IrbenchError, first_line
from irbench.onnx.rewriting.detached_weights import (
    DetachedModel,
    detach,
    opset_of,
    skeleton,
)
from irbench.onnx.rewriting.fourier_axes import transform_along_axis_1

_WEIGHTS_ARE_NO_INPUTS = 4
"""The version of the format from which on they need not be; the converter misses them in older ones."""
_DFT_TAKES_ITS_AXIS = 20
"""The operator set from which on the axis of DFT is an input. OpenVINO 2026.4 ignores that and transforms axis 1."""


class CannotUpgrade(IrbenchError):
    """ONNX's converter cannot move a model to a later operator set.

    Args:
        before: The model's operator set.
        opset: The one that was wanted.
        reason: What the converter reports.
    """

    def __init__(self, before: int, opset: int, reason: str) -> None:
        super().__init__(
            f"The model cannot be converted from opset {before} to {opset}: {reason}.",
            hint=f"Use --opset {before}.",
        )
        self.reason = reason


def upgrade_opset(detached: DetachedModel, opset: int) -> bool:
    """Convert the model with ONNX's own version converter; the weights are not passed through it.

    Raises:
        CannotUpgrade: The converter has no adapter for one of the model's operations.
    """
    from onnx import helper, version_converter

    before = opset_of(detached.model)
    if opset <= before:
        return False
    names = [tensor.name for tensor in detached.model.graph.input]
    small = skeleton(detached)
    small.ir_version = max(small.ir_version, _WEIGHTS_ARE_NO_INPUTS)
    if before < _DFT_TAKES_ITS_AXIS <= opset:
        transform_along_axis_1(small)
    try:
        converted = version_converter.convert_version(small, opset)
        converted.ir_version = helper.find_min_ir_version_for(list(converted.opset_import), ignore_unknown=True)
    except Exception as error:
        raise CannotUpgrade(before, opset, first_line(error)) from error
    upgraded = detach(converted, {name: value for name, value in detached.weights.items() if name not in names})
    detached.model, detached.weights = upgraded.model, {**detached.weights, **upgraded.weights}
    return True
