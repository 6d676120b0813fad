"""A graph is recognised by its digest, at its batch."""

from __future__ import annotations

import pytest

from irbench.across_runs.measured_cells import MeasuredGraph, is_another_graph
from irbench.spec import GraphFiles

SMALL, LARGE, OTHER = (GraphFiles(digest, 1000) for digest in ("aa", "bb", "cc"))
KNOWN = [MeasuredGraph("net", "onnx+extended", 1, SMALL), MeasuredGraph("net", "onnx+extended", 8, LARGE)]


@pytest.mark.parametrize(
    ("artifact", "batch", "files", "is_another"),
    [
        ("onnx+extended", 1, SMALL, False),
        ("onnx+extended", 8, LARGE, False),
        ("onnx+extended", 1, LARGE, True),
        ("onnx+extended", 8, OTHER, True),
        ("onnx+extended", 4, SMALL, True),
        ("onnx+extended", 8, None, True),
        ("onnx", 1, OTHER, False),
    ],
)
def test_a_graph_is_another_unless_it_was_measured_at_its_batch(
    artifact: str, batch: int, files: GraphFiles | None, is_another: bool
):
    assert is_another_graph(KNOWN, artifact, batch, files) is is_another
