"""What is asked: tensors, artifacts, bundles, inputs, loads, cells and groups, as immutable values."""

from irbench.spec.cells import AGAIN, Cell, Group, Io, Load, Precision
from irbench.spec.feeding import Feeding, Number
from irbench.spec.models import Artifact, Bundle, Disagreement
from irbench.spec.tensors import BATCH, InputSpec, Scalar, Shape, TensorSpec
from irbench.spec.timing import Timing

__all__ = [
    "AGAIN",
    "BATCH",
    "Artifact",
    "Bundle",
    "Cell",
    "Disagreement",
    "Feeding",
    "Group",
    "InputSpec",
    "Io",
    "Load",
    "Number",
    "Precision",
    "Scalar",
    "Shape",
    "TensorSpec",
    "Timing",
]
