import math

import pytest
from launches import even, group, in_parts

from irbench.spec import Timing
from irbench.stats.observed import observe
from irbench.stats.winner import find_winner

TIMING = Timing(burn_in_blocks=0)
WOBBLE = [1.000, 1.002, 0.998, 1.001, 0.999, 1.003, 1.000, 1.001]


def finding(levels_ms, launches=7, timing=TIMING):
    times = {cell: [level * item for item in WOBBLE[:launches]] for cell, level in levels_ms.items()}
    times[next(iter(times))] = [levels_ms[next(iter(times))]] * launches
    return find_winner(observe(group(*times), even(times), timing), list(times), timing)


def found_in(times, cells=None, timing=TIMING):
    return find_winner(observe(group(*times), even(times), timing), cells or list(times), timing)


def test_the_winner_is_compared_with_its_nearest_rival_and_not_with_the_baseline():
    lead = finding({"fast": 8.0, "near": 10.0, "far": 20.0}).as_lead()
    assert (lead.cell, lead.rival, lead.reason) == ("fast", "near", None)
    assert lead.value == pytest.approx(1.25, rel=0.01)
    assert lead.low == pytest.approx(1.25 * 0.998)
    assert lead.high == pytest.approx(1.25 * 1.003)


@pytest.mark.parametrize("cells", [2, 3, 4, 5, 6])
def test_a_clear_winner_is_named_after_four_launches_however_many_cells_there_are(cells):
    levels = {name: 10.0 * 1.5**number for number, name in enumerate("abcdef"[:cells])}
    found = finding(levels, launches=4)
    assert (found.leader, found.reason) == ("a", None)
    assert found.ratio.assumes_one_mode


def test_the_more_cells_the_best_was_chosen_from_the_wider_its_interval():
    widths = [
        finding(dict(zip("abcd", (8.0, 10.0, 11.0, 12.0), strict=True)), launches=4).ratio.half_width,
        finding({"a": 8.0, "b": 10.0}, launches=4).ratio.half_width,
    ]
    assert widths[0] > widths[1]


def test_fewer_launches_than_the_first_look_name_no_winner_and_say_who_leads():
    found = finding({"a": 8.0, "b": 10.0}, launches=3)
    assert (found.leader, found.reason) == ("a", "preview")


def test_of_eleven_launches_the_adjusted_interval_of_four_cells_leaves_none_out_where_that_of_two_leaves_one():
    times = {"a": [8.0] * 11, "b": [10.0, 10.5, *[10.1] * 9], "c": [20.0] * 11}
    three, two = found_in(times), found_in(times, ["a", "b"])
    assert (three.ratio.bound.rank, two.ratio.bound.rank) == (2, 2)
    four = found_in({**times, "d": [30.0] * 11})
    assert four.ratio.bound.rank == 1
    assert math.exp(four.ratio.high) == pytest.approx(10.5 / 8)
    assert math.exp(two.ratio.high) == pytest.approx(10.1 / 8)


def test_cells_within_the_band_are_the_same_and_have_no_winner():
    assert finding({"a": 9.95, "b": 10.0}).reason == "same"


def test_a_rival_that_was_faster_once_in_six_launches_leaves_it_undecided():
    found = found_in({"a": [8.0] * 6, "b": [10.0, 10.0, 10.0, 7.9, 10.0, 10.0]})
    assert found.reason == "undecided"
    assert math.exp(found.ratio.low) == pytest.approx(7.9 / 8)


def test_the_claim_fails_if_any_rival_and_not_only_the_nearest_may_be_faster():
    found = found_in({"a": [8.0] * 8, "near": [9.0] * 8, "wild": [12.0] * 7 + [7.0]})
    assert found.rival == "near"
    assert found.reason == "undecided"


def test_pairs_are_judged_by_the_launches_that_measured_both():
    records = even({"a": [8.0] * 8, "b": [10.0] * 8, "c": [20.0] * 8})
    raced = [
        record if record.launch < 4 else type(record)(**{**vars(record), "cells": record.cells[:2]})
        for record in records
    ]
    found = find_winner(observe(group("a", "b", "c"), raced, TIMING), ["a", "b", "c"], TIMING)
    assert (found.leader, found.rival, found.ratio.count) == ("a", "b", 8)
    assert found.rivals["c"].count == 4


def test_the_leader_is_the_one_that_beats_every_other_directly():
    times = {"base": [10.0] * 4, "a": [5.0, 5.0, 5.0, 5.0], "b": [5.2, 5.2, 5.2, 5.2]}
    assert found_in(times).leader == "a"


def test_one_cell_has_nobody_to_beat():
    assert finding({"a": 8.0}).leader is None
    assert finding({"a": 8.0}).as_lead() is None


def found_through(launches, cells, link="base", timing=TIMING):
    return find_winner(observe(group(*cells), in_parts(launches), timing), cells, timing, link)


def parts(together=0, base=10.0):
    """Return four launches of either part, and some of the two that lead."""
    first = [{"base": base * wobble, "fast": 5.0, "slow": 20.0} for wobble in WOBBLE[:4]]
    second = [{"base": base, "near": 6.0 * wobble, "far": 30.0} for wobble in WOBBLE[:4]]
    return [*first, *second, *({"fast": 5.0, "near": 6.0} for _ in range(together))]


CELLS = ["base", "fast", "slow", "near", "far"]


def test_cells_that_were_never_launched_together_are_compared_through_the_baseline():
    found = found_through(parts(), CELLS)
    assert (found.leader, found.rival, found.reason) == ("fast", "near", None)
    assert math.exp(found.ratio.value) == pytest.approx(1.2, rel=0.01)
    assert found.ratio.count == 4


def test_the_way_through_the_baseline_adds_the_uncertainty_of_both_halves():
    near, far = (found_through(parts(together), CELLS).rivals["near"] for together in (4, 0))
    assert near.half_width < far.half_width


def test_a_pair_that_met_too_seldom_is_still_compared_through_the_baseline():
    assert found_through(parts(together=3), CELLS).rivals["near"] == found_through(parts(), CELLS).rivals["near"]


def test_a_part_that_was_never_launched_with_the_baseline_leaves_the_leader_unknown():
    launches = [*parts()[:4], *({"near": 6.0, "far": 30.0} for _ in range(4))]
    assert found_through(launches, CELLS).leader is None
