"""Whether latencies account for all requests in flight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from launches import group, launch, measured, streamed, synchronous
from simulation.served_streams import FAIR, UNFAIR, warned
from summaries import table

from irbench.spec import Cell, Load, Program, Timing
from irbench.stats.notice_rules.machine_warnings import in_flight

FOUR = Cell("row", None, "row", "cpu", Load(streams=4))


def served(at_once, open_ns):
    """Return a round of 1 ms calls of which so many are served at a time, and these are open after it."""
    ends_ns = np.repeat(np.arange(1, 9, dtype=np.int64), at_once) * 1_000_000
    return replace(
        synchronous(0, [1]),
        issue_ns=ends_ns - 1_000_000,
        completion_ns=ends_ns,
        open_ns=np.array(open_ns, np.int64),
    )


TWO_SERVED, ALL_SERVED = served(2, [-5_000_000] * 2), served(4, [8_000_000] * 3)


def seen(round_, cell=FOUR):
    return in_flight([(measured("row", [round_]), round_)], cell)


def test_rate_times_latency_is_what_is_served():
    found = seen(TWO_SERVED)
    assert (found.asked, found.found, found.kept) == (4, 2.0, 4.0)
    assert (found.oldest_ns, found.open_share, found.some_starve) == (13_000_000, 2 / 18, True)


def test_a_record_without_open_requests_is_not_judged():
    assert seen(replace(TWO_SERVED, open_ns=np.empty(0, np.int64))) is None


def test_gaps_between_requests_in_older_records_are_no_starving():
    """Four streams of 60 us that are served alike, with 20 us from one request to the next."""
    issue_ns = np.repeat(np.arange(64, dtype=np.int64) * 80_000, 4)
    round_ = streamed(0, issue_ns, issue_ns + 60_000)
    assert round_.open_ns.size == 0
    assert seen(round_) is None


def test_the_row_is_marked_where_the_warning_names_it_and_from_the_same_rounds():
    served, starved = ALL_SERVED, TWO_SERVED
    for burn_in, counted in ((served, starved), (starved, served)):
        rounds = [replace(each, block=number) for number, each in enumerate([burn_in, *[counted] * 4])]
        records = [launch(number, [measured("row", rounds, streams=4)]) for number in range(4)]
        found = table(group("row", streams={"row": 4}), records, timing=Timing(), stopped_by="launches")
        marked = [mark.found for mark in found.cells[0].marks if mark.code == "starved-streams"]
        warned_of = [row.found for each in found.warnings if each.code == "starved-streams" for row in each.rows]
        assert marked == warned_of == ([2.0] if counted is starved else [])


def test_one_request_at_a_time_and_commands_are_not_judged():
    assert seen(TWO_SERVED, replace(FOUR, load=Load())) is None
    assert seen(TWO_SERVED, replace(FOUR, program=Program("command", "./loop"))) is None


@pytest.mark.ci
@pytest.mark.parametrize("service", FAIR)
def test_streams_that_are_served_alike_are_seldom_said_to_starve(service):
    assert warned(FAIR[service], 40) <= 0.05


@pytest.mark.ci
@pytest.mark.parametrize("service", UNFAIR)
def test_streams_that_wait_for_others_are_said_to_starve(service):
    assert warned(UNFAIR[service], 20) == 1
