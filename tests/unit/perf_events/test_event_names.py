"""What a user may ask to be counted."""

from __future__ import annotations

import pytest

from irbench.perf_events.event_names import GROUPS, events_asked, parse_counters, toplev_level


def test_groups_and_events_are_read_each_once():
    assert parse_counters("cache,cycles,cache") == ("cache", "cycles")
    assert parse_counters(["cache", "branch,cycles"]) == ("cache", "branch", "cycles")


def test_a_comma_between_slashes_belongs_to_the_event():
    assert parse_counters("cpu/event=0x1,umask=0x2/u,cycles") == ("cpu/event=0x1,umask=0x2/u", "cycles")


@pytest.mark.parametrize("wrong", ["", ",", "a b", "cpu/event=1", "-e", "$(reboot)"])
def test_what_can_be_no_name_of_a_counter_is_refused(wrong: str):
    with pytest.raises(ValueError, match="counter"):
        parse_counters(wrong)


@pytest.mark.parametrize("asked", ["cpu/event=0x1,name=a/,cpu/event=0x2,name=a/", "ipc,cpu/event=0x1,name=cycles/"])
def test_two_events_that_perf_would_write_by_the_same_name_are_refused(asked: str):
    with pytest.raises(ValueError, match="two counters have the name"):
        parse_counters(asked)


def test_a_level_that_toplev_has_not_is_refused_with_the_one_that_was_meant():
    with pytest.raises(ValueError, match="Did you mean topdown-l2"):
        parse_counters("topdown-l1")


def test_events_of_the_kernel_that_begin_like_a_level_are_events():
    assert parse_counters("topdown-retiring") == ("topdown-retiring",)


def test_groups_become_their_events_each_once():
    assert events_asked(("ipc", "branch", "cycles")) == ("cycles", "instructions", "branches", "branch-misses")
    assert events_asked(("software",)) == GROUPS["software"]


def test_deeper_levels_of_top_down_are_asked_of_toplev_and_are_no_events():
    assert events_asked(("topdown-l2",)) == ()
    assert (toplev_level("topdown-l3"), toplev_level("topdown"), toplev_level("topdown-l7")) == (3, None, None)
