"""Energy per inference and power, from readings of launches."""

from __future__ import annotations

from dataclasses import replace

import pytest
from launches import even, group
from summaries import rows, table

from irbench.core.record import EnergyReading, LaunchRecord, Sustained

S = 1_000_000_000
J = 1_000_000


def metered(
    record: LaunchRecord, watts: dict[str, float], idle: dict[str, float] | None, calls: int = 300
) -> LaunchRecord:
    """Return a launch in which the row made so many calls in 3 s, within a reading of 4 s at this power."""
    reading = EnergyReading(4 * S, {domain: round(4 * value * J) for domain, value in watts.items()})
    nothing = None if idle is None else EnergyReading(S, {domain: round(value * J) for domain, value in idle.items()})
    return replace(record, sustained=(Sustained("only", calls, 3 * S, reading),), idle_energy=nothing)


def one_row(*launches: LaunchRecord):
    return rows(table(group("only"), list(launches)))["only"]


def test_energy_per_inference_is_power_times_the_time_of_an_inference() -> None:
    row = one_row(
        metered(even({"only": [10.0]})[0], {"package-0": 40.0, "dram-0": 10.0}, {"package-0": 8.0, "dram-0": 2.0})
    )
    assert row.energy.joules == pytest.approx(0.5)  # 50 W for 10 ms
    assert row.energy.joules_above_idle == pytest.approx(0.4)
    assert (row.energy.watts, row.energy.idle_watts) == (pytest.approx(50), pytest.approx(10))
    assert row.energy.watts_by_domain == {"package-0": pytest.approx(40), "dram-0": pytest.approx(10)}


def test_intervals_are_over_launches() -> None:
    records = even({"only": [10.0] * 6})
    found = [
        metered(record, {"package-0": 40.0 + number}, {"package-0": 10.0}) for number, record in enumerate(records)
    ]
    row = one_row(*found)
    assert row.energy_over_launches.value == pytest.approx(0.425, rel=1e-3)
    assert row.energy_over_launches.low == pytest.approx(0.40)
    assert row.energy_over_launches.high == pytest.approx(0.45)
    assert row.energy_above_idle_over_launches.low == pytest.approx(0.30)


def test_energy_above_idle_may_be_below_nothing() -> None:
    row = one_row(metered(even({"only": [10.0]})[0], {"package-0": 9.0}, {"package-0": 10.0}))
    assert row.energy.joules_above_idle == pytest.approx(-0.01)
    assert row.energy_above_idle_over_launches.value < 0
    assert row.energy_above_idle_over_launches.ends is None  # of a single launch


def test_without_idle_power_the_second_figure_is_unknown() -> None:
    row = one_row(metered(even({"only": [10.0]})[0], {"package-0": 40.0, "dram-0": 10.0}, {"package-0": 8.0}))
    assert (row.energy.joules_above_idle, row.energy.idle_watts, row.energy_above_idle_over_launches) == (
        None,
        None,
        None,
    )


def test_a_counter_that_stood_still_is_not_zero_watts() -> None:
    record = even({"only": [10.0]})[0]
    assert one_row(metered(record, {"package-0": 40.0, "dram-0": 0.0}, None)).energy.watts_by_domain == {
        "package-0": 40
    }
    assert one_row(metered(record, {"package-0": 0.0}, None)).energy is None


def test_the_idle_power_is_that_of_the_parts_that_count_for_the_row() -> None:
    watts, idle = {"package-0": 40.0}, {"package-0": 10.0, "gpu-0": 60.0}
    assert one_row(metered(even({"only": [10.0]})[0], watts, idle)).energy.idle_watts == pytest.approx(10)


def test_a_run_without_readings_has_no_energy() -> None:
    record = replace(even({"only": [10.0]})[0], sustained=(Sustained("only", 300, 3 * S),))
    assert one_row(record).energy is None
    assert one_row(record).energy_over_launches is None
