"""Effects of settings, of which the truth is known or computed by hand."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from irbench.core.training_row import Effect
from irbench.stats.run_modes.factorial import effects_of, half_of, varied_settings

TWO_BY_TWO = {"xla": ("off", "on"), "prefetch": ("0", "auto")}
MIXED = {"batch": ("32", "64", "128"), "xla": ("off", "on"), "prefetch": ("0", "1", "auto")}


def rows_of(settings: dict[str, tuple[str, ...]]) -> dict[str, dict[str, str]]:
    combinations = (dict(zip(settings, values, strict=True)) for values in product(*settings.values()))
    return {"-".join(row.values()): row for row in combinations}


def effect(effects: tuple[Effect, ...], **settings: str) -> Effect:
    (found,) = (each for each in effects if each.settings == settings)
    return found


def test_the_effect_of_a_setting_is_the_difference_of_the_means_of_its_rows() -> None:
    """Yates' table by hand: rows 1, a, b and ab of log speeds 0, 0.4, 0.1 and 0.9."""
    speeds = {"off-0": [0.0], "on-0": [0.4], "off-auto": [0.1], "on-auto": [0.9]}
    effects = effects_of(rows_of(TWO_BY_TWO), speeds, 0.95)
    assert effect(effects, xla="on").value == pytest.approx(math.exp((0.4 + 0.9) / 2 - (0.0 + 0.1) / 2))
    assert effect(effects, prefetch="auto").value == pytest.approx(math.exp((0.1 + 0.9) / 2 - (0.0 + 0.4) / 2))
    assert effect(effects, xla="on", prefetch="auto").value == pytest.approx(math.exp((0.9 - 0.1) - (0.4 - 0.0)))


def test_settings_that_act_apart_have_no_common_effect() -> None:
    gains = {"64": 0.3, "128": 0.5, "on": 0.2, "1": 0.1, "auto": -0.05}
    rows = rows_of(MIXED)
    speeds = {name: [sum(gains.get(value, 0.0) for value in row.values())] * 4 for name, row in rows.items()}
    effects = effects_of(rows, speeds, 0.95)
    assert effect(effects, batch="128").value == pytest.approx(math.exp(0.5))
    assert effect(effects, prefetch="auto").value == pytest.approx(math.exp(-0.05))
    assert all(each.value == pytest.approx(1.0) for each in effects if len(each.settings) == 2)
    assert not any(each.pairs_left_out for each in effects)


def test_effects_of_a_complete_design_are_those_of_ordinary_least_squares_with_sum_coding() -> None:
    """Sum-coded columns, fitted by another routine of NumPy, give the same effects."""
    rows, generator = rows_of(TWO_BY_TWO), np.random.default_rng(1)
    speeds = {name: [float(generator.normal())] for name in rows}
    signs = np.array([[1.0, a, b, a * b] for a, b in product((-1.0, 1.0), repeat=2)])
    fitted, *_ = np.linalg.lstsq(signs, np.array([speeds[name][0] for name in rows]), rcond=None)
    effects = effects_of(rows, speeds, 0.95)
    values = [math.log(each.value or math.nan) for each in effects]
    assert values == pytest.approx([2 * fitted[1], 2 * fitted[2], 4 * fitted[3]])


def test_an_interval_is_of_the_rounds_and_holds_the_truth() -> None:
    generator = np.random.default_rng(2)
    rows = rows_of(TWO_BY_TWO)
    speeds = {
        name: [0.2 * (row["xla"] == "on") + generator.normal(0, 0.01) for _ in range(6)] for name, row in rows.items()
    }
    gained = effect(effects_of(rows, speeds, 0.95), xla="on")
    assert gained.rounds == 6
    assert gained.low is not None
    assert gained.high is not None
    assert gained.low < math.exp(0.2) < gained.high
    assert gained.high / gained.low < 1.05


def test_a_single_round_has_no_interval() -> None:
    effects = effects_of(
        rows_of(TWO_BY_TWO), {"off-0": [0.0], "on-0": [1.0], "off-auto": [0.0], "on-auto": [1.0]}, 0.95
    )
    assert effects
    assert all(each.ends is None for each in effects)


def test_a_row_that_failed_is_left_out_and_single_effects_are_still_told() -> None:
    rows = rows_of(MIXED)
    speeds = {name: [0.2 * (row["xla"] == "on")] * 2 for name, row in rows.items() if name != "64-on-1"}
    effects = effects_of(rows, speeds, 0.95)
    assert effect(effects, xla="on").value == pytest.approx(math.exp(0.2))
    assert not effect(effects, xla="on").pairs_left_out


def test_what_rows_do_not_determine_has_no_value() -> None:
    """Of 2 x 2 settings three rows tell the effects of single settings if these act apart, and no pair."""
    rows = {name: row for name, row in rows_of(TWO_BY_TWO).items() if name != "on-auto"}
    effects = effects_of(rows, {"off-0": [0.0], "on-0": [0.4], "off-auto": [0.1]}, 0.95)
    assert effect(effects, xla="on").value == pytest.approx(math.exp(0.4))
    assert all(each.pairs_left_out for each in effects)
    assert all(len(each.settings) == 1 for each in effects)


def test_half_of_four_settings_tells_single_effects_apart_from_pairs() -> None:
    settings = dict.fromkeys("abcd", ("low", "high"))
    half = {"".join(row.values()): row for row in half_of(settings)}
    assert len(half) == 8
    gain = {"a": 0.3, "b": -0.2, "c": 0.1, "d": 0.0}
    speeds = {
        name: [sum(gain[key] for key in row if row[key] == "high") + 0.25 * (row["a"] == row["b"] == "high")] * 2
        for name, row in half.items()
    }
    effects = effects_of(half, speeds, 0.95)
    assert effect(effects, a="high").value == pytest.approx(math.exp(0.3 + 0.25 / 2))
    assert effect(effects, c="high").value == pytest.approx(math.exp(0.1))
    assert effect(effects, a="high", b="high").value is None  # confounded with c and d


def test_half_of_three_settings_takes_for_granted_that_they_act_apart() -> None:
    settings = dict.fromkeys("abc", ("low", "high"))
    half = {"".join(row.values()): row for row in half_of(settings)}
    speeds = {name: [0.3 * (row["a"] == "high") - 0.1 * (row["c"] == "high")] for name, row in half.items()}
    effects = effects_of(half, speeds, 0.95)
    assert len(half) == 4
    assert effect(effects, a="high").value == pytest.approx(math.exp(0.3))
    assert all(each.pairs_left_out for each in effects)


def test_the_first_row_of_a_half_has_the_first_value_of_each_setting() -> None:
    assert half_of(MIXED)[0] == {"batch": "32", "xla": "off", "prefetch": "0"}
    assert len(half_of(MIXED)) == 9


def test_a_setting_with_one_value_has_no_effect() -> None:
    assert varied_settings([{"xla": "on", "batch": "8"}, {"xla": "on", "batch": "16"}]) == {"batch": ("8", "16")}
    assert effects_of({"only": {"xla": "on"}}, {"only": [0.0]}, 0.95) == ()
