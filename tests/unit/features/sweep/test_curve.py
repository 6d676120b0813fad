"""A curve over batch sizes ends where doubling gains too little, or memory would not suffice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from irbench.features.sweep.curve import Knee, curve_end, expected_bytes, gain, knee
from irbench.store.sweeps import BatchGain, CurvePoint, RowFacts

GB = 10**9


def gains_of(fps: Sequence[float | None], width: float) -> list[BatchGain | None]:
    """Return what each batch gains over the one before, known to so many percentage points on either side."""
    values = [after / before - 1 if before and after else None for before, after in pairwise(fps)]
    known = (None if value is None else BatchGain(value, value - width, value + width) for value in values)
    return [None, *known]


def points(
    *throughputs: float | None, peaks_gb: tuple[float, ...] = (), width: float = 0.0005
) -> tuple[CurvePoint, ...]:
    """Return a curve of one row, from batch 1 on."""
    peaks = [round(peak * GB) for peak in peaks_gb] or [None] * len(throughputs)
    return tuple(
        CurvePoint(2**step, (RowFacts("ort", "ok" if fps else "failed", fps, peak, gain=gained),))
        for step, (fps, peak, gained) in enumerate(zip(throughputs, peaks, gains_of(throughputs, width), strict=True))
    )


def two_rows(*throughputs: tuple[float, float]) -> tuple[CurvePoint, ...]:
    gains = [gains_of(fps, 0.0005) for fps in zip(*throughputs, strict=True)]
    return tuple(
        CurvePoint(
            2**step,
            tuple(
                RowFacts(name, "ok", fps, gain=gained[step])
                for name, fps, gained in zip(("ort", "tf"), pair, gains, strict=True)
            ),
        )
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


def test_a_step_that_is_not_sure_ends_it_only_if_another_gains_too_little():
    assert reason(points(100, 190, 180)) == "saturated"
    assert reason(points(100, 190, 180, width=0.3)) is None  # a busy machine
    assert reason(points(100, 190, 180, 185, width=0.3)) == "saturated"
    assert reason(points(100, 190, 180, 300, width=0.3)) is None


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
    assert knee(curve, "ort", 0.05) == Knee(4, 4)
    assert knee(curve[:3], "ort", 0.05) is None
    assert knee(curve, "ort", 0.01) == Knee(8, 8)
    assert knee(points(100, 180, 181, 300, 310), "ort", 0.05) == Knee(8, 8)
    assert knee(points(100, 101), "ort", 0.05) == Knee(1, 1)
    gained = gain(curve, "ort")
    assert gained is not None
    assert gained.value == pytest.approx(312 / 310 - 1)
    assert gain(curve[:1], "ort") is None


def test_a_knee_is_not_stated_where_gains_are_not_known_closely():
    busy = points(121, 62, 112, 71, width=0.6)
    assert knee(busy, "ort", 0.05) is None
    assert knee(points(121, 122, 121, 122, width=0.6), "ort", 0.05) is None
    unknown = [replace(point.rows[0], gain=None if not point.rows[0].gain else BatchGain(0.0)) for point in busy]
    previews = tuple(CurvePoint(2**step, (row,)) for step, row in enumerate(unknown))
    assert knee(previews, "ort", 0.05) is None


def test_a_knee_lies_between_what_surely_gains_and_what_surely_does_not():
    sure, unsure = points(100, 180, 300, 310, 312), points(100, 180, 300, 310, 312, width=0.2)
    mixed = (*sure[:2], unsure[2], unsure[3], sure[4])
    assert knee(mixed, "ort", 0.05) == Knee(4, 8)  # 4 surely gained: 67 % at least 47 %; whether 8 did is not known
    mixed = (*sure[:2], *points(100, 180, 190, 310, 312, width=0.2)[2:3], *sure[3:])
    assert knee(mixed, "ort", 0.05) == Knee(2, 4)
