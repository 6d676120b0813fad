"""The best row over tables is named only where they asked the same, and never with an interval."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from documents import cell, document, group

from irbench.api.display import as_text
from irbench.core.result import GroupResult, Lead
from irbench.core.row import Generated, Spans
from irbench.render.outcome_texts import best_text, outcome_text
from irbench.render.speed_table import GroupView
from irbench.spec import Goal
from irbench.store.entries import Outcome
from irbench.store.table_outcomes import BestOfTables, TableLeader, best_of_run, best_of_tables, outcome_of


def table(batch: int, p50: float, fps: float, reason: Any = "undecided", precision: str = "fp32") -> GroupResult:
    rows = (
        cell("openvino", p50, fps=fps, batch=batch, precision=precision),
        cell("ort", 1.1 * p50, fps=fps / 1.1, batch=batch, precision=precision),
    )
    lead = Lead(rows[0].id, rows[1].id, 1.1, low=0.9, high=1.3, launches=4, reason=reason)
    return group(*rows, batch=batch, lead=lead)


def best(*tables: GroupResult, **plan: Any) -> tuple[BestOfTables, ...]:
    return best_of_run(document(*tables, plan=plan))


def test_batches_that_are_tables_of_their_own_are_compared_by_throughput():
    (found,) = best(table(1, 30.0, 33.0), table(8, 160.0, 50.0), table(4, 90.0, 44.0))
    assert (found.best.table, found.second.table, found.tables) == ("batch 8", "batch 4", 3)
    assert best_text(found) == (
        "Highest FPS of 3 tables of resnet50: openvino at batch 8 (50.0 FPS); next is openvino at batch 4 (44.0 FPS)."
        " The tables were measured one after the other, so there is no interval for this."
    )


def generating(batch: int, fps: float) -> GroupResult:
    """Return a table whose calls generate 64 tokens for each sample."""
    found = table(batch, 1e3 * batch / fps, fps)
    rows = tuple(
        replace(row, generation=Generated(64, 8, None, None, Spans(64 * (row.fps or 0)))) for row in found.cells
    )
    return replace(found, cells=rows, goal=Goal("fps"))


def test_tables_of_generations_are_compared_by_the_tokens_that_their_columns_show():
    (found,) = best(generating(1, 2.0), generating(4, 8.1))
    assert best_text(found).startswith(
        "Highest tokens/s of 2 tables of resnet50: openvino at batch 4 (518 tokens/s); next is openvino at batch 1"
        " (128 tokens/s)."
    )
    shown = as_text(GroupView(generating(4, 8.1)))
    assert "tokens/s" in shown
    assert "in tokens/s" in shown
    assert "FPS" not in shown
    assert outcome_text(outcome_of(generating(4, 8.1))) == "openvino and ort undecided (openvino 518 tokens/s)"


def test_a_leader_on_a_busy_machine_says_so():
    (found,) = best(table(1, 30.0, 33.0), table(8, 160.0, 50.0, "busy"))
    assert "openvino at batch 8 (50.0 FPS, machine too busy); next is openvino at batch 1 (33.0 FPS)" in best_text(
        found
    )


def test_what_was_asked_for_decides_what_tables_are_compared_by():
    (found,) = best(table(1, 30.0, 33.0), table(8, 160.0, 50.0), goal={"objective": "latency"})
    assert found.best.table == "batch 1"
    assert best_text(found).startswith("Lowest p50 of 2 tables of resnet50: openvino at batch 1 (30.0 ms);")
    (found,) = best(generating(1, 2.0), generating(4, 8.1), goal={"objective": "latency"})
    assert best_text(found).startswith("Shortest median time per generation of 2 tables of resnet50:")
    assert not best(table(1, 30.0, 33.0), table(8, 160.0, 50.0), goal={"objective": "cost"})


@pytest.mark.parametrize(
    ("tables", "plan"),
    [
        ((table(1, 30.0, 33.0),), {}),
        ((table(1, 30.0, 33.0), table(8, 160.0, 50.0, "throughput-disagrees")), {}),
        ((table(1, 30.0, 33.0), table(8, 160.0, 50.0, precision="bf16")), {}),
        ((table(1, 30.0, 33.0), table(1, 20.0, 50.0)), {}),
        ((table(1, 30.0, 33.0), table(8, 160.0, 50.0)), {"sweep": {"length": [[128], [64]]}}),
        ((table(1, 30.0, 33.0), table(8, 160.0, 50.0)), {"environments": [{}]}),
    ],
    ids=["one table", "a contradiction", "another precision", "the same batch", "other shapes", "other versions"],
)
def test_tables_that_cannot_be_compared_have_no_best_row(tables: tuple[GroupResult, ...], plan: dict[str, Any]):
    assert not best(*tables, **plan)


def test_a_leader_without_the_figure_takes_no_part():
    leaders = [TableLeader(str(place), Outcome("winner", "ort", fps=fps)) for place, fps in enumerate((None, 3.0, 2.0))]
    found = best_of_tables("net", leaders, "fps")
    assert found is not None
    assert (found.tables, found.best.table) == (2, "1")
    assert best_of_tables("net", leaders[:2], "fps") is None
    assert best_of_tables("net", leaders, None) is None  # their rows were compared by latency
