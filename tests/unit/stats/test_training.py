"""Training steps: whether a loss falls, what the parts of a step cost, and what settings change."""

from __future__ import annotations

import math
from dataclasses import replace

import launches
import numpy as np
import pytest
from training_steps import FALLING, cell, rounds, row, table

from irbench.core.row import CellResult
from irbench.spec import Bundle, Group, LossCheck, Timing, Workload
from irbench.spec.cells import Precision
from irbench.spec.training import BEGINNINGS, INPUT, STEP
from irbench.stats.eligibility import Admission
from irbench.stats.run_modes.training import BESIDE, COMPUTE, WHOLE, has_fallen, held_against, is_near, loss_check
from irbench.stats.summary import summarise


def parts_ms(row: CellResult) -> dict[str, float]:
    return {part.name: part.ms.value for part in row.step_parts}


def test_input_and_compute_stand_beside_the_whole_step() -> None:
    measured = row(5.0, 10.0)
    assert measured.latency_ms is not None
    assert measured.latency_ms.p50 == pytest.approx(15.0)
    assert [stage.ms.value for stage in measured.stages] == pytest.approx([5.0, 10.0])


def test_parts_of_a_step_are_differences_of_its_beginnings_and_add_up_to_compute() -> None:
    parts = parts_ms(row(5.0, 10.0))
    assert [parts.pop(name) for name in (WHOLE, INPUT, COMPUTE)] == pytest.approx([15.0, 5.0, 10.0])
    assert sum(parts.values()) == pytest.approx(10.0)
    assert parts == pytest.approx({"host": 1.0, "forward": 2.0, "backward": 4.0, "optimizer": 1.0, BESIDE: 2.0})


def test_a_pipeline_that_stalls_in_one_step_of_three_shows_that_in_all_figures() -> None:
    stalling = (0.0, 0.0, 15.0) * 3
    assert parts_ms(row(stalling, 10.0))[INPUT] == pytest.approx(5.0)
    assert parts_ms(row(stalling, 10.0))[WHOLE] == pytest.approx(15.0)
    (effect,) = table([(cell(32, prefetch="0"), (stalling, 10.0)), (cell(32, prefetch="1"), (0.0, 10.0))]).effects
    assert effect.value == pytest.approx(1.5)


def test_a_step_that_was_not_divided_has_no_parts_of_compute() -> None:
    group = Group((Workload(Bundle("net", (), ()), {"batch": 32}),), (replace(cell(32), workload=0),), "32")
    launch = launches.launch(0, [launches.measured("32", rounds(1.0, 2.0), stages=(INPUT, STEP))])
    result = summarise(group, [launch], Timing(), Admission(), stopped_by="launches", seconds=1.0)
    assert parts_ms(result.cells[0]) == pytest.approx({WHOLE: 3.0, INPUT: 1.0, COMPUTE: 2.0})


def test_parts_are_those_of_the_launches_that_had_time_for_them() -> None:
    group = Group((Workload(Bundle("net", (), ()), {"batch": 32}),), (replace(cell(32), workload=0),), "32")
    divided = {name: np.full(5, ms * 1_000_000) for name, ms in zip(BEGINNINGS, (1, 3, 7, 8), strict=True)}
    records = [
        launches.launch(
            number, [launches.measured("32", rounds(1.0, 9.0), stages=(INPUT, STEP), beginnings_ns=beginnings)]
        )
        for number, beginnings in enumerate([divided, {}, {}])
    ]
    result = summarise(group, records, Timing(), Admission(), stopped_by="budget", seconds=1.0)
    assert parts_ms(result.cells[0])["backward"] == pytest.approx(4.0)


def test_effects_are_of_steps_where_batches_are_equal() -> None:
    effects = table([(cell(32, xla="off"), (1.0, 19.0)), (cell(32, xla="on"), (1.0, 9.0))]).effects
    assert [(dict(each.settings), each.value) for each in effects] == [({"xla": "on"}, pytest.approx(2.0))]


def test_effects_are_of_samples_where_batches_differ() -> None:
    (effect,) = table([(cell(32), (0.0, 10.0)), (cell(64), (0.0, 10.0))]).effects
    assert effect.settings == {"batch": "64"}
    assert effect.value == pytest.approx(2.0)


@pytest.mark.parametrize("failing_launch", [0, 3])
def test_effects_are_of_the_other_rows_where_the_first_fails_in_a_launch(failing_launch: int) -> None:
    steps_ms = {("off", "0"): 20.0, ("off", "1"): 16.0, ("on", "0"): 10.0, ("on", "1"): 8.0}
    rows = [(cell(32, xla=xla, prefetch=ahead), (1.0, ms - 1.0)) for (xla, ahead), ms in steps_ms.items()]
    result = table(rows, failing=rows[0][0].id, failing_launch=failing_launch)
    values = {tuple(effect.settings.items()): effect.value for effect in result.effects}
    assert values[("xla", "on"),] == pytest.approx(2.0)
    assert values[("prefetch", "1"),] == pytest.approx(1.25)


@pytest.mark.parametrize(
    ("reference", "precision", "codes"), [(None, "bf16", ["loss-not-compared"]), (1.0, "bf16", []), (None, "fp32", [])]
)
def test_a_row_whose_loss_no_row_in_fp32_was_there_for_says_so(
    reference: float | None, precision: Precision, codes: list[str]
) -> None:
    row = cell(32)
    row = replace(row, load=replace(row.load, precision=precision), loss=replace(FALLING, reference=reference))
    (shown,) = table([(row, (1.0, 9.0))]).cells
    assert [mark.code for mark in shown.marks] == codes


def test_speedups_of_rows_that_train_count_as_checked() -> None:
    result = table([(cell(32, xla="off"), (1.0, 19.0)), (cell(32, xla="on"), (1.0, 9.0))])
    assert not result.unverified
    assert result.is_training


def test_a_loss_that_falls_more_than_it_scatters_has_fallen() -> None:
    assert has_fallen(FALLING)
    assert FALLING.first > FALLING.last


def test_a_loss_that_falls_within_the_first_steps_has_fallen() -> None:
    settled = 0.05 + np.random.default_rng(0).normal(0.0, 0.005, 32)
    assert has_fallen(loss_check((settled + 40.0 * 0.1 ** np.arange(32)).tolist()))


def test_a_loss_that_scatters_as_much_as_it_falls_has_not_fallen() -> None:
    scattered = np.random.default_rng(0).normal(2.3, 0.3, 32)
    assert not has_fallen(loss_check(scattered.tolist()))


@pytest.mark.parametrize("last", [math.nan, math.inf])
def test_a_loss_that_is_no_number_has_not_fallen(last: float) -> None:
    assert not has_fallen(loss_check([2.0, 1.5, 1.0, last]))


def test_a_loss_that_rises_has_not_fallen() -> None:
    assert not has_fallen(loss_check([1.0 + 0.1 * step for step in range(32)]))


def test_a_row_may_end_above_fp32_by_the_share_of_what_that_fell_by() -> None:
    reference = LossCheck((), first=2.0, last=1.0)
    assert is_near(held_against(LossCheck((), 2.0, 1.2), reference, allowed=0.25))
    assert not is_near(held_against(LossCheck((), 2.0, 1.3), reference, allowed=0.25))
    assert is_near(held_against(LossCheck((), 2.0, 0.2), reference, allowed=0.25))
