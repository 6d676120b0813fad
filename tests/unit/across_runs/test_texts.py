"""A change that is printed is the one that a reader computes from the figures beside it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irbench.across_runs.texts import change_and_figures, outwards, signed_amount, signed_percent, signed_percent_end

FIGURES = st.floats(1e-4, 1e6)


@given(FIGURES, st.floats(0.3, 3))
def test_a_percentage_follows_from_the_figures_as_they_are_printed(base: float, factor: float):
    first, last, change = change_and_figures(base, factor * base, "ms")
    before, after = (float(shown.removesuffix(" ms")) for shown in (first, last))
    assert signed_percent(after / before - 1) == change


@given(FIGURES, st.floats(0.3, 3))
def test_a_difference_follows_from_the_figures_as_they_are_printed(base: float, factor: float):
    first, last, change = change_and_figures(base, factor * base, "ms", relative=False)
    before, after, by = (float(shown.removesuffix(" ms")) for shown in (first, last, change))
    assert after - before == pytest.approx(by, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("base", "new", "shown"),
    [
        (10.0, 11.0, ("10.0 ms", "11.0 ms", "+10.0 %")),
        (0.04716, 0.05246, ("0.0472 ms", "0.0525 ms", "+11.2 %")),
        (37.05, 39.273, ("37.05 ms", "39.27 ms", "+6.0 %")),
        (5.0, 5.0, ("5.00 ms", "5.00 ms", "0.0 %")),
        (10.0, 25.0, ("10.0 ms", "25.0 ms", "+150 %")),
    ],
)
def test_figures_have_three_digits_unless_the_change_takes_more(base: float, new: float, shown: tuple[str, str, str]):
    assert change_and_figures(base, new, "ms") == shown


def test_bytes_are_megabytes():
    assert change_and_figures(1000, 1001, "bytes") == ("0.001000 MB", "0.001001 MB", "+0.1 %")
    assert change_and_figures(330e6, 410e6, "bytes", relative=False) == ("330 MB", "410 MB", "+80 MB")


def test_ends_of_intervals_are_rounded_outwards():
    assert [outwards(end, up=True) for end in (0.0414, 0.0496, 0.05, 0.0, -0.0414, 1.234)] == [
        0.042, 0.05, 0.05, 0.0, -0.041, 1.24
    ]  # fmt: skip
    assert [outwards(end, up=False) for end in (0.0414, 0.03, -0.0414)] == [0.041, 0.03, -0.042]
    assert signed_percent_end(outwards(0.000221, up=True)) == "+0.023 %"


def test_nothing_has_no_sign():
    assert signed_percent(-0.0001) == signed_percent(0.0001) == "0.0 %"
    assert (signed_percent_end(0.0), signed_percent_end(0.0002), signed_percent_end(-0.01)) == (
        "0.0 %",
        "+0.02 %",
        "-1.0 %",
    )
    assert signed_amount(-2.0, "ms") == "-2.00 ms"
