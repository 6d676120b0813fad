"""What the doctor says of attainable peaks."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from documents import cell, group
from golden_files import check_golden
from machines import OVERHEAD, facts
from made_peaks import peaks
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from irbench.features.doctor.run import diagnosis_document
from irbench.features.doctor.view import bandwidth_table, peaks_document, peaks_message
from irbench.features.doctor.report import PeakReport, Report
from irbench.features.doctor.view import ReportView
from irbench.render.group import GroupView
from irbench.spec import InferenceWork, Roof

NOW = datetime(2026, 2, 3, 15, tzinfo=UTC)
KEPT = PeakReport(peaks(), "kept", NOW)


def shown(peak: PeakReport, width: int) -> str:
    report = Report(facts(), (), OVERHEAD, peak=peak)
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(ReportView(report, Text("ort")), highlight=False)
    assert isinstance(console.file, io.StringIO)
    whole = "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"
    return whole[whole.index("Attainable peak") :]


@pytest.mark.parametrize("width", [80, 120])
def test_the_peaks_are_the_ones_that_were_looked_at(width: int):
    check_golden(f"doctor-peak-{width}", shown(KEPT, width))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_line_fits(width: int):
    assert all(cell_len(line) <= width for line in shown(KEPT, width).splitlines())


def test_words_say_what_is_attained_what_limits_and_how_old_it_is():
    text = peaks_message(KEPT)
    assert "One core attains at most 150 GFLOP/s in fp32 (ort), 300 in bf16 (openvino) and 600 in int8 (ort)." in text
    assert "4 cores attain at most 600 GFLOP/s in fp32" in text
    assert "Main memory moves 10.0 GB/s for 1 core and 20.0 for 4 cores." in text
    assert "so many operations per byte on: 30 in fp32, 60 in bf16 and 120 in int8." in text
    assert text.endswith("Measured 3 d ago; irbench doctor --peak measures them again.")


def test_a_measurement_on_a_busy_machine_says_that_the_peaks_are_too_low():
    busy = PeakReport(replace(peaks(), disturbed_share=0.8), "kept", NOW)
    assert "Other programs disturbed 80 % of the measurement" in peaks_message(busy)
    assert "disturbed" not in peaks_message(PeakReport(replace(peaks(), disturbed_share=0.2), "kept", NOW))


def test_a_new_measurement_says_so():
    assert peaks_message(PeakReport(peaks(), "measured", NOW)).endswith("Measured now, and kept for this machine.")


def test_peaks_of_a_part_of_the_machine_are_not_kept_and_the_words_say_what_was_measured():
    part = replace(peaks(), command="irbench doctor --peak --backend ort --cpus 0")
    text = peaks_message(PeakReport(part, "measured", NOW, "restricted"))
    assert "Measured now by irbench doctor --peak --backend ort --cpus 0, and not kept: roofs are those" in text
    document = peaks_document(PeakReport(part, "measured", NOW, "restricted"))
    assert document is not None
    assert document["not_kept"] == "restricted"


def test_an_interrupt_leaves_what_was_known_and_says_so():
    assert "Interrupted: these are the peaks that were known before. Measured 3 d ago" in peaks_message(
        PeakReport(peaks(), "interrupted", NOW)
    )
    nothing = PeakReport(None, "interrupted", NOW)
    assert peaks_message(nothing) == "Interrupted: no peak is known of this machine yet."
    assert peaks_message(nothing) in shown(nothing, 100)


def test_without_any_product_the_bandwidths_are_shown_alone():
    bare = PeakReport(replace(peaks(), compute=()), "kept", NOW)
    assert "No peak of matrix products is known" in peaks_message(bare)
    text = shown(bare, 120)
    assert "precision" not in text
    assert "main memory" in text


def test_a_bandwidth_that_could_not_be_timed_is_a_dash():
    without = tuple(each for each in peaks().bandwidth if (each.level, each.threads, each.access) != ("L1d", 1, "read"))
    row = bandwidth_table(replace(peaks(), bandwidth=without)).rows[0]
    assert row.cells[0:2] == ("L1d", "1")
    assert row.cells[3] == "-"


def test_a_program_reads_intervals_and_ridge_points():
    document = json.loads(json.dumps(peaks_document(KEPT)))
    assert document["outcome"] == "kept"
    first = document["compute"][0]
    assert (first["precision"], first["threads"], first["gflop_per_s"]) == ("fp32", 1, 150.0)
    assert first["low"] < first["gflop_per_s"] < first["high"]
    ridges = {tuple(ridge.values())[:3]: ridge["operations_per_byte"] for ridge in document["ridge_points"]}
    assert ridges["fp32", 1, "memory"] == pytest.approx(15.0)
    assert ridges["fp32", 1, "L1d"] == pytest.approx(0.5)
    assert "samples" not in document


def test_the_legend_of_a_run_gives_the_date_of_the_peaks():
    work = InferenceWork(1000, 100, {"fp32": Roof(100.0, "compute", "L2")}, peaks().measured, "1.23.0")
    table = group(cell("ort", work=work, gflop_per_s=80.0, roof_share=0.8))
    lines = " ".join(line.plain for line in GroupView(table).as_lines(160))
    assert "of roof: share of the roof by this machine's peaks measured 2026-01-31 (irbench doctor)" in lines
    unknown = replace(table, cells=(replace(table.cells[0], roof_share=None),))
    assert "this machine's peaks" not in " ".join(line.plain for line in GroupView(unknown).as_lines(160))


def test_nothing_known_is_null():
    assert diagnosis_document(Report(facts(), (), OVERHEAD), [])["peak"] is None
    assert peaks_document(PeakReport(None, "interrupted", NOW)) == {
        "outcome": "interrupted", "measured": None, "compute": [], "bandwidth": [],
    }  # fmt: skip
