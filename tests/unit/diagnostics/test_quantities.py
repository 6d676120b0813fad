"""Quantities of a machine in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irbench.diagnostics.quantities import binary_size, cpu_list
from irbench.system.host import parse_cpu_list


@given(st.sets(st.integers(0, 40), min_size=1))
def test_a_list_of_processors_is_read_back_as_it_was(cpus: set[int]) -> None:
    assert parse_cpu_list(cpu_list(cpus)) == tuple(sorted(cpus))


def test_neighbours_are_written_as_a_range() -> None:
    assert cpu_list((8, 0, 1, 2, 3)) == "0-3,8"


@pytest.mark.parametrize(
    ("count", "text"), [(49152, "48 KiB"), (300 << 20, "300 MiB"), (1152 << 10, "1152 KiB"), (100, "100 B")]
)
def test_a_cache_has_its_exact_size(count: int, text: str) -> None:
    assert binary_size(count) == text
