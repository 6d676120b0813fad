"""Processors divided among processes."""

from __future__ import annotations

import pytest

from irbench.runner import instances
from irbench.runner.instances import cpu_shares
from irbench.system import host


@pytest.fixture(autouse=True)
def _hyperthreads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hardware threads a core, numbered as Linux does: 0 and 8 are one core of eight."""
    monkeypatch.setattr(host, "core_of", lambda cpu: str(cpu % 8))
    monkeypatch.setattr(instances, "with_siblings", lambda cpus: frozenset({*cpus, *(cpu + 8 for cpu in cpus)}))


def test_hardware_threads_of_a_core_stay_together() -> None:
    assert cpu_shares(tuple(range(16)), 2) == ((0, 8, 1, 9, 2, 10, 3, 11), (4, 12, 5, 13, 6, 14, 7, 15))


def test_shares_are_equal_and_what_is_left_over_is_idle() -> None:
    assert cpu_shares((0, 1, 2, 3, 4, 5, 6), 3) == ((0, 1), (2, 3), (4, 5))


def test_only_what_may_be_used_is_divided() -> None:
    assert cpu_shares((1, 2, 9), 2) == ((1, 9), (2,))


def test_hardware_threads_are_divided_where_cores_do_not_suffice() -> None:
    assert cpu_shares((0, 8), 2) == ((0,), (8,))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 16])
def test_no_two_shares_have_a_processor_in_common(count: int) -> None:
    shares = cpu_shares(tuple(range(16)), count)
    assert len(shares) == count
    assert len({len(share) for share in shares}) == 1
    assert len({cpu for share in shares for cpu in share}) == sum(map(len, shares))


def test_more_shares_than_processors_are_refused() -> None:
    with pytest.raises(ValueError, match="2 processors"):
        cpu_shares((0, 8), 3)
