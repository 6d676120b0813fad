"""Speedups drawn as text: on one scale, cut where an interval leaves it, in ASCII where that is all there is."""

from __future__ import annotations

from documents import cell, example, group, speedup

from irbench.core.result import GroupResult
from irbench.render.interval_plot import ASCII, UNICODE, interval_plot


def lines(table: GroupResult, width: int = 90, *, unicode: bool = True) -> list[str]:
    return [line.plain for line in interval_plot(table, width, unicode=unicode)]


def test_each_row_with_a_speedup_has_a_line_and_the_last_names_the_baseline():
    compared = [row for row in example().cells if row.speedup is not None]
    drawn = lines(example())
    assert len(drawn) == len(compared) + 1
    assert all(UNICODE.value in line for line in drawn[:-1])
    assert drawn[-1].endswith("1 = tf")


def test_a_faster_row_is_right_of_one_and_a_slower_one_left():
    table = group(cell("a", speedup=speedup(2.0, 1.9, 2.1)), cell("b", speedup=speedup(0.5, 0.4, 0.6)))
    faster, slower, below = lines(table)
    assert slower.index(UNICODE.value) < below.index("1 = ") < faster.index(UNICODE.value)


def test_an_interval_that_leaves_the_scale_is_cut_at_both_ends():
    wide, _, _ = lines(group(cell("a", speedup=speedup(4.0, 0.01, 900.0)), cell("b", speedup=speedup(1.4, 1.2, 1.7))))
    assert UNICODE.cut_left in wide
    assert UNICODE.cut_right in wide


def test_without_unicode_the_lines_are_ascii():
    drawn = lines(example(), unicode=False)
    assert "".join(drawn).isascii()
    assert ASCII.value in drawn[0]


def test_lines_are_as_wide_as_the_terminal():
    assert {len(line) for line in lines(example(), 70)[:-1]} <= set(range(40, 71))


def test_a_table_without_speedups_has_no_plot():
    assert lines(group(cell("ort"))) == []
