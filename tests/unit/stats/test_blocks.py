from dataclasses import replace

import pytest
from launches import BLOCK_NS, MS, block, evidence, group, launch, measured, synchronous
from summaries import table

from irbench.core.record import GpuLimit, GpuReading, LaunchRecord, Round
from irbench.spec import Cell, Load, Timing
from irbench.stats.blocks import dirty_blocks, processors_in_use
from irbench.stats.figures import rounds_that_count
from irbench.stats.observed import (
    clean_blocks,
    log_level,
    log_ratio_of_launch,
    observe,
    records_that_count,
    sort_blocks,
)
from irbench.stats.rederive import blocks_in_table
from irbench.stats.speedups import launch_ratios


def rounds_waiting(*shares: float) -> list[Round]:
    quiet = synchronous(0, [10 * MS])
    return [
        Round(number, quiet.issue_ns, quiet.completion_ns, evidence(10 * MS, round(share * 10 * MS)))
        for number, share in enumerate(shares)
    ]


def test_a_block_is_dirty_when_other_processes_used_more_than_a_fortieth_of_both_processors():
    blocks = [block(0, foreign_cpu_ns=BLOCK_NS // 20), block(1, foreign_cpu_ns=BLOCK_NS // 20 + 1), block(2)]
    assert dirty_blocks(blocks, {}, Timing(), 2) == {1}


@pytest.mark.parametrize("processors", [1, 2, 64])
def test_what_other_processes_may_use_grows_with_the_processors_in_use(processors: int):
    most = round(0.025 * processors * BLOCK_NS)
    blocks = [block(0, foreign_cpu_ns=most), block(1, foreign_cpu_ns=most + 1)]
    assert dirty_blocks(blocks, {}, Timing(), processors) == {1}
    cells = [measured("a", [synchronous(index, [MS] * 3) for index in range(2)])]
    records = [launch(0, cells, blocks=tuple(blocks), processors=processors)]
    assert observe(group("a"), records, Timing(burn_in_blocks=0))[0].dirty == {1}


@pytest.mark.parametrize(
    ("threads", "measured_processors", "used"),
    [((1,), 8, 1), ((4, 2), 8, 4), ((4,), 2, 2), ((None, 2), 8, 8), ((), 8, 1)],
)
def test_cells_use_a_processor_for_each_thread_or_all_where_the_runtime_chooses(
    threads: tuple[int | None, ...], measured_processors: int, used: int
):
    cells = [Cell(f"c{number}", None, "c", "cpu", Load(threads=thread)) for number, thread in enumerate(threads)]
    assert processors_in_use(cells, measured_processors) == used


def test_a_block_is_dirty_when_the_quota_held_us_back():
    assert dirty_blocks([block(0), block(1, throttled_ns=1)], {}, Timing(), 2) == {1}


def test_a_block_is_dirty_when_a_cell_waited_five_points_more_than_it_usually_does():
    blocks = [block(index) for index in range(5)]
    rounds = {"a": rounds_waiting(0.30, 0.31, 0.30, 0.36, 0.30), "b": rounds_waiting(0, 0, 0, 0, 0.06)}
    assert dirty_blocks(blocks, rounds, Timing(), 2) == {3, 4}


def test_beside_a_busy_neighbour_waiting_makes_no_block_dirty_and_other_programs_still_do():
    beside = Timing(busy_processors=(1,))
    rounds = {"a": rounds_waiting(0.0, 0.0, 0.0, 0.9)}
    blocks = [block(0), block(1), block(2, foreign_cpu_ns=BLOCK_NS), block(3)]
    assert dirty_blocks(blocks, rounds, Timing(), 2) == {2, 3}
    assert dirty_blocks(blocks, rounds, beside, 2) == {2}


def test_a_cell_that_always_waits_on_itself_makes_nothing_dirty():
    assert (
        dirty_blocks([block(index) for index in range(4)], {"a": rounds_waiting(0.5, 0.5, 0.5, 0.5)}, Timing(), 2)
        == set()
    )


def test_waits_that_scatter_widely_from_round_to_round_make_no_block_dirty_but_one_far_out_does():
    scatters = (0.25, 0.18, 0.33, 0.22, 0.31, 0.27, 0.20, 0.29)
    blocks = [block(index) for index in range(9)]
    assert dirty_blocks(blocks, {"a": rounds_waiting(*scatters)}, Timing(), 2) == set()
    assert dirty_blocks(blocks, {"a": rounds_waiting(*scatters, 0.80)}, Timing(), 2) == {8}


def test_where_the_kernel_tells_no_waiting_the_other_signs_still_count():
    silent = Round(1, *(synchronous(1, [MS]).issue_ns,) * 2, replace(evidence(MS), run_queue_wait_ns=None))
    assert dirty_blocks([block(0, throttled_ns=1), block(1)], {"a": [silent]}, Timing(), 2) == {0}


def test_slow_calls_alone_make_no_block_dirty():
    rounds = {"a": [synchronous(0, [MS] * 3), synchronous(1, [90 * MS] * 3)]}
    assert dirty_blocks([block(0), block(1)], rounds, Timing(), 2) == set()


def throttled(number: int, dirty: int) -> LaunchRecord:
    """Return a launch whose first blocks a quota throttled."""
    seen = tuple(block(index, throttled_ns=int(index < dirty)) for index in range(8))
    return launch(number, [measured("a", [synchronous(index, [MS] * 3) for index in range(8)])], blocks=seen)


def counted(dirty: int) -> frozenset[int]:
    return observe(group("a"), [throttled(0, dirty)], Timing(burn_in_blocks=0))[0].counted


def test_clean_blocks_alone_count_while_there_are_four():
    assert counted(dirty=4) == {4, 5, 6, 7}


def test_with_three_clean_blocks_all_count_where_no_other_launch_has_more():
    assert counted(dirty=5) == set(range(8))


def test_a_launch_with_three_clean_blocks_is_left_out_once_four_have_more():
    records = [throttled(number, dirty=5 * (number == 0)) for number in range(5)]
    observed = [observe(group("a"), records[:count], Timing(burn_in_blocks=0)) for count in (4, 5)]
    assert [[len(own.counted) for own in launches] for launches in observed] == [[8, 8, 8, 8], [0, 8, 8, 8, 8]]
    assert [sorted(own.log_ns) for own in observed[1]] == [[], ["a"], ["a"], ["a"], ["a"]]


def test_no_launch_is_left_out_up_to_a_share_of_disturbed_blocks():
    records = [throttled(number, dirty=5 * (number == 0)) for number in range(5)]
    timing = Timing(burn_in_blocks=0, left_out_above=5 / 40)
    assert [len(own.counted) for own in observe(group("a"), records, timing)] == [8] * 5


def with_cells(record: LaunchRecord, *names: str) -> LaunchRecord:
    return replace(record, cells=tuple(replace(record.cells[0], cell=name) for name in names))


def test_a_launch_is_left_out_for_the_cells_with_enough_others_and_counts_for_one_that_has_too_few():
    """``far`` ran three more times, and ``a`` and ``b`` four: it is their launch that one burst must not spoil."""
    records = [with_cells(throttled(number, dirty=5 * (number == 0)), "a", "b", "far") for number in range(4)]
    records.append(with_cells(throttled(4, dirty=0), "a", "b"))
    first, *others = observe(group("a", "b", "far"), records, Timing(burn_in_blocks=0))
    assert (first.left_out, len(first.counted)) == ({frozenset("a"), frozenset("b"), frozenset("ab")}, 8)
    assert log_ratio_of_launch(first, "a", "b") is None
    assert log_level(first, "a") is None
    assert log_ratio_of_launch(first, "a", "far") == 0
    assert log_level(first, "far") is not None
    assert [len(launch_ratios([first, *others], *pair)) for pair in (("a", "b"), ("a", "far"))] == [4, 4]
    assert len(rounds_that_count(records, [first, *others], "a")) == 4 * 8
    assert len(rounds_that_count(records, [first, *others], "a", beside="far")) == 5 * 8
    counted = {cell: records_that_count(records, [first, *others], cell) for cell in ("a", "far")}
    assert {cell: [record.launch for record in own] for cell, own in counted.items()} == {
        "a": [1, 2, 3, 4],
        "far": [0, 1, 2, 3, 4],
    }


def test_a_pair_keeps_a_launch_until_it_has_enough_others_of_its_own():
    """Each cell ran in four undisturbed launches, and ``a`` and ``b`` in two of them together."""
    together = [with_cells(throttled(number, dirty=5 * (number < 2)), "a", "b") for number in range(4)]
    alone = [with_cells(throttled(number, dirty=0), "a" if number < 6 else "b") for number in range(4, 8)]
    observed = observe(group("a", "b"), [*together, *alone], Timing(burn_in_blocks=0))
    assert len(launch_ratios(observed, "a", "b")) == 4
    assert [log_level(own, "a") is None for own in observed] == [True, True, False, False, False, False, True, True]


def test_few_blocks_that_are_all_clean_count():
    record = launch(0, [measured("a", [synchronous(index, [MS] * 3) for index in range(2)])])
    assert observe(group("a"), [record], Timing(burn_in_blocks=0))[0].counted == {0, 1}


def test_the_first_block_is_recorded_and_not_counted():
    record = launch(0, [measured("a", [synchronous(index, [(2 - index) * MS] * 3) for index in range(2)])])
    (seen,) = observe(group("a"), [record], Timing(burn_in_blocks=1))
    assert (seen.blocks, seen.counted, set(seen.log_ns["a"])) == ({1}, {1}, {1})


def test_a_burn_in_block_that_waited_long_makes_no_other_look_usual():
    blocks = [block(index) for index in range(5)]
    rounds = {"a": rounds_waiting(0.9, 0.0, 0.0, 0.0, 0.06)}
    assert clean_blocks(blocks, rounds, Timing(burn_in_blocks=1), 2) == {1, 2, 3}


def rounds_on_gpu(*readings: GpuReading) -> list[Round]:
    quiet = synchronous(0, [10 * MS])
    idle = GpuReading(345, 60_000, ("idle",))
    return [replace(quiet, block=number, gpu=(idle, after)) for number, after in enumerate(readings)]


def under_load(mhz: int | None = 1_900, *limits: GpuLimit) -> GpuReading:
    return GpuReading(mhz, 600_000, limits)


@pytest.mark.parametrize("brake", ["hardware-slowdown", "software-thermal", "hardware-thermal", "power-brake"])
def test_a_block_is_dirty_when_heat_or_a_lack_of_power_slowed_a_gpu_down(brake: GpuLimit):
    rounds = rounds_on_gpu(under_load(), under_load(1_890, brake), under_load(1_890, "power-cap"), under_load())
    before = [replace(rounds[3], gpu=(under_load(1_900, brake), under_load()))]
    assert dirty_blocks([block(index) for index in range(4)], {"a": rounds}, Timing(), 2) == {1}
    assert dirty_blocks([block(index) for index in range(4)], {"a": [*rounds[:3], *before]}, Timing(), 2) == {1, 3}


def test_a_block_is_dirty_when_a_gpu_ran_a_tenth_slower_than_it_usually_does():
    rounds = rounds_on_gpu(*map(under_load, (1_900, 1_900, 1_709, 1_711, 1_950)))
    slower_row = rounds_on_gpu(*map(under_load, (1_400, 1_400, 1_400, 1_400, 1_400)))
    assert dirty_blocks([block(index) for index in range(5)], {"a": rounds, "b": slower_row}, Timing(), 2) == {2}


def test_clocks_that_nobody_tells_make_no_block_dirty():
    rounds = rounds_on_gpu(under_load(None), under_load(None))
    assert dirty_blocks([block(index) for index in range(2)], {"a": rounds}, Timing(), 2) == set()


def test_a_brake_in_most_of_a_row_s_rounds_is_usual_for_it_and_makes_no_block_dirty():
    hot = rounds_on_gpu(*(under_load(1_700, "software-thermal") for _ in range(3)), under_load(1_700))
    assert dirty_blocks([block(index) for index in range(4)], {"a": hot}, Timing(), 2) == set()


@pytest.mark.parametrize("disturbed", [(), (0,), (0, 3), (0, 1, 2, 3, 4)], ids=str)
def test_the_blocks_of_a_stored_table_are_those_that_its_figures_were_derived_from(disturbed: tuple[int, ...]) -> None:
    records = [throttled(number, dirty=5 * (number in disturbed)) for number in range(5)]
    timing = Timing(burn_in_blocks=0)
    stored = table(group("a"), records, timing=timing)
    of_figures = [own.counted for own in observe(group("a"), records, timing)]
    assert [blocks_in_table(record, sort_blocks(record, timing), stored).counted for record in records] == of_figures
