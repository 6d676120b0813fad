"""What all charts share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irbench.charts.figure import log_ticks


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.5, 20_000, [1, 10, 100, 1000, 10_000]),
        (3, 400, [5, 10, 20, 50, 100, 200]),
        (56, 84, [60, 65, 70, 75, 80]),
        (0.97, 1.04, [0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03, 1.04]),
        (7, 7, [7]),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_round_and_at_least_four(low: float, high: float, ticks: list[float]) -> None:
    assert list(log_ticks(low, high)) == pytest.approx(ticks)


@pytest.mark.hypothesis
@given(st.floats(1e-6, 1e6), st.floats(1.001, 1e6))
def test_ticks_lie_between_the_values(low: float, ratio: float) -> None:
    ticks = list(log_ticks(low, low * ratio))
    assert 4 <= len(ticks) <= 40
    assert all(low * 0.999 <= tick <= low * ratio * 1.001 for tick in ticks)
    assert ticks == sorted(ticks)
