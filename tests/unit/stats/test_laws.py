"""What must always hold, whatever was measured: laws of the whole way from samples to speedups.

Ratios are compared to 1e-9 where times are multiplied, because logarithms round; everywhere else they must be equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from launches import BLOCK_NS, MS, block, group, launch, measured, synchronous
from numpy.typing import NDArray

from irbench.core.record import LaunchRecord, Round
from irbench.core.result import GroupResult
from irbench.core.row import Speedup
from irbench.spec import Group, Timing
from irbench.stats.eligibility import Admission
from irbench.stats.intervals import interval_at, looks_of
from irbench.stats.observed import observe
from irbench.stats.speedups import launch_ratios
from irbench.stats.summary import summarise
from irbench.stats.winner import find_winner

pytestmark = pytest.mark.ci

TIMING = Timing(burn_in_blocks=0)
NAMES = "abc"
MIRRORED = {"faster": "slower", "slower": "faster"}
EDGES = (0.0, math.log1p(TIMING.within), -math.log1p(TIMING.within))
law = settings(deadline=None)


@dataclass(frozen=True)
class Measured:
    """What some launches of some cells took, in nanoseconds.

    Attributes:
        times: Shape (launches, blocks, cells, calls).
        waits: Time in the run queue, shape (launches, blocks, cells).
        foreign: What other programs used during each block, shape (launches, blocks).
    """

    times: NDArray[np.int64]
    waits: NDArray[np.int64]
    foreign: NDArray[np.int64]

    def scaled(self, by_launch_block_cell: NDArray[np.int64]) -> Measured:
        """Return the same with calls and waits so many times as long."""
        return replace(
            self, times=self.times * by_launch_block_cell[..., None], waits=self.waits * by_launch_block_cell
        )

    def records(self) -> list[LaunchRecord]:
        launches, _, cells, _ = self.times.shape
        return [
            launch(
                index,
                [measured(NAMES[cell], self._rounds(index, cell)) for cell in range(cells)],
                blocks=tuple(
                    block(number, foreign_cpu_ns=int(used)) for number, used in enumerate(self.foreign[index])
                ),
            )
            for index in range(launches)
        ]

    def without_third(self) -> Measured:
        return Measured(self.times[:, :, :2], self.waits[:, :, :2], self.foreign)

    def _rounds(self, item: int, cell: int) -> list[Round]:
        taken = zip(self.times[item, :, cell], self.waits[item, :, cell], strict=True)
        return [synchronous(number, calls, waited_ns=int(waited)) for number, (calls, waited) in enumerate(taken)]


def whole_numbers(shape: tuple[int, ...], low: int, high: int) -> st.SearchStrategy[NDArray[np.int64]]:
    """Arrays whose numbers mostly repeat, which fail in the clearest way, or numbers without any pattern."""

    def without_pattern(seed: int) -> NDArray[np.int64]:
        return np.random.default_rng(seed).integers(low, high, shape, endpoint=True)

    return arrays(np.int64, shape, elements=st.integers(low, high)) | st.integers(0, 2**32).map(without_pattern)


@st.composite
def measurements(draw: st.DrawFn, cells: int = 2, *, disturbed: bool = True) -> Measured:
    """Draw calls from 1 µs to 50 ms, with waits and other programs that make some blocks dirty."""
    shape = (draw(st.sampled_from((1, 4, 6, 10))), draw(st.integers(1, 6)), cells)
    longest_wait, most_foreign = (5 * MS, BLOCK_NS // 10) if disturbed else (0, 0)
    return Measured(
        times=draw(whole_numbers((*shape, 3), 1000, 50 * MS)),
        waits=draw(whole_numbers(shape, 0, longest_wait)),
        foreign=draw(whole_numbers(shape[:2], 0, most_foreign)),
    )


def factors(shape: tuple[int, ...]) -> st.SearchStrategy[NDArray[np.int64]]:
    return arrays(np.int64, shape, elements=st.sampled_from([1, 2, 4, 8]))


def table(found: Measured, baseline: str = "a", batch: int = 1) -> GroupResult:
    asked = group(*NAMES[: found.times.shape[2]], baseline=baseline, batch=batch)
    return tabulated(asked, found.records())


def tabulated(asked: Group, records: list[LaunchRecord]) -> GroupResult:
    return summarise(asked, records, TIMING, Admission(), stopped_by="target", seconds=1.0)


def speedup(result: GroupResult, cell: str) -> Speedup:
    (row,) = [item for item in result.cells if item.id == cell]
    assert row.speedup is not None
    return row.speedup


def ends(speedup_: Speedup) -> tuple[float, float]:
    """Return the ends of an interval or of a range; after a single launch the value stands for both."""
    found = speedup_.ends
    return (speedup_.value, speedup_.value) if found is None else (found.low, found.high)


def numbers(speedup_: Speedup) -> tuple[float, ...]:
    return speedup_.value, *ends(speedup_), speedup_.all_blocks_value


def on_an_edge(speedup_: Speedup) -> bool:
    """Whether an end of the interval lies so near to where verdicts change that rounding may decide."""
    return any(abs(math.log(end) - edge) < 1e-9 for end in ends(speedup_) for edge in EDGES)


def assert_as_good_as(speedup_: Speedup, other: Speedup) -> None:
    assert numbers(speedup_) == pytest.approx(numbers(other), rel=1e-9)
    assert speedup_.verdict == other.verdict or on_an_edge(speedup_)


@law
@given(measurements())
def test_swapping_two_cells_inverts_the_ratio_and_mirrors_the_verdict(found: Measured) -> None:
    there, back = speedup(table(found), "b"), speedup(table(found, baseline="b"), "a")
    low, high = ends(back)
    inverted = (1 / back.value, 1 / high, 1 / low, 1 / back.all_blocks_value)
    assert numbers(there) == pytest.approx(inverted, rel=1e-12)
    assert there.verdict == MIRRORED.get(back.verdict, back.verdict)


@law
@given(measurements())
def test_swapping_two_cells_negates_the_log_ratio_exactly(found: Measured) -> None:
    launches = observe(group("a", "b"), found.records(), TIMING)
    there, back = (
        interval_at(launch_ratios(launches, *pair), looks_of(TIMING), TIMING.confidence)
        for pair in (("a", "b"), ("b", "a"))
    )
    assert back == -there


@law
@given(measurements(), st.sampled_from([2, 16, 1024]))
def test_scaling_all_times_changes_no_ratio_and_no_verdict(found: Measured, factor: int) -> None:
    scaled = found.scaled(np.full_like(found.waits, factor))
    assert_as_good_as(speedup(table(scaled), "b"), speedup(table(found), "b"))


@law
@given(st.data())
def test_what_slows_every_cell_of_a_block_alike_changes_no_ratio(data: st.DataObject) -> None:
    found = data.draw(measurements())
    slowdown = data.draw(factors(found.foreign.shape))
    slowed = found.scaled(np.repeat(slowdown[..., None], found.times.shape[2], axis=2))
    assert_as_good_as(speedup(table(slowed), "b"), speedup(table(found), "b"))


@law
@given(measurements())
def test_a_cell_that_takes_twice_the_time_has_half_the_speedup(found: Measured) -> None:
    twice = found.scaled(np.broadcast_to([1, 2], found.waits.shape))
    assert numbers(speedup(table(twice), "b")) == pytest.approx(
        [value / 2 for value in numbers(speedup(table(found), "b"))], rel=1e-9
    )


@law
@given(st.data())
def test_no_call_that_takes_longer_makes_its_cell_look_faster(data: st.DataObject) -> None:
    found = data.draw(measurements(disturbed=False))
    longer = data.draw(whole_numbers(found.times.shape, 0, 50 * MS))
    longer[:, :, 0] = 0
    before, after = (speedup(table(item), "b") for item in (found, replace(found, times=found.times + longer)))
    # one slow launch more makes a stretched range wider at both ends
    moved = zip(numbers(after), numbers(before), strict=True)
    kept = list(moved) if not before.assumes_one_mode else [(after.value, before.value)]
    assert all(new <= old * (1 + 1e-12) for new, old in kept)


@law
@given(measurements(cells=1))
def test_a_cell_beside_its_own_double_is_exactly_the_same(found: Measured) -> None:
    double = Measured(np.repeat(found.times, 2, axis=2), np.repeat(found.waits, 2, axis=2), found.foreign)
    found_speedup = speedup(table(double), "b")
    assert numbers(found_speedup) == (1.0, 1.0, 1.0, 1.0)
    assert found_speedup.verdict == ("preview" if len(found.times) < TIMING.min_launches else "same")


@law
@given(measurements(cells=3))
def test_adding_a_cell_that_waits_for_nothing_unusual_changes_nothing_between_two_others(found: Measured) -> None:
    usual = replace(found, waits=found.waits * np.array([1, 1, 0]))
    with_third, without = speedup(table(usual), "b"), speedup(table(usual.without_third()), "b")
    assert with_third.value == without.value
    assert with_third.all_blocks_value == without.all_blocks_value
    assert with_third.direction_confidence == without.direction_confidence
    (widest_low, widest_high), (low, high) = ends(with_third), ends(without)
    assert widest_low <= low <= high <= widest_high  # adjusted for one row more


@law
@given(measurements(cells=3))
def test_adding_a_cell_can_only_make_more_blocks_dirty(found: Measured) -> None:
    three = observe(group(*NAMES), found.records(), TIMING)
    two = observe(group("a", "b"), found.without_third().records(), TIMING)
    assert all(before.dirty <= after.dirty for before, after in zip(two, three, strict=True))


@law
@given(measurements(cells=3))
def test_adding_a_cell_moves_another_pair_within_the_range_of_its_blocks_and_never_its_ratio_over_all(
    found: Measured,
) -> None:
    launches = observe(group(*NAMES), found.records(), TIMING)
    counting = [own for own in launches if own.counts_for("a", "b") and own.counted]
    for observed, ratio in zip(counting, launch_ratios(launches, "a", "b"), strict=True):
        blocks = [observed.log_ns["a"][number] - observed.log_ns["b"][number] for number in observed.blocks]
        assert min(blocks) <= ratio <= max(blocks)
    fewer = found.without_third()
    assert speedup(table(found), "b").all_blocks_value == speedup(table(fewer), "b").all_blocks_value


@law
@given(measurements(cells=3))
def test_another_rival_never_makes_the_claim_for_the_leader_stronger(found: Measured) -> None:
    launches = observe(group(*NAMES), found.records(), TIMING)
    first, two = (find_winner(launches, ranked, TIMING) for ranked in (["a", "b"], ["a", "b", "c"]))
    assert first.ratio is not None
    assert two.ratio is not None
    assert two.leader != first.leader or two.ratio.low <= first.ratio.low


@law
@given(st.data())
def test_neither_the_order_of_launches_nor_that_of_calls_matters(data: st.DataObject) -> None:
    found = data.draw(measurements())
    order = data.draw(st.permutations(range(len(found.times))))
    other = Measured(found.times[order][..., ::-1], found.waits[order], found.foreign[order])
    before, after = table(found), table(other)
    assert speedup(after, "b") == speedup(before, "b")
    assert {row.id: row.fps for row in after.cells} == {row.id: row.fps for row in before.cells}
    assert after.winner == before.winner


@law
@given(st.data())
def test_the_order_of_blocks_within_a_launch_does_not_matter(data: st.DataObject) -> None:
    found = data.draw(measurements())
    order = data.draw(st.permutations(range(found.times.shape[1])))
    other = Measured(found.times[:, order], found.waits[:, order], found.foreign[:, order])
    assert speedup(table(other), "b") == speedup(table(found), "b")


@law
@given(measurements())
def test_an_interval_holds_its_own_value(found: Measured) -> None:
    found_speedup = speedup(table(found), "b")
    low, high = ends(found_speedup)
    assert low <= found_speedup.value <= high


@law
@given(measurements(cells=1), st.integers(1, 64))
def test_fps_lie_between_batch_over_the_longest_and_batch_over_the_shortest_latency(
    found: Measured, batch: int
) -> None:
    (row,) = table(replace(found, foreign=found.foreign * 0, waits=found.waits * 0), batch=batch).cells
    assert row.latency_ms is not None
    assert row.fps is not None
    assert row.latency_ms.min is not None
    assert batch / found.times.max() * 1e9 * (1 - 1e-12) <= row.fps <= batch / (row.latency_ms.min / 1e3) * (1 + 1e-12)
    assert row.fps == pytest.approx(batch / (row.latency_ms.mean / 1e3), rel=1e-9)


@law
@given(st.data())
def test_with_injected_stalls_fps_are_calls_times_batch_over_the_sum_of_their_times(data: st.DataObject) -> None:
    found = data.draw(measurements(cells=1, disturbed=False))
    stalled = found.times + data.draw(
        arrays(np.int64, found.times.shape, elements=st.sampled_from([0, 0, 0, 300 * MS]))
    )
    (row,) = table(replace(found, times=stalled), batch=4).cells
    assert row.fps == pytest.approx(stalled.size * 4 / (int(stalled.sum()) / 1e9), rel=1e-12)
