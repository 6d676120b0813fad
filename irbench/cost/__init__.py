"""What a graph costs, from its shapes alone: multiply-accumulates, operations, parameters and bytes.

Weights are not read. ``docs/cost.md`` states the conventions.

- :mod:`irbench.cost.counting` counts at one size of the inputs.
- :mod:`irbench.cost.rules` has what each operator computes, :mod:`irbench.cost.moved_bytes` what it reads and writes.
"""

from __future__ import annotations

from irbench.cost.costs import CostSum, ModelCost, NodeCost, UncountedNode, UncountedReason
from irbench.cost.counting import model_cost

__all__ = ["CostSum", "ModelCost", "NodeCost", "UncountedNode", "UncountedReason", "model_cost"]
