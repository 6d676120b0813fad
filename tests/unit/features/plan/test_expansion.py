"""A plan becomes tables of cells, in a random order that its seed decides."""

from __future__ import annotations

from typing import Any

import pytest

from irbench.errors import IrbenchError
from irbench.features.plan.expansion import (
    Doubling,
    Expansion,
    Matrix,
    SweepCell,
    SweepTable,
    TooManyCombinations,
    UnmatchedExclusion,
    doubled,
    expand,
    in_order,
    select,
)

ROWS = ("backends", "streams")


def matrix(compare: tuple[str, ...] = ROWS, **lists: Any) -> Matrix:
    return Matrix({"models": ("net",), **lists}, compare)


def settings_of(table: SweepTable) -> list[dict[str, Any]]:
    return [dict(cell.settings) for cell in table.cells]


def test_every_combination_of_the_lists_is_a_cell():
    found = expand([matrix(batch=(1, 8), backends=("ort", "tf"), threads=(1, 2, 4))], seed=0)
    assert len(found.cells) == 2 * 2 * 3
    assert len({cell.id for cell in found.cells}) == 12


def test_what_is_compared_is_one_table_and_each_value_of_anything_else_begins_another():
    found = expand([matrix(batch=(1, 8), backends=("ort", "tf"), streams=(1, 4))], seed=0)
    assert sorted(table.batch for table in found.tables) == [1, 8]
    for table in found.tables:
        assert (table.values("backends"), table.values("streams")) == (("ort", "tf"), (1, 4))
        assert len(table.cells) == 4


def test_what_is_compared_can_be_chosen():
    (table,) = expand([matrix(("backends", "batch"), batch=(1, 8), backends=("ort", "tf"))], seed=0).tables
    assert table.values("batch") == (1, 8)
    assert table.shared == {"models": "net"}


def test_an_exclusion_leaves_out_cells_that_have_one_of_its_values_for_each_key():
    excluded = ({"backends": ("tf",), "streams": (2, 4)},)
    whole = matrix(backends=("ort", "tf"), streams=(1, 4))
    (table,) = expand([Matrix(whole.lists, ROWS, exclude=excluded)], seed=0).tables
    assert [(found["backends"], found["streams"]) for found in settings_of(table)] == [
        ("ort", 1),
        ("ort", 4),
        ("tf", 1),
    ]


def test_an_exclusion_that_leaves_nothing_out_is_an_error():
    whole = matrix(backends=("ort",))
    with pytest.raises(UnmatchedExclusion) as caught:
        expand([whole, Matrix(whole.lists, ROWS, exclude=({"backends": ("ort",)}, {"batch": (2,)}))], seed=0)
    assert (caught.value.matrix, caught.value.exclusion) == (1, 1)


def test_included_cells_join_the_table_with_the_same_settings():
    lists = matrix(backends=("ort", "tf"), streams=(1,)).lists
    included = ({"models": ("net",), "backends": ("ort",), "streams": (8,)},)
    (table,) = expand([Matrix(lists, ROWS, include=included)], seed=0).tables
    assert [(found["backends"], found["streams"]) for found in settings_of(table)] == [
        ("ort", 1),
        ("tf", 1),
        ("ort", 8),
    ]


def test_a_cell_that_two_matrices_name_is_measured_once():
    assert len(expand([matrix(batch=(1, 2)), matrix(batch=(2, 4))], seed=0).cells) == 3


def test_cells_with_a_setting_are_not_in_the_table_of_those_that_leave_it_to_the_default():
    found = expand([matrix(), matrix(backends=("ort", "tf"))], seed=0)
    assert sorted(len(table.cells) for table in found.tables) == [1, 2]


def test_the_id_of_a_cell_depends_on_what_is_measured_alone():
    cell = SweepCell({"models": "net", "batch": 8})
    same = SweepCell({"batch": 8, "models": "net", "note": "x", "deadline": 9.0, "streams": 1, "quick": False})
    assert cell.id == same.id == SweepCell(dict(cell.settings)).id
    assert cell.id != SweepCell({"models": "net", "batch": 8, "quick": True}).id
    assert cell.id != SweepCell({"models": "net", "batch": 4}).id


def test_the_seed_decides_the_order_and_other_tables_do_not_change_it():
    lists = matrix(batch=tuple(range(1, 40)))
    first, again, other = (expand([lists], seed=seed).tables for seed in (0, 0, 1))
    assert first == again
    assert [table.id for table in first] != [table.id for table in other]
    assert sorted(table.id for table in first) == sorted(table.id for table in other)
    more = expand([lists, matrix(batch=tuple(range(100, 140)))], seed=0).tables
    assert [table for table in more if table in first] == list(first)


def test_the_order_is_not_that_of_the_plan():
    batches = [table.batch for table in expand([matrix(batch=tuple(range(1, 40)))], seed=0).tables]
    assert batches != sorted(batches)


def test_the_tables_of_a_curve_have_growing_batches_among_those_of_others():
    curves = Matrix(matrix(threads=(1, 2)).lists, ROWS, doubling=Doubling(1, 64, 0.05))
    tables = expand([curves, matrix(batch=(3, 5, 7, 9))], seed=3).tables
    steps = [(table.step.curve, table.batch) for table in tables if table.step is not None]
    assert len({curve for curve, _ in steps}) == 2
    for wanted in {curve for curve, _ in steps}:
        assert [batch for curve, batch in steps if curve == wanted] == [1, 2, 4, 8, 16, 32, 64]
    assert tables == in_order(reversed(tables), 3)
    assert [table.step is None for table in tables] != sorted(table.step is None for table in tables)


@pytest.mark.parametrize(
    ("doubling", "sizes"), [(Doubling(1, 8), (1, 2, 4, 8)), (Doubling(3, 13), (3, 6, 12)), (Doubling(5, 5), (5,))]
)
def test_batches_double_up_to_the_largest(doubling: Doubling, sizes: tuple[int, ...]):
    assert doubled(doubling) == sizes


def test_a_label_names_what_differs_in_words():
    settings = {"models": "net", "backends": "ort", "batch": 8, "shape": {"tokens": "1x128"}, "budget": 9.0}
    assert SweepCell(settings).label == "net ort batch=8 shape=tokens=1x128"
    assert SweepTable((SweepCell(settings),), ("backends",)).label == "net batch=8 shape=tokens=1x128"


@pytest.mark.parametrize(
    "bomb",
    [
        matrix(batch=tuple(range(1, 1000)), streams=tuple(range(1, 1000)), threads=tuple(range(1, 1000))),
        Matrix({"models": ("net",), "batch": tuple(range(1, 1000))}, ROWS, exclude=({"batch": (1,)},) * 1000),
        Matrix({"models": ("net",)}, ROWS, include=({"batch": tuple(range(1, 1000)), "seed": tuple(range(1000))},)),
    ],
    ids=["lists", "exclusions", "include"],
)
def test_more_combinations_than_memory_holds_are_refused_before_they_are_made(bomb: Matrix):
    with pytest.raises(TooManyCombinations):
        expand([bomb], seed=0)


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
        (("bach=8",), (), "'bach=8' is not a setting", "Did you mean batch?"),
        (("batch=",), (), "'batch=' is not a setting", "Write key=value"),
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
