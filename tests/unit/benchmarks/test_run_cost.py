"""What a run had to do, added up from its records, and when its interval was narrow enough."""

from __future__ import annotations

from dataclasses import replace

from documents import cell, group, speedup
from launches import MS, launch, measured, synchronous

from benchmarks.run_cost import first_where, has_direction, is_narrow, launch_ns, timed_ns
from irbench.core.record import CellLaunch, Sustained


def worker(name: str, start: int, imports: int, rest: tuple[int, int, int, int] = (1, 2, 3, 4)) -> CellLaunch:
    names = ("load", "compile", "first_inference", "warm_up")
    phases = {"start": start, "import": imports, **dict(zip(names, rest, strict=True)), "ready": 10_000}
    return measured(name, [], phases_ns={name: phase * MS for name, phase in phases.items()})


def test_workers_of_the_first_launch_start_and_import_one_after_the_other() -> None:
    cells = [worker("a", 100, 300), worker("b", 100, 500)]
    assert launch_ns(launch(0, cells)) == (100 + 300 + 100 + 500 + 2 * 10) * MS


def test_workers_of_later_launches_prepare_while_others_start() -> None:
    # a starts in 100 and has answered at 406; b starts in 200 and has answered at 506; then both warm up
    cells = [worker("a", 100, 300), worker("b", 100, 300)]
    assert launch_ns(launch(1, cells)) == (506 + 2 * 4) * MS


def test_a_long_compilation_of_the_worker_that_started_first_decides() -> None:
    cells = [worker("a", 100, 300, (1, 900, 3, 4)), worker("b", 100, 300)]
    assert launch_ns(launch(3, cells)) == (100 + 300 + 904 + 2 * 4) * MS


def test_the_phase_called_ready_is_a_sum_of_others_and_not_added_again() -> None:
    assert launch_ns(launch(0, [worker("a", 1, 2)])) == (1 + 2 + 10) * MS


def test_a_launch_in_which_nobody_measured_cost_nothing_that_is_known() -> None:
    assert launch_ns(launch(1, [])) == 0


def test_timed_time_is_that_of_whole_rounds_and_of_uninterrupted_runs() -> None:
    rounds = [synchronous(0, [30 * MS] * 3), synchronous(1, [30 * MS] * 3)]
    settled = [replace(round_, evidence=replace(round_.evidence, wall_ns=125 * MS)) for round_ in rounds]
    record = launch(0, [measured("a", settled), measured("b", rounds)], sustained=(Sustained("a", 100, 3000 * MS),))
    assert timed_ns(record) == (2 * 125 + 2 * 90 + 3000) * MS


def test_the_first_table_whose_intervals_are_all_narrow_enough_counts() -> None:
    wide = group(cell("openvino", speedup=speedup(1.05, 1.03, 1.07)), cell("ort"))
    preview = group(cell("openvino", speedup=speedup(1.05, 1.05, 1.05, "preview")), cell("ort"))
    narrow = group(cell("openvino", speedup=speedup(1.05, 1.04, 1.06)), cell("ort"))
    assert first_where([preview, wide, narrow, wide], is_narrow) == 2
    assert first_where([preview, wide], is_narrow) is None


def test_of_a_large_speedup_a_tenth_is_narrow_enough() -> None:
    assert is_narrow(speedup(2.0, 1.9, 2.1))
    assert not is_narrow(speedup(2.0, 1.8, 2.2))
    assert is_narrow(speedup(0.5, 0.48, 0.52, "slower"))


def test_a_direction_is_known_with_the_first_verdict() -> None:
    verdicts = ("preview", "undecided", "same", "faster")
    tables = [group(cell("openvino", speedup=speedup(1.01, 1.0, 1.02, verdict)), cell("ort")) for verdict in verdicts]
    assert first_where(tables, has_direction) == 2
    assert first_where(tables[:2], has_direction) is None


def test_one_wide_interval_among_several_is_too_wide() -> None:
    first, other = cell("openvino", speedup=speedup(1.1, 1.1, 1.1)), cell("tf", speedup=speedup(0.8, 0.7, 0.9))
    assert first_where([group(first, other, cell("ort"))], is_narrow) is None


def test_a_table_without_a_comparison_tells_nothing() -> None:
    assert first_where([group(cell("ort"))], is_narrow) is None
