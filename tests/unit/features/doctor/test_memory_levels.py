"""Working sets that show the bandwidth of each level."""

from __future__ import annotations

import pytest

from irbench.features.doctor.bandwidth import memory_levels
from irbench.features.doctor.machine import Cache

CACHES = (Cache("L1d", 48 << 10, 4), Cache("L2", 2 << 20, 4), Cache("L3", 36 << 20, 1))
PLENTY = 64 << 30


def sizes(threads: int, caches: tuple[Cache, ...] = CACHES, available: int = PLENTY) -> dict[str, int]:
    return {level.name: level.bytes_per_thread for level in memory_levels(caches, threads, 4, available)}


def test_one_thread_goes_through_half_of_each_cache_and_four_times_the_largest():
    assert sizes(1) == {"L1d": 24 << 10, "L2": 1 << 20, "L3": 18 << 20, "memory": 144 << 20}


def test_threads_share_the_cache_that_their_cores_share():
    assert sizes(4) == {"L1d": 24 << 10, "L2": 1 << 20, "L3": 18 << 20 >> 2, "memory": 144 << 20 >> 2}


def test_a_cache_of_two_cores_is_shared_by_two_threads():
    pairs = (Cache("L2", 4 << 20, 2),)
    assert sizes(4, pairs)["L2"] == 1 << 20
    assert sizes(1, pairs)["L2"] == 2 << 20


@pytest.mark.parametrize(("threads", "capacity"), [(1, 2 << 20), (3, 6 << 20), (4, 8 << 20)])
def test_the_caches_of_all_threads_hold_more_than_that_of_one(threads: int, capacity: int):
    (level,) = [level for level in memory_levels(CACHES, threads, 4, PLENTY) if level.name == "L2"]
    assert level.capacity_bytes == capacity


def test_without_any_word_of_caches_only_main_memory_is_measured():
    assert sizes(1, ()) == {"memory": 256 << 20}


def test_little_memory_makes_a_smaller_working_set():
    assert sizes(2, available=256 << 20)["memory"] == 32 << 20


def test_more_caches_than_cores_are_one_for_each():
    assert sizes(1, (Cache("L1d", 32 << 10, 64),))["L1d"] == 16 << 10
