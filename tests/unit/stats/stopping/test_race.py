"""Which cells another launch is for: pure decisions from times to cells."""

from dataclasses import replace

import pytest
from launches import even, group, in_parts

from irbench.core.record import Failure
from irbench.spec import Timing
from irbench.stats.eligibility import Admission, decide_eligibility
from irbench.stats.observed import observe
from irbench.stats.stopping_rule import contenders, most_urgent

TIMING = Timing(burn_in_blocks=0)
STEADY = [1.0, 1.001, 0.999, 1.0005, 1.0, 1.001, 0.999, 1.0]
WILD = [1.0, 1.09, 0.93, 1.05, 0.95, 1.06, 0.96, 1.04]


def left(times, launches=4, admission=None, timing=TIMING):
    """Return who is launched again after some launches, given each cell's time and scatter."""
    records = even({cell: [level * item for item in scatter[:launches]] for cell, (level, scatter) in times.items()})
    asked = group(*times, baseline="base" if "base" in times else None)
    return contenders(
        observe(asked, records, timing), decide_eligibility(asked, records, admission or Admission()), timing
    )


CLEAR = {"base": (20.0, STEADY), "slow": (30.0, [*reversed(STEADY)]), "fast": (10.0, STEADY)}


@pytest.mark.parametrize("launches", [1, 2, 3])
def test_before_the_first_look_every_cell_is_launched_again(launches):
    assert left(CLEAR, launches) == {"base", "slow", "fast"}


def test_where_everything_is_clear_nobody_is():
    assert left(CLEAR) == set()


def test_two_that_are_close_go_on_and_the_others_are_left_alone():
    close = {**CLEAR, "near": (10.3, WILD)}
    assert left(close) == {"fast", "near"}


def test_a_row_that_cannot_be_told_from_the_baseline_goes_on_with_it_beside_the_leader_and_its_rival():
    assert left({**CLEAR, "like": (20.1, WILD)}) == {"base", "like", "fast", "slow"} - {"slow"}


def test_an_open_row_whose_cell_is_far_behind_the_leader_brings_the_nearest_rival_along():
    found = left({"base": (20.0, STEADY), "like": (20.1, WILD), "fast": (10.0, STEADY), "next": (12.0, STEADY)})
    assert found == {"base", "like", "fast", "next"}


def test_a_third_that_may_still_be_the_fastest_goes_on_too():
    assert "third" in left(
        {"base": (20.0, STEADY), "fast": (10.0, STEADY), "near": (10.3, WILD), "third": (10.4, WILD)}
    )


def test_a_lead_that_is_sure_and_too_wide_goes_on_until_it_is_narrow():
    wide = {"base": (10.5, [*WILD[:4], *WILD[:4]]), "fast": (5.0, STEADY)}
    assert left(wide, 4) == {"base", "fast"}
    assert left({"base": (10.0, STEADY), "fast": (9.0, STEADY)}) == set()


def test_cells_that_are_surely_the_same_are_decided():
    assert left({"base": (10.0, STEADY), "twin": (10.005, STEADY)}) == set()


def test_a_cell_with_wrong_answers_is_never_launched_for_its_own_sake():
    wrong = Admission(mismatches={"wrong": Failure("verify", "wrong outputs")})
    assert left({**CLEAR, "wrong": (1.0, WILD)}, admission=wrong) == set()


def test_one_cell_alone_goes_on_until_its_own_time_is_known():
    assert left({"only": (10.0, STEADY)}) == set()
    assert left({"only": (10.0, WILD)}) == {"only"}


def test_the_decision_does_not_depend_on_the_order_of_the_cells():
    close = {**CLEAR, "near": (10.3, WILD)}
    assert left(close) == left(dict(reversed(close.items())))


def test_a_larger_first_look_keeps_everybody_longer():
    assert left(CLEAR, 4, timing=replace(TIMING, min_launches=6)) == {"base", "slow", "fast"}


MANY = {"base": 20.0, **{f"cell{number}": 10.0 + number for number in range(9)}}
SMALL = replace(TIMING, most_cells=4)


def urgent(launched, wanted, timing=SMALL):
    """Return whom the next launch takes, after launches of these cells."""
    asked = group(*MANY, baseline="base")
    records = in_parts([{cell: MANY[cell] for cell in cells} for cells in launched])
    eligibility = decide_eligibility(asked, records, Admission())
    return most_urgent(wanted, observe(asked, records, timing), eligibility, timing)


def test_a_launch_takes_no_more_cells_than_it_may_the_baseline_and_those_with_the_fewest_launches_first():
    launched = [("base", "cell0", "cell1", "cell2"), ("base", "cell3", "cell4", "cell5")]
    wanted = ["base", *(f"cell{number}" for number in range(9))]
    assert urgent(launched, wanted) == {"base", "cell6", "cell7", "cell8"}


def test_once_all_are_known_the_leader_meets_those_that_may_be_faster():
    parts = [
        ("base", "cell0", "cell1", "cell2"),
        ("base", "cell3", "cell4", "cell5"),
        ("base", "cell6", "cell7", "cell8"),
    ]
    wanted = ["base", "cell0", "cell1", "cell3", "cell8"]
    assert {"cell0", "cell1"} < urgent([part for part in parts for _ in range(4)], wanted)
