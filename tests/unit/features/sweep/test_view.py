"""A sweep as it is shown: before it is measured, and how far it is."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from documents import cell, document, group
from golden_files import check_golden
from rich.console import Console

from irbench.features.plan.expansion import Doubling, Matrix, SweepTable, expand
from irbench.features.sweep.report import CurveOverview, SweepOverview, TableOverview, TableStatus
from irbench.features.sweep.view import SweepView
from irbench.render.formats.row_table import row_sources
from irbench.store.entries import Outcome, RunEntry
from irbench.store.sweeps import BatchGain, CurveEnd, CurvePoint, RowFacts

LISTS = {"models": ("resnet50",), "backends": ("ort", "openvino"), "threads": (2,), "budget": 60.0, "quick": True}


def curve_tables() -> tuple[SweepTable, ...]:
    return expand([Matrix(LISTS, ("backends",), doubling=Doubling(1, 8))], seed=0).tables


def shown(overview: SweepOverview, width: int = 100) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    with console.capture() as capture:
        console.print(SweepView(overview), highlight=False)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def entry(run: str, ratio: float) -> RunEntry:
    outcome = Outcome("winner", "openvino", "ort", ratio)
    return RunEntry(run, "", "", ("resnet50",), (), (), (outcome,), True, 4, True)


def point(batch: int, ort: float | None, openvino: float, *gains: BatchGain | None) -> CurvePoint:
    of_ort, of_openvino = gains or (None, None)
    rows = (
        RowFacts("ort", "ok" if ort else "failed", ort, batch * 10**8, gain=of_ort),
        RowFacts("openvino", "ok", openvino, batch * 2 * 10**8, gain=of_openvino),
    )
    return CurvePoint(batch, rows)


GAINED = (BatchGain(0.332, 0.29, 0.37, 30.2), BatchGain(0.49, 0.41, 0.55, 33.4))
"""Of ort and openvino from batch 1 to 2."""


def overview(end: CurveEnd | None) -> SweepOverview:
    statuses: tuple[TableStatus, ...] = ("done", "failed", "interrupted", "left-out")
    listed = [
        TableOverview(
            table,
            status,
            run=f"01KAJ3WQ4R8Z6M1X0V9T7S5P3{number}" if status in ("done", "interrupted") else "",
            entry=entry("r", 1.1 + number) if status == "done" else None,
            message="The shape does not fit." if status == "failed" else "",
        )
        for number, (table, status) in enumerate(zip(curve_tables(), statuses, strict=True))
    ]
    last = point(4, None, 51.0, None, BatchGain(0.021, 0.004, 0.038, 49.9))
    points = (point(1, 30.0, 33.0), point(2, 40.0, 50.0, *GAINED), last)
    return SweepOverview("night", tuple(listed), (CurveOverview("resnet50 threads=2", points, 0.05, end),))


@pytest.mark.parametrize("width", [100, 60])
def test_a_sweep_is_shown_as_it_was_looked_at(width: int):
    check_golden(f"sweep-{width}", shown(overview(CurveEnd("c", 4, "saturated")), width))


def test_a_sweep_counts_the_rows_that_had_no_time() -> None:
    found = document(group(cell("ort", 37.0), replace(cell("openvino", 64.0), state="not-measured", latency_ms=None)))
    console = Console(width=120, file=io.StringIO(), color_system=None)
    with console.capture() as capture:
        console.print(SweepView(overview(None), tuple(row_sources(found))), highlight=False)
    assert "1 of 2 rows not measured for lack of time: raise `budget` in the plan" in capture.get()


def test_a_curve_that_ended_for_want_of_memory_says_how_much_it_lacked():
    end = CurveEnd("c", 4, "memory", "openvino", 1_600_000_000, 1_000_000_000)
    assert "openvino would need 1.6 GB at twice that, and 1.0 GB are free" in shown(overview(end))
    assert "ended at" not in shown(overview(None))


def concluded(*points: CurvePoint) -> str:
    curves = (CurveOverview("resnet50 threads=2", points, 0.05, None),)
    return " ".join(shown(replace(overview(None), curves=curves), 200).split())


def test_a_gain_stands_beside_both_throughputs_of_its_table():
    points = (point(1, 30.0, 33.0), point(2, 40.0, 50.0, *GAINED))
    assert "2 ort 30.2 40.0 +33.2 % [+29.0 %, +37.0 %]" in concluded(*points)
    assert "ort: no knee up to batch 2" in concluded(*points)


def test_a_knee_is_stated_only_with_an_interval():
    def curve(*gains: BatchGain) -> str:
        later = (point(2**step, 100.0, 100.0, gained, gained) for step, gained in enumerate(gains, start=1))
        return concluded(point(1, 100.0, 100.0), *later)

    much, little = BatchGain(0.5, 0.4, 0.6, 9.0), BatchGain(0.01, -0.01, 0.03, 9.0)
    unsure = BatchGain(0.1, -0.4, 0.7, 9.0)
    assert "ort: knee at batch 2, beyond which doubling gains less than 5 %" in curve(much, little, little)
    assert "ort: knee between batch 2 and 4, beyond which" in curve(much, unsure, little)
    busy = curve(unsure, unsure, unsure)
    assert "ort: knee unknown: the last doubling gained +10.0 % [-40.0 %," in busy
    assert "knee at" not in busy
    assert "the last doubling gained -40.0 %, which may be more or less than 5 %" in curve(
        BatchGain(-0.4, fps_before=9.0)
    )
