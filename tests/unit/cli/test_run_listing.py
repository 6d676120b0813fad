"""Stored runs that differ look different in the listing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from irbench.cli.output.run_listing import age, listing_table

from irbench.store.entries import RunEntry

NOW = datetime(2026, 1, 8, tzinfo=UTC)
ENTRY = RunEntry(
    run_id="01KAJ", created="2026-01-06T00:00:00+00:00", folder="", models=("resnet50",), rows=("ort",),
    backends=("ort",), winners=(), outcomes=("only ort: 28 ms",), measured=True, launches=4,
    complete=True, batches=(1,), streams=(1,), threads=2, precisions=("fp32",), machine="A processor x2",
)  # fmt: skip


def headings(*entries: RunEntry) -> list[str]:
    return [column.heading for column in listing_table(entries, NOW).columns]


def shown(entry: RunEntry) -> tuple[str, ...]:
    return listing_table([entry], NOW).rows[0].cells


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
