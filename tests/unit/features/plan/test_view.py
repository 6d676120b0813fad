"""A plan as it is shown: what differs between its cells, and how long they take."""

from __future__ import annotations

import pytest

from irbench.core.quantities import duration_text
from irbench.features.plan.expansion import Doubling, Matrix, SweepTable, expand
from irbench.features.plan.view import cells_table, common_text, times_text

LISTS = {"models": ("resnet50",), "backends": ("ort", "openvino"), "threads": (1, 2), "budget": 60.0, "quick": True}


def tables() -> tuple[SweepTable, ...]:
    return expand([Matrix(LISTS, ("backends",))], seed=0).tables


def test_cells_are_listed_with_what_differs_and_the_rest_is_said_once():
    plan = tables()
    found = cells_table(plan, {plan[0].id: 130.0}, {table.id: 60.0 for table in plan})
    assert [column.heading for column in found.columns] == ["table", "cell", "backends", "threads", "table takes"]
    assert [row.cells[0] for row in found.rows] == ["1", "1", "2", "2"]
    assert [row.cells[-1] for row in found.rows] == [*["took 2 min 10 s"] * 2, *["limit 60 s"] * 2]
    assert common_text(plan) == "resnet50 · budget=60s · quick"


def test_the_time_of_a_plan_is_its_budgets_and_what_is_known_of_stored_runs():
    plan = tables()
    most = {table.id: 60.0 for table in plan}
    assert times_text(plan, {}, most) == (
        "4 cells in 2 tables; time limit 2 min plus exports; a first launch may take longer"
    )
    assert times_text(plan, {plan[0].id: 42.0}, most).endswith("; stored runs of 1 table took 42 s")
    curve = expand([Matrix({**LISTS, "threads": (2,)}, ("backends",), doubling=Doubling(1, 8))], seed=0).tables
    assert "less where curves end early" in times_text(curve, {}, {table.id: 60.0 for table in curve})


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"), (45, "45 s"), (100, "100 s"), (120, "2 min"), (152, "2 min 30 s"), (594, "9 min 50 s"),
        (600, "10 min"), (5900, "98 min"), (12000, "3 h 20 min"),
    ],
)  # fmt: skip
def test_durations_are_in_units_that_suit_them(seconds: float, text: str):
    assert duration_text(seconds) == text
