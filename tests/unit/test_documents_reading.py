"""docs/reading-results.md explains all that a table can say, and nothing that it cannot."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from documents import cell, failed, group, speedup

from irbench.core.plain_text import unmarked
from irbench.core.record import Stage
from irbench.core.result import STOPPED_TEXTS, GroupResult, Lead, NoWinner, RunDocument, StoppedBy, UnevenLoad
from irbench.core.row import CellResult, State, Verdict
from irbench.notices import Context, Mark, Note, Reference, Warn
from irbench.render.columns import COLUMNS
from irbench.render.footer import footer
from irbench.render.speed_table import headline
from irbench.render.table_title import title

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "reading-results.md").read_text()
FLAT = " ".join(TEXT.split())


def section(heading: str) -> str:
    """Return what stands under a heading of the second level."""
    (found,) = re.findall(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    return found


def tables(text: str) -> list[list[list[str]]]:
    """Return the cells of every Markdown table, without its head."""
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return [
        [[cell.strip() for cell in row.strip("|").split("|")] for row in block.splitlines()[2:]] for block in blocks
    ]


def first_cells(table: list[list[str]]) -> list[str]:
    return [row[0].strip("`") for row in table]


DOCUMENTED = dict(re.findall(r"^### (\S+)\n(.*?)(?=^##|\Z)", section("Warnings"), re.MULTILINE | re.DOTALL))
CODES = sorted(warning.code for warning in Warn.known)
LEADS = [
    Lead("A/fp32", "B/fp32", 1.14, low=1.12, high=1.16, launches=6),
    Lead("A/fp32", "B/fp32", 1.01, low=1.0, high=1.01, launches=6, reason="same"),
    Lead("A/fp32", "B/fp32", 1.02, low=0.99, high=1.05, launches=6, reason="undecided"),
    Lead("A/fp32", "B/fp32", 1.14, low=None, high=None, launches=3, reason="preview", range_low=1.09, range_high=1.21),
    Lead("A/fp32", "B/fp32", 1.02, low=None, high=None, launches=3, reason="preview", range_low=0.95, range_high=1.10),
    Lead("A/fp32", "B/fp32", 1.14, low=None, high=None, launches=1, reason="preview"),
    *(
        Lead("A/fp32", "B/fp32", 1.14, low=1.12, high=1.16, launches=6, reason=reason)
        for reason in get_args(NoWinner)
        if reason not in ("same", "undecided", "preview", "uneven-load")
    ),
]
"""One for each sentence above a table."""


def test_every_warning_has_its_heading_and_no_heading_is_stale():
    assert list(DOCUMENTED) == CODES


def test_a_warning_is_quoted_in_the_words_that_are_printed(subtests: pytest.Subtests):
    for warning in Warn.known:
        with subtests.test(warning=warning):
            (quoted,) = re.findall(r"^> (.*)$", DOCUMENTED[warning.code], re.MULTILINE)
            assert quoted == unmarked(warning.example().whole(Context()))


def test_a_note_is_explained_in_the_words_that_are_printed(subtests: pytest.Subtests):
    for note in Note.known:
        with subtests.test(note=note):
            assert f"| `{unmarked(note.example().text(Context()))}` | {note.says} |" in TEXT


def test_a_mark_is_explained_in_the_words_that_are_printed(subtests: pytest.Subtests):
    for mark in Mark.known:
        with subtests.test(mark=mark):
            assert f"| `{mark.example().text()}` | {mark.says}" in TEXT


def test_every_verdict_and_every_state_is_explained():
    (verdicts,) = tables(section("Verdicts"))
    assert sorted(first_cells(verdicts)) == sorted(get_args(Verdict))
    states, _ = tables(section("Rows without figures"))
    assert sorted(first_cells(states)) == sorted(get_args(State))


def test_every_stage_at_which_a_row_can_fail_is_explained():
    _, documented = tables(section("Rows without figures"))
    assert sorted(first_cells(documented)) == sorted(get_args(Stage))


def test_every_reason_to_stop_is_explained_in_the_words_that_are_printed():
    _, stopped, _ = tables(section("Below the table"))
    assert {row[1].strip("`"): row[0].strip("`") for row in stopped} == STOPPED_TEXTS
    assert {row[1].strip("`") for row in stopped} == set(get_args(StoppedBy))


def test_every_headline_is_explained_in_the_words_that_are_printed(subtests: pytest.Subtests):
    for lead in LEADS:
        with subtests.test(lead=lead):
            rows = [cell("A", speedup=speedup(1.2, 1.1, 1.3)), cell("B", speedup=speedup(1.1, 1.05, 1.2)), cell("C")]
            table = group(*(rows[:1] + rows[2:] if lead.reason == "same" else rows), lead=lead, blocks_disturbed=31)
            table = replace(table, cells=(*table.cells, cell("B"))) if lead.reason == "same" else table
            assert f"| `{headline(table, Context())}` |" in TEXT


UNEVEN = UnevenLoad("A/fp32", "B/fp32", 0.95, 0.1)


@pytest.mark.parametrize(
    "lead",
    [
        *(lead for lead in LEADS[:4]),
        Lead("A/fp32", "B/fp32", 1.14, low=1.12, high=1.16, launches=6, reason="uneven-load"),
    ],
    ids=lambda lead: str(lead.reason),
)
def test_every_headline_of_a_busy_machine_is_explained_in_the_words_that_are_printed(lead: Lead):
    rows = [cell("A", speedup=speedup(1.2, 1.1, 1.3)), cell("B", speedup=speedup(1.1, 1.05, 1.2)), cell("C")]
    table = group(*rows, lead=lead, blocks_disturbed=31, blocks_excluded=0, condition="busy", uneven_load=UNEVEN)
    if lead.reason == "same":
        table = replace(table, cells=(rows[0], replace(rows[1], speedup=None), rows[2]))
    assert f"| `{headline(table, Context())}` |" in TEXT


def test_a_headline_with_streams_and_other_threads_is_explained():
    rows = (cell("A", threads=4), cell("B", threads=2), cell("C", streams=4))
    lead = Lead("A/fp32", "B/fp32", 1.42, low=1.38, high=1.45, launches=6)
    assert f"| `{headline(group(*rows, lead=lead), Context())}` |" in TEXT


@pytest.mark.parametrize("rows", [(cell("A"), failed("B")), (failed("A"), failed("B"))])
def test_where_nobody_is_compared_the_headline_is_explained(rows: tuple[CellResult, ...]):
    assert f"| `{headline(group(*rows), Context())}` |" in TEXT


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"blocks_excluded": 0, "blocks_disturbed": 0}, "none disturbed"),
        ({"blocks_excluded": 0, "blocks_disturbed": 31}, "31 of 48 disturbed, all included"),
        ({"blocks_measured": 0}, "no launch finished"),
        ({}, "(same verdicts if included)"),
        ({"verified_against": Reference("export", "TensorFlow")}, "max err: against TensorFlow at export"),
        ({"lead": replace(LEADS[0], assumes_one_mode=True)}, "6 launches (assumed unimodal)"),
    ],
)
def test_what_stands_below_the_rows_is_explained(changes: dict[str, Any], said: str):
    table = group(cell("A", speedup=speedup(1.2, 1.1, 1.3)), cell("B"), **changes)
    assert said in " ".join(footer(table, Context()))
    assert said in FLAT


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((cell("A", streams=4, io="bound"), cell("B")), "streams, compared by FPS"),
        ((cell("A", streams=4, io="bound"), cell("B")), "copies in some rows"),
        ((cell("A", threads=1), cell("B")), "threads differ"),
        ((cell("A", threads=None),), "native threads"),
        ((cell("A"),), "sync, back to back"),
        ((cell("A"),), "copies included"),
        ((cell("A", io="bound"),), "copies excluded"),
        ((cell("A", precision="bf16"), cell("B")), "mixed precision"),
        ((cell("A", device="gpu"), cell("B")), "mixed devices"),
    ],
)
def test_the_title_is_explained(rows: tuple[CellResult, ...], said: str):
    assert said in title(group(*rows))
    assert said in FLAT


def test_every_field_of_the_document_is_named():
    tables_of = tables(section("JSON and CSV"))[:3]
    named = [{name for row in table for name in re.findall(r"`(\w+)`", row[0])} for table in tables_of]
    assert named[:2] == [set(item.__dataclass_fields__) for item in (RunDocument, GroupResult)]
    of_rows = set(CellResult.__dataclass_fields__)
    assert named[2] <= of_rows
    assert of_rows <= named[2] | set(COLUMNS)  # which docs/exports.md explains


def test_an_example_from_a_golden_file_is_what_that_file_holds():
    examples = re.findall(r"<!-- (tests/golden/\S+) -->\n```text\n(.*?)```", TEXT, re.DOTALL)
    assert examples
    for path, shown in examples:
        assert shown == (ROOT / path).read_text(), path
