from dataclasses import replace

import pytest
from launches import even, group, launch

from irbench.record import Failure
from irbench.spec import Timing
from irbench.stats import Admission, Pace, outlook, should_stop
from irbench.stats.stopping import launches_to_reach, ratio_width, widest

TIMING = Timing()
EVERYONE = Admission()
EARLY = Pace(elapsed_s=10, next_launch_s=10)
STEADY = [10.0] * 12
WILD = [10.0, 10.6, 9.4, 10.5, 9.5, 10.4, 9.6, 10.3, 9.7, 10.2, 9.8, 10.1]


def stops(base, cell, launches, pace=EARLY, admission=EVERYONE, timing=TIMING):
    records = even({"base": base[:launches], "cell": cell[:launches]})
    return should_stop(group("base", "cell"), records, timing, admission, pace)


def test_it_does_not_stop_before_six_launches_however_narrow_the_interval():
    assert stops(STEADY, STEADY, 5) is None
    assert stops(STEADY, STEADY, 6) == "target"


def test_a_wide_interval_goes_on_until_the_last_launch():
    assert stops(STEADY, WILD, 6) is None
    assert stops(STEADY, WILD, 11) is None
    assert stops(STEADY, WILD, 12) == "launches"


def test_a_large_difference_needs_only_a_tenth_of_itself():
    slower = [3 * one for one in WILD]
    assert stops(STEADY, WILD, 8) is None
    assert stops(STEADY, slower, 8) == "target"


def test_every_cell_must_be_narrow_enough():
    records = even({"base": STEADY[:6], "good": STEADY[:6], "bad": WILD[:6]})
    assert should_stop(group("base", "good", "bad"), records, TIMING, Admission(), EARLY) is None


def test_a_cell_that_is_not_compared_keeps_nobody_waiting():
    admission = Admission(mismatches={"bad": Failure("verify", "wrong outputs")})
    records = even({"base": STEADY[:6], "good": STEADY[:6], "bad": WILD[:6]})
    assert should_stop(group("base", "good", "bad"), records, TIMING, admission, EARLY) == "target"


def test_it_stops_before_a_launch_that_the_budget_cannot_pay():
    # 150 s, of which 2 x 3 s go to the sustained runs
    assert stops(STEADY, WILD, 4, Pace(elapsed_s=124, next_launch_s=20)) is None
    assert stops(STEADY, WILD, 4, Pace(elapsed_s=124.1, next_launch_s=20)) == "budget"


def test_the_target_is_named_even_where_the_budget_would_have_ended_it_too():
    assert stops(STEADY, STEADY, 6, Pace(elapsed_s=149, next_launch_s=20)) == "target"


def test_a_group_without_a_measured_cell_ends():
    records = [launch(0, [], failures={"base": Failure("import", "gone"), "cell": Failure("import", "gone")})]
    assert should_stop(group("base", "cell"), records, TIMING, Admission(), EARLY) == "failures"


def test_a_group_in_which_every_answer_is_wrong_ends_and_does_not_say_that_its_launches_are_used_up():
    admission = Admission(mismatches={cell: Failure("verify", "wrong outputs") for cell in ("base", "cell")})
    assert stops(STEADY, STEADY, 1, admission=admission) == "failures"
    assert stops(STEADY, STEADY, 12, admission=admission) == "failures"


def test_one_cell_alone_stops_when_its_own_time_is_known():
    alone = group("only")
    assert should_stop(alone, even({"only": STEADY[:6]}), TIMING, Admission(), EARLY) == "target"
    assert should_stop(alone, even({"only": WILD[:6]}), TIMING, Admission(), EARLY) is None


def test_before_the_first_launch_there_is_no_reason_to_stop():
    assert should_stop(group("base", "cell"), [], TIMING, Admission(), Pace(0, 0)) is None


def test_an_interval_three_times_too_wide_needs_more_launches_than_one_twice_too_wide():
    twice = ratio_width("cell", [0.02, -0.02, 0.01, -0.01, 0.005, -0.005], TIMING)
    thrice = ratio_width("cell", [0.03, -0.03, 0.02, -0.02, 0.01, -0.01], TIMING)
    assert twice.excess == pytest.approx(2)
    assert thrice.excess == pytest.approx(3)
    assert 6 < launches_to_reach(twice, 0.95) < launches_to_reach(thrice, 0.95)
    assert widest([twice, thrice]) is thrice


def test_a_hopeless_interval_is_not_given_a_number_of_launches():
    hopeless = ratio_width("cell", [0.5, -0.5, 0.3, -0.3, 0.1, -0.1], TIMING)
    assert launches_to_reach(hopeless, 0.95) is None


def test_the_outlook_says_how_wide_the_widest_interval_is_and_what_is_left():
    both = group("base", "cell")
    two = even({"base": STEADY[:2], "cell": [10.0, 10.06]})
    assert outlook(both, two, TIMING, Admission()) == "cell ±0.3 %, target ±1.0 %: about 4 more launches"
    assert outlook(both, even({"base": STEADY[:6], "cell": STEADY[:6]}), TIMING, Admission()).endswith("within it")
    wild = even({"base": STEADY[:6], "cell": WILD[:6]})
    assert outlook(both, wild, TIMING, Admission()).endswith("out of reach of 12 launches")


def test_the_outlook_tells_two_precisions_of_one_backend_apart():
    both = group("base", "cell")
    cells = tuple(
        replace(one, backend="same", load=replace(one.load, precision=precision))
        for one, precision in zip(both.cells, ("fp32", "bf16"), strict=True)
    )
    two = even({"base": STEADY[:2], "cell": [10.0, 10.06]})
    assert outlook(replace(both, cells=cells), two, TIMING, Admission()).startswith("same bf16 ")


def test_there_is_no_outlook_before_two_launches():
    assert outlook(group("base", "cell"), [], TIMING, Admission()) == ""
    assert outlook(group("base", "cell"), even({"base": [10.0], "cell": [9.0]}), TIMING, Admission()) == ""
