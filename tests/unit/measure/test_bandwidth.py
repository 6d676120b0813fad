"""One thread that moves memory."""

from __future__ import annotations

import numpy as np
import pytest

from irbench.measure import bandwidth
from irbench.measure.bandwidth import ACCESSES, Access, MemoryProbe, MemoryTimes, begins_soon, shared_window

BYTES = 64 << 10


def measured(access: Access, window_ns: int) -> MemoryTimes:
    probe = MemoryProbe(BYTES)
    probe.prepare(access, BYTES, window_ns)
    return probe.measure(0, window_ns)


@pytest.mark.parametrize(("access", "arrays"), [("read", 2), ("copy", 2), ("add", 3)])
def test_every_byte_that_a_call_reads_or_writes_is_counted_once(access: Access, arrays: int):
    found = measured(access, 200_000)
    repeats = (1 << 20) // BYTES if access == "read" else 1
    assert repeats * (BYTES - arrays * 64) < found.bytes_per_call <= repeats * BYTES
    assert found.tiny_bytes_per_call == repeats * arrays * 64
    assert len(found.batch_ns) >= 1
    assert min(found.batch_ns) > 0


def test_a_call_that_takes_longer_than_the_window_is_a_batch_and_counts():
    found = measured("copy", 0)
    assert (found.calls_per_batch, len(found.batch_ns)) == (1, 1)


class Machine:
    """A clock that only calls of ``copyto`` move on, and when each of them was made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, call_ns: int) -> None:
        self.now_ns = 0
        self.called_ns: list[int] = []
        self.call_ns = call_ns
        monkeypatch.setattr(bandwidth, "now_ns", lambda: self.now_ns)
        monkeypatch.setattr(bandwidth.np, "copyto", self.call)

    def call(self, *_: object) -> None:
        self.called_ns.append(self.now_ns)
        self.now_ns += self.call_ns


def test_work_goes_on_from_before_the_window_until_behind_it(monkeypatch: pytest.MonkeyPatch):
    machine = Machine(monkeypatch, call_ns=1_000)
    probe = MemoryProbe(BYTES)
    probe.prepare("copy", BYTES, 15_000)
    told_ns = machine.now_ns
    start_ns, window_ns = told_ns + 50_500, 15_000
    found = probe.measure(start_ns, window_ns)
    worked = [called_ns for called_ns in machine.called_ns if called_ns >= told_ns]
    assert worked == list(range(told_ns, machine.now_ns, 1_000)), "without a pause"
    assert worked[-1] + 1_000 >= start_ns + window_ns
    assert found.batch_ns == (1_000,) * 14, "only what began and ended within the window"


@pytest.mark.parametrize("call_ns", [1_000, 1_000_000])
def test_what_takes_long_is_done_before_all_begin(monkeypatch: pytest.MonkeyPatch, call_ns: int):
    machine = Machine(monkeypatch, call_ns)
    probe = MemoryProbe(BYTES)
    batch_ns = probe.prepare("copy", BYTES, 15_000)
    assert batch_ns == call_ns
    start_ns = begins_soon()
    window_ns = shared_window(15_000, [batch_ns])
    monkeypatch.setattr(probe, "arrays", None)
    found = probe.measure(start_ns, window_ns)
    assert machine.now_ns == start_ns + window_ns
    assert len(found.batch_ns) >= 5


def test_a_window_is_long_enough_for_the_slowest_thread():
    assert shared_window(60_000_000, [1_000_000, 2_000_000]) == 60_000_000
    assert shared_window(60_000_000, [1_000_000, 40_000_000]) == 320_000_000


@pytest.mark.parametrize("access", ACCESSES)
def test_arrays_share_no_cache_line_and_no_place_in_their_pages(access: Access):
    count = {"read": 2, "copy": 2, "add": 3}[access]
    arrays = MemoryProbe(BYTES).arrays(count, BYTES)
    starts = [array.ctypes.data for array in arrays]
    assert {start % 64 for start in starts} == {0}
    assert len({start % 4096 for start in starts}) == count
    assert all(not np.shares_memory(one, other) for one in arrays for other in arrays if one is not other)
