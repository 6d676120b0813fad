"""Numbers show what was measured: no digit more, and never a zero for nothing."""

from __future__ import annotations

import math
import re
import sys

import pytest
from documents import speedup
from hypothesis import given
from hypothesis import strategies as st

from irbench.core.quantities import error_size, gigabytes, ratio, significant
from irbench.core.row import Speedup
from irbench.render.figure_texts import percent, range_note, seconds, speedup_cell


@pytest.mark.parametrize(
    ("value", "spread", "shown"),
    [
        (32.5123, 0.004, "32.5"),
        (48.02, 0.05, "48"),
        (0.041234, 0.015, "0.0412"),
        (282.4, 0.005, "282"),
        (24_390.2, 0.01, "24390"),
        (1.234, 0.9, "1.2"),
        (32.51234, 0.0, "32.51"),
        (32.51234, None, "32.5"),
        (282.4, None, "282"),
        (0.0, 0.01, "0"),
        (None, 0.01, "-"),
    ],
)
def test_a_figure_ends_where_its_spread_begins(value: float | None, spread: float | None, shown: str):
    assert significant(value, spread) == shown


@given(st.floats(1e-6, 1e7), st.floats(1e-4, 0.3))
def test_what_is_shown_lies_within_the_spread_of_what_was_measured(value: float, spread: float):
    digits_allow = 0.5 * 10.0 ** (math.floor(math.log10(value)) - 1)
    assert abs(float(significant(value, spread)) - value) <= max(value * spread, digits_allow) * 1.000001


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (1.31, 1.29, 1.33, ("1.31", "1.29", "1.33")),
        (0.89, 0.88, 0.90, ("0.89", "0.88", "0.90")),
        (12.34, 12.11, 12.56, ("12.3", "12.1", "12.6")),
        (1.01, 1.004, 1.02, ("1.010", "1.004", "1.020")),
        (0.99, 0.98, 0.996, ("0.990", "0.980", "0.996")),
        (1.2, 1.2001, 1.2004, ("1.2000", "1.2001", "1.2004")),
        (1.0, 0.9, 1.1, ("1.00", "0.90", "1.10")),
    ],
)
def test_an_interval_keeps_its_ends_apart_and_off_1_where_1_is_excluded(
    value: float, low: float, high: float, shown: tuple[str, str, str]
):
    assert ratio(value, low, high) == shown


def test_a_speedup_is_a_value_with_its_interval_a_baseline_or_nothing():
    assert speedup_cell(speedup(1.31, 1.29, 1.33), is_baseline=False) == "1.31 [1.29, 1.33]"
    assert speedup_cell(None, is_baseline=True) == "1 baseline"
    assert speedup_cell(None, is_baseline=False) == "-"


def test_small_things_do_not_become_nothing():
    assert (seconds(900), seconds(40), seconds(None), seconds(0)) == ("0.9", "0.04", "-", "0.0")
    assert (gigabytes(340_000_000), gigabytes(3_000_000), gigabytes(None)) == ("0.34", "0.003", "-")
    assert (error_size(1.6e-6), error_size(0.0), error_size(None)) == ("2e-06", "0", "-")
    assert error_size(sys.float_info.max) == "inf"
    assert (percent(0.004), percent(0.12), percent(None)) == ("±0.4 %", "±12 %", "-")


@given(st.floats(1e-9, 1e6))
def test_no_measured_duration_is_shown_as_zero(milliseconds: float):
    assert re.search("[1-9]", seconds(milliseconds))


@pytest.mark.parametrize(("launches", "note"), [(1, ", after only one launch"), (6, "")])
def test_several_launches_without_an_interval_are_not_called_one(launches: int, note: str):
    assert (
        range_note(
            Speedup(
                1.2,
                low=None,
                high=None,
                verdict="undecided",
                excludes_one=False,
                all_blocks_value=1.2,
                launches=launches,
            )
        )
        == note
    )
