"""A backend that imports its runtime when it is listed."""

from dataclasses import replace

import onnx.reference
from irbench_numpy import NumPyBackend

EVALUATOR = onnx.reference.ReferenceEvaluator


class Eager(NumPyBackend):
    name = "eager"

    def describe(self):
        return replace(super().describe(), name=self.name)


eager = Eager()
