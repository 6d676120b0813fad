"""What is asked: tensors, artifacts, bundles, loads, cells and groups, as immutable values."""

from irbench.spec.cells import AGAIN, Cell, Group, Io, Load, Precision
from irbench.spec.models import Artifact, Bundle, Disagreement
from irbench.spec.soak import SoakPlan
from irbench.spec.tensors import BATCH, InputSpec, Scalar, Shape, TensorSpec
from irbench.spec.timing import Timing

__all__ = [
    "AGAIN",
    "BATCH",
    "Artifact",
    "Bundle",
    "Cell",
    "Disagreement",
    "Group",
    "InputSpec",
    "Io",
    "Load",
    "Precision",
    "Scalar",
    "Shape",
    "SoakPlan",
    "TensorSpec",
    "Timing",
]
