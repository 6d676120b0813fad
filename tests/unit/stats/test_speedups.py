import math
from dataclasses import replace
from itertools import pairwise

import pytest
from launches import MS, block, even, group, launch, measured, streamed, synchronous

from irbench.spec import Timing
from irbench.stats.intervals import interval_at, looks_of
from irbench.stats.observed import observe
from irbench.stats.speedups import holm_intervals, launch_ratios, speedups, verdict

SIX = Timing(burn_in_blocks=0)
JITTER = [1.000, 1.004, 0.998, 1.002, 0.996, 1.001]


def paired(cell, baseline, timing=SIX):
    records = even({"cell": cell, "base": baseline})
    return observe(group("cell", "base"), records, timing)


def speedup(launches, cell, baseline, timing):
    everything = [replace(own, counted=own.blocks) for own in launches]
    return speedups(launches, [cell], baseline, timing, all_blocks=everything).get(cell)


def interval(logs, timing=SIX):
    return interval_at(logs, looks_of(timing), 0.95)


def test_a_cell_that_takes_half_the_time_is_two_times_faster():
    found = speedup(paired([5.0] * 6, [10.0] * 6), "cell", "base", SIX)
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))
    assert found.verdict == "faster"
    assert found.excludes_one


def test_comparing_a_with_b_and_b_with_a_gives_opposite_log_ratios():
    launches = paired([10 * item for item in JITTER], [11.0, 11.2, 10.9, 11.1, 11.0, 11.3])
    there, back = (interval(launch_ratios(launches, *pair)) for pair in (("cell", "base"), ("base", "cell")))
    assert (there.value, there.low, there.high) == (-back.value, -back.high, -back.low)


def test_scaling_all_times_changes_no_ratio():
    base = [11.0, 11.2, 10.9, 11.1, 11.0, 11.3]
    once = launch_ratios(paired(JITTER, base), "cell", "base")
    scaled = launch_ratios(paired([64 * item for item in JITTER], [64 * item for item in base]), "cell", "base")
    assert scaled == pytest.approx(once, abs=1e-12)


def test_what_slows_a_whole_block_slows_no_cell_against_another():
    slowdowns = [1.0, 1.3, 1.0, 2.0]
    records = [
        launch(
            0,
            [
                measured(
                    name, [synchronous(slowdown, [level * MS * slow] * 3) for slowdown, slow in enumerate(slowdowns)]
                )
                for name, level in (("cell", 8), ("base", 10))
            ],
        )
    ]
    ratios = launch_ratios(observe(group("cell", "base"), records, SIX), "cell", "base")
    assert ratios == pytest.approx((math.log(0.8),))


@pytest.mark.parametrize(
    ("logs", "expected"),
    [
        ([0.010, 0.012, 0.011, 0.009, 0.015, 0.013], "same"),
        ([-0.010, 0.012, 0.001, 0.009, -0.015, 0.013], "same"),
        ([0.10, 0.12, 0.11, 0.09, 0.10, 0.11], "faster"),
        ([-0.10, -0.12, -0.11, -0.09, -0.10, -0.11], "slower"),
        ([-0.03, 0.12, 0.11, 0.09, 0.10, 0.11], "undecided"),
        ([0.10, 0.12, 0.11, 0.09, 0.10], "faster"),
        ([0.10, 0.12, 0.11, 0.02], "undecided"),
        ([0.10, 0.12, 0.11], "preview"),
    ],
)
def test_a_verdict_is_what_the_interval_says(logs, expected):
    assert verdict(interval(logs), SIX) == expected


def test_the_band_called_the_same_is_the_same_seen_from_both_cells():
    edge = math.log(1.02)
    inside = interval([edge - 1e-9] * 6)
    assert verdict(inside, SIX) == verdict(-inside, SIX) == "same"
    assert verdict(interval([edge + 1e-9] * 6), SIX) == "faster"


def test_a_quick_plan_of_three_launches_decides_what_is_far_apart_and_nothing_else():
    quick = Timing(min_launches=3, max_launches=3, burn_in_blocks=0)
    assert speedup(paired([5.0, 5.1, 5.0], [10.0] * 3, quick), "cell", "base", quick).verdict == "faster"
    assert speedup(paired([9.8, 9.6, 9.7], [10.0] * 3, quick), "cell", "base", quick).verdict == "undecided"


def test_an_undecided_row_says_at_which_confidence_it_would_be_decided():
    # five of five launches are above 1, too near to it for 95 %
    found = speedup(paired([9.7, 9.6, 9.9, 9.8, 9.7], [10.0] * 5), "cell", "base", SIX)
    assert (found.verdict, found.direction_confidence) == ("undecided", 0.9)
    assert found.launches == 5
    clear = speedup(paired([5.0] * 6, [10.0] * 6), "cell", "base", SIX)
    assert (clear.direction_confidence, clear.confidence) == (0.999, 0.95)


def test_the_clearest_of_several_rows_is_judged_most_strictly_and_the_last_as_if_it_were_alone():
    apart = {"far": [1.0, 1.01, 1.0, 1.02], "near": [0.10, 0.11, 0.10, 0.12], "close": [0.03, 0.02, -0.01, 0.03]}
    found = holm_intervals(apart, SIX)
    assert [found[name].confidence for name in apart] == pytest.approx([1 - 0.05 / 3, 1 - 0.05 / 2, 0.95])


def test_rows_that_are_not_clear_share_the_confidence_at_which_they_were_tried():
    found = holm_intervals({"a": [0.01, -0.02, 0.03, 0.0], "b": [0.02, -0.01, 0.0, 0.01]}, SIX)
    assert {item.confidence for item in found.values()} == {0.975}


def test_one_slow_launch_in_six_widens_the_interval_and_hardly_moves_the_value():
    found = speedup(paired([8.0, 8.0, 8.0, 8.8, 8.0, 8.0], [10.0] * 6), "cell", "base", SIX)
    assert found.value == pytest.approx(1.25)
    assert found.low == pytest.approx(10 / 8.8)


def test_in_a_group_with_streams_a_synchronous_cell_is_compared_by_completions_too():
    # two streams of 10 ms each give 5 ms per completion; the synchronous cell takes 8 ms
    issue = [item * MS for item in (-10, 0, 0, 10, 10, 20, 20, 30)]
    completion = [item * MS for item in (10, 10, 20, 20, 30, 30, 40, 40)]
    cells = [
        measured("streams", [streamed(index, issue, completion) for index in range(4)], streams=2),
        measured("sync", [synchronous(index, [8 * MS] * 9) for index in range(4)]),
    ]
    launches = observe(group("sync", "streams", streams={"streams": 2}), [launch(0, cells)], SIX)
    assert launch_ratios(launches, "streams", "sync") == pytest.approx((math.log(5 / 8),))


def test_dirty_blocks_count_only_in_the_ratio_over_all_blocks():
    times = {"cell": [5, 5, 5, 5, 50, 50, 50, 50, 50], "base": [10] * 9}
    cells = [measured(name, [synchronous(b, [ms * MS] * 3) for b, ms in enumerate(own)]) for name, own in times.items()]
    blocks = tuple(block(number, throttled_ns=int(number > 3)) for number in range(9))
    records = [launch(number, cells, blocks=blocks) for number in range(6)]
    found = speedup(observe(group("cell", "base"), records, SIX), "cell", "base", SIX)
    assert found.value == pytest.approx(2.0)
    assert found.all_blocks_value < 1.0
    assert (found.verdict, found.all_blocks_verdict) == ("faster", "slower")


def test_cells_that_never_met_have_no_ratio():
    assert speedup((), "cell", "base", SIX) is None


@pytest.mark.parametrize("launches", range(10, 21))
def test_an_interval_of_one_of_many_rows_holds_that_of_one_of_fewer(launches):
    thorough = Timing(min_launches=10, max_launches=20)
    centred = [n - (launches - 1) / 2 for n in range(launches)]  # so that no row is clear
    rows = ["abcdef"[:count] for count in range(1, 7)]
    found = [holm_intervals(dict.fromkeys(names, centred), thorough)["a"] for names in rows]
    assert all(more.low <= fewer.low and fewer.high <= more.high for fewer, more in pairwise(found))
