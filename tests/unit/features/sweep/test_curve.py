"""A curve over batch sizes ends where doubling gains too little, or memory would not suffice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from irbench.features.sweep.curve import CurvePoint, RowFacts, curve_end, expected_bytes, gain, knee

GB = 10**9


def points(*throughputs: float | None, peaks_gb: tuple[float, ...] = ()) -> tuple[CurvePoint, ...]:
    """Return a curve of one row, from batch 1 on."""
    peaks = [round(peak * GB) for peak in peaks_gb] or [None] * len(throughputs)
    return tuple(
        CurvePoint(2**step, (RowFacts("ort", "ok" if fps else "failed", fps, peak),))
        for step, (fps, peak) in enumerate(zip(throughputs, peaks, strict=True))
    )


def two_rows(*throughputs: tuple[float, float]) -> tuple[CurvePoint, ...]:
    return tuple(
        CurvePoint(2**step, tuple(RowFacts(name, "ok", fps) for name, fps in zip(("ort", "tf"), pair, strict=True)))
        for step, pair in enumerate(throughputs)
    )


def reason(found: tuple[CurvePoint, ...], stop_gain: float = 0.05, available_bytes: int = 100 * GB) -> str | None:
    end = curve_end("c", found, stop_gain, 2 ** len(found), available_bytes)
    return None if end is None else end.reason


def test_a_curve_goes_on_while_doubling_gains_enough():
    assert reason(()) is None
    assert reason(points(100)) is None
    assert reason(points(100, 110)) is None
    assert reason(points(100, 105)) is None


@pytest.mark.parametrize("last", [104.9, 100, 80])
def test_it_ends_where_doubling_gains_less_than_asked_for_or_loses(last: float):
    end = curve_end("c", points(100, last), 0.05, 4, 100 * GB)
    assert end is not None
    assert (end.reason, end.batch) == ("saturated", 2)


def test_it_goes_on_while_any_row_gains_enough():
    assert reason(two_rows((100, 100), (101, 150))) is None
    assert reason(two_rows((100, 100), (101, 101))) == "saturated"


def test_a_step_on_a_busy_machine_ends_it_only_if_another_gains_too_little():
    quiet = points(100, 190, 180)
    busy = (*quiet[:2], replace(quiet[2], busy=True))
    assert (reason(quiet), reason(busy)) == ("saturated", None)
    assert reason((*busy, *points(0, 0, 0, 185)[3:])) == "saturated"
    assert reason((*busy, *points(0, 0, 0, 300)[3:])) is None


def test_a_row_that_has_just_begun_to_work_may_still_gain():
    assert reason(points(None, 100)) is None


def test_it_ends_where_no_row_has_figures():
    assert reason(points(100, None)) == "failed"


def test_it_ends_before_a_row_that_would_not_fit_into_memory():
    growing = points(100, 190, peaks_gb=(1.0, 1.5))
    assert expected_bytes(growing, "ort", 4) == 2.5 * GB
    end = curve_end("c", growing, 0.05, 4, 2 * GB)
    assert end is not None
    assert (end.reason, end.row, end.needed_bytes, end.available_bytes) == ("memory", "ort", 2.5 * GB, 2 * GB)
    assert reason(growing, available_bytes=3 * GB) is None


def test_memory_is_not_foretold_from_one_point():
    assert expected_bytes(points(100, peaks_gb=(1.0,)), "ort", 2) is None
    assert reason(points(100, peaks_gb=(1.0,)), available_bytes=1) is None


def test_the_knee_is_the_batch_beyond_which_the_next_gains_too_little():
    curve = points(100, 180, 300, 310, 312)
    assert knee(curve, "ort", 0.05) == 4
    assert knee(curve[:3], "ort", 0.05) is None
    assert knee(curve, "ort", 0.01) == 8
    assert knee(points(100, 180, 181, 300, 310), "ort", 0.05) == 8
    assert knee(points(100, 101), "ort", 0.05) == 1
    assert gain(curve, "ort") == pytest.approx(312 / 310 - 1)
    assert gain(curve[:1], "ort") is None
