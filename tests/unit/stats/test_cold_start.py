"""Figures of cold starts: exact intervals over launches, and ratios within a round and a state of the caches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from irbench.core.cold_row import COLD_PHASES, CacheState, ColdLaunch, ColdRow, ColdTable
from irbench.core.row import Ends, Requested
from irbench.notices.marks import OtherPrecision
from irbench.spec import Timing
from irbench.stats.intervals import FEWEST_LAUNCHES
from irbench.stats.run_modes.cold_start import cold_speedups, derive_cold_table, with_figures

MS = 1_000_000


def launch(number: int, ready_ms: float) -> ColdLaunch:
    parts = dict.fromkeys(COLD_PHASES, round(ready_ms * MS / len(COLD_PHASES)))
    return ColdLaunch(number, parts, own_ns=5 * MS, resident_share=0.02, read_bytes=1000)


def row(cell: str, times_ms: list[float], cache: CacheState = "cold", precision: str = "fp32") -> ColdRow:
    launches = tuple(launch(number, time_ms) for number, time_ms in enumerate(times_ms))
    asked = Requested(1, 1, "fp32")
    effective = {"precision": precision}
    return ColdRow(
        id=cell,
        label=cell,
        artifact="onnx",
        backend=cell,
        device="cpu",
        cache=cache,
        batch=1,
        io="copy",
        requested=asked,
        effective=effective,
        state="ok",
        launches=launches,
    )


def table(*rows: ColdRow, allow_mixed: bool = False) -> ColdTable:
    raw = ColdTable(
        model="model",
        batch=1,
        shapes={},
        baseline=None,
        rounds=6,
        preview=True,
        stopped_by="launches",
        seconds=1.0,
        rows=rows,
    )
    return derive_cold_table(raw, rows[0].id, Timing(), allow_mixed=allow_mixed)


def test_the_median_over_launches_lies_between_order_statistics():
    found = with_figures(row("ort", [10, 20, 30, 40, 50, 60]), 0.95)
    assert found.ready_ms is not None
    assert found.phases_ms is not None
    assert (found.ready_ms.value, found.ready_ms.low, found.ready_ms.high) == (35, 10, 60)
    assert found.ready_confidence == 0.95
    assert found.phases_ms.compile == 7
    assert (found.resident_share, found.read_bytes) == (0.02, 1000)


def test_the_time_to_the_first_output_leaves_out_what_irbench_itself_took():
    assert launch(0, 100).ready_ns == 100 * MS


def test_with_too_few_launches_the_ends_are_a_range():
    found = with_figures(row("ort", [10, 20, 30, 40, 50]), 0.95)
    assert found.ready_ms is not None
    assert (found.ready_ms.low, found.ready_ms.high, found.ready_confidence) == (None, None, None)
    assert found.ready_ms.ends == Ends(10, 50, is_range=True)
    assert FEWEST_LAUNCHES == 6


@pytest.mark.parametrize("launches", [6, 9, 12, 20])
def test_intervals_hold_the_median_whatever_the_distribution(launches: int):
    random = np.random.default_rng(launches)
    found = [with_figures(row("ort", list(random.lognormal(3, 1, launches))), 0.95) for _ in range(400)]
    truth = float(np.exp(3))
    held = sum(span.low <= truth <= span.high for span in (one.ready_ms for one in found) if span is not None)
    assert held / 400 >= 0.93


def test_launches_of_one_round_are_compared_so_that_drift_cancels():
    drift = np.linspace(1, 3, 8)
    rows = (row("a", list(100 * drift)), row("b", list(50 * drift)))
    (found,) = cold_speedups(rows, "a", Timing()).values()
    assert (found.value, found.low, found.high) == pytest.approx((2, 2, 2))
    assert found.verdict == "faster"


def test_a_cold_launch_is_never_compared_with_a_warm_one():
    rows = (
        row("a", [100.0] * 6), row("b", [200.0] * 6), row("a", [10.0] * 6, "warm"), row("b", [5.0] * 6, "warm")
    )  # fmt: skip
    found = cold_speedups(rows, "a", Timing())
    assert {key: round(speedup.value, 3) for key, speedup in found.items()} == {("b", "cold"): 0.5, ("b", "warm"): 2.0}


def test_rows_of_other_precision_are_compared_only_where_that_is_allowed():
    rows = (row("a", [100.0] * 6), row("b", [50.0] * 6, precision="bf16"))
    assert [row.speedup for row in table(*rows).rows] == [None, None]
    marked = table(*rows, allow_mixed=True).rows[1].speedup
    assert marked is not None
    assert marked.reason == OtherPrecision(precision="bf16", baseline_precision="fp32")


def test_the_baseline_is_replaced_where_it_has_no_figures():
    failed = replace(row("a", []), state="failed")
    assert table(failed, row("b", [1.0] * 6)).baseline == "b"
    assert table(failed).baseline is None


def test_a_table_derived_once_more_is_the_same():
    found = table(row("a", [100.0, 90, 110, 105, 95, 99]), row("b", [50.0, 45, 56, 52, 49, 50]))
    assert found.rows[1].speedup is not None
    assert derive_cold_table(found, found.baseline, Timing(), allow_mixed=False) == found
