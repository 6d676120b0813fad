"""Halving versions: few are tried, and what cannot be judged is left out."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import pytest
from documents import speedup
from hypothesis import given
from hypothesis import strategies as st

from irbench.features.bisect.halving import bounds, ends_differ, next_version, side_by_speed, untested
from irbench.features.bisect.report import Side

VERSIONS = tuple(f"1.{number}" for number in range(16))


def searched(versions: Sequence[str], first_new: str, broken: Collection[str] = ()) -> dict[str, Side]:
    """Search until nothing is left to try, and return what is known then."""
    sides: dict[str, Side] = {versions[0]: "old", versions[-1]: "new"}
    while (version := next_version(versions, sides)) is not None:
        assert version not in sides
        is_new = versions.index(version) >= versions.index(first_new)
        sides[version] = "skipped" if version in broken else "new" if is_new else "old"
    return sides


def test_the_version_that_changed_something_is_found_in_as_few_steps_as_halving_takes(
    subtests: pytest.Subtests,
) -> None:
    for first_new in VERSIONS[1:]:
        with subtests.test(first_new=first_new):
            sides = searched(VERSIONS, first_new)
            before = VERSIONS[VERSIONS.index(first_new) - 1]
            assert bounds(VERSIONS, sides) == (before, first_new)
            assert len(sides) - 2 <= math.ceil(math.log2(len(VERSIONS) - 1))


@given(st.data())
def test_the_change_is_always_between_the_two_that_are_found(data: st.DataObject) -> None:
    versions = tuple(str(number) for number in range(data.draw(st.integers(2, 40))))
    first_new = data.draw(st.sampled_from(versions[1:]))
    broken = data.draw(st.sets(st.sampled_from(versions[1:-1]))) if len(versions) > 2 else set()
    sides = searched(versions, first_new, broken)
    low, high = bounds(versions, sides)
    assert int(low) < int(first_new) <= int(high)
    assert set(untested(versions, sides)) <= broken


def test_neighbours_leave_nothing_to_try() -> None:
    assert next_version(("1", "2"), {"1": "old", "2": "new"}) is None


def test_a_version_that_cannot_be_judged_makes_its_neighbours_the_next_ones() -> None:
    sides: dict[str, Side] = {"1": "old", "3": "skipped", "5": "new"}
    assert next_version(("1", "2", "3", "4", "5"), sides) in ("2", "4")


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict", "differ"),
    [
        (1.20, 1.18, 1.22, "faster", True),
        (0.85, 0.83, 0.87, "slower", True),
        (1.01, 0.99, 1.02, "same", False),
        (1.02, 1.01, 1.04, "faster", None),  # less than what counts, and maybe more
        (1.04, 0.98, 1.10, "undecided", None),
        (1.20, 1.10, 1.30, "preview", None),
    ],
)
def test_ends_differ_where_the_change_is_sure_and_large_enough(
    value: float, low: float, high: float, verdict: str, differ: bool | None
) -> None:
    found = speedup(value, low, high, verdict)
    assert ends_differ(found, 0.03) is differ


@pytest.mark.parametrize(
    ("value", "low", "high", "whole", "side"),
    [
        (1.00, 0.98, 1.02, 1.21, "old"),
        (1.21, 1.19, 1.23, 1.21, "new"),
        (1.06, 1.04, 1.08, 1.21, "old"),  # nearer to the old end, and different from it all the same
        (1.10, 1.05, 1.15, 1.21, "undecided"),
        (0.80, 0.79, 0.81, 0.81, "new"),
        (1.00, 0.98, 1.02, 0.81, "old"),
    ],
)
def test_a_version_belongs_to_the_end_on_whose_side_of_the_middle_its_whole_interval_lies(
    value: float, low: float, high: float, whole: float, side: Side
) -> None:
    assert side_by_speed(speedup(value, low, high), whole) == side


def test_too_few_launches_decide_nothing() -> None:
    assert side_by_speed(speedup(1.2, 1.19, 1.21, "preview"), 1.2) == "undecided"
