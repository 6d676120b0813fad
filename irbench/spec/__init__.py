"""What is asked: tensors, artifacts, bundles, loads, cells and groups, as immutable values."""

from irbench.spec.cells import AGAIN, Cell, Group, Io, Load, Precision
from irbench.spec.dimensions import names_in, renamed, shape_text, size_of
from irbench.spec.models import Artifact, Bundle, Disagreement
from irbench.spec.tensors import BATCH, BATCH_IN_FILE, InputSpec, Scalar, Shape, TensorSpec
from irbench.spec.timing import Timing

__all__ = [
    "AGAIN",
    "BATCH",
    "BATCH_IN_FILE",
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
    "TensorSpec",
    "Timing",
    "names_in",
    "renamed",
    "shape_text",
    "size_of",
]
