"""A table of a sweep: which rows of a run are its cells, and what is kept of them."""

from __future__ import annotations

from pathlib import Path

import documents
import pytest

from irbench.core.result import GroupResult
from irbench.features.plan.expansion import SweepCell, SweepTable
from irbench.features.sweep import swept_tables
from irbench.features.sweep.swept_tables import table_done
from irbench.runs.measurement import StoredRun
from irbench.spec import Cell, Load, Program


def names_of(*tables: GroupResult) -> list[str]:
    table = SweepTable((SweepCell({"models": "net", "backends": "ort"}),), (), None)
    return [row.name for row in table_done(table, StoredRun(documents.document(*tables), Path())).rows]


def test_rows_of_several_tables_are_named_with_their_model() -> None:
    small, large = (documents.group(documents.cell("ort"), model=model) for model in ("small", "large"))
    assert names_of(small, large) == ["ort small", "ort large"]


def test_rows_of_one_model_are_named_as_in_its_table() -> None:
    assert names_of(documents.group(documents.cell("ort"), documents.cell("tf"))) == ["ort", "tf"]


@pytest.mark.parametrize(
    ("program", "is_row"), [(Program("command", "./loop"), True), (None, False)], ids=["own code", "backend"]
)
def test_the_backends_of_a_plan_choose_among_backends_and_leave_own_code(program: Program | None, is_row: bool) -> None:
    cell = Cell("mine/fp32", None, "mine", "cpu", Load(batch=2), program=program)
    assert swept_tables.is_row(cell, {"models": "net", "backends": "ort", "batch": 2, "threads": 1}, "net") is is_row
    assert not swept_tables.is_row(cell, {"models": "net", "backends": "ort", "batch": 4, "threads": 1}, "net")
