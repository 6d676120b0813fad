"""Tables of cold starts, soaks and loads at fixed widths, as they were looked at."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from cold_and_soak_runs import cold, serving_example, soak_example, soak_row, soaked
from golden_files import check_golden
from rich.console import Console

from irbench.core.result import RunDocument
from irbench.core.row import GivenInputs
from irbench.render.table_title import inputs_text
from irbench.runs.document_text import render_document
from irbench.runs.run_view import DocumentView
from irbench.spec import Timing
from irbench.stats.rederive import rederive
from irbench.stats.run_modes.cold_start import derive_cold_table


def shown(found: RunDocument, width: int) -> str:
    return "\n".join(line.plain.rstrip() for line in DocumentView(found).as_lines(width)) + "\n"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_cold_starts_look_as_they_were_looked_at(width: int):
    check_golden(f"cold-{width}", shown(cold(), width))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_soaks_look_as_they_were_looked_at(width: int):
    check_golden(f"soak-{width}", shown(soak_example(), width))


@pytest.mark.parametrize("width", [80, 120])
def test_loads_look_as_they_were_looked_at(width: int):
    check_golden(f"serve-{width}", shown(serving_example(), width))


def test_few_rounds_make_a_preview_that_says_what_is_missing():
    text = shown(cold(launches=3), 160)
    assert "preview: intervals need 6 rounds (--budget)" in text
    assert "[range]" in text
    assert "[95 %]" not in text


def test_files_that_stay_in_memory_are_told_and_so_is_ignorance():
    assert "ort, cold cache: 40 % of its files stayed in memory" in shown(cold(resident=0.4), 160)
    assert "the kernel does not show whether its files left" in shown(cold(resident=None), 160)
    assert "stayed in memory" not in shown(cold(), 160)


@pytest.mark.parametrize("found", [cold(), soak_example()], ids=["cold", "soak"])
def test_the_title_names_the_inputs_that_were_given(found: RunDocument):
    given = GivenInputs("calls/one.npz", 1, {}, {"sr": (16000,)}, {})
    tables = {
        "cold_starts": tuple(replace(table, given_inputs=given) for table in found.cold_starts),
        "soaks": tuple(replace(table, given_inputs=given) for table in found.soaks),
    }
    assert "data: one.npz (1 sample) · sr=16000" in shown(replace(found, **tables), 200)
    assert "data:" not in shown(found, 200)


@pytest.mark.parametrize(
    ("rows", "rows_per_call", "samples", "shown_as"),
    [
        (4, 8, 1, "4 samples in 1 call of 8, filled up by repeating 4"),
        (8, 4, 2, "8 samples in 2 calls of 4"),
        (9, 1, 9, "9 samples"),
        (0, 0, 3, "3 samples"),
    ],
)
def test_samples_that_were_joined_are_counted_as_they_were_given(
    rows: int, rows_per_call: int, samples: int, shown_as: str
):
    given = GivenInputs("photos", samples, {}, {}, {}, rows, rows_per_call)
    assert inputs_text(given) == f"data: photos ({shown_as})"


def test_outputs_that_nothing_was_compared_with_are_marked():
    (table,) = cold().cold_starts
    unverified = derive_cold_table(replace(table, verified_against=None), "ort", Timing(), allow_mixed=False)
    text = shown(replace(cold(), cold_starts=(unverified,)), 160)
    assert "0.55 ? [" in text
    assert "speedup ?: outputs not verified" in text


def test_a_steady_table_says_so():
    assert "memory is steady" in shown(soaked(soak_row("ort", 0)), 120)
    assert "undecided: ort. Soak longer" in shown(soaked(soak_row("ort", 0, blocks=20)), 120)


@pytest.mark.parametrize("found", [cold(), soak_example()], ids=["cold", "soak"])
def test_every_format_holds_every_row(found: RunDocument):
    for form in ("md", "csv", "jsonl"):
        text = render_document(found, form)
        for name in ("ort", "openvino", "tf"):
            assert name in text
    lines = render_document(found, "csv").splitlines()
    rows = found.cold_starts[0].rows if found.cold_starts else found.soaks[0].rows
    assert len(lines) == 1 + len(rows)


@pytest.mark.parametrize("found", [cold(), soak_example()], ids=["cold", "soak"])
def test_figures_follow_from_what_is_stored(found: RunDocument):
    assert rederive(found, ()) == found


def test_a_console_of_any_width_shows_them():
    for width in (60, 100, 120):
        console = Console(width=width, record=True, file=io.StringIO())
        console.print(DocumentView(cold()))
        assert "ort, cold cache" in console.export_text()
