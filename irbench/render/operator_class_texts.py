"""Classes of operators in words."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.onnx.operator_classes import OperatorClass

__all__ = ["OPERATOR_CLASS_TEXTS"]

OPERATOR_CLASS_TEXTS: Mapping[OperatorClass, str] = {
    OperatorClass.MATRIX: "matrix products and convolutions",
    OperatorClass.RECURRENT: "recurrent",
    OperatorClass.NORMALISATION: "normalisation",
    OperatorClass.ELEMENTWISE: "elementwise",
    OperatorClass.REDUCTION: "pooling and reductions",
    OperatorClass.MOVEMENT: "data movement and layout",
    OperatorClass.CONTROL_FLOW: "control flow",
    OperatorClass.OTHER: "other",
    OperatorClass.OVERHEAD: "framework overhead",
}
