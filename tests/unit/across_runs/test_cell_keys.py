"""Which rows of different runs are the same cell."""

from __future__ import annotations

from documents import cell, group

from irbench.across_runs.measured_cells import key_names, key_of
from irbench.notices.notes import BusyNeighbour


def test_a_row_beside_a_busy_neighbour_is_another_cell_than_one_without():
    row = cell("ort")
    alone = key_of(group(row), row)
    beside = key_of(group(row, notes=(BusyNeighbour(processors=(1,)),)), row)
    assert alone != beside
    assert key_names([alone, beside]) == {alone: "ort", beside: "ort beside a busy neighbour"}
