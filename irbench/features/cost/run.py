"""``irbench.cost``: what one inference of a graph costs, from its shapes."""

from __future__ import annotations

from typing import Unpack

from irbench.api.loaded_models import Model
from irbench.features.cost.keywords import CostKeywords
from irbench.features.cost.options import COST
from irbench.features.cost.report import GraphCost
from irbench.options.option import names_keywords
from irbench.requests.loaded_graphs import graph_of


@names_keywords(COST)
def cost(model: Model, **options: Unpack[CostKeywords]) -> GraphCost:
    """Return what one inference costs: multiply-accumulates, operations, parameters, and bytes read and written.

    Without sizes, a graph with dynamic dimensions costs formulas in these.

    Args:
        model: An exported bundle's name or folder, what it was exported from (``models.py:build``), or an ONNX file;
            ``resnet50+basic`` is what :func:`optimize` made of it.
        options: The sizes that it is counted at.

    Raises:
        IrbenchError: There is no such graph, the file is damaged, a shape does not fit, or the counts follow no
            polynomial in the dimensions that have no size.
    """
    return GraphCost(graph_of(model), COST.from_keywords(options))
