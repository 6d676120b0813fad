"""Figures of counters over launches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from irbench.core.counter_row import CountedLaunch, CounterFigure, CounterRow, CounterTable, PhaseCounts
from irbench.core.row import Ends, Requested
from irbench.perf_events.perf_output import EventCount
from irbench.perf_events.topdown import LEVEL_1
from irbench.stats.counter_figures import derive_counter_table
from irbench.stats.intervals import FEWEST_LAUNCHES

EVENTS = ("cycles", "instructions")


def launch(number: int, cycles: float | None, instructions: float, running: float = 1.0) -> CountedLaunch:
    events = {"cycles": EventCount(cycles, running), "instructions": EventCount(instructions)}
    whole = {"cycles": EventCount(7.0), "instructions": EventCount(14.0)}
    return CountedLaunch(
        number,
        {"import": PhaseCounts(whole), "inference": PhaseCounts(events, {"retiring": 0.1 * number}, inferences=10)},
    )


def row(*launches: CountedLaunch) -> CounterRow:
    return CounterRow(
        id="ort",
        label="ort",
        artifact="onnx",
        backend="ort",
        device="cpu",
        batch=1,
        io="copy",
        requested=Requested(1, 1, "fp32"),
        effective={},
        state="ok",
        launches=launches,
    )


def derived(*launches: CountedLaunch) -> tuple[CounterTable, dict[tuple[str, str], CounterFigure]]:
    raw = CounterTable(
        table=0,
        model="net",
        batch=1,
        shapes={},
        asked=("ipc",),
        events=EVENTS,
        perf_version="6.8",
        rounds=len(launches),
        preview=True,
        confidence=0.95,
        stopped_by="launches",
        seconds=1.0,
        rows=(row(*launches),),
    )
    table = derive_counter_table(raw)
    return table, {(figure.phase, figure.name): figure for figure in table.rows[0].figures}


def test_a_figure_is_the_median_over_launches_with_an_exact_interval():
    launches = [launch(number, 1000.0 + 100 * number, 3000.0) for number in range(FEWEST_LAUNCHES)]
    table, figures = derived(*launches)
    cycles = figures["inference", "cycles"]
    assert (cycles.value, cycles.low, cycles.high) == (125, 100, 150)
    assert cycles.confidence == 0.95
    assert cycles.launches == FEWEST_LAUNCHES
    assert not table.preview


def test_with_too_few_launches_the_ends_are_a_range():
    table, figures = derived(launch(0, 1000.0, 3000.0), launch(1, 1200.0, 3000.0))
    assert table.preview
    assert figures["inference", "cycles"].confidence is None
    assert (figures["inference", "cycles"].low, figures["inference", "cycles"].high) == (None, None)
    assert figures["inference", "cycles"].ends == Ends(100, 120, is_range=True)


def test_a_ratio_is_taken_within_a_launch_and_phases_before_are_not_divided():
    _, figures = derived(launch(0, 1000.0, 3000.0), launch(1, 2000.0, 6000.0))
    assert figures["inference", "ipc"].value == pytest.approx(3)
    assert figures["inference", "ipc"].range_low == figures["inference", "ipc"].range_high == pytest.approx(3)
    assert figures["import", "cycles"].value == 7
    assert figures["import", "ipc"].value == 2


def test_an_event_that_was_counted_in_no_launch_has_a_figure_without_a_value():
    _, figures = derived(launch(0, None, 3000.0))
    assert figures["inference", "cycles"].value is None
    assert figures["inference", "cycles"].launches == 0
    assert ("inference", "ipc") not in figures


def test_a_launch_without_a_count_is_left_out():
    _, figures = derived(launch(0, None, 3000.0), launch(1, 500.0, 3000.0))
    assert (figures["inference", "cycles"].value, figures["inference", "cycles"].launches) == (50, 1)


def test_scaled_counts_are_known_in_all_figures_that_they_are_part_of():
    _, figures = derived(launch(0, 1000.0, 3000.0, running=0.6), launch(1, 1000.0, 3000.0))
    assert figures["inference", "cycles"].running_share == 0.6
    assert figures["inference", "ipc"].running_share == 0.6
    assert figures["inference", "retiring"].running_share == 0.6
    assert figures["inference", "instructions"].running_share == 1.0


def test_nodes_of_toplev_are_not_scaled_by_perf():
    events = {"cycles": EventCount(1000.0, 0.6)}
    nodes = {"retiring": 0.3, "Backend_Bound.Memory_Bound": 0.2}
    _, figures = derived(CountedLaunch(0, {"inference": PhaseCounts(events, nodes, inferences=10)}))
    assert figures["inference", "retiring"].running_share == 0.6
    assert figures["inference", "Backend_Bound.Memory_Bound"].running_share == 1.0


def test_shares_of_slots_are_shares():
    _, figures = derived(launch(1, 1000.0, 3000.0), launch(3, 1000.0, 3000.0))
    retiring = figures["inference", "retiring"]
    assert (retiring.unit, retiring.value) == ("share", pytest.approx(0.2))


def test_shares_that_were_asked_for_and_never_counted_have_figures_without_values():
    table = derive_counter_table(replace(derived(launch(1, 1000.0, 3000.0))[0], topdown="amd-zen4"))
    found = {figure.name: figure.value for figure in table.rows[0].figures if figure.phase == "inference"}
    assert [found[name] for name in LEVEL_1] == [0.1, None, None, None]


def test_shares_of_a_kind_of_core_have_figures_of_their_own_and_the_running_share_of_its_events():
    events = {"cpu_core/slots/": EventCount(9.0, 0.5), "cpu_atom/slots/": EventCount(9.0, 0.25)}
    shares = {"cpu_atom/retiring/": 0.2, "cpu_core/retiring/": 0.4}
    launch = CountedLaunch(0, {"inference": PhaseCounts(events, shares, inferences=10)})
    found = {
        figure.name: figure
        for figure in derive_counter_table(replace(derived(launch)[0], topdown="perf")).rows[0].figures
    }
    assert (found["cpu_core/retiring/"].value, found["cpu_core/retiring/"].running_share) == (0.4, 0.5)
    assert (found["cpu_atom/retiring/"].value, found["cpu_atom/retiring/"].running_share) == (0.2, 0.25)
    assert found["cpu_core/backend_bound/"].value is None
    assert "retiring" not in found
    assert found["cpu_core/retiring/"].unit == "share"


def test_inferences_of_all_launches_are_added_up():
    table, _ = derived(launch(0, 1.0, 1.0), launch(1, 1.0, 1.0))
    assert table.rows[0].inferences == 20


def test_deriving_again_gives_the_same_table():
    table, _ = derived(*[launch(number, 1000.0, 3000.0) for number in range(FEWEST_LAUNCHES)])
    assert derive_counter_table(table) == table
