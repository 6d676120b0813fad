"""The cheapest machine is named for each table, and only where its interval decides that."""

from __future__ import annotations

from irbench.core.row import Spans
from irbench.features.fleet.report import FleetOverview, MachineRow


def row(table: str, target: str, cost: float, *, spread: float = 0.01, model: str = "m") -> MachineRow:
    fps = 100 / cost
    return MachineRow(
        table=table,
        model=model,
        row="ort",
        target=target,
        run="r",
        p50=None,
        fps=Spans(fps, low=fps * (1 - spread), high=fps * (1 + spread)) if spread else Spans(fps),
        cost_per_million=cost,
        is_right=True,
        is_too_slow=False,
    )


def cheapest(*rows: MachineRow) -> list[list[str]]:
    overview = FleetOverview("f", 1, (), (), rows)
    return [[row.target for row in candidates] for candidates in overview.cheapest]


def test_each_table_and_model_has_a_cheapest_of_its_own():
    rows = (row("batch=1", "a", 3.0), row("batch=1", "b", 2.0), row("batch=8", "a", 0.5), row("batch=8", "b", 1.0))
    assert cheapest(*rows) == [["b"], ["a"]]
    assert cheapest(*rows[:2], row("batch=1", "a", 9.0, model="n")) == [["b"], ["a"]]


def test_no_row_wins_where_the_intervals_overlap_or_are_not_known():
    assert cheapest(row("t", "a", 2.0), row("t", "b", 2.01), row("t", "c", 3.0)) == [["a", "b"]]
    assert cheapest(row("t", "a", 2.0), row("t", "b", 3.0, spread=0)) == [["a", "b"]]
    assert cheapest(row("t", "a", 2.0, spread=0), row("t", "b", 3.0)) == [["a", "b"]]
