"""What a worker makes of a cell: phases and the speed that its warm-up found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from irbench.measure.drive import Window
from irbench.worker.cell import median_completion_ns


def window(completion_ns: Sequence[int]) -> Window:
    completed = np.array(completion_ns, np.int64)
    return Window(completed - 1, completed)


def test_one_slow_call_does_not_change_the_time_per_completion() -> None:
    assert median_completion_ns(window([10, 20, 30, 1030, 1040]), 1) == 10


@pytest.mark.parametrize(
    "completion_ns",
    [
        pytest.param([5, 10, 15, 20, 25, 30, 35, 40], id="evenly spread"),
        pytest.param([19, 20, 20, 20, 39, 40, 40, 40], id="in bursts"),
    ],
)
def test_streams_are_as_fast_as_all_of_them_together(completion_ns: list[int]) -> None:
    assert median_completion_ns(window(completion_ns), 4) == 5


def test_a_time_per_completion_is_never_zero() -> None:
    assert median_completion_ns(window([0, 0, 0]), 1) == 1
