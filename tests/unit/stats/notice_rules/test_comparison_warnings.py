from dataclasses import replace

import numpy as np
import pytest
from launches import BLOCK_NS, MS, block, even, group, launch, measured, synchronous
from warned import pair, warnings

from irbench.core.record import NeighbourActivity, Sustained
from irbench.spec import Neighbour, Timing
from irbench.stats.modes import split_in_two
from irbench.stats.notice_rules.comparison_warnings import neighbour_chance


def test_a_quiet_run_has_nothing_to_say():
    assert warnings(group("base", "cell"), pair()) == {}


def test_each_cause_is_one_warning():
    records = [
        replace(member, frozen=False) for member in pair(foreign_cpu_ns=BLOCK_NS, throttled_ns=MS, steal_ns=BLOCK_NS)
    ]
    found = warnings(group("base", "cell"), records)
    assert set(found) == {
        "few-clean-blocks", "stolen-time", "cpu-quota", "not-frozen",
    }  # fmt: skip
    assert found["stolen-time"] == {"share": 1.0}
    assert found["cpu-quota"] == {"seconds": 0.048, "blocks": 48}


def test_what_a_busy_machine_brings_about_is_one_warning_with_the_facts_of_all_of_it():
    found = warnings(group("base", "cell"), pair(foreign_cpu_ns=BLOCK_NS))
    assert set(found) == {"few-clean-blocks"}
    assert found["few-clean-blocks"] == {
        "foreign_share": 1.0, "processors": 2, "blocks_disturbed": 48, "blocks": 48,
        "launches_short": 6, "least_blocks": 4,
    }  # fmt: skip


def test_what_other_programs_may_use_grows_with_the_processors_in_use():
    used = [replace(member, processors=64) for member in pair(foreign_cpu_ns=round(1.5 * BLOCK_NS))]
    assert warnings(group("base", "cell"), used) == {}
    more = [replace(member, processors=64) for member in pair(foreign_cpu_ns=round(1.7 * BLOCK_NS))]
    facts = warnings(group("base", "cell"), more)["few-clean-blocks"]
    assert (facts["foreign_share"], facts["processors"]) == (pytest.approx(1.7), 64)


def test_a_quarter_of_the_blocks_may_be_dirty_without_a_word():
    def with_dirty(count):
        seen = tuple(block(number, throttled_ns=int(number < count)) for number in range(8))
        return warnings(group("base", "cell"), [replace(member, blocks=seen) for member in pair()])

    assert "many-dirty-blocks" not in with_dirty(2)
    assert "many-dirty-blocks" in with_dirty(3)


def waiting(share, threads=4):
    round_ = synchronous(0, [10 * MS] * 3, waited_ns=round(share * 30 * MS))
    rounds = [replace(round_, block=number) for number in range(4)]
    own = replace(measured("only", rounds), effective={"precision": "fp32", "threads": threads})
    return [launch(number, [own]) for number in range(6)]


def test_a_cell_that_waits_for_its_own_threads_is_told_so():
    assert "waits-on-itself" not in warnings(group("only"), waiting(0.05))
    facts = warnings(group("only"), waiting(0.5))["waits-on-itself"]
    assert facts == {"rows": [{"cell": "only", "share": 0.5, "running": 1.0, "threads": 4}]}


@pytest.mark.parametrize(("threads", "share", "told"), [(2, 0.5, False), (None, 0.4, False), (None, 0.6, True)])
def test_a_cell_with_no_more_threads_than_processors_does_not_wait_on_itself(threads, share, told):
    assert ("waits-on-itself" in warnings(group("only"), waiting(share, threads))) == told


def test_where_the_kernel_does_not_tell_how_long_threads_wait_nothing_is_said_of_it():
    def untold(round_):
        return replace(round_, evidence=replace(round_.evidence, run_queue_wait_ns=None))

    records = [
        replace(item, cells=tuple(replace(own, rounds=tuple(map(untold, own.rounds))) for own in item.cells))
        for item in waiting(0.5)
    ]
    assert "waits-on-itself" not in warnings(group("only"), records)


def test_a_cell_is_not_blamed_for_waiting_where_others_held_the_processors():
    held = [replace(item, blocks=tuple(block(n, foreign_cpu_ns=BLOCK_NS) for n in range(4))) for item in waiting(0.5)]
    assert "waits-on-itself" not in warnings(group("only"), held)


def beside_pressure(processors, neighbour):
    """Return the warning of a row beside pressure that kept so many processors busy, and the group of both rows."""
    activity = NeighbourActivity(10**9, round(processors * 10**9))
    records = []
    for number in range(6):
        alone, row = ([synchronous(index, [10 * MS] * 3) for index in range(8)] for _ in range(2))
        row = [replace(each, neighbour=activity) for each in row]
        records.append(launch(number, [measured("alone", alone), measured("row", row, neighbour_alone=activity)]))
    asked = group("alone", "row")
    cells = [asked.cells[0], replace(asked.cells[1], load=replace(asked.cells[1].load, beside=neighbour))]
    return warnings(replace(asked, cells=tuple(cells)), records).get("neighbours-fall-short")


def test_a_neighbour_that_did_half_of_what_was_asked_is_told_with_both():
    half = Neighbour("cpu", intensity=80, cpus=(0,), shares_processors=True)
    assert beside_pressure(0.4, half) == {
        "rows": [{"cell": "row", "asked": 0.8, "achieved": pytest.approx(0.4), "unit": "processors"}],
        "share_processors": True,
    }
    assert beside_pressure(0.76, half) is None


def test_a_neighbour_that_something_holds_back_is_to_do_less():
    assert beside_pressure(0.1, Neighbour("cpu", cpus=(0,), controls=("nice",))) is None


def drifting(*factors):
    """Return launches in which the cell's later blocks take so many times as long as its earlier ones."""

    def record(number):
        levels = [10.0] * 4 + [10.0 * factors[number]] * 4
        cells = [
            measured("base", [synchronous(index, [10 * MS] * 3) for index in range(8)]),
            measured("cell", [synchronous(level, [ms * MS] * 3) for level, ms in enumerate(levels)]),
        ]
        return launch(number, cells)

    return [record(number) for number in range(len(factors))]


def test_a_cell_that_gets_faster_within_every_launch_is_told_so():
    found = warnings(group("base", "cell"), drifting(0.95, 0.94, 0.96, 0.93, 0.95, 0.94))
    (row,) = found["not-steady"]["rows"]
    assert (row["cell"], row["slower"]) == ("cell", pytest.approx(-0.055, abs=1e-3))


@pytest.mark.parametrize(("kind", "late"), [("command", True), ("bandwidth", False)])
def test_a_cell_that_gets_slower_beside_a_command_may_have_met_it_before_it_was_ready(kind, late):
    alone = group("base", "cell")
    base, cell = alone.cells
    beside = replace(cell, load=replace(cell.load, beside=Neighbour(kind)))
    found = warnings(replace(alone, cells=(base, beside)), drifting(1.5, 1.6, 1.5, 1.6, 1.5, 1.6))
    assert found["not-steady"].get("beside_commands", False) is late


def test_disturbed_blocks_make_no_trend():
    late = tuple(block(number, throttled_ns=int(number > 4)) for number in range(8))
    slowed = [replace(item, blocks=late) for item in drifting(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)]
    slow = tuple(synchronous(number, [30 * MS] * 3) for number in range(5, 8))
    cells = [(item.cells[0], replace(item.cells[1], rounds=(*item.cells[1].rounds[:5], *slow))) for item in slowed]
    stormy = [replace(item, cells=own) for item, own in zip(slowed, cells, strict=True)]
    assert "not-steady" not in warnings(group("base", "cell"), stormy)


def test_blocks_that_scatter_both_ways_are_no_trend():
    assert "not-steady" not in warnings(group("base", "cell"), drifting(0.95, 1.06, 0.96, 1.04, 0.95, 1.05))


def test_cells_on_different_numbers_of_threads_are_named():
    records = [
        replace(
            member, cells=(member.cells[0], replace(member.cells[1], effective={"precision": "fp32", "threads": 1}))
        )
        for member in pair()
    ]
    rows = [{"cell": "base", "threads": 2}, {"cell": "cell", "threads": 1}]
    assert warnings(group("base", "cell"), records)["threads-differ"] == {"rows": rows, "has_streams": False}


def moved_apart(number, far_ms):
    far = [index >= 4 for index in range(8)]
    cells = [
        measured("base", [synchronous(index, [10 * MS] * 3) for index in range(8)]),
        measured("cell", [synchronous(index, [int((far_ms if far[index] else 8) * MS)] * 3) for index in range(8)]),
    ]
    probes = [330.0 if far[index] else 53.0 + index for index in range(8)]
    return launch(number, cells, blocks=tuple(block(n, core_to_core_ns=ns) for n, ns in enumerate(probes)))


def test_processors_that_moved_apart_give_a_result_for_each_regime():
    facts = warnings(group("base", "cell"), [moved_apart(number, 20) for number in range(6)])["regime-change"]
    near, far = facts["near"], facts["far"]
    assert (near["blocks"], far["blocks"], near["core_to_core_ns"]) == (24, 24, pytest.approx(54.5, abs=0.1))
    assert near["rows"] == [{"cell": "cell", "speedup": pytest.approx(1.25)}]
    assert far["rows"] == [{"cell": "cell", "speedup": pytest.approx(0.5)}]


@pytest.mark.parametrize(("far_ms", "is_reported"), [(8.1, False), (8.3, True), (7.7, True)])
def test_processors_that_moved_apart_are_reported_where_that_changed_a_speedup(far_ms, is_reported):
    records = [moved_apart(number, far_ms) for number in range(6)]
    assert ("regime-change" in warnings(group("base", "cell"), records)) == is_reported


def test_a_steady_distance_between_processors_is_no_regime_change():
    assert warnings(group("base", "cell"), pair(core_to_core_ns=330.0)) == {}


def test_an_interval_above_the_target_says_what_would_reach_it():
    facts = warnings(group("base", "cell"), pair([10.0, 10.3, 9.8, 10.1, 9.9, 10.0]))["wide-interval"]
    assert (facts["half_width"], facts["target"]) == (pytest.approx(0.025, abs=0.001), 0.01)
    assert facts["launches_needed"] is None
    assert facts["launches_dominate"]


def test_blocks_that_scatter_as_much_as_launches_are_not_blamed_on_launches():
    scatter = [10.0, 13.0, 8.0, 11.5, 9.0, 12.0, 8.5, 10.5]
    records = []
    for number in range(6):
        turned = scatter[number:] + scatter[:number]
        cells = [
            measured("base", [synchronous(index, [10 * MS] * 3) for index in range(8)]),
            measured("cell", [synchronous(item, [(ms + 0.1 * number) * MS] * 3) for item, ms in enumerate(turned)]),
        ]
        records.append(launch(number, cells))
    found = warnings(group("base", "cell"), records)
    assert not found["wide-interval"]["launches_dominate"]


def test_the_budget_that_a_full_run_needs_is_named():
    found = warnings(group("base", "cell"), pair([10.0] * 3), stopped_by="budget", seconds=120.0)
    facts = {"launches": 3, "least_launches": 4, "needed_s": 176, "over_budget": False}
    assert found["too-few-launches"] == facts


def test_a_single_launch_that_took_longer_than_the_budget_is_told_as_that():
    timing = Timing(budget=20.0)
    found = warnings(group("base", "cell"), pair([10.0]), stopped_by="budget", seconds=30.0, timing=timing)
    assert found["too-few-launches"]["over_budget"]


def test_the_budget_that_is_named_has_room_for_the_blocks_that_a_first_launch_left_out():
    timing = Timing(burn_in_blocks=1, budget=20.0)
    record = pair([10.0])[0]
    whole = warnings(group("base", "cell"), [record], stopped_by="budget", seconds=30.0, timing=timing)
    cells = tuple(replace(cell, rounds=cell.rounds[:2]) for cell in record.cells)
    cut = replace(record, cells=cells, blocks=tuple(replace(block(number), wall_ns=6 * 10**9) for number in range(2)))
    short = warnings(group("base", "cell"), [cut], stopped_by="budget", seconds=12.0, timing=timing)
    assert short["too-few-launches"]["needed_s"] == whole["too-few-launches"]["needed_s"]


def test_a_quick_run_is_not_scolded_for_being_quick():
    quick = Timing(min_launches=3, max_launches=3, blocks=6, burn_in_blocks=0)
    assert warnings(group("base", "cell"), pair([10.0] * 3), stopped_by="launches", timing=quick) == {}


def test_a_ratio_that_the_excluded_blocks_would_change_is_shown():
    def record(number):
        cells = [
            measured("base", [synchronous(index, [10 * MS] * 3) for index in range(9)]),
            measured("cell", [synchronous(index, [(5 if index < 5 else 9) * MS] * 3) for index in range(9)]),
        ]
        return launch(number, cells, blocks=tuple(block(index, throttled_ns=int(index > 4)) for index in range(9)))

    found = warnings(group("base", "cell"), [record(number) for number in range(6)])
    (row,) = found["excluded-blocks-matter"]["rows"]
    assert (row["cell"], row["moves"]) == ("cell", True)


def test_where_most_blocks_were_disturbed_nothing_is_made_of_their_figures():
    wild = pair([10.0, 13.0, 9.0, 14.0, 8.0, 12.0], foreign_cpu_ns=BLOCK_NS)
    assert set(warnings(group("base", "cell"), wild)) == {"few-clean-blocks"}


def test_a_verdict_that_the_excluded_blocks_would_change_is_shown_though_the_value_stays():
    def record(number):
        levels = [8.0] * 5 + [(20.0 if number == 0 else 8.0)] * 4
        cells = [
            measured("base", [synchronous(index, [10 * MS] * 3) for index in range(9)]),
            measured("cell", [synchronous(level, [ms * MS] * 3) for level, ms in enumerate(levels)]),
        ]
        return launch(number, cells, blocks=tuple(block(index, throttled_ns=int(index > 4)) for index in range(9)))

    records = [record(number) for number in range(6)]
    (row,) = warnings(group("base", "cell"), records)["excluded-blocks-matter"]["rows"]
    assert (row["moves"], row["verdict"], row["all_blocks_verdict"]) == (False, "faster", "undecided")


def sustained(*cell_fps):
    records = pair([5.0] * 6)
    for number, fps in enumerate(cell_fps):
        ran = (Sustained("base", 300, 3_000_000_000), Sustained("cell", round(3 * fps), 3_000_000_000))
        records[number] = replace(records[number], sustained=ran)
    return warnings(group("base", "cell"), records)


def test_a_sustained_ratio_that_surely_differs_by_three_percent_from_the_interval_is_told():
    assert sustained(*[205] * 6) == {}
    (row,) = sustained(*[180] * 6)["sustained-differs"]["rows"]
    assert row == {"cell": "cell", "ratio": pytest.approx(1.8), "speedup": pytest.approx(2.0)}
    assert "sustained-differs" in sustained(*[207] * 6)


def test_a_sustained_ratio_that_scatters_around_the_interval_is_not():
    assert sustained(180, 210, 190, 205, 195, 204) == {}


def test_launches_that_resemble_their_neighbours_are_told():
    slow = even({"base": [10.0] * 8, "cell": [9.0, 9.02, 9.05, 9.09, 9.2, 9.25, 9.31, 9.4]}, blocks=8)
    assert warnings(group("base", "cell"), slow)["launches-depend"] == {"cells": ["base"]}


def test_launches_that_alternate_do_not_resemble_their_neighbours():
    turns = even({"base": [10.0] * 8, "cell": [9.0, 9.4, 9.01, 9.39, 9.02, 9.38, 9.03, 9.37]}, blocks=8)
    assert "launches-depend" not in warnings(group("base", "cell"), turns)


def test_the_chance_of_such_close_neighbours_is_that_of_all_orders_alike():
    assert neighbour_chance([1, 2, 3, 4, 5, 6]) == pytest.approx(2 / 720, abs=0.002)
    assert neighbour_chance([1, 6, 2, 5, 3, 4]) > 0.9
    assert 0.2 < neighbour_chance([3, 1, 4, 6, 5, 2]) < 0.8


def test_independent_launches_are_rarely_called_dependent():
    draws = np.random.default_rng(5).normal(size=(500, 10)).tolist()
    assert np.mean([neighbour_chance(values) <= 0.05 for values in draws]) < 0.08


def test_one_slow_launch_in_six_is_told_with_its_size():
    found = warnings(group("base", "cell"), pair([10.0, 10.02, 10.01, 10.8, 10.0, 9.99]))
    (row,) = found["slow-launches"]["rows"]
    assert row == {"cell": "cell", "slow_launches": 1, "launches": 6, "slower": pytest.approx(0.08, abs=0.001)}


def test_slow_launches_of_several_cells_are_one_warning():
    records = even({"base": [10.0, 13.0, *[10.0] * 4], "cell": [10.0] * 4 + [12.0, 10.0]}, blocks=8)
    rows = warnings(group("base", "cell"), records)["slow-launches"]["rows"]
    assert [(row["cell"], row["slower"]) for row in rows] == [
        ("base", pytest.approx(0.3)),
        ("cell", pytest.approx(0.2)),
    ]


def test_launches_of_two_speeds_are_called_two_modes():
    found = warnings(group("base", "cell"), pair([36.5, 39.5, 36.6, 39.4, 36.4, 36.5]))
    assert [row["slow_launches"] for row in found["two-modes"]["rows"]] == [2]
    assert "slow-launches" not in found


def test_launches_that_scatter_evenly_have_no_modes():
    found = warnings(group("base", "cell"), pair([10.0, 10.1, 10.2, 10.3, 10.4, 10.5]))
    assert not {"slow-launches", "two-modes"} & set(found)


@pytest.mark.parametrize(
    ("values", "upper"),
    [([1.0, 1.01, 2.0, 1.02], (2,)), ([1.0, 2.0, 3.0], None), ([1.0], None), ([], None), ([1.0, 1.0, 1.0], None)],
)
def test_values_part_at_a_gap_twice_as_wide_as_any_other(values, upper):
    split = split_in_two(values, 0.5)
    assert (split.upper if split else None) == upper
