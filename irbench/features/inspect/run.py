"""``irbench.inspect`` and ``irbench.diff``: the contents of ONNX graphs, and how two of them differ."""

from __future__ import annotations

from typing import Unpack

from irbench.api.loaded_models import Model
from irbench.features.inspect.keywords import InspectKeywords
from irbench.features.inspect.options import INSPECT
from irbench.features.inspect.report import GraphDifference, GraphInspection
from irbench.options.option import names_keywords
from irbench.requests.loaded_graphs import graph_of


@names_keywords(INSPECT)
def inspect(model: Model, **options: Unpack[InspectKeywords]) -> GraphInspection:
    """Return what an ONNX graph holds: signature, multiply-accumulates, operators, weights and origin.

    Args:
        model: An exported bundle's name or folder, what it was exported from (``models.py:build``), or an ONNX
            file; ``resnet50+basic`` is what :func:`optimize` made of it, and ``resnet50+basic:batch=1`` what it made
            with that size bound.
        options: The sizes that it is shown at.

    Raises:
        IrbenchError: There is no such graph, several are meant, the file is damaged, or a shape does not fit.
    """
    return GraphInspection(graph_of(model), INSPECT.from_keywords(options))


def diff(before: Model, after: Model) -> GraphDifference:
    """Return what was done to one graph to make another; takes and raises what :func:`inspect` does."""
    return GraphDifference(inspect(before), inspect(after))
