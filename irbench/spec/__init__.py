"""What is asked: tensors, artifacts, bundles, inputs, loads, cells and groups, as immutable values."""

from irbench.spec.accuracy import Accuracy, AccuracyLimit, Bound
from irbench.spec.cells import AGAIN, Cell, Goal, Group, Io, Load, Objective, Precision, Workload, objective_of
from irbench.spec.dimensions import names_in, renamed, shape_text, size_of
from irbench.spec.feeding import DISTRIBUTIONS, Distribution, Feeding, Number
from irbench.spec.models import Artifact, Bundle, Disagreement, GraphFiles
from irbench.spec.programs import Program
from irbench.spec.python_environments import PythonEnvironment
from irbench.spec.soak import SoakPlan
from irbench.spec.tensors import (
    BATCH,
    BATCH_IN_FILE,
    RANDOM_DRAWS,
    InputSpec,
    Scalar,
    Shape,
    TensorSpec,
    is_named_as_mask,
)
from irbench.spec.timing import Deadline, Timing, WarmUpLength
from irbench.spec.work import InferenceWork, Roof

__all__ = [
    "AGAIN",
    "BATCH",
    "BATCH_IN_FILE",
    "DISTRIBUTIONS",
    "RANDOM_DRAWS",
    "Accuracy",
    "AccuracyLimit",
    "Artifact",
    "Bound",
    "Bundle",
    "Cell",
    "Deadline",
    "Disagreement",
    "Distribution",
    "Feeding",
    "Goal",
    "GraphFiles",
    "Group",
    "InferenceWork",
    "InputSpec",
    "Io",
    "Load",
    "Number",
    "Objective",
    "Precision",
    "Program",
    "PythonEnvironment",
    "Roof",
    "Scalar",
    "Shape",
    "SoakPlan",
    "TensorSpec",
    "Timing",
    "WarmUpLength",
    "Workload",
    "is_named_as_mask",
    "names_in",
    "objective_of",
    "renamed",
    "shape_text",
    "size_of",
]
