"""The listing of runs fits the terminal, keeps its words whole, and tells runs apart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from documents import RUN_ID, document, example
from rich.cells import cell_len

from irbench.core.quantities import age
from irbench.features.results.view import run_table
from irbench.store.entries import Outcome, RunEntry
from irbench.store.table_outcomes import entry_of

NOW = datetime(2026, 1, 8, tzinfo=UTC)
ENTRY = RunEntry(
    run_id="01KAJ", created="2026-01-06T00:00:00+00:00", folder="", models=("resnet50",), rows=("ort",),
    backends=("ort",), outcomes=(Outcome("only", "ort", p50_ms=28.0),), measured=True, launches=4,
    complete=True, batches=(1,), streams=(1,), threads=2, precisions=("fp32",), machine="A processor x2",
)  # fmt: skip


def headings(*entries: RunEntry) -> list[str]:
    return [column.heading for column in run_table(entries, NOW).columns]


def shown(entry: RunEntry) -> tuple[str, ...]:
    return run_table([entry], NOW).rows[0].cells


@pytest.mark.parametrize(
    ("since", "said"),
    [
        (timedelta(seconds=30), "now"),
        (timedelta(minutes=2), "2 min"),
        (timedelta(hours=5, minutes=59), "5 h"),
        (timedelta(days=3), "3 d"),
        (timedelta(days=-1), "now"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(since: timedelta, said: str):
    assert age((NOW - since).isoformat(), NOW) == said


def test_runs_that_differ_in_load_or_machine_differ_in_their_rows():
    from msgspec.structs import replace

    others = (
        replace(ENTRY, batches=(8,)), replace(ENTRY, streams=(1, 4)), replace(ENTRY, threads=None),
        replace(ENTRY, machine="Another x8"), replace(ENTRY, created="2026-01-07T00:00:00+00:00"),
    )  # fmt: skip
    assert len({shown(entry) for entry in (ENTRY, *others)}) == 6


def test_names_and_notes_have_columns_where_a_run_has_some():
    from msgspec.structs import replace

    assert {"name", "note"}.isdisjoint(headings(ENTRY))
    assert {"name", "note"} <= set(headings(ENTRY, replace(ENTRY, name="before", note="hot day")))


def entries() -> list[RunEntry]:
    return [entry_of(document(example(), complete=False), "x"), entry_of(document(example()), "x")]


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_listing_fits_its_width_and_breaks_no_word(width: int):
    lines = [line.plain for line in run_table(entries(), NOW).as_lines(width)]
    assert max(map(cell_len, lines)) <= width
    whole = {RUN_ID[:10], *" ".join(line.plain for line in run_table(entries(), NOW).as_lines(1000)).split()}
    assert set(" ".join(lines).split()) <= whole
    assert sum(RUN_ID[:10] in line for line in lines) == 2


@pytest.mark.parametrize("name", ["", "night resnet50 batch=8 threads=2", "a-name-without-any-place-to-fold"])
def test_the_outcome_is_whole_and_readable_at_every_width(name: str, subtests: pytest.Subtests):
    for width in [60, 80, 120, 200]:
        with subtests.test(width=width):
            from msgspec.structs import replace

            outcome = Outcome("winner", "openvino", "ort+basic-int8-static", 1.14)
            shown = run_table([replace(ENTRY, run_id=RUN_ID, name=name, outcomes=(outcome,))], NOW).as_lines(width)
            lines = [line.plain for line in shown]
            assert max(map(cell_len, lines)) <= width
            assert "openvino 1.14x" in " ".join(lines)
            assert any("ort+basic-int8-static" in line for line in lines)
            assert len(lines) <= 5


def test_what_has_no_room_is_named():
    table = run_table(entries(), NOW)
    assert {"rows", "batch"} <= set(table.left_out(50))
    assert not table.left_out(200)


def test_what_came_of_a_run_stands_at_the_end_of_its_line():
    _, broken, whole = (line.plain for line in run_table(entries(), NOW).as_lines(200))
    assert "openvino 1.14x ort" in whole
    assert "(incomplete)" not in whole
    assert "openvino 1.14x ort (incomplete)" in broken
