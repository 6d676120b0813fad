"""What a row is called, and how much it keeps in flight."""

from __future__ import annotations

from typing import Any

import pytest

from irbench.spec import Cell, Load


def cell(**load: Any) -> Cell:
    return Cell("id", None, "ort", "cpu", Load(**load))


@pytest.mark.parametrize(
    ("load", "label"),
    [
        ({"threads": 4}, "ort"),
        ({"streams": 4}, "ort x4"),
        ({"instances": 2, "threads": 1}, "ort 2x1"),
        ({"instances": 2, "threads": None}, "ort 2xnative"),
        ({"instances": 2, "threads": 3, "streams": 4}, "ort 2x3 x4"),
    ],
)
def test_a_label_names_instances_with_the_threads_of_each_and_streams(load: dict[str, Any], label: str) -> None:
    assert cell(**load).label == label


def test_instances_multiply_what_is_in_flight_and_the_threads() -> None:
    load = Load(instances=3, streams=4, threads=2)
    assert (load.concurrency, load.all_threads) == (12, 6)
    assert Load(instances=3, threads=None).all_threads is None
