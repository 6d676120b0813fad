"""What is claimed on a busy machine holds as often as promised, against a truth that comes from constants alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest
from launches import MS, block, even, group, launch, measured, synchronous
from simulation import busy_machine
from simulation.busy_machine import EFFECT, MUTATIONS, SHIPPED, by_time, faults, measure
from simulation.neighbours import NEIGHBOURS, TIED, Drawn, Neighbour, draw, truth_of
from summaries import rows, table

from irbench.core.activity import Outlook
from irbench.core.record import CellLaunch, LaunchRecord
from irbench.render.speed_table import GroupView
from irbench.spec import Timing
from irbench.stats.eligibility import Admission
from irbench.stats.notice_rules.machine_warnings import most_uneven
from irbench.stats.observed import observe
from irbench.stats.speedups import launch_ratios
from irbench.stats.stopping_rule import outlook

FAST, MANY = 150, 2000
TELLING = ("0.3 s, 70 %, slows one row", "bursts of 0.3 s, 43 %", "bursts of 3 s, 20 %, slows one row")
"""Neighbours that ``make test-ci`` looks at; ``make test-long`` looks at all."""
PLAINEST = {
    "medians of calls, as on a quiet machine": "0.1 s, 60 %, slows one row",
    "the faster half of the blocks": "0.3 s, 70 %, slows one row",
    "the fastest tenth of the calls": "0.1 s, 60 %, slows one row",
}
"""By what is done instead: a neighbour beside which it is wrong."""


def test_the_truth_from_constants_is_what_very_many_calls_take_on_average(subtests: pytest.Subtests) -> None:
    for name in NEIGHBOURS:
        with subtests.test(name=name):
            neighbour = replace(NEIGHBOURS[name], shares=None)
            calls_s = draw(neighbour, (400, 10, 9), EFFECT, seed=5).calls_s[:, :, 1:]
            own_s, other_s = calls_s.sum(axis=(0, 1, 2, 4))
            assert math.log(own_s / other_s) == pytest.approx(truth_of(neighbour, 9, EFFECT), abs=0.012)


@pytest.mark.ci
@pytest.mark.parametrize("name", TELLING)
def test_claims_on_a_busy_machine_keep_their_promise(name: str) -> None:
    assert list(faults(measure(NEIGHBOURS[name], FAST))) == []


@pytest.mark.ci
@pytest.mark.parametrize("way", PLAINEST)
def test_another_way_to_make_them_is_rejected_where_its_mistake_shows(way: str) -> None:
    assert "coverage" in set(faults(measure(NEIGHBOURS[PLAINEST[way]], FAST, MUTATIONS[way])))


@pytest.mark.ci
def test_launches_that_are_left_out_because_of_their_times_bias_what_is_left() -> None:
    quiet = Neighbour(0.01, 5.0)
    assert list(faults(measure(quiet, FAST))) == []
    assert "coverage of quiet claims" in set(faults(measure(quiet, FAST, choose=by_time)))


@pytest.mark.ci
def test_a_load_that_is_tied_to_a_row_is_found_and_one_that_is_shared_fairly_is_not() -> None:
    assert measure(TIED["only in one row's turn"], FAST).tied == 1
    assert measure(NEIGHBOURS["all the time, slows one row, fair share"], FAST).tied == 0


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_many_runs_confirm_the_promise_beside_every_neighbour_whose_load_is_not_tied(name: str) -> None:
    found = measure(NEIGHBOURS[name], MANY, seed=17)
    assert list(faults(found)) == []
    assert found.tied < 0.05


@pytest.mark.long
@pytest.mark.slow
def test_a_load_of_which_one_row_has_all_is_found_in_nearly_every_run() -> None:
    found = [
        measure(TIED[name], MANY, seed=19).tied for name in ("only in one row's turn", "bursts, only in one row's turn")
    ]
    assert min(found) > 0.95


def beside(cell: CellLaunch, used: float) -> CellLaunch:
    """Return a cell's launch in whose rounds others used so many processors."""
    rounds = (
        replace(own, evidence=replace(own.evidence, foreign_cpu_ns=round(used * own.evidence.wall_ns)))
        for own in cell.rounds
    )
    return replace(cell, rounds=tuple(rounds))


def seen(record: LaunchRecord, foreign: Iterable[str], disturbed: int) -> LaunchRecord:
    """Return a launch whose first blocks others disturbed, with half a processor in the rounds of some cells."""
    busy = set(foreign)
    cells = tuple(beside(cell, 0.5 * (cell.cell in busy)) for cell in record.cells)
    blocks = tuple(block(index, foreign_cpu_ns=(index < disturbed) * 50 * MS) for index in range(len(record.blocks)))
    return replace(record, cells=cells, blocks=blocks)


SLOW_MS, CALM_MS = {"a": [10, 30, 30], "b": [12, 12, 60]}, {"a": [10, 10, 10], "b": [12, 12, 12]}


def bursty(number: int, disturbed: int, foreign: Iterable[str] = ("a", "b")) -> LaunchRecord:
    """Return a launch in whose disturbed blocks two calls of each round of a are slow, and one of b's."""
    cells = [
        measured(
            name,
            [
                synchronous(index, [ms * MS for ms in (SLOW_MS if index < disturbed else CALM_MS)[name]])
                for index in range(9)
            ],
        )
        for name in ("a", "b")
    ]
    return seen(launch(number, cells), foreign, disturbed)


def test_most_blocks_disturbed_compare_rows_by_their_mean_time_over_all_blocks() -> None:
    found = table(group("b", "a"), [bursty(number, 9) for number in range(6)])
    # by medians b would lead, 12 ms against 30; on average a call of a takes 23.3 ms, and one of b 28
    assert (found.winner.cell, found.condition, found.winner.condition) == ("a", "busy", "busy")
    assert found.winner.value == pytest.approx(84 / 70)
    assert found.blocks_excluded == 0
    assert rows(found)["a"].fps / rows(found)["b"].fps == pytest.approx(found.winner.value)


def test_undisturbed_blocks_count_alone_where_enough_launches_have_enough_of_them() -> None:
    records = [bursty(number, 5) for number in range(5)] + [bursty(number, 8) for number in range(5, 8)]
    found = table(group("b", "a"), records)
    assert (found.winner.cell, found.condition) == ("a", None)
    assert found.winner.value == pytest.approx(1.2)
    assert (found.lead.launches, rows(found)["a"].latency_ms.p50) == (5, 10.0)
    assert [sorted(own.log_ns) for own in observe(group("b", "a"), records, Timing(burn_in_blocks=0))][-1] == []


REVERSED_MS = {"a": [10, 60, 60], "b": [10.5, 25, 25]}


def reversing(number: int, disturbed: int) -> LaunchRecord:
    """Return a launch in which a is the faster cell in undisturbed blocks, and b by far in the disturbed ones."""
    cells = [
        measured(
            name,
            [
                synchronous(index, [ms * MS for ms in (calls_ms if index < disturbed else calls_ms[:1] * 3)])
                for index in range(9)
            ],
        )
        for name, calls_ms in REVERSED_MS.items()
    ]
    return seen(launch(number, cells), ("a", "b"), disturbed)


def test_a_row_that_leads_in_the_few_quiet_launches_and_not_over_all_is_no_winner() -> None:
    records = [reversing(number, 9) for number in range(4)] + [reversing(number, 5) for number in range(4, 8)]
    found = table(group("b", "a"), records)
    assert (found.winner, found.lead.cell, found.lead.reason) == (None, "a", "all-blocks-disagree")
    assert (found.launches, found.launches_counted, found.lead.launches) == (8, 4, 4)
    against = found.lead.contradiction
    assert (against.cell, against.blocks, against.launches) == ("b", "all", 8)
    assert against.value == pytest.approx((9 * 130 / (9 * 60.5) + (5 * 130 + 120) / (5 * 60.5 + 126)) / 2, rel=0.01)
    speedup = rows(found)["a"].speedup
    assert (speedup.verdict, speedup.all_blocks_verdict) == ("faster", "slower")
    assert speedup.all_blocks_value == pytest.approx(1 / against.value)


def test_launches_that_do_not_count_are_in_the_figures_over_all_blocks_also_where_turns_are_unknown() -> None:
    records = [reversing(number, 9) for number in range(4)] + [reversing(number, 5) for number in range(4, 8)]
    unknown = [
        replace(
            record,
            cells=tuple(
                replace(
                    cell,
                    rounds=tuple(
                        replace(own, evidence=replace(own.evidence, foreign_cpu_ns=None)) for own in cell.rounds
                    ),
                )
                for cell in record.cells
            ),
        )
        for record in records
    ]
    found = table(group("b", "a"), unknown)
    assert (found.winner, found.lead.cell, found.lead.launches) == (None, "a", 4)
    against = found.lead.contradiction
    assert (against.cell, against.blocks, against.launches) == ("b", "all", 8)
    assert against.value > 1.02


def test_a_row_that_leads_on_a_busy_machine_and_not_in_its_quiet_launches_is_no_winner() -> None:
    busy = [reversing(number, 9) for number in range(5)]
    once = table(group("b", "a"), [*busy, reversing(5, 5)])
    assert (once.winner.cell, once.lead.contradiction) == ("b", None)  # one quiet launch says nothing of launches
    twice = table(group("b", "a"), [*busy, *(reversing(number, 5) for number in (5, 6))])
    assert (twice.winner, twice.lead.cell, twice.condition) == (None, "b", "busy")
    assert (twice.lead.reason, twice.lead.contradiction.cell) == ("all-blocks-disagree", "a")
    assert (twice.lead.contradiction.blocks, twice.lead.contradiction.launches) == ("undisturbed", 2)
    assert twice.lead.contradiction.value == pytest.approx(1.05)


def test_a_load_in_the_rounds_of_one_cell_alone_leaves_no_winner_and_no_verdict() -> None:
    found = table(group("b", "a"), [bursty(number, 9, foreign=("a",)) for number in range(6)])
    assert (found.winner, found.lead.reason) == (None, "uneven-load")
    assert (found.uneven_load.more, found.uneven_load.less) == ("a", "b")
    assert found.uneven_load.more_processors == pytest.approx(0.5)
    speedup = rows(found)["a"].speedup
    assert (speedup.verdict, speedup.all_blocks_verdict, speedup.launches) == ("undecided", "undecided", 6)
    assert (speedup.ends, speedup.excludes_one) == (None, False)  # a filter such as low > 1 must not pick it
    assert (speedup.confidence, speedup.table_confidence, speedup.direction_confidence) == (None, None, None)


def test_a_quota_that_a_row_may_have_used_up_for_the_next_one_leaves_no_winner() -> None:
    records = even({"a": [8.0] * 6, "b": [10.0] * 6}, blocks=8)
    throttled = tuple(block(index, throttled_ns=1) for index in range(8))
    found = table(group("a", "b"), [replace(seen(record, "ab", 8), blocks=throttled) for record in records])
    assert (found.lead.reason, found.condition) == ("busy", None)


def test_too_few_launches_are_the_reason_before_a_busy_machine() -> None:
    found = table(group("b", "a"), [bursty(number, 9) for number in range(2)])
    assert (found.lead.reason, found.lead.condition) == ("preview", "busy")


def test_runs_are_compared_with_others_by_what_rows_are_on_a_quiet_machine() -> None:
    records = [bursty(number, 9) for number in range(6)]
    asked, timing = group("b", "a"), Timing(burn_in_blocks=0)
    loaded, usual = (
        launch_ratios(observe(asked, records, timing, as_loaded=is_loaded), "a", "b") for is_loaded in (True, False)
    )
    assert loaded[0] == pytest.approx(math.log(70 / 84))
    assert usual[0] == pytest.approx(math.log(30 / 12))


@pytest.mark.parametrize(("more", "tied"), [(0.95, False), (1.9, False), (2.6, True)])
def test_others_may_have_twice_as_much_beside_one_row_as_beside_another(more: float, tied: bool) -> None:
    loads = {"a": dict.fromkeys(range(6), more), "b": dict.fromkeys(range(6), 0.95)}
    assert (most_uneven(loads, 2, 2.0, Timing()) is not None) == tied
    loads = {"a": dict.fromkeys(range(6), 0.04), "b": dict.fromkeys(range(6), 0.0)}
    assert most_uneven(loads, 2, 2.0, Timing()) is None  # so little disturbs nobody


def simulated(number: int, drawn: Drawn, run: int) -> LaunchRecord:
    """Return a launch of a simulated run as irbench records it."""
    calls_s, foreign_s, turn_s = (found[run, number] for found in (drawn.calls_s, drawn.foreign_s, drawn.turn_s))
    cells: list[CellLaunch] = []
    for place, name in enumerate(("cell", "base")):
        own = [synchronous(index, 1e9 * calls_s[index, place]) for index in range(9)]
        evidence = [replace(item.evidence, foreign_cpu_ns=1) for item in own]
        cells.append(measured(name, [replace(item, evidence=found) for item, found in zip(own, evidence, strict=True)]))
    blocks = tuple(
        block(index, wall_ns=round(1e9 * wall), foreign_cpu_ns=round(1e9 * used))
        for index, (wall, used) in enumerate(zip(turn_s.sum(axis=-1), foreign_s.sum(axis=-1), strict=True))
    )
    return launch(number, cells, blocks=blocks)


def test_the_simulation_reduces_launches_as_irbench_does() -> None:
    drawn = draw(NEIGHBOURS["0.3 s, 70 %, slows one row"], (1, 6, 9), EFFECT, seed=2)
    launches = observe(group("base", "cell"), [simulated(number, drawn, 0) for number in range(6)], Timing())
    assert launches[0].reduction == "as-loaded"
    assert [len(own.dirty) for own in launches] == busy_machine.disturbed_blocks(drawn)[0].sum(axis=1).tolist()
    assert launch_ratios(launches, "cell", "base") == pytest.approx(SHIPPED(drawn.calls_s[0, :, 1:]).tolist(), abs=1e-6)
    assert np.isfinite(launch_ratios(launches, "base", "cell")).all()


LOADED = Neighbour(0.3, 0.05, slowdown=(1.8, 1.0))
"""Slows the cell alone, which is the faster one while nothing else runs."""
HALF, QUIET = replace(LOADED, pauses_s=0.4), replace(LOADED, works_s=0.01, pauses_s=5.0)
CHANGING: dict[str, Callable[[np.random.Generator], list[Neighbour]]] = {
    "busy all the time": lambda random: [HALF] * 12,
    "busy at first": lambda random: [LOADED] * (busy := int(random.integers(2, 9))) + [QUIET] * (12 - busy),
    "busy in the end": lambda random: [QUIET] * (quiet := int(random.integers(2, 9))) + [LOADED] * (12 - quiet),
    "busy in one of two launches": lambda random: [(LOADED, QUIET)[int(random.random() < 0.5)] for _ in range(12)],
    "less and less busy": lambda random: [LOADED] * 3 + [HALF] * 6 + [QUIET] * 3,
}
"""By what happens: what runs beside the rows in each launch."""
RUNS = 25


@pytest.mark.ci
@pytest.mark.parametrize("regime", CHANGING)
def test_no_run_names_another_leader_because_other_blocks_count_without_saying_so(regime: str) -> None:
    asked, timing, random = group("base", "cell"), Timing(), np.random.default_rng(11)
    drawn = {kind: draw(kind, (RUNS, 12, 9), -EFFECT, seed=7) for kind in (LOADED, HALF, QUIET)}
    flips = 0
    for run in range(RUNS):
        records: list[LaunchRecord] = []
        before: Outlook | None = None
        for number, kind in enumerate(CHANGING[regime](random)):
            records.append(simulated(number, drawn[kind], run))
            now = outlook(asked, records, timing, Admission())
            if number < timing.min_launches or now is None or before is None or now.row == before.row:
                before = now
                continue
            least = 1 + timing.within
            ways = [(told.is_as_loaded, told.quiet_launches is not None) for told in (before, now)]
            if ways[0] != ways[1] and min(before.lead or 1, now.lead or 1) > least:
                flips += 1
                found = table(asked, records, timing=timing)
                shown = " ".join(line.plain for line in GroupView(found).as_lines(200))
                is_contradicted = before.contradicted_by is not None or now.contradicted_by is not None
                says_which_count = now.quiet_launches is not None and "with enough undisturbed blocks count" in shown
                is_warned = "[excluded-blocks-matter]" in shown
                assert is_contradicted or says_which_count or is_warned, (run, number, before, now)
                assert "same verdicts if included" not in shown or found.lead.reason == "undecided"
                if now.contradicted_by is not None:
                    assert (found.winner, found.lead.contradiction is not None) == (None, True)
            before = now
    assert flips or regime == "busy in the end"  # or nothing was tested; launches that end busy are left out
