"""Quantities in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irbench.core.quantities import binary_size, listing, percent, percents_apart, plural, shortened, size_text, times
from irbench.options.values import cpu_list
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


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (4_321, "4.3 kB"), (54_321_000, "54.3 MB"), (2e9, "2.0 GB")],
)
def test_the_size_of_a_file_is_never_nothing(size_bytes: int, text: str) -> None:
    assert size_text(size_bytes) == text


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [(0, "block", "0 blocks"), (1, "launch", "1 launch"), (2, "launch", "2 launches"), (3, "data set", "3 data sets")],
)
def test_one_of_a_thing_is_singular_and_any_other_number_plural(count: int, noun: str, said: str):
    assert plural(count, noun) == said


def test_a_listing_ends_in_and():
    assert [listing("a"), listing("ab"), listing("abc")] == ["a", "a and b", "a, b and c"]


def test_a_long_listing_counts_what_it_leaves_out():
    assert shortened("", "row") == ""
    assert shortened("abcd", "row") == "a, b, c and d"
    assert shortened("abcde", "row") == "a, b, c and 2 more rows"


def test_a_share_is_in_percent_and_a_ratio_a_factor():
    assert (percent(0.018), percent(0.3, 0), times(1.138)) == ("1.8 %", "30 %", "1.14x")


@pytest.mark.parametrize(
    ("value", "bound", "said"),
    [
        (0.024, 0.01, ("2.4 %", "1.0 %")),
        (0.0144, 0.0140, ("1.44 %", "1.40 %")),
        (0.01401, 0.014, ("1.401 %", "1.400 %")),
        (0.014, 0.014, ("1.4 %", "1.4 %")),
        (0.014 + 1e-15, 0.014, ("1.4 %", "1.4 %")),
    ],
)
def test_a_figure_and_its_target_are_told_apart_where_they_differ(value: float, bound: float, said: tuple[str, str]):
    assert percents_apart(value, bound) == said
