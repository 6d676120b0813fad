"""What the optimiser did to a graph, and what that costs: stored with the graph, and shown from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from irbench.record import OutputError

__all__ = ["Agreement", "GraphStep", "Obstacle", "OptimizerActivity"]


@dataclass(frozen=True)
class Obstacle:
    """Why a pass could do nothing, where that is not for want of anything to do.

    Attributes:
        code: ``opset-too-low`` for the pass, or the operator set could not be raised.
        opset: The least that the pass needs, or the one that stays.
        reason: What kept it from being raised, as the converter or the check reported it; empty otherwise.
    """

    code: Literal["opset-too-low", "opset-not-raised"]
    opset: int
    reason: str = ""


@dataclass(frozen=True)
class GraphStep:
    """What one pass of the optimiser did to a graph.

    Attributes:
        name: The pass; ``original`` is the graph as it came, ``raise_opset`` its move to a later operator set.
        modified: Whether it changed anything.
        operators: Number of nodes of each operator after it.
        max_rel_error: Largest difference of an output from the original graph's, relative to the largest output;
            ``None`` where nothing was changed.
        vendor: Domain of operators that the pass wrote and ONNX does not define.
        obstacle: Why it could do nothing; ``None`` where it could, or there was nothing to do.
    """

    name: str
    modified: bool
    operators: Mapping[str, int] = field(default_factory=dict[str, int])
    max_rel_error: float | None = None
    vendor: str | None = None
    obstacle: Obstacle | None = None

    @property
    def nodes(self) -> int:
        """Number of nodes after it."""
        return sum(self.operators.values())


@dataclass(frozen=True)
class OptimizerActivity:
    """What an optimisation does now; ``irbench.render.optimize`` turns it into words.

    Attributes:
        code: What it is; ``reference-outputs`` computes those of the original graph.
        name: The pass, the operator set or the precision; empty where there is none.
        model: The model that is optimised.
    """

    code: Literal["start", "reference-outputs", "raise-opset", "pass", "convert"]
    name: str = ""
    model: str = ""


@dataclass(frozen=True)
class Agreement:
    """What a graph in another precision costs beside the same graph in fp32.

    Attributes:
        samples: How many different inputs both answered.
        by: The backend that computed the converted graph's answers.
        error: How far these are from those in fp32: the worst over all inputs, top-1 agreement their mean.
        degenerate: Whether every answer in fp32 is all zero, constant or tiny, so that nearly any would agree.
    """

    samples: int
    by: str
    error: OutputError
    degenerate: bool = False
