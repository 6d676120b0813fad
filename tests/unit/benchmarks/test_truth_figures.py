import math

import pytest
from documents import cell, failed, group, speedup

from benchmarks.claims import claim_of_row
from benchmarks.truth_figures import (
    LARGEST_ERROR,
    missed_ratios,
    missed_throughputs,
    ratio_figures,
    ratio_table,
    throughput_figures,
    throughput_table,
)
from irbench.core.row import Verdict
from irbench.errors import IrbenchError


def run(value, low, high, verdict: Verdict = "faster", **changes):
    return group(cell("known-b", speedup=speedup(value, low, high, verdict)), cell("known-a"), **changes)


def figures(ratio, tables, subject=""):
    (found,) = ratio_figures([claim_of_row(table, "known-b", ratio, subject) for table in tables])
    return found


def many(held, value=1.05, runs=20, subject=""):
    inside, outside = run(value, value - 0.01, value + 0.01), run(value, 0.9, 1.0)
    return figures(1.05, [inside] * held + [outside] * (runs - held), subject)


def missed(*found):
    return tuple(missed_ratios(found, LARGEST_ERROR))


def streamed(streams, fps, sustained_fps, batch=16):
    return cell("known-a", streams=streams, fps=fps, sustained_fps=sustained_fps, batch=batch)


def test_an_interval_holds_the_truth_up_to_its_ends():
    tables = [run(1.06, 1.05, 1.07), run(1.04, 1.03, 1.05), run(1.06, 1.051, 1.07)]
    assert figures(1.05, tables).held == 2


def test_a_preview_has_no_interval_to_hold_anything():
    assert figures(1.05, [run(1.05, 1.0, 1.1, "preview")]).held == 0


def test_errors_count_without_their_signs_and_relative_to_the_truth():
    tables = [run(1.98, 1.9, 2.1), run(2.06, 2.0, 2.1), run(2.0, 1.9, 2.1)]
    assert figures(2.0, tables).median_error == pytest.approx(0.01)


def test_the_half_width_is_that_of_the_logarithm():
    table = run(1.0, math.exp(-0.02), math.exp(0.02))
    assert figures(1.0, [table]).median_half_width == pytest.approx(0.02)


def test_verdicts_are_counted_and_costs_are_medians():
    tables = [
        run(1.0, 0.99, 1.01, "same", launches=6, seconds=20.0),
        run(1.0, 0.99, 1.01, "same", launches=7, seconds=24.0),
        run(1.0, 0.95, 1.05, "undecided", launches=12, seconds=40.0),
    ]
    found = figures(1.0, tables)
    assert found.verdicts == {"same": 2, "undecided": 1}
    assert (found.runs, found.launches, found.seconds) == (3, 7, 24.0)


def test_a_run_without_a_speedup_is_an_error_that_names_the_row():
    with pytest.raises(IrbenchError, match="no figure for known-b"):
        figures(1.0, [group(failed("known-b"), cell("known-a"))])


def test_throughput_is_expected_to_be_streams_times_batch_over_service_time():
    found = throughput_figures(0.01, group(streamed(4, 6336.0, 6400.0), streamed(1, 1600.0, 1584.0)))
    assert [item.load for item in found] == ["1 in flight", "4 in flight"]
    assert [item.expected for item in found] == [1600, 6400]
    assert found[0].errors == pytest.approx((0.0, -0.01))
    assert found[1].errors == pytest.approx((-0.01, 0.0))


def test_seventeen_of_twenty_intervals_are_enough_and_sixteen_are_not():
    assert missed(many(held=17)) == ()
    assert missed(many(held=16)) == ("16 of 20 intervals hold the ratio 1.05; 17 should.",)


def test_fewer_runs_are_held_to_the_same_share():
    assert missed(many(held=1, runs=2)) == ()
    assert len(missed(many(held=0, runs=2))) == 1
    assert len(missed(many(held=0, runs=1))) == 1


def test_a_median_error_above_one_percent_is_missed_with_its_size():
    near, far = (run(value, 1.0, 1.1) for value in (1.05 * 1.009, 1.05 * 1.012))
    assert missed(figures(1.05, [near])) == ()
    assert missed(figures(1.05, [far])) == ("The median error at the ratio 1.05 is 1.20 %, above 1 %.",)


def test_equals_that_are_told_apart_too_often_are_missed():
    apart, alike = run(1.0, 0.99, 1.01, "slower"), run(1.0, 0.99, 1.01, "same")
    assert missed(figures(1.0, [apart] * 2 + [alike] * 18)) == ()
    assert missed(figures(1.0, [apart] * 3 + [alike] * 17)) == ("3 of 20 runs tell equals apart; 2 may.",)


def test_each_throughput_that_is_off_by_more_than_one_percent_is_missed():
    found = throughput_figures(0.01, group(streamed(2, 3100.0, 3199.0), streamed(1, 1599.0, 1601.0)))
    assert tuple(missed_throughputs(found)) == ("With 2 in flight, FPS are off by -3.1 %, by more than 1 %.",)


def test_the_tables_show_every_figure():
    ratios = ratio_table([many(held=17)]).as_markdown()
    assert "| 1.05 | 17 of 20 | 0.00 % |" in ratios
    assert "| 20 faster | 6 | 118 |" in ratios
    throughputs = throughput_table(
        throughput_figures(0.01, group(streamed(2, 3168.0, 3200.0)), "with stalls")
    ).as_markdown()
    assert throughputs.splitlines()[-1] == "| 2 in flight, with stalls | 3200 | 3168 | -1.00 % | 3200 | +0.00 % |"


def test_ratios_are_told_by_what_was_measured_where_that_has_a_name():
    claims = [claim_of_row(run(1.05, 1.04, 1.06), "known-b", 1.05, name) for name in ("ort", "openvino", "ort")]
    found = ratio_figures(claims)
    assert [(item.subject, item.runs) for item in found] == [("ort", 2), ("openvino", 1)]
    assert "| ort | 1.05 | 2 of 2 |" in ratio_table(found).as_markdown()


def test_a_machine_with_noise_of_its_own_is_held_to_intervals_and_not_to_errors():
    far = figures(1.05, [run(1.07, 1.04, 1.1)], "ort")
    assert tuple(missed_ratios([far])) == ()
    assert tuple(missed_ratios([many(held=16, subject="ort")])) == (
        "16 of 20 intervals of ort hold the ratio 1.05; 17 should.",
    )
