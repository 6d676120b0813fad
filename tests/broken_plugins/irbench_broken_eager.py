"""A backend that imports its runtime when it is listed."""

import onnx.reference
from irbench_numpy import NumPyBackend

EVALUATOR = onnx.reference.ReferenceEvaluator


class Eager(NumPyBackend):
    name = "eager"


eager = Eager()
