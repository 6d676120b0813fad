"""The figures that charts show are those of the document and its raw samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from documents import cell, document, example, failed, group, launch, speedup

from irbench.charts.records import accuracies, chart_rows, fastest, heat, loads, samples, slowdowns, speedups, tradeoffs
from irbench.core.row import Generated, Requested, Spans
from irbench.spec import Neighbour


def test_two_rows_of_one_name_stay_two():
    rows = chart_rows(group(cell("ort"), cell("ort", id="again")), 0)
    assert len({row.key for row in rows}) == 2
    assert len({record["key"] for record in tradeoffs(rows)}) == 2


def test_a_speedup_has_the_ends_that_its_table_shows():
    rows = chart_rows(example(), 0)
    shown = {record["row"]: record for record in speedups(rows)}
    for row in rows:
        speedup = row.result.speedup
        if speedup is not None and speedup.ends is not None:
            assert (shown[row.label]["low"], shown[row.label]["high"]) == speedup.ends[:2]
            assert shown[row.label]["verdict"] == speedup.verdict


@pytest.mark.parametrize("setting", ["batch", "threads", "streams", "instances"])
def test_a_setting_in_which_no_two_rows_differ_has_no_chart(setting: str):
    assert loads(chart_rows(group(cell("ort"), cell("openvino")), 0), setting) == []  # type: ignore[arg-type]


def test_rows_that_differ_in_nothing_but_streams_are_one_line():
    one, four = cell("ort"), cell("ort", id="x4", requested=Requested(2, 4, "fp32"))
    found = loads(chart_rows(group(one, four), 0), "streams")
    assert [record["setting"] for record in found] == [1, 4]
    assert len({record["series"] for record in found}) == 1


def test_a_heat_map_has_a_field_for_each_batch_and_shape_where_both_vary():
    one, four = (chart_rows(group(cell("ort", batch=batch, fps=100.0 * batch)), batch)[0] for batch in (1, 4))
    found = heat([(row, "ort", shape) for row in (one, four) for shape in ("16", "64")])
    assert [(field["setting"], field["shape"], field["value"]) for field in found] == [
        (1, "16", 100.0), (1, "64", 100.0), (4, "16", 400.0), (4, "64", 400.0),
    ]  # fmt: skip
    assert heat([(one, "ort", "16"), (four, "ort", "16")]) == []
    assert heat([(one, "ort", "16"), (one, "ort", "64")]) == []


def test_the_rows_beside_a_neighbour_have_their_slowdowns_by_its_intensity():
    beside = [
        cell(
            "ort", id=f"{kind}-{share}", speedup=speedup(1 / slow, 0.9 / slow, 1.1 / slow, "slower"),
            requested=Requested(2, 1, "fp32", beside=Neighbour(kind, intensity=share)),
        )
        for kind, share, slow in (("l3", 50, 1.5), ("l3", 100, 2.0), ("cpu", 100, 4.0))
    ]  # fmt: skip
    again = cell("ort", id="again", speedup=speedup(1.0, 0.9, 1.1, "same"))
    found = slowdowns(chart_rows(group(*beside, again, cell("ort")), 0))
    assert [(record["series"], record["intensity"]) for record in found] == [("l3", 50), ("l3", 100), ("cpu", 100)]
    assert [record["value"] for record in found] == pytest.approx([1.5, 2.0, 4.0])
    assert found[1]["low"] == pytest.approx(2.0 / 1.1)
    assert slowdowns(chart_rows(group(beside[1], cell("ort")), 0)) == [], "one intensity makes no line"


def test_no_other_row_beats_those_on_the_front_in_latency_and_fps():
    rows = chart_rows(group(cell("a", 10.0, fps=100.0), cell("b", 20.0, fps=400.0), cell("c", 30.0, fps=50.0)), 0)
    assert {record["row"]: record["is_best"] for record in tradeoffs(rows)} == {"a": True, "b": True, "c": False}


def test_the_throughput_of_generations_is_in_tokens():
    tables = pytest.importorskip("irbench.charts.tables", reason="needs the extra report", exc_type=ImportError)
    tokens = Spans(320.0, low=300.0, high=340.0)
    rows = [
        cell("ort", id=f"x{streams}", fps=10.0, requested=Requested(2, streams, "fp32"),
             generation=Generated(32, 8, Spans(1.0), Spans(1.0), tokens))
        for streams in (1, 4)
    ]  # fmt: skip
    shown = chart_rows(group(*rows), 0)
    assert [point["rate"] for point in tradeoffs(shown)] == [320.0, 320.0]
    assert [(point["value"], point["high"]) for point in loads(shown, "streams")] == [(320.0, 340.0)] * 2
    assert tables.words_of(group(*rows)).rate == "tokens/s"
    assert tables.words_of(group(cell("ort"))).rate == "FPS"


def test_rows_without_figures_are_in_no_chart():
    rows = chart_rows(group(cell("ort"), failed("openvino")), 0)
    assert [row.label for row in fastest(rows)] == ["ort"]
    assert {record["row"] for record in tradeoffs(rows)} == {"ort"}
    assert accuracies(rows) == []


def launch_of(table):
    """Return a launch of the rows of a table."""
    return launch(cells=tuple(row.id for row in table.cells), blocks=9)


def test_the_distribution_is_that_of_the_calls_that_count():
    table, record = example(), launch_of(example())
    rows = chart_rows(table, 0)
    found = samples(document(table), 0, rows, [record])
    for row in rows:
        points = [point for point in found.distribution if point["key"] == row.key]
        assert [point["share"] for point in points] == sorted(point["share"] for point in points)  # type: ignore[type-var]
        assert points[-1]["share"] == 1


def test_launches_of_other_tables_are_left_out():
    table = example()
    found = samples(document(table), 0, chart_rows(table, 0), [replace(launch_of(table), group=1)])
    assert (found.distribution, found.launches, found.blocks) == ([], [], [])


def test_a_launch_is_the_median_of_its_calls():
    table, record = example(), launch_of(example())
    rows = {row.result.id: row for row in chart_rows(table, 0)}
    found = samples(document(table), 0, tuple(rows.values()), [record])
    for one in record.cells:
        (point,) = [point for point in found.launches if point["key"] == rows[one.cell].key]
        everything = np.concatenate([round_.latency_ns for round_ in one.rounds]) / one.calls_per_sample / 1e6
        assert everything.min() <= point["value"] <= everything.max()  # type: ignore[operator]


def test_rows_of_two_models_are_on_no_common_line():
    one, other = cell("ort", model="a"), cell("ort", id="x4", model="b", requested=Requested(2, 4, "fp32"))
    assert len({record["series"] for record in loads(chart_rows(group(one, other), 0), "streams")}) == 2


def test_a_generation_has_the_time_of_its_tokens_at_each_length():
    table, record = example(), launch_of(example())
    generation = Generated(5, 10, Spans(1.0), Spans(1.0), Spans(1.0))
    cells = tuple(replace(row, generation=generation) for row in table.cells)
    moments = np.array([4, 5, 7, 10, 14]) * 1_000_000
    generated = tuple(
        replace(
            one,
            rounds=tuple(
                replace(each, part_ns=np.tile(moments, each.issue_ns.size * one.calls_per_sample))
                for each in one.rounds
            ),
        )
        for one in record.cells
    )
    table = replace(table, cells=cells)
    rows = chart_rows(table, 0)
    found = samples(document(table), 0, rows, [replace(record, cells=generated)]).tokens
    assert [(point["length"], point["value"]) for point in found if point["key"] == rows[0].key] == [
        (10, 1.0),
        (11, 2.0),
        (12, 3.0),
        (13, 4.0),
    ]


def test_a_generation_whose_samples_hold_no_tokens_has_no_line():
    table, record = example(), launch_of(example())
    generation = Generated(5, 10, Spans(1.0), Spans(1.0), Spans(1.0))
    table = replace(table, cells=tuple(replace(row, generation=generation) for row in table.cells))
    assert samples(document(table), 0, chart_rows(table, 0), [record]).tokens == []
