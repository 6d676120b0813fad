"""No text in comma-separated values is a formula, and numbers stay numbers."""

from __future__ import annotations

import pytest

from irbench.render.table import Column, Row, TextTable
from irbench.render.text_formats import csv_cell


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3+cmd()", "@SUM(A1)", "\t=1", "\r=1", "  =1", "-x", "\n@a"]
)
def test_a_formula_becomes_text(text: str):
    assert csv_cell(text).startswith("'")


@pytest.mark.parametrize(
    "value", [-1.5, -3, None, True, "-", "-3.2", "+4.1 %", "-1.5e-3", "1.31", "ort", "", "a=b", "±0.4 %"]
)
def test_everything_else_stays_as_it_is(value: object):
    assert csv_cell(value) == value


def test_a_cell_is_one_line_without_escape_sequences():
    assert csv_cell("a\x1b[1m\nb") == "a�[1m b"


def test_tables_have_no_formulas_either():
    table = TextTable((Column("name", words=True), Column("change")), (Row(("=cmd()", "-3.2 %")),))
    assert table.as_csv() == "name,change\n'=cmd(),-3.2 %\n"
