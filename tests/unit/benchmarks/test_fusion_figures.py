"""Which share of the gain of a graph by hand a level reaches, and how sure that is."""

from __future__ import annotations

import math

import pytest
from documents import cell, failed, group, speedup
from hypothesis import given
from hypothesis import strategies as st
from launches import MS, launch, measured, synchronous

from benchmarks.fusion_figures import Comparison, Graph, Share, compare, share_of_gain
from benchmarks.fusion_tables import graph_table, share_table, slower_levels
from irbench.spec import Bundle, Group, Timing, Workload
from irbench.stats.observed import observe

NODES = {"none": 652, "basic": 176, "extended": 110, "all": 44, "hand": 110, "hand-vendor": 44}


def logs(*speedups):
    return [math.log(speedup_) for speedup_ in speedups]


def row(level, value=None, half=0.01, **changes):
    artifact = "onnx" if level == "none" else f"onnx+{level}"
    found = None if value is None else speedup(value, value - half, value + half, "faster" if value > 1 else "slower")
    return cell(id=level, artifact=artifact, speedup=found, **changes)


def launches(times_ms):
    """Return launches in which each level takes the time that is given for it, in milliseconds."""
    records = [
        launch(
            number,
            [
                measured(level, [synchronous(block, [round(item[number] * MS)] * 3) for block in range(4)])
                for level, item in times_ms.items()
            ],
        )
        for number in range(len(next(iter(times_ms.values()))))
    ]
    return observe(Group((Workload(Bundle("m", (), ()), {"batch": 1}),), (), "none"), records, Timing())


def compared(*rows, times_ms=None):
    return compare(("m", "ort"), group(*rows), NODES, launches(times_ms or {"none": [1.0]}), 0.95)


def test_half_the_gain_is_a_share_of_one_half():
    share = share_of_gain(logs(*[1.05] * 6), logs(*[1.10] * 6), 0.95)
    assert share is not None
    assert (share.value, share.low, share.high) == pytest.approx((0.5, 0.5, 0.5))


def test_six_launches_give_the_range_of_their_own_shares():
    gains = (1.04, 1.06, 1.08, 1.10, 1.05, 1.07)
    share = share_of_gain(logs(*gains), logs(*[1.10] * 6), 0.95)
    assert share is not None
    assert (share.value, share.low, share.high) == pytest.approx((0.65, 0.4, 1.0), abs=0.01)


def test_ten_launches_leave_one_share_out_at_each_end():
    gains = (1.00, 1.04, 1.05, 1.06, 1.07, 1.07, 1.08, 1.09, 1.10, 1.30)
    share = share_of_gain(logs(*gains), logs(*[1.10] * 10), 0.95)
    assert share is not None
    assert (share.low, share.high) == pytest.approx((0.4, 1.0))


def test_a_graph_by_hand_that_may_gain_nothing_leaves_no_gain_to_reach():
    assert share_of_gain(logs(*[1.05] * 6), logs(1.02, 1.03, 1.01, 1.04, 1.05, 0.99), 0.95) is None
    assert share_of_gain(logs(*[1.05] * 6), logs(*[0.9] * 6), 0.95) is None
    assert share_of_gain([], [], 0.95) is None


def test_one_launch_of_ten_without_a_gain_by_hand_does_not_blow_the_share_up():
    share = share_of_gain(logs(*[1.05] * 10), logs(1.0001, *[1.10] * 9), 0.95)
    assert share is not None
    assert (share.value, share.low, share.high) == pytest.approx((0.5, 0.5, 0.5))
    share = share_of_gain(logs(*[1.05] * 10), logs(0.999, *[1.10] * 9), 0.95)
    assert share is not None
    assert (share.low, share.high) == pytest.approx((0.5, 0.5))


def test_a_level_that_harms_has_a_negative_share():
    share = share_of_gain(logs(*[0.95] * 6), logs(*[1.10] * 6), 0.95)
    assert share is not None
    assert share.high == pytest.approx(-0.5)


@given(st.lists(st.tuples(st.floats(-0.2, 0.3), st.floats(0.01, 0.3)), min_size=6, max_size=6))
def test_the_interval_holds_the_value(pairs):
    share = share_of_gain([item for item, _ in pairs], [item for _, item in pairs], 0.95)
    assert share is not None
    assert share.low - 1e-9 <= share.value <= share.high + 1e-9


def test_the_best_level_is_compared_with_the_better_graph_by_hand():
    rows = [row("hand-vendor", 1.2), row("all", 1.05), row("extended", 1.1), row("basic", 0.9), row("hand", 1.15)]
    times = {"none": [12.0] * 6, "extended": [12 / 1.1] * 6, "hand-vendor": [10.0] * 6}
    found = compared(*rows, row("none"), times_ms=times)
    assert [graph.level for graph in found.graphs] == ["none", "basic", "extended", "all", "hand", "hand-vendor"]
    assert [graph.nodes for graph in found.graphs] == list(NODES.values())
    assert found.best is not None
    assert found.ceiling is not None
    assert (found.best.level, found.ceiling.level) == ("extended", "hand-vendor")
    assert found.share is not None
    assert found.share.value == pytest.approx(0.5, abs=1e-3)


def test_a_launch_that_did_not_measure_all_three_is_left_out():
    records = launches({"none": [12.0] * 2, "all": [11.0] * 2, "hand": [10.0] * 2})
    short = launches({"none": [12.0], "hand": [10.0]})
    table = group(row("all", 1.09), row("hand", 1.2), row("none"))
    found = compare(("m", "ort"), table, NODES, (*short, *records), 0.95)
    assert found.share is not None
    assert found.share.low == found.share.high


def test_only_what_is_slower_beyond_doubt_is_marked_as_slower():
    assert Graph("basic", 1, row("basic", 0.95)).is_slower
    assert not Graph("basic", 1, row("basic", 0.995)).is_slower
    assert not Graph("basic", 1, cell(speedup=speedup(0.9, 0.88, 0.92, "preview"))).is_slower


def test_the_table_of_graphs_shows_nodes_speedups_and_harm():
    rows = [row("basic", 0.95, p50=40.0), failed(id="all", artifact="onnx+all"), row("none", p50=38.0)]
    lines = graph_table([compared(*rows)]).as_markdown().splitlines()
    assert lines[2] == "| m | ort | none | 652 | 38.0 | 1 baseline | - | 1e-06 |  |"
    assert lines[3] == "| m | ort | basic | 176 | 40.0 | 0.95 [0.94, 0.96] | slower | 1e-06 | slower than none |"
    assert "the process was killed by SIGSEGV" in lines[4]


def test_every_level_that_is_slower_beyond_doubt_is_named_with_its_interval():
    harmful = compared(row("basic", 0.95), row("all", 0.995), row("none"))
    assert slower_levels([harmful]) == "Slower than none: m at basic on ort (0.95 [0.94, 0.96])."
    assert slower_levels([compared(row("basic", 1.1), row("none"))]).startswith("No level is slower than none")


@pytest.mark.parametrize(
    ("share", "judged"),
    [
        (Share(0.97, 0.91, 1.02), "reached"),
        (Share(0.97, 0.85, 1.02), "undecided"),
        (Share(0.5, 0.4, 0.6), "MISSED"),
    ],
)
def test_nine_tenths_are_reached_or_missed_only_where_the_interval_says_so(share, judged):
    best, ceiling = Graph("all", 44, row("all", 1.09)), Graph("hand", 110, row("hand", 1.1))
    text = share_table([Comparison("m", "ort", best=best, ceiling=ceiling, share=share, launches=7)]).as_markdown()
    shown = f"{share.value:.2f} [{share.low:.2f}, {share.high:.2f}]"
    assert text.splitlines()[-1] == f"| m | ort | all | 1.09 | hand | 1.10 | {shown} | {judged} | 7 |"


def test_a_share_of_almost_no_gain_is_not_spelt_out():
    best, ceiling = Graph("all", 44, row("all", 1.09)), Graph("hand", 110, row("hand", 1.1))
    text = share_table(
        [Comparison("m", "ort", best=best, ceiling=ceiling, share=Share(2.0, -11.0, 1447.5))]
    ).as_markdown()
    assert "| 2.00 [\\< -10, > 10] | undecided |" in text


def test_a_preview_shows_ranges_and_judges_nothing():
    table = group(row("all", 1.09), row("hand", 1.1), row("none"), preview=True)
    found = compare(("m", "ort"), table, NODES, launches({"none": [12.0], "all": [11.0], "hand": [10.0]}), 0.95)
    text = share_table([found]).as_markdown()
    assert "share of its gain [range]" in text
    assert "| 0.45 | preview |" in text
    assert "speedup [range]" in graph_table([found]).as_markdown()


def test_where_nothing_is_to_be_gained_or_nothing_was_measured_the_table_says_so():
    best, ceiling = Graph("all", 44, row("all", 1.0)), Graph("hand", 110, row("hand", 1.0))
    nothing = Comparison("m", "ort", best=best, ceiling=ceiling)
    broken = Comparison("m", "openvino", failure="irbench ended with 5")
    gained, failure = share_table([nothing, broken]).as_markdown().splitlines()[-2:]
    assert "no gain to reach" in gained
    assert "irbench ended with 5" in failure
    assert "irbench ended with 5" in graph_table([broken]).as_markdown()
