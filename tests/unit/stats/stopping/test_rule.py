from dataclasses import replace
from pathlib import Path

import pytest
from launches import even, group, in_parts, launch

from irbench.core.activity import Outlook
from irbench.core.record import Failure
from irbench.spec import Artifact, Disagreement, Timing
from irbench.stats.eligibility import Admission
from irbench.stats.intervals import interval_at, looks_of
from irbench.stats.launch_planning import parts_of
from irbench.stats.stopping_rule import Next, Pace, forecast_s, launches_to_reach, next_launch, outlook

TIMING = Timing(burn_in_blocks=0)
EVERYONE = Admission()
STEADY = [10.0] * 12
WILD = [10.0, 10.6, 9.4, 10.5, 9.5, 10.4, 9.6, 10.3, 9.7, 10.2, 9.8, 10.1]


def after(base, cell, launches, elapsed_s=10.0, admission=EVERYONE, timing=TIMING):
    records = even({"base": base[:launches], "cell": cell[:launches]})
    pace = Pace(elapsed_s, [5.0] * launches)
    return next_launch(group("base", "cell"), records, timing, admission, pace)


BOTH = Next(("base", "cell"))


def test_it_does_not_stop_before_four_launches_however_narrow_the_interval():
    assert after(STEADY, STEADY, 3) == BOTH
    assert after(STEADY, STEADY, 4).stopped_by == "target"


def test_a_wide_interval_goes_on_until_the_last_launch():
    assert after(STEADY, WILD, 6) == BOTH
    assert after(STEADY, WILD, 11) == BOTH
    assert after(STEADY, WILD, 12).stopped_by == "launches"


def test_a_large_difference_needs_only_a_tenth_of_itself():
    assert after(STEADY, WILD, 8) == BOTH
    assert after(STEADY, [3 * value for value in WILD], 8).stopped_by == "target"


def test_rows_that_are_decided_keep_nobody_waiting():
    times = {"base": STEADY[:4], "good": [5.0] * 4, "bad": [3 * value for value in WILD[:4]]}
    found = next_launch(group(*times), even(times), TIMING, EVERYONE, Pace(10, [5.0] * 4))
    assert found.stopped_by == "target"


def test_the_next_launch_is_for_the_cells_that_are_not_decided_in_the_groups_order():
    times = {"base": [20.0] * 4, "near": [10.1 * value / 10 for value in WILD[:4]], "fast": [10.0] * 4}
    assert next_launch(group(*times), even(times), TIMING, EVERYONE, Pace(10, [5.0] * 4)) == Next(("near", "fast"))


def test_a_cell_that_is_not_compared_keeps_nobody_waiting():
    admission = Admission(mismatches={"bad": Failure("verify", "wrong outputs")})
    times = {"base": STEADY[:6], "good": STEADY[:6], "bad": WILD[:6]}
    assert next_launch(group(*times), even(times), TIMING, admission, Pace(9, [5.0] * 6)).stopped_by == "target"


def test_it_stops_before_a_launch_that_the_budget_cannot_pay():
    smallest_s = 4.9  # 5 s, less the fifth of its blocks
    assert after(STEADY, WILD, 4, elapsed_s=TIMING.budget - smallest_s) == BOTH
    assert after(STEADY, WILD, 4, elapsed_s=TIMING.budget - smallest_s + 0.01).stopped_by == "budget"


def test_what_follows_the_last_launch_is_inside_the_budget_too():
    records = even({"base": STEADY[:4], "cell": WILD[:4]})
    pace = Pace(TIMING.budget - 5.0, [5.0] * 4, closing_s=1.0)
    assert next_launch(group("base", "cell"), records, TIMING, EVERYONE, pace).stopped_by == "budget"


def test_the_target_is_named_even_where_the_budget_would_have_ended_it_too():
    assert after(STEADY, STEADY, 6, elapsed_s=TIMING.budget).stopped_by == "target"


def test_a_launch_of_fewer_cells_is_expected_to_take_their_share_of_the_work():
    records = even({"heavy": [30.0, 30.0], "light": [10.0, 10.0]})
    whole = forecast_s(records, [20.0, 8.0], ["heavy", "light"], TIMING)
    assert whole == pytest.approx(7.9)
    assert 0 < forecast_s(records, [20.0, 8.0], ["light"], TIMING) < whole


def test_a_launch_is_expected_to_do_without_the_blocks_that_it_need_not_have():
    many, few = even({"a": [10.0] * 2}, blocks=12), even({"a": [10.0] * 2}, blocks=4)
    assert forecast_s(many, [9.0, 9.0], ["a"], TIMING) == pytest.approx(9.0 - 8 * 0.1)
    assert forecast_s(few, [9.0, 9.0], ["a"], TIMING) == 9.0


def test_the_first_launch_foretells_only_the_second():
    three = even({"a": [10.0] * 3})
    assert forecast_s(three[:1], [20.0], ["a"], TIMING) == pytest.approx(19.9)
    assert forecast_s(three, [20.0, 7.0, 8.0], ["a"], TIMING) == pytest.approx(7.9)


def test_a_group_without_a_measured_cell_ends():
    records = [launch(0, [], failures={"base": Failure("import", "gone"), "cell": Failure("import", "gone")})]
    found = next_launch(group("base", "cell"), records, TIMING, EVERYONE, Pace(1, [1.0]))
    assert found.stopped_by == "failures"


def test_a_group_in_which_every_answer_is_wrong_ends_and_does_not_say_that_its_launches_are_used_up():
    admission = Admission(mismatches={cell: Failure("verify", "wrong outputs") for cell in ("base", "cell")})
    assert after(STEADY, STEADY, 1, admission=admission).stopped_by == "failures"
    assert after(STEADY, STEADY, 12, admission=admission).stopped_by == "failures"


def test_one_cell_alone_stops_when_its_own_time_is_known():
    alone = group("only")
    steady, wild = even({"only": STEADY[:6]}), even({"only": WILD[:6]})
    assert next_launch(alone, steady, TIMING, EVERYONE, Pace(9, [1.0] * 6)).stopped_by == "target"
    assert next_launch(alone, wild, TIMING, EVERYONE, Pace(9, [1.0] * 6)) == Next(("only",))


def test_an_interval_of_four_launches_narrows_most_where_its_range_is_no_longer_stretched():
    four = interval_at([0.003, -0.003, 0.001, -0.001], looks_of(TIMING), 0.95)
    assert four.half_width > 0.01
    assert launches_to_reach(four, 0.01, TIMING) == 5
    assert launches_to_reach(four, 0.004, TIMING) == 6


def test_a_hopeless_interval_is_not_given_a_number_of_launches():
    hopeless = interval_at([0.5, -0.5, 0.3, -0.3, 0.1, -0.1], looks_of(TIMING), 0.95)
    assert launches_to_reach(hopeless, 0.01, TIMING) is None


def told(times):
    return outlook(group(*times), even(times), TIMING, EVERYONE)


def test_the_outlook_says_who_leads_and_how_wide_the_interval_is():
    early = told({"base": STEADY[:2], "cell": [9.0, 9.06]})
    assert early == Outlook("cell", pytest.approx(0.107, abs=0.001), pytest.approx(0.0033, abs=0.001), intervals_from=4)
    decided = told({"base": STEADY[:6], "cell": [9.0] * 6})
    assert (decided.row, decided.lead, decided.half_width) == ("cell", pytest.approx(1 / 9), pytest.approx(0))
    assert (decided.rows_left, decided.intervals_from) == (0, None)
    wild = told({"base": STEADY[:6], "cell": WILD[:6]})
    assert (wild.target, wild.rows_left) == (0.01, None)


def test_the_outlook_says_how_many_rows_are_left():
    times = {"base": [20.0] * 4, "near": [10.1 * value / 10 for value in WILD[:4]], "fast": [10.0] * 4}
    assert told(times).rows_left == 2


def test_the_outlook_tells_two_precisions_of_one_backend_apart():
    both = group("base", "cell")
    cells = tuple(
        replace(cell, backend="same", load=replace(cell.load, precision=precision))
        for cell, precision in zip(both.cells, ("fp32", "bf16"), strict=True)
    )
    two = even({"base": STEADY[:2], "cell": [9.0, 9.06]})
    assert outlook(replace(both, cells=cells), two, TIMING, Admission()).row == "same bf16"


def test_there_is_no_outlook_before_two_launches():
    assert outlook(group("base", "cell"), [], TIMING, Admission()) is None
    assert told({"base": [10.0], "cell": [9.0]}) is None


def test_where_the_leader_and_its_rival_fail_together_the_others_go_on():
    times = {
        "base": WILD[:5],
        "slow": [10.1 * value / 10 for value in reversed(WILD[:5])],
        "a": [5.0] * 5,
        "b": [5.1] * 5,
    }
    records = even(times)
    lost = {name: Failure("measure", "killed by SIGKILL") for name in ("a", "b")}
    records[4] = replace(records[4], cells=(), failures=lost)
    found = next_launch(group(*times), records, TIMING, EVERYONE, Pace(10, [5.0] * 5))
    assert found == Next(("base", "slow"))


def test_one_candidate_beside_a_row_that_answers_otherwise_is_judged_by_its_own_time():
    both = group("base", "int8")
    disagreement = Disagreement("top1-agreement", 0.63, 0.9)
    differing = replace(both.cells[1], artifact=Artifact("onnx", Path(), (), (), disagreement=disagreement))
    asked = replace(both, cells=(both.cells[0], differing))
    records = even({"base": [10.0] * 3, "int8": [5.0] * 3})
    found = outlook(asked, records, TIMING, Admission())
    assert found == Outlook("base", None, pytest.approx(0), intervals_from=4)


MANY = {"base": 20.0, **{f"cell{number}": 10.0 + 5 * number for number in range(9)}}
SMALL = replace(TIMING, most_cells=4)


def whole_run(timing=SMALL, levels=MANY):
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
    counts = {cell: sum(cell in cells for cells in launched) for cell in MANY}
    assert set(counts.values()) == {4, 12}
    assert counts["base"] == 12


def test_the_launches_of_a_group_are_limited_for_each_of_its_parts():
    alike = {cell: 10.0 if cell == "base" else 10.2 for cell in MANY}
    wanted = replace(SMALL, within=0.0001, target=1e-9, max_launches=5)
    launched, stopped_by = whole_run(wanted, alike)
    assert stopped_by in ("launches", "target")
    assert len(launched) <= 15


@pytest.mark.parametrize(
    ("cells", "most", "parts"), [(1, 6, 1), (2, 6, 1), (6, 6, 1), (7, 6, 2), (11, 6, 2), (12, 6, 3), (5, 2, 4)]
)
def test_every_part_has_room_for_the_baseline(cells, most, parts):
    assert parts_of(cells, most) == parts


def test_the_first_launch_runs_however_little_is_left():
    found = next_launch(group("base", "cell"), [], TIMING, EVERYONE, Pace(1000.0, []))
    assert found == BOTH
