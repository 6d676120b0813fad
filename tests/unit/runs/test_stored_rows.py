"""A row of a stored run is found by a name that no other row of the run has."""

from __future__ import annotations

import pytest
from documents import cell, document, group

from irbench.errors import IrbenchError
from irbench.runs.stored_rows import find_row


def test_rows_of_several_shapes_are_told_apart_by_them() -> None:
    tables = [group(cell("ort"), cell("openvino"), shapes={"tokens": (1, length)}) for length in (16, 64)]
    found = document(*tables)
    assert find_row(found, "ort 1x64").table.shapes == {"tokens": (1, 64)}
    with pytest.raises(IrbenchError, match="2 rows are called ort") as refused:
        find_row(found, "ort")
    assert "ort 1x16, ort 1x64" in refused.value.hint


def test_shapes_are_not_named_where_the_batch_tells_rows_apart() -> None:
    tables = [group(cell("ort", batch=batch), batch=batch, shapes={"tokens": (batch, 16)}) for batch in (1, 4)]
    assert find_row(document(*tables), "ort batch 4").table.batch == 4
