"""The slowdowns of all tables of a co-run together: a row for each model, a column for each neighbour."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from documents import cell, group, speedup

from irbench.core.result import GroupResult
from irbench.core.row import CellResult, Verdict
from irbench.render.neighbour_texts import slowdown_matrix
from irbench.spec import Neighbour

A, B, HALF, FULL = (
    Neighbour("model", "a"),
    Neighbour("model", "b"),
    Neighbour("cpu", intensity=50),
    Neighbour("cpu", intensity=100),
)


def row(neighbour: Neighbour, slowdown: float, verdict: Verdict = "slower", **changes: Any) -> CellResult:
    made = cell("ort", **changes)
    faster = speedup(1 / slowdown, 1 / (slowdown * 1.1), 1 / (slowdown * 0.9), verdict)
    return replace(
        made, id=f"ort-{neighbour.label}", requested=replace(made.requested, beside=neighbour), speedup=faster
    )


def table(model: str, *rows: CellResult, **changes: Any) -> GroupResult:
    alone = cell("ort", **changes)
    again = replace(alone, id=f"{alone.id}-again", speedup=speedup(1 / 1.01, 1 / 1.03, 1 / 0.98, "same"))
    return group(*rows, again, alone, model=model)


def lines(*groups: GroupResult) -> list[str]:
    view = slowdown_matrix(groups, 0.95)
    assert view is not None
    return [line.plain.strip() for line in view.as_lines(120)]


def test_each_model_has_a_row_and_each_neighbour_a_column() -> None:
    shown = lines(table("a", row(A, 1.5), row(B, 3.0)), table("b", row(A, 1.2), row(B, 2.0)))
    assert [line.split()[0] for line in shown[2:]] == ["slowdown", "a", "b"]
    assert 0 < shown[2].index("beside a") < shown[2].index("beside b")


def test_the_largest_slowdown_that_is_certain_is_named() -> None:
    shown = lines(table("a", row(A, 1.5), row(B, 3.0, "undecided")), table("b", row(A, 2.0)))
    assert shown[1] == "Largest certain slowdown: b beside a, 2.00 [1.80, 2.20]"


def test_without_one_that_is_certain_it_says_what_helps() -> None:
    assert lines(table("a", row(A, 1.01, "same")), table("b"), table("c", row(A, 1.0, "same")))[1] == (
        "No slowdown is certain yet; give more --budget."
    )


def headings(*groups: GroupResult) -> list[str]:
    view = slowdown_matrix(groups, 0.95)
    assert view is not None
    return [column.heading for column in view.table.columns]


def test_each_column_says_what_its_own_brackets_are() -> None:
    groups = table("a", row(A, 1.5), row(B, 3.0, "preview")), table("b", row(A, 1.2), row(B, 2.0, "preview"))
    assert headings(*groups) == ["slowdown of", "alone, repeated [95 %]", "beside a [95 %]", "beside b [range]"]


def test_a_range_among_intervals_is_marked() -> None:
    shown = lines(table("a", row(A, 1.5, "preview")), table("b", row(A, 1.2)))
    assert "1.50 [1.35, 1.65] range" in shown[3]
    assert "range" not in shown[4]


def test_a_neighbour_with_intensities_is_shown_at_its_highest() -> None:
    shown = lines(table("a", row(FULL, 2.0), row(HALF, 1.5)), table("b", row(HALF, 1.1), row(FULL, 1.3)))
    assert "beside cpu 100%" in shown[2]
    assert "50%" not in shown[2]


def test_what_was_not_measured_beside_a_neighbour_is_a_dash() -> None:
    shown = lines(table("a", row(B, 1.5)), table("b", row(A, 1.2)))
    assert shown[3].endswith("-") or " - " in shown[3]


def test_tables_of_one_model_are_told_apart_by_their_settings() -> None:
    shown = lines(table("a", row(FULL, 2.0)), table("a", row(FULL, 2.0), label="openvino"))
    assert [line.split("  ")[0] for line in shown[3:]] == ["a · ort", "a · openvino"]


def test_models_that_have_one_table_each_are_called_by_their_names_alone() -> None:
    shown = lines(table("a", row(FULL, 2.0)), table("b", row(FULL, 2.0), batch=192))
    assert [line.split("  ")[0] for line in shown[3:]] == ["a", "b"]


def test_what_the_noise_is_stands_beside_the_slowdowns() -> None:
    shown = lines(table("a", row(A, 1.5)), table("b", row(A, 1.2)))
    assert "alone, repeated" in shown[2]
    assert "1.01 [0.98, 1.03]" in shown[3]


def test_one_table_alone_is_no_matrix() -> None:
    assert slowdown_matrix([table("a", row(A, 1.5)), group(cell("ort"))], 0.95) is None
