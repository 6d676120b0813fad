"""``irbench.inspect`` and ``irbench.diff``: the contents of ONNX graphs, and how two of them differ."""

from __future__ import annotations

from os import PathLike
from typing import Unpack

from irbench.features.inspect.keywords import InspectKeywords
from irbench.features.inspect.options import INSPECT
from irbench.features.inspect.report import GraphDifference, GraphInspection
from irbench.options.option import names_keywords
from irbench.requests.graph_files import find_graph


@names_keywords(INSPECT)
def inspect(model: str | PathLike[str], **options: Unpack[InspectKeywords]) -> GraphInspection:
    """Return what an ONNX graph holds: signature, multiply-accumulates, operators, weights and origin.

    Args:
        model: An exported bundle's name or folder, what it was exported from (``models.py:build``), or an ONNX
            file; ``resnet50+basic`` is what :func:`optimize` made of it, and ``resnet50+basic:batch=1`` what it made
            with that size bound.
        options: The sizes that it is shown at.

    Raises:
        IrbenchError: There is no such graph, several are meant, the file is damaged, or a shape does not fit.
    """
    return GraphInspection(find_graph(str(model)), INSPECT.from_keywords(options))


def diff(before: str | PathLike[str], after: str | PathLike[str]) -> GraphDifference:
    """Return what was done to one graph to make another; takes and raises what :func:`inspect` does."""
    return GraphDifference(inspect(before), inspect(after))
