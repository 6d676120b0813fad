"""The roof of a computation: arithmetic or bandwidth, whichever is less."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_peaks import peaks

from irbench.roofline import best_bandwidth, ridge_point, roof

MACHINE = peaks()


def test_few_operations_per_byte_are_limited_by_main_memory():
    found = roof(2.0, MACHINE, "fp32", 1)
    assert found is not None
    assert (found.gflop_per_s, found.bound, found.level) == (pytest.approx(20.0), "bandwidth", "memory")


def test_many_operations_per_byte_are_limited_by_arithmetic():
    found = roof(1000.0, MACHINE, "fp32", 1)
    assert found is not None
    assert (found.gflop_per_s, found.bound) == (150.0, "compute")


def test_a_computation_that_moves_nothing_is_limited_by_arithmetic():
    found = roof(math.inf, MACHINE, "int8", 4)
    assert found is not None
    assert found.gflop_per_s == 2400.0


@pytest.mark.parametrize(
    ("working_set_bytes", "level", "gb_per_s"),
    [(1000, "L1d", 300.0), (1 << 20, "L2", 80.0), (30 << 20, "L3", 20.0), (1 << 30, "memory", 10.0)],
)
def test_the_smallest_level_that_holds_the_working_set_decides(working_set_bytes: int, level: str, gb_per_s: float):
    found = best_bandwidth(MACHINE, 1, working_set_bytes)
    assert found is not None
    assert (found.level, found.gb_per_s) == (level, gb_per_s)


def test_caches_of_several_cores_hold_more_together():
    alone, together = best_bandwidth(MACHINE, 1, 4 << 20), best_bandwidth(MACHINE, 4, 4 << 20)
    assert alone is not None
    assert together is not None
    assert (alone.level, together.level) == ("L3", "L2")


@pytest.mark.parametrize(("precision", "threads"), [("fp16", 1), ("fp32", 2)])
def test_what_was_not_measured_has_no_roof(precision: str, threads: int):
    assert roof(10.0, MACHINE, precision, threads) is None
    assert ridge_point(MACHINE, precision, threads) is None


def test_without_bandwidths_there_is_no_roof():
    bare = replace(MACHINE, bandwidth=())
    assert roof(10.0, bare, "fp32", 1) is None
    assert ridge_point(bare, "fp32", 1) is None


@pytest.mark.parametrize("intensity", [0.0, -1.0, math.nan])
def test_without_operations_there_is_no_roof(intensity: float):
    assert roof(intensity, MACHINE, "fp32", 1) is None


def test_both_limits_meet_at_the_ridge_point():
    ridge = ridge_point(MACHINE, "bf16", 1)
    assert ridge == pytest.approx(30.0)
    below, above = roof(0.99 * ridge, MACHINE, "bf16", 1), roof(1.01 * ridge, MACHINE, "bf16", 1)
    assert below is not None
    assert above is not None
    assert (below.bound, above.bound) == ("bandwidth", "compute")


def test_the_share_is_what_was_achieved_of_the_roof():
    found = roof(2.0, MACHINE, "fp32", 1)
    assert found is not None
    assert found.share(5.0) == pytest.approx(0.25)


@given(st.floats(1e-3, 1e6), st.floats(1, 100), st.one_of(st.none(), st.integers(1, 1 << 40)))
def test_more_operations_per_byte_never_lower_the_roof(intensity: float, factor: float, working_set: int | None):
    lower, higher = (roof(each, MACHINE, "fp32", 4, working_set) for each in (intensity, factor * intensity))
    assert lower is not None
    assert higher is not None
    assert lower.gflop_per_s <= higher.gflop_per_s <= 600.0
