"""The charts of a profile show the figures of its tables."""

from __future__ import annotations

from dataclasses import replace

import pytest
from profiles import example, four_backends, with_peaks

from irbench.features.profile.derivation import derive_report
from irbench.features.profile.profile_document import ProfileDocument
from irbench.features.profile.views.bars import class_bars
from irbench.features.profile.views.part_names import PartNames
from irbench.onnx.operator_classes import OperatorClass

pytest.importorskip("altair", reason="needs the extra report")

BYTES = 1_000_000


def with_bytes(document: ProfileDocument) -> ProfileDocument:
    """Return the profile with as many bytes moved by every node."""
    graphs = {key: tuple(replace(node, moved_bytes=BYTES) for node in nodes) for key, nodes in document.graphs.items()}
    return replace(document, graphs=graphs)


def number(value: object) -> float:
    assert isinstance(value, int | float)
    return value


def names_of_figures(document: ProfileDocument) -> list[str]:
    from irbench.features.profile.charts import figures_of_profile

    return [figure.name for figure in figures_of_profile(document, derive_report(document))]


@pytest.mark.ci
def test_a_bar_ends_where_the_classes_and_what_lies_between_operators_add_up_to():
    from irbench.features.profile.charts import class_times

    report = derive_report(example())
    cells = [cell for cell in report.cells if cell.launches]
    records = class_times(report, cells)
    for cell in cells:
        own = [record for record in records if record["key"] == cell.id]
        assert cell.sum_ns is not None
        assert cell.between_ns is not None
        whole_ms = (cell.sum_ns.value + cell.between_ns.value) / 1e6
        assert number(own[-1]["end"]) == pytest.approx(whole_ms, rel=1e-3)
        assert [record["end"] for record in own[:-1]] == [record["start"] for record in own[1:]]


@pytest.mark.ci
def test_a_point_of_the_roofline_is_the_operations_for_each_byte_and_their_speed():
    from irbench.features.profile.charts import roofline_points, roofs

    document = with_bytes(with_peaks(example()))
    assert document.peaks is not None
    bandwidth = tuple(replace(rate, threads=2) for rate in document.peaks.bandwidth if rate.capacity_bytes is None)
    document = replace(document, peaks=replace(document.peaks, bandwidth=bandwidth))
    report = derive_report(document)
    points = roofline_points(report, PartNames(report))
    parts = {part.key: part for part in report.nodes}
    assert points
    for point in points:
        figures = parts[str(point["key"])].figures[str(point["cell_id"])]
        assert figures.flops is not None
        assert number(point["intensity"]) * number(figures.moved_bytes) == pytest.approx(figures.flops)
    ceilings = roofs(document, points)
    assert max(number(record["gflop_per_s"]) for record in ceilings) <= 30.0
    speeds = [number(record["gflop_per_s"]) for record in ceilings]
    assert speeds == sorted(speeds)


@pytest.mark.ci
def test_charts_without_anything_to_show_are_left_out():
    assert "roofline" not in names_of_figures(example())
    assert "roofline" in names_of_figures(with_bytes(example()))
    assert names_of_figures(replace(example(), cells=())) == []


@pytest.mark.parametrize("width", [40, 80, 200])
def test_bars_in_ascii_have_the_lengths_of_those_in_unicode(width: int):
    report = derive_report(four_backends())
    cells = [cell for cell in report.cells if cell.launches]
    drawn = [line.plain for line in class_bars(report, cells, width)]
    plain = [line.plain for line in class_bars(report, cells, width, unicode=False)]
    assert all(line.isascii() for line in plain)
    assert [len(line) for line in drawn[: len(cells)]] == [len(line) for line in plain[: len(cells)]]
    assert max(map(len, drawn)) <= max(width, 60)


def test_the_cell_that_takes_longest_has_the_longest_bar():
    report = derive_report(example())
    cells = [cell for cell in report.cells if cell.launches]
    bars = [line.plain.split()[1] for line in class_bars(report, cells, 80)][: len(cells)]
    totals = [sum(time_ns for _, time_ns in report.times_in_order(cell)) for cell in cells]
    assert len(bars[0]) / len(bars[1]) == pytest.approx(totals[0] / totals[1], rel=0.05)


def test_every_class_has_a_character_of_its_own():
    report = derive_report(example())
    cells = [cell for cell in report.cells if cell.launches]
    shown = {operator_class for cell in cells for operator_class, _ in report.times_in_order(cell)}
    for unicode in (True, False):
        bars = "".join(line.plain.split()[1] for line in list(class_bars(report, cells, 80, unicode=unicode))[:2])
        assert len(set(bars)) == len(shown)
    assert OperatorClass.MATRIX in shown


def test_without_times_there_are_no_bars():
    report = derive_report(replace(example(), cells=()))
    assert list(class_bars(report, report.cells, 80)) == []
