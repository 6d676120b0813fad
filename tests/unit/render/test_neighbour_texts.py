"""What a table says of neighbours in a sentence: how much slower its row is, and from which intensity on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from documents import cell, group, speedup

from irbench.core.row import CellResult, Verdict
from irbench.render.neighbour_texts import slowdowns_text
from irbench.spec import Neighbour


def beside(intensity: int, verdict: Verdict) -> CellResult:
    row = cell("ort", id=f"ort-{intensity}", speedup=speedup(0.8, 0.7, 0.9, verdict))
    return replace(row, requested=replace(row.requested, beside=Neighbour("l3", intensity=intensity)))


@pytest.mark.parametrize(
    ("verdicts", "since"),
    [
        (("same", "slower", "slower", "slower"), "from 25% on"),
        (("slower", "same", "slower", "slower"), "from 50% on"),
        (("faster", "same", "slower", "slower"), "from 50% on"),
        (("same", "slower", "slower", "same"), ""),
        (("same", "same", "same", "slower"), ""),
    ],
)
def test_it_is_slower_from_the_lowest_intensity_on_after_which_all_are(
    verdicts: tuple[Verdict, ...], since: str
) -> None:
    rows = [beside(*row) for row in zip((0, 25, 50, 100), verdicts, strict=True)]
    text = slowdowns_text(group(*rows, cell("ort")))
    assert "l3 100%" in text
    assert ("from" in text) == bool(since)
    assert since in text


def test_the_row_alone_once_more_is_the_one_without_a_neighbour_that_is_no_baseline() -> None:
    again = cell("ort", id="any", speedup=speedup(1.0, 0.99, 1.01, "same"))
    assert "alone, repeated" in slowdowns_text(group(again, beside(100, "slower"), cell("ort")))
    assert "repeated" not in slowdowns_text(group(beside(100, "slower"), cell("ort")))
