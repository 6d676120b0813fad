"""What the messages of a perf that failed mean."""

from __future__ import annotations

import fake_perf
import pytest

from irbench.perf_events.obstacles import Level, NotPermitted, PerfFailed, Said, obstacle_from_messages

FORBIDDEN = (
    "Error:\nAccess to performance monitoring and observability operations is limited.\n"
    "Consider adjusting /proc/sys/kernel/perf_event_paranoid setting to open\naccess to performance monitoring"
)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("  Error: unknown switch `j'\n\n usage: perf stat", "old-perf"),
        (FORBIDDEN, "not-permitted"),
        (fake_perf.UNKNOWN, "unknown-event"),
        ("Cannot find metric or group `TopdownL1'", "unknown-event"),
        ("Error:\nNo supported events found.\nThe cycles event is not supported.", "not-supported"),
        ("Segmentation fault", "perf-failed"),
    ],
)
def test_each_message_has_its_code(said: str, code: str):
    assert obstacle_from_messages(said, paranoid=3).code == code


def test_the_level_of_the_kernel_and_what_perf_said_are_kept():
    assert obstacle_from_messages(FORBIDDEN, paranoid=3) == NotPermitted(Level(3))
    assert obstacle_from_messages("\n  Segmentation fault\n", None) == PerfFailed(Said("Segmentation fault"))
