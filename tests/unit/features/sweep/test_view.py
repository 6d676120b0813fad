"""A sweep as it is shown: before it is measured, and how far it is."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import pairwise

import pytest
from golden_files import check_golden
from rich.console import Console

from irbench.features.plan.expansion import Doubling, Matrix, SweepTable, expand
from irbench.features.sweep.curve import CurveEnd, CurvePoint, RowFacts
from irbench.features.sweep.report import CurveOverview, SweepOverview, TableOverview, TableStatus
from irbench.features.sweep.view import SweepView
from irbench.store.entries import Outcome, RunEntry

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


def point(batch: int, ort: float | None, openvino: float) -> CurvePoint:
    rows = (
        RowFacts("ort", "ok" if ort else "failed", ort, batch * 10**8),
        RowFacts("openvino", "ok", openvino, batch * 2 * 10**8),
    )
    return CurvePoint(batch, rows)


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
    points = (point(1, 30.0, 33.0), point(2, 40.0, 50.0), point(4, None, 51.0))
    return SweepOverview("night", tuple(listed), (CurveOverview("resnet50 threads=2", points, 0.05, end),))


@pytest.mark.parametrize("width", [100, 60])
def test_a_sweep_is_shown_as_it_was_looked_at(width: int):
    check_golden(f"sweep-{width}", shown(overview(CurveEnd("c", 4, "saturated")), width))


def test_a_curve_that_ended_for_want_of_memory_says_how_much_it_lacked():
    end = CurveEnd("c", 4, "memory", "openvino", 1_600_000_000, 1_000_000_000)
    assert "openvino would need 1.6 GB at twice that, and 1.0 GB are free" in shown(overview(end))
    assert "ended at" not in shown(overview(None))


def test_a_gain_follows_from_the_throughput_beside_it():
    points = (point(1, 99.64, 33.0), point(2, 104.49, 33.3), point(4, 109.46, 33.5))
    curves = (CurveOverview("resnet50 threads=2", points, 0.05, None),)
    lines = [line.split() for line in shown(replace(overview(None), curves=curves)).splitlines()]
    fps = [(float(line[2]), line[3]) for line in lines if line[1:2] == ["ort"] and line[0].isdecimal()]
    for (before, _), (after, gained) in pairwise(fps):
        assert f"{100 * (after / before - 1):.0f}" == gained
    assert [gained for _, gained in fps] == ["-", "5", "5"]
