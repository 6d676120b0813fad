"""``irbench.cost``: what one inference of a graph costs, from its shapes."""

from __future__ import annotations

from os import PathLike
from typing import Unpack

from irbench.features.cost.keywords import CostKeywords
from irbench.features.cost.options import COST
from irbench.features.cost.report import GraphCost
from irbench.options.option import names_keywords
from irbench.requests.graph_files import find_graph


@names_keywords(COST)
def cost(model: str | PathLike[str], **options: Unpack[CostKeywords]) -> GraphCost:
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
    return GraphCost(find_graph(str(model)), COST.from_keywords(options))
