"""Which cells another launch is for: pure decisions from times to cells."""

from dataclasses import replace
from pathlib import Path

import pytest
from launches import even, group, in_parts, launch

from irbench.core.activity import Outlook
from irbench.core.record import Failure
from irbench.spec import Artifact, Disagreement, Timing
from irbench.stats.eligibility import Admission, decide_eligibility
from irbench.stats.intervals import interval_at, looks_of
from irbench.stats.launch_planning import parts_of
from irbench.stats.observed import observe
from irbench.stats.stopping_rule import (
    Next,
    Pace,
    contenders,
    forecast_s,
    launches_to_reach,
    most_urgent,
    next_launch,
    outlook,
)

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


RULE_TIMING = Timing(burn_in_blocks=0)
EVERYONE = Admission()
RULE_STEADY = [10.0] * 12
RULE_WILD = [10.0, 10.6, 9.4, 10.5, 9.5, 10.4, 9.6, 10.3, 9.7, 10.2, 9.8, 10.1]


def after(base, cell, launches, elapsed_s=10.0, admission=EVERYONE, timing=RULE_TIMING):
    records = even({"base": base[:launches], "cell": cell[:launches]})
    pace = Pace(elapsed_s, [5.0] * launches)
    return next_launch(group("base", "cell"), records, timing, admission, pace)


BOTH = Next(("base", "cell"))


def test_it_does_not_stop_before_four_launches_however_narrow_the_interval():
    assert after(RULE_STEADY, RULE_STEADY, 3) == BOTH
    assert after(RULE_STEADY, RULE_STEADY, 4).stopped_by == "target"


def test_a_wide_interval_goes_on_until_the_last_launch():
    assert after(RULE_STEADY, RULE_WILD, 6) == BOTH
    assert after(RULE_STEADY, RULE_WILD, 11) == BOTH
    assert after(RULE_STEADY, RULE_WILD, 12).stopped_by == "launches"


def test_a_large_difference_needs_only_a_tenth_of_itself():
    assert after(RULE_STEADY, RULE_WILD, 8) == BOTH
    assert after(RULE_STEADY, [3 * value for value in RULE_WILD], 8).stopped_by == "target"


def test_rows_that_are_decided_keep_nobody_waiting():
    times = {"base": RULE_STEADY[:4], "good": [5.0] * 4, "bad": [3 * value for value in RULE_WILD[:4]]}
    found = next_launch(group(*times), even(times), RULE_TIMING, EVERYONE, Pace(10, [5.0] * 4))
    assert found.stopped_by == "target"


def test_the_next_launch_is_for_the_cells_that_are_not_decided_in_the_groups_order():
    times = {"base": [20.0] * 4, "near": [10.1 * value / 10 for value in RULE_WILD[:4]], "fast": [10.0] * 4}
    assert next_launch(group(*times), even(times), RULE_TIMING, EVERYONE, Pace(10, [5.0] * 4)) == Next(("near", "fast"))


def test_a_cell_that_is_not_compared_keeps_nobody_waiting():
    admission = Admission(mismatches={"bad": Failure("verify", "wrong outputs")})
    times = {"base": RULE_STEADY[:6], "good": RULE_STEADY[:6], "bad": RULE_WILD[:6]}
    assert next_launch(group(*times), even(times), RULE_TIMING, admission, Pace(9, [5.0] * 6)).stopped_by == "target"


def test_it_stops_before_a_launch_that_the_budget_cannot_pay():
    smallest_s = 4.9  # 5 s, less the fifth of its blocks
    assert after(RULE_STEADY, RULE_WILD, 4, elapsed_s=RULE_TIMING.budget - smallest_s) == BOTH
    assert after(RULE_STEADY, RULE_WILD, 4, elapsed_s=RULE_TIMING.budget - smallest_s + 0.01).stopped_by == "budget"


def test_what_follows_the_last_launch_is_inside_the_budget_too():
    records = even({"base": RULE_STEADY[:4], "cell": RULE_WILD[:4]})
    pace = Pace(RULE_TIMING.budget - 5.0, [5.0] * 4, closing_s=1.0)
    assert next_launch(group("base", "cell"), records, RULE_TIMING, EVERYONE, pace).stopped_by == "budget"


def test_the_target_is_named_even_where_the_budget_would_have_ended_it_too():
    assert after(RULE_STEADY, RULE_STEADY, 6, elapsed_s=RULE_TIMING.budget).stopped_by == "target"


def test_a_launch_of_fewer_cells_is_expected_to_take_their_share_of_the_work():
    records = even({"heavy": [30.0, 30.0], "light": [10.0, 10.0]})
    whole = forecast_s(records, [20.0, 8.0], ["heavy", "light"], RULE_TIMING)
    assert whole == pytest.approx(7.9)
    assert 0 < forecast_s(records, [20.0, 8.0], ["light"], RULE_TIMING) < whole


def test_a_launch_is_expected_to_do_without_the_blocks_that_it_need_not_have():
    many, few = even({"a": [10.0] * 2}, blocks=12), even({"a": [10.0] * 2}, blocks=4)
    assert forecast_s(many, [9.0, 9.0], ["a"], RULE_TIMING) == pytest.approx(9.0 - 8 * 0.1)
    assert forecast_s(few, [9.0, 9.0], ["a"], RULE_TIMING) == 9.0


def test_the_first_launch_foretells_only_the_second():
    three = even({"a": [10.0] * 3})
    assert forecast_s(three[:1], [20.0], ["a"], RULE_TIMING) == pytest.approx(19.9)
    assert forecast_s(three, [20.0, 7.0, 8.0], ["a"], RULE_TIMING) == pytest.approx(7.9)


def test_no_launch_foretells_others_that_measures_a_cell_for_the_first_time():
    parts = in_parts([{"a": 10.0, "b": 10.0}, {"a": 10.0, "c": 10.0}, {"a": 10.0, "b": 10.0}])
    assert forecast_s(parts[:2], [20.0, 15.0], ["a", "b"], RULE_TIMING) == pytest.approx(14.9)
    assert forecast_s(parts, [20.0, 15.0, 8.0], ["a", "b"], RULE_TIMING) == pytest.approx(7.9)


def test_a_group_without_a_measured_cell_ends():
    records = [launch(0, [], failures={"base": Failure("import", "gone"), "cell": Failure("import", "gone")})]
    found = next_launch(group("base", "cell"), records, RULE_TIMING, EVERYONE, Pace(1, [1.0]))
    assert found.stopped_by == "failures"


def test_a_group_in_which_every_answer_is_wrong_ends_and_does_not_say_that_its_launches_are_used_up():
    admission = Admission(mismatches={cell: Failure("verify", "wrong outputs") for cell in ("base", "cell")})
    assert after(RULE_STEADY, RULE_STEADY, 1, admission=admission).stopped_by == "failures"
    assert after(RULE_STEADY, RULE_STEADY, 12, admission=admission).stopped_by == "failures"


def test_one_cell_alone_stops_when_its_own_time_is_known():
    alone = group("only")
    steady, wild = even({"only": RULE_STEADY[:6]}), even({"only": RULE_WILD[:6]})
    assert next_launch(alone, steady, RULE_TIMING, EVERYONE, Pace(9, [1.0] * 6)).stopped_by == "target"
    assert next_launch(alone, wild, RULE_TIMING, EVERYONE, Pace(9, [1.0] * 6)) == Next(("only",))


def test_an_interval_of_four_launches_narrows_most_where_its_range_is_no_longer_stretched():
    four = interval_at([0.003, -0.003, 0.001, -0.001], looks_of(RULE_TIMING), 0.95)
    assert four.half_width > 0.01
    assert launches_to_reach(four, 0.01, RULE_TIMING) == 5
    assert launches_to_reach(four, 0.004, RULE_TIMING) == 6


def test_a_hopeless_interval_is_not_given_a_number_of_launches():
    hopeless = interval_at([0.5, -0.5, 0.3, -0.3, 0.1, -0.1], looks_of(RULE_TIMING), 0.95)
    assert launches_to_reach(hopeless, 0.01, RULE_TIMING) is None


def told(times):
    return outlook(group(*times), even(times), RULE_TIMING, EVERYONE)


def test_the_outlook_says_who_leads_and_how_wide_the_interval_is():
    early = told({"base": RULE_STEADY[:2], "cell": [9.0, 9.06]})
    assert early == Outlook("cell", pytest.approx(1.107, abs=0.001), pytest.approx(0.0033, abs=0.001), intervals_from=4)
    decided = told({"base": RULE_STEADY[:6], "cell": [9.0] * 6})
    assert (decided.row, decided.lead, decided.half_width) == ("cell", pytest.approx(10 / 9), pytest.approx(0))
    assert (decided.rows_left, decided.intervals_from) == (0, None)
    wild = told({"base": RULE_STEADY[:6], "cell": RULE_WILD[:6]})
    assert (wild.target, wild.rows_left) == (0.01, None)


def test_the_outlook_says_how_many_rows_are_left():
    times = {"base": [20.0] * 4, "near": [10.1 * value / 10 for value in RULE_WILD[:4]], "fast": [10.0] * 4}
    assert told(times).rows_left == 2


def test_the_outlook_tells_two_precisions_of_one_backend_apart():
    both = group("base", "cell")
    cells = tuple(
        replace(cell, backend="same", load=replace(cell.load, precision=precision))
        for cell, precision in zip(both.cells, ("fp32", "bf16"), strict=True)
    )
    two = even({"base": RULE_STEADY[:2], "cell": [9.0, 9.06]})
    assert outlook(replace(both, cells=cells), two, RULE_TIMING, Admission()).row == "same bf16"


def test_there_is_no_outlook_before_two_launches():
    assert outlook(group("base", "cell"), [], RULE_TIMING, Admission()) is None
    assert told({"base": [10.0], "cell": [9.0]}) is None


def test_where_the_leader_and_its_rival_fail_together_the_others_go_on():
    times = {
        "base": RULE_WILD[:5],
        "slow": [10.1 * value / 10 for value in reversed(RULE_WILD[:5])],
        "a": [5.0] * 5,
        "b": [5.1] * 5,
    }
    records = even(times)
    lost = {name: Failure("measure", "killed by SIGKILL") for name in ("a", "b")}
    records[4] = replace(records[4], cells=(), failures=lost)
    found = next_launch(group(*times), records, RULE_TIMING, EVERYONE, Pace(10, [5.0] * 5))
    assert found == Next(("base", "slow"))


def test_one_candidate_beside_a_row_that_answers_otherwise_is_judged_by_its_own_time():
    both = group("base", "int8")
    disagreement = Disagreement("top1-agreement", 0.63, 0.9)
    differing = replace(both.cells[1], artifact=Artifact("onnx", Path(), (), (), disagreement=disagreement))
    asked = replace(both, cells=(both.cells[0], differing))
    records = even({"base": [10.0] * 3, "int8": [5.0] * 3})
    found = outlook(asked, records, RULE_TIMING, Admission())
    assert found == Outlook("base", None, pytest.approx(0), intervals_from=4)


RULE_MANY = {"base": 20.0, **{f"cell{number}": 10.0 + 5 * number for number in range(9)}}
RULE_SMALL = replace(RULE_TIMING, most_cells=4)


def whole_run(timing=RULE_SMALL, levels=RULE_MANY):
    """Return the cells of each launch until the group ends, and why it does."""
    launched = []
    while True:
        records = in_parts([{cell: levels[cell] for cell in cells} for cells in launched])
        found = next_launch(group(*levels, baseline="base"), records, timing, EVERYONE, Pace(0, [1.0] * len(records)))
        if found.stopped_by is not None:
            return launched, found.stopped_by
        launched.append(found.cells)


def test_more_cells_than_a_launch_takes_are_launched_in_parts_each_with_the_baseline():
    launched, stopped_by = whole_run()
    assert stopped_by == "target"
    assert launched[:3] == [
        ("base", "cell0", "cell1", "cell2"),
        ("base", "cell3", "cell4", "cell5"),
        ("base", "cell6", "cell7", "cell8"),
    ]
    assert all(len(cells) <= 4 for cells in launched)
    counts = {cell: sum(cell in cells for cells in launched) for cell in RULE_MANY}
    assert set(counts.values()) == {4, 12}
    assert counts["base"] == 12


def test_the_launches_of_a_group_are_limited_for_each_of_its_parts():
    alike = {cell: 10.0 if cell == "base" else 10.2 for cell in RULE_MANY}
    wanted = replace(RULE_SMALL, within=0.0001, target=1e-9, max_launches=5)
    launched, stopped_by = whole_run(wanted, alike)
    assert stopped_by in ("launches", "target")
    assert len(launched) <= 15


@pytest.mark.parametrize(
    ("cells", "most", "parts"), [(1, 6, 1), (2, 6, 1), (6, 6, 1), (7, 6, 2), (11, 6, 2), (12, 6, 3), (5, 2, 4)]
)
def test_every_part_has_room_for_the_baseline(cells, most, parts):
    assert parts_of(cells, most) == parts


def test_the_first_launch_runs_however_little_is_left():
    found = next_launch(group("base", "cell"), [], RULE_TIMING, EVERYONE, Pace(1000.0, []))
    assert found == BOTH
