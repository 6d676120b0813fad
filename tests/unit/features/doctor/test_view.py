"""What the doctor says, to people at every width and to programs."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from documents import cell, document, group, speedup
from golden_files import check_golden
from machines import OVERHEAD, facts
from made_peaks import peaks
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from irbench.features.doctor.findings import Turbo, find, findings_summary
from irbench.features.doctor.machine import CoreToCore, CounterFacts, Facts, RunningProgram
from irbench.features.doctor.report import PeakReport, Report, diagnosis_document, peaks_document
from irbench.features.doctor.self_comparison import SelfComparison, judge_self_comparison
from irbench.features.doctor.view import ReportView, bandwidth_table, peaks_message
from irbench.notices.marks import OtherPeaks
from irbench.perf_events.obstacles import NoPerf, NoPmu
from irbench.render.speed_table import GroupView
from irbench.spec import InferenceWork, Roof, Timing
from irbench.system.confinement import ConfinementSupport

AGAIN = cell("ort", label="ort again", id="ort-again", speedup=speedup(1.0, 0.99, 1.01, "same"))
COMPARISON = judge_self_comparison(document(group(AGAIN, cell("ort"))), Path("results/runs/x"), Timing())
TROUBLED = facts(
    hypervisor="KVM",
    container="docker",
    governors=(),
    turbo=None,
    quota=2.5,
    threads=2,
    foreign_share=0.98,
    programs=(
        RunningProgram("[red]stress[/red]\x1b[2J", 4711, 0.95, "[red]stress[/red]\x1b[2J --cpu 1", stoppable=True),
        RunningProgram("cron", 1, 0.03),
    ),
    core_to_core=CoreToCore((90.0, 92.0, 91.0, 300.0, 303.0, 299.0)),
)


def report(seen: Facts = TROUBLED, self_comparison: SelfComparison | None = COMPARISON) -> Report:
    return Report(seen, find(seen), OVERHEAD, self_comparison)


def shown(report_: Report, width: int) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(ReportView(report_, Text("ort  onnxruntime  1.31.1  cpu (not probed)")), highlight=False)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"


@pytest.mark.parametrize("width", [80, 120])
def test_the_report_is_the_one_that_was_looked_at(width: int) -> None:
    check_golden(f"doctor-{width}", shown(report(), width))


def test_the_report_of_a_quiet_machine_is_the_one_that_was_looked_at() -> None:
    check_golden("doctor-quiet", shown(report(facts(), None), 100))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_line_but_a_command_fits(width: int) -> None:
    commands = {finding.words().command for finding in report().findings}
    for line in shown(report(), width).splitlines():
        assert cell_len(line) <= width or line.strip() in commands


def test_the_name_of_a_program_is_neither_markup_nor_an_order_to_the_terminal() -> None:
    text = shown(report(), 200)
    assert "[red]stress[/red]" in text
    assert "\x1b[2J" not in text


@pytest.mark.parametrize(
    ("landlock", "seccomp", "offered", "signals"),
    [(7, True, True, False), (5, True, True, True), (0, True, False, False), (7, False, False, False)],
)
def test_what_confinement_can_do_here_is_said(landlock: int, seccomp: bool, offered: bool, signals: bool) -> None:
    text = shown(report(facts(confinement=ConfinementSupport(landlock, seccomp)), None), 300)
    assert ("with IRBENCH_CONFINE=1 for those that run them" in text) is offered
    assert ("signals to other processes stay open" in text) is signals


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (facts(), "60 ns [60, 60] in 12 measurements; stable for 1.5 s"),
        (facts(unanswered_looks=2), "60 ns [60, 60] in 12 measurements, 2 more failed; stable for 1.5 s"),
        (facts(core_to_core=CoreToCore((90.0, 92.0))), "91 ns [90, 92] in 2 measurements; too few to see changes"),
        (facts(core_to_core=None, unanswered_looks=9), "not measured: no measurement of 9 succeeded"),
        (facts(core_to_core=None), "not measured: it needs two processors"),
    ],
)
def test_core_to_core_latency_says_how_often_it_was_looked_at_and_no_more_than_that_tells(
    seen: Facts, said: str
) -> None:
    assert f"core to core  {said}\n" in shown(report(seen, None), 200)


@pytest.mark.parametrize(
    ("count", "verdict"),
    [
        (0, "Nothing found that disturbs measurement."),
        (1, "1 finding."),
        (2, "2 findings, in the order of what they usually cost."),
    ],
)
def test_the_verdict_counts_the_findings(count: int, verdict: str) -> None:
    finding = Turbo(file="/sys/x/boost")
    assert findings_summary((finding,) * count) == verdict


def test_what_cannot_be_fixed_is_shown_and_counted_apart() -> None:
    virtual = facts(hypervisor="KVM")
    lasting = "1 finding: nothing that can be fixed here disturbs measurement."
    assert findings_summary(report(virtual).findings) == lasting
    assert "This is a virtual machine (KVM)" in shown(report(virtual), 120)
    both = report(facts(hypervisor="KVM", turbo=True)).findings
    said = "2 findings, in the order of what they usually cost; 1 of them cannot be fixed here."
    assert findings_summary(both) == said


def test_the_self_comparison_is_not_advised_where_it_was_made() -> None:
    virtual = facts(hypervisor="KVM")
    assert "irbench doctor --aa" in shown(report(virtual, None), 120)
    assert "irbench doctor --aa" not in shown(report(virtual), 120)
    assert diagnosis_document(report(virtual), [])["findings"][0]["command"] is None


def test_programs_get_numbers_nulls_and_stable_keys() -> None:
    found = json.loads(json.dumps(diagnosis_document(report(), [{"name": "ort"}])))
    assert list(found) == [
        "machine", "activity", "gpus", "counters", "core_to_core", "overhead", "backends", "findings", "verdict",
        "peak", "aa",
    ]  # fmt: skip
    assert found["machine"]["turbo"] is None
    assert found["machine"]["governors"] == []
    assert found["machine"]["caches"][0] == {"name": "L1d", "size_bytes": 49152, "count": 4}
    assert found["core_to_core"]["regimes_ns"] == [91, 300]
    assert "core_to_core" not in found["activity"]
    assert found["overhead"] == {
        "cost_ns": 140, "cost_low_ns": 140, "cost_high_ns": 145, "bare_ns": 41, "repeats": 3, "goal_ns": 300,
        "within_goal": True,
    }  # fmt: skip
    assert set(found["findings"][0]) == {"code", "facts", "found", "effect", "remedy", "command", "lasting"}
    assert found["aa"]["verdict"] == "same"
    assert found["aa"]["speedup"] == {"value": 1, "low": 0.99, "high": 1.01}
    assert found["aa"]["outcome"] == "passed"


def test_what_was_not_asked_for_or_not_measured_is_null() -> None:
    found = diagnosis_document(report(facts(core_to_core=None), None), [])
    assert found["aa"] is None
    assert found["core_to_core"] is None


def test_counters_have_a_line_of_the_machine_and_a_place_in_the_document() -> None:
    missing = {"cache": NoPmu()}
    seen = replace(facts(), counters=CounterFacts("6.8.12", ("software",), missing))
    text = " ".join(shown(report(seen, None), 100).split())
    said = "cache not available: the kernel offers no counters of the processor, as in most virtual machines"
    assert f"counters perf 6.8.12: software available; {said}" in text
    found = diagnosis_document(report(seen, None), [])
    assert found["counters"] == {
        "version": "6.8.12",
        "available": ("software",),
        "unavailable": {"cache": {"code": "no-pmu", "facts": {}}},
    }
    without = replace(facts(), counters=CounterFacts(None, (), {"software": NoPerf()}))
    assert "no perf: none available" in shown(report(without, None), 100)
    assert diagnosis_document(report(facts(), None), [])["counters"] is None


NOW = datetime(2026, 2, 3, 15, tzinfo=UTC)
KEPT = PeakReport(peaks(), "kept", NOW)


def shown_peaks(peak: PeakReport, width: int) -> str:
    report = Report(facts(), (), OVERHEAD, peak=peak)
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(ReportView(report, Text("ort")), highlight=False)
    assert isinstance(console.file, io.StringIO)
    whole = "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"
    return whole[whole.index("Attainable peak") :]


@pytest.mark.parametrize("width", [80, 120])
def test_the_peaks_are_the_ones_that_were_looked_at(width: int):
    check_golden(f"doctor-peak-{width}", shown_peaks(KEPT, width))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_line_fits(width: int):
    assert all(cell_len(line) <= width for line in shown_peaks(KEPT, width).splitlines())


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
    assert peaks_message(nothing) in shown_peaks(nothing, 100)


def test_without_any_product_the_bandwidths_are_shown_alone():
    bare = PeakReport(replace(peaks(), compute=()), "kept", NOW)
    assert "No peak of matrix products is known" in peaks_message(bare)
    text = shown_peaks(bare, 120)
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
    lines = " ".join(line.plain for line in GroupView(table, roofline=True).as_lines(160))
    assert "of roof: share of the roof by this machine's peaks measured 2026-01-31 (irbench doctor)" in lines
    unknown = replace(table, cells=(replace(table.cells[0], roof_share=None),))
    assert "this machine's peaks" not in " ".join(
        line.plain for line in GroupView(unknown, roofline=True).as_lines(160)
    )


def test_a_table_says_nothing_of_roofs_that_nobody_asked_for():
    work = InferenceWork(1000, 100, {"fp32": Roof(100.0, "compute", "L2")}, peaks().measured, "1.23.0")
    marks = (OtherPeaks(version="1.24.1", measured_with="1.23.0"),)
    table = group(cell("ort", work=work, gflop_per_s=80.0, roof_share=0.8, marks=marks))
    text = " ".join(line.plain for line in GroupView(table).as_lines(160))
    assert not any(word in text for word in ("roof", "GFLOP", "*", "peaks"))


@pytest.mark.parametrize(
    ("changes", "reason", "said"),
    [
        ({"disturbed_share": 0.6}, "disturbed", "those of a busy machine"),
        ({}, "slower-together", "4 cores attained less than one in fp32"),
    ],
)
def test_peaks_that_are_not_kept_are_said_to_be_those_of_a_busy_machine(changes: Any, reason: Any, said: str):
    found = peaks()
    slow = tuple(replace(peak, gflop_per_s=100.0) if peak.threads == 4 else peak for peak in found.compute)
    found = replace(found, **(changes or {"compute": slow}))
    report = PeakReport(found, "measured", datetime(2026, 1, 31, tzinfo=UTC), reason)
    assert said in peaks_message(report)
    assert "not kept" in peaks_message(report)


def test_nothing_known_is_null():
    assert diagnosis_document(Report(facts(), (), OVERHEAD), [])["peak"] is None
    assert peaks_document(PeakReport(None, "interrupted", NOW)) == {
        "outcome": "interrupted", "measured": None, "compute": [], "bandwidth": [],
    }  # fmt: skip
