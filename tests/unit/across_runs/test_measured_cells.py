"""Which rows of different runs are the same cell."""

from __future__ import annotations

from dataclasses import replace

import pytest
from documents import cell, group

from irbench.across_runs.measured_cells import MeasuredGraph, is_another_graph, key_names, key_of
from irbench.core.row import Generated, Spans
from irbench.notices.notes import BusyNeighbour
from irbench.spec import GraphFiles


def test_a_row_beside_a_busy_neighbour_is_another_cell_than_one_without():
    row = cell("ort")
    alone = key_of(group(row), row)
    beside = key_of(group(row, notes=(BusyNeighbour(processors=(1,)),)), row)
    assert alone != beside
    assert key_names([alone, beside]) == {alone: "ort", beside: "ort beside a busy neighbour"}


def test_generations_of_other_lengths_are_other_cells_also_where_a_row_failed():
    tokens = Spans(1.0)
    short, long = (replace(cell("ort"), generation=Generated(count, 8, tokens, tokens, tokens)) for count in (32, 64))
    broken = replace(cell("openvino"), state="failed")
    keys = [key_of(group(row, broken), row) for row in (short, long)]
    assert key_names(keys) == {keys[0]: "ort 32 tokens", keys[1]: "ort 64 tokens"}
    assert key_of(group(short, broken), broken).new_tokens == 32


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
