"""The request to the optimiser's worker, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from irbench.graph_record import Agreement, GraphCheck, GraphStep
from irbench.optimizer.recipe import Recipe
from irbench.spec import Artifact, Bundle, Feeding

MODEL_FILE = "model.onnx"
"""The name of the optimised graph in its folder."""


@dataclass(frozen=True)
class OptimizationJob:
    """What is to be done to which graph.

    Attributes:
        artifact: The graph, its shapes bound as far as they shall be.
        bundle: The model; outputs are compared on its inputs.
        sizes: A size for every dynamic dimension, for the comparison.
        recipe: The passes, and what the graph is converted to after them.
        folder: Where the result is written, an empty folder.
        reference: The backend that answers for the graph before and after each pass.
        quantizer: The quantizer that converts to int8; only such a recipe needs one.
        feeding: The inputs of checks and calibration.
        left_out: Passes that are not applied, by the signal that ended the process which tried them.
        checks_all_after_each_pass: Whether each graph is compared on all inputs, not only the last one.
    """

    artifact: Artifact
    bundle: Bundle
    sizes: Mapping[str, int]
    recipe: Recipe
    folder: Path
    reference: str
    quantizer: str | None = None
    feeding: Feeding = field(default_factory=Feeding)
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    checks_all_after_each_pass: bool = False


@dataclass(frozen=True)
class OptimizationOutcome:
    """What was done.

    Attributes:
        steps: The original graph, then a step for each pass and for the conversion.
        nchw_inputs: Names of the inputs that the graph takes as NCHW since.
        agreement: What the conversion costs; ``None`` without one.
        refused: Why nothing was done, with a remedy: the reference cannot run the original graph.
        checked: On what the last graph before a conversion was compared with the original; ``None`` where it is that.
    """

    steps: tuple[GraphStep, ...]
    nchw_inputs: tuple[str, ...] = ()
    agreement: Agreement | None = None
    refused: tuple[str, str] | None = None
    checked: GraphCheck | None = None
