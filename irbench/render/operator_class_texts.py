"""Classes of operators in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from irbench.onnx.operator_classes import OperatorClass


class ClassText(NamedTuple):
    """What a class of operators is called.

    Attributes:
        heading: In tables.
        phrase: In sentences, after "in".
    """

    heading: str
    phrase: str


OPERATOR_CLASS_TEXTS: Mapping[OperatorClass, ClassText] = {
    OperatorClass.MATRIX: ClassText("matrix, conv", "matrix products and convolutions"),
    OperatorClass.RECURRENT: ClassText("recurrent", "recurrent layers"),
    OperatorClass.NORMALISATION: ClassText("normalisation", "normalisation"),
    OperatorClass.ELEMENTWISE: ClassText("elementwise", "elementwise operators"),
    OperatorClass.REDUCTION: ClassText("pool, reduce", "pooling and reductions"),
    OperatorClass.MOVEMENT: ClassText("data movement", "data movement"),
    OperatorClass.CONTROL_FLOW: ClassText("control flow", "control flow"),
    OperatorClass.OTHER: ClassText("other", "other operators"),
    OperatorClass.OVERHEAD: ClassText("runtime's own", "the runtime's own work"),
}
