"""One thread that moves memory."""

from __future__ import annotations

import numpy as np
import pytest

from irbench.measure import bandwidth
from irbench.measure.bandwidth import ACCESSES, Access, MemoryProbe

BYTES = 64 << 10


@pytest.mark.parametrize(("access", "arrays"), [("read", 2), ("copy", 2), ("add", 3)])
def test_every_byte_that_a_call_reads_or_writes_is_counted_once(access: Access, arrays: int):
    found = MemoryProbe(BYTES).measure(access, BYTES, 0, 200_000)
    repeats = (1 << 20) // BYTES if access == "read" else 1
    assert repeats * (BYTES - arrays * 64) < found.bytes_per_call <= repeats * BYTES
    assert found.tiny_bytes_per_call == repeats * arrays * 64
    assert len(found.batch_ns) >= 3
    assert min(found.batch_ns) > 0


def test_a_working_set_that_takes_longer_than_the_window_is_gone_through_three_times():
    found = MemoryProbe(BYTES).measure("copy", BYTES, 0, 0)
    assert (found.calls_per_batch, len(found.batch_ns)) == (1, 3)


def test_load_is_kept_up_until_the_window_begins(monkeypatch: pytest.MonkeyPatch):
    readings = iter(range(0, 10_000_000, 1_000))
    monkeypatch.setattr(bandwidth, "now_ns", lambda: next(readings))
    calls: list[int] = []
    monkeypatch.setattr(bandwidth.np, "copyto", lambda *_: calls.append(1))
    probe = MemoryProbe(BYTES)
    probe.measure("copy", BYTES, 0, 15_000)
    at_once = len(calls)
    readings = iter(range(0, 10_000_000, 1_000))
    calls.clear()
    probe.measure("copy", BYTES, 500_000, 15_000)
    assert len(calls) > at_once + 100


@pytest.mark.parametrize("access", ACCESSES)
def test_arrays_share_no_cache_line_and_no_place_in_their_pages(access: Access):
    count = {"read": 2, "copy": 2, "add": 3}[access]
    arrays = MemoryProbe(BYTES)._arrays(count, BYTES)
    starts = [array.ctypes.data for array in arrays]
    assert {start % 64 for start in starts} == {0}
    assert len({start % 4096 for start in starts}) == count
    assert all(not np.shares_memory(one, other) for one in arrays for other in arrays if one is not other)
