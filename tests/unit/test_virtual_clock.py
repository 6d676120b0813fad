"""The time of the scripted backends passes in one order, however busy the machine is."""

from __future__ import annotations

import threading

from virtual_clock import VirtualClock


def test_a_call_that_is_issued_late_ends_when_its_virtual_time_has_come() -> None:
    clock, ended = VirtualClock(), list[str]()
    clock.expected_in_flight = 2
    is_waiting = threading.Event()

    def call(name: str, duration_ns: int) -> None:
        clock.advance(duration_ns)
        ended.append(name)

    def issue_late() -> None:
        is_waiting.wait()
        for _ in range(5_000_000):  # as long as another program might keep this thread from its processor
            pass
        call("short", 1_000)

    late = threading.Thread(target=issue_late)
    long = threading.Thread(target=call, args=("long", 1_000_000))
    late.start()
    is_waiting.set()
    long.start()
    for thread in (long, late):
        thread.join()
    assert ended == ["short", "long"]
