"""What the optimiser's worker is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from irbench.optimizer.recipe import Recipe
from irbench.record import Agreement, GraphStep
from irbench.spec import Artifact, Bundle

__all__ = ["RESULT", "OptimizerAnswer", "Task"]

RESULT = "model.onnx"


@dataclass(frozen=True)
class Task:
    """What is to be done to which graph.

    Attributes:
        artifact: The graph, its shapes bound as far as they shall be.
        bundle: The model; its inputs are what outputs are compared on.
        sizes: A size for every free dimension, for the comparison.
        recipe: The passes, and what the graph is converted to after them.
        folder: Where the result is written, an empty folder.
        reference: The backend that answers for the graph before and after each pass.
        quantizer: What a conversion to int8 is done by; only that needs one.
    """

    artifact: Artifact
    bundle: Bundle
    sizes: Mapping[str, int]
    recipe: Recipe
    folder: Path
    reference: str
    quantizer: str | None = None


@dataclass(frozen=True)
class OptimizerAnswer:
    """What was done.

    Attributes:
        steps: The graph as it came, then a step for each pass and for the conversion.
        turned: Names of the inputs that the graph takes as NCHW since.
        agreement: What the conversion costs; ``None`` without one.
    """

    steps: tuple[GraphStep, ...]
    turned: tuple[str, ...] = ()
    agreement: Agreement | None = None
