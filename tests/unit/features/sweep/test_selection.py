"""--only and --skip choose cells by their settings or ids."""

from __future__ import annotations

import pytest

from irbench.errors import IrbenchError
from irbench.features.plan.cells import Expansion, Matrix, expand, select


@pytest.fixture
def plan() -> Expansion:
    lists = {"models": ("net",), "backends": ("ort", "tf"), "batch": (1, 8), "cpus": ("0-3",)}
    return expand([Matrix(lists, ("backends",))], seed=0)


def chosen(plan: Expansion, only: tuple[str, ...] = (), skip: tuple[str, ...] = ()) -> set[tuple[str, int]]:
    return {(cell.settings["backends"], cell.settings["batch"]) for cell in select(plan, only, skip).cells}


def test_without_selectors_everything_is_left(plan: Expansion):
    assert select(plan, (), ()) == plan


def test_a_selector_means_cells_with_all_of_its_settings_and_several_add_up(plan: Expansion):
    assert chosen(plan, ("batch=8,backends=ort",)) == {("ort", 8)}
    assert chosen(plan, ("batch=8", "backends=ort")) == {("ort", 8), ("tf", 8), ("ort", 1)}
    assert chosen(plan, ("batch=8",), ("backends=tf",)) == {("ort", 8)}
    assert chosen(plan, skip=("batch=8, backends=ort",)) == {("ort", 1), ("tf", 8), ("tf", 1)}


def test_the_beginning_of_an_id_means_a_cell_or_a_whole_table(plan: Expansion):
    table = plan.tables[0]
    assert select(plan, (table.cells[1].id[:6],), ()).cells == (table.cells[1],)
    assert select(plan, (table.id[:6],), ()).tables == (table,)


def test_a_table_that_keeps_its_cells_keeps_its_id_and_another_does_not(plan: Expansion):
    whole = {table.id for table in plan.tables}
    assert {table.id for table in select(plan, ("batch=8",), ()).tables} < whole
    assert {table.id for table in select(plan, ("backends=ort",), ()).tables}.isdisjoint(whole)


@pytest.mark.parametrize(
    ("only", "skip", "said", "hint"),
    [
        (("bach=8",), (), "'bach=8' is no setting", "Did you mean batch?"),
        (("batch=",), (), "'batch=' is no setting", "Write key=value"),
        (("batch=2",), (), "'batch=2' selects no cell", "irbench plan expand"),
        ((), ("backends=ov",), "'backends=ov' selects no cell", "irbench plan expand"),
        (("x",), (), "'x' selects no cells", "4 characters"),
        (("batch=8",), ("batch=8",), "leave no cell", "Leave one"),
    ],
)
def test_a_selector_that_means_nothing_is_refused(
    plan: Expansion, only: tuple[str, ...], skip: tuple[str, ...], said: str, hint: str
):
    with pytest.raises(IrbenchError) as caught:
        select(plan, only, skip)
    assert said in caught.value.message
    assert hint in caught.value.hint
