"""Whether latencies account for all requests in flight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from launches import measured, synchronous
from simulation.served_streams import FAIR, UNFAIR, warned

from irbench.spec import Cell, Load, Program
from irbench.stats.starvation import in_flight

FOUR = Cell("row", None, "row", "cpu", Load(streams=4))


def two_served():
    """Return a round of 1 ms calls of which two are served at a time, and two are open from before until after it."""
    ends_ns = np.repeat(np.arange(1, 9, dtype=np.int64), 2) * 1_000_000
    return replace(
        synchronous(0, [1]),
        issue_ns=ends_ns - 1_000_000,
        completion_ns=ends_ns,
        open_ns=np.array([-5_000_000, -5_000_000], np.int64),
    )


def seen(round_, cell=FOUR):
    return in_flight([(measured("row", [round_]), round_)], cell)


def test_rate_times_latency_is_what_is_served():
    found = seen(two_served())
    assert (found.asked, found.found, found.kept) == (4, 2.0, 4.0)
    assert (found.oldest_ns, found.open_share, found.some_starve) == (13_000_000, 2 / 18, True)


def test_a_record_without_open_requests_is_judged_by_what_was_asked():
    older = replace(two_served(), open_ns=np.empty(0, np.int64))
    found = seen(older)
    assert (found.some_starve, found.oldest_ns, found.open_share) == (True, None, None)


def test_one_request_at_a_time_and_commands_are_not_judged():
    assert seen(two_served(), replace(FOUR, load=Load())) is None
    assert seen(two_served(), replace(FOUR, program=Program("command", "./loop"))) is None


@pytest.mark.ci
@pytest.mark.parametrize("service", FAIR)
def test_streams_that_are_served_alike_are_seldom_said_to_starve(service):
    assert warned(FAIR[service], 40) <= 0.05


@pytest.mark.ci
@pytest.mark.parametrize("service", UNFAIR)
def test_streams_that_wait_for_others_are_said_to_starve(service):
    assert warned(UNFAIR[service], 20) == 1
