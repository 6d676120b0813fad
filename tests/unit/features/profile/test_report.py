"""Estimates over launches: differences, and when they are none of scatter."""

from __future__ import annotations

import pytest

from irbench.features.profile.report import Estimate


@pytest.mark.parametrize(
    ("found", "is_certain"),
    [
        (Estimate(5e6, 1e6, 9e6), True),
        (Estimate(-5e6, -9e6, -1e6), True),
        (Estimate(5e6, -1e6, 9e6), False),
        (Estimate(0.0, 0.0, 0.0), False),
        (Estimate(300.0, 200.0, 400.0), False),
    ],
)
def test_a_difference_is_certain_if_its_ends_have_one_sign_and_runtimes_can_tell_it(
    found: Estimate, is_certain: bool
) -> None:
    assert found.is_certain is is_certain


def test_a_difference_has_the_ends_that_both_intervals_allow_and_is_a_preview_if_either_is() -> None:
    long, short = Estimate(9.0, 8.0, 11.0, 0.95), Estimate(3.0, 2.0, 4.0, 0.95)
    assert long.less(short) == Estimate(6.0, 4.0, 9.0, 0.95)
    assert long.less(Estimate(3.0, 2.0, 4.0)).confidence is None
