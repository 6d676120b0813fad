"""The listing of runs fits the terminal and keeps its words whole."""

from __future__ import annotations

import pytest
from documents import RUN_ID, document, example
from rich.cells import cell_len

from irbench.render.run_listing import run_table
from irbench.store.entries import RunEntry
from irbench.store.outcomes import entry_of


def entries() -> list[RunEntry]:
    return [entry_of(document(example(), complete=False), "x"), entry_of(document(example()), "x")]


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_listing_fits_its_width_and_breaks_no_word(width: int):
    lines = [line.plain for line in run_table(entries()).as_lines(width)]
    assert max(map(cell_len, lines)) <= width
    whole = set(" ".join(line.plain for line in run_table(entries()).as_lines(1000)).split())
    assert set(" ".join(lines).split()) <= whole
    assert sum(RUN_ID in line for line in lines) == 2


def test_what_has_no_room_is_named():
    table = run_table(entries())
    assert table.left_out(60) == ("when (UTC)", "launches", "rows")
    assert not table.left_out(200)


def test_what_came_of_a_run_stands_at_the_end_of_its_line():
    _, broken, whole = (line.plain for line in run_table(entries()).as_lines(200))
    assert whole.endswith("openvino 1.14x ort")
    assert broken.endswith("openvino 1.14x ort (not complete)")
