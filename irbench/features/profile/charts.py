"""The charts of a profile: where the time goes, how close it comes to the machine's peaks, and what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import altair as alt

from irbench.charts.figure import (
    INK,
    PALETTE,
    ROW_HEIGHT,
    USUAL_HEIGHT,
    Figure,
    data_of,
    described,
    row_axis,
    spoken,
)
from irbench.charts.records import Record, number_of
from irbench.core.quantities import percent, significant
from irbench.features.profile.profile_document import ProfileDocument
from irbench.features.profile.report import CellSummary, PartRow, ProfileReport
from irbench.features.profile.views.part_names import PartNames
from irbench.features.profile.views.sentences import class_name, estimated, milliseconds
from irbench.onnx.operator_classes import OperatorClass
from irbench.roofline import MachinePeaks, roof
from irbench.spec import Roof

_MOST_PARTS = 15
"""Operators or groups of nodes of a chart."""
_SMALLEST = 0.01
"""The least share of the operators' time for an operator to have a bar."""
_MOST_POINTS = 60
_LONGEST_NAME = 180
_WIDE_ENOUGH = 0.08
"""The least share of the longest bar for its number to stand in it."""
_BETWEEN = "between operators"
_COLOURS: Mapping[OperatorClass | None, str] = {
    OperatorClass.MATRIX: "#5b95e6",
    OperatorClass.RECURRENT: "#2f9fb5",
    OperatorClass.NORMALISATION: "#9a8fe8",
    OperatorClass.ELEMENTWISE: "#e07b39",
    OperatorClass.REDUCTION: "#c76bb5",
    OperatorClass.MOVEMENT: "#b8961e",
    OperatorClass.CONTROL_FLOW: "#7fb6c9",
    OperatorClass.OTHER: "#9aa3ad",
    OperatorClass.OVERHEAD: "#e3a8c8",
    None: "#cdd3da",
}
"""``None`` is what lies between operators. Black numbers can be read on each; red and green are left to verdicts."""


def figures_of_profile(document: ProfileDocument, report: ProfileReport) -> Iterator[Figure]:
    """Yield the charts that have something to show."""
    cells = [cell for cell in report.cells if cell.launches]
    names = PartNames(report)
    if classes := class_times(report, cells):
        yield classes_figure(classes)
    operators = [row for row in report.rows("op") if not row.is_overhead and row.most_share >= _SMALLEST][:_MOST_PARTS]
    if times := part_times(operators, names, cells):
        yield _parts_figure(times, "operators", "Operators that take longest", "The time of all executions of an")
    if points := roofline_points(report, names):
        yield roofline_figure(points, roofs(document, points))
    if differing := part_times(report.differing(_MOST_PARTS), names, cells):
        yield _parts_figure(differing, "nodes", "Nodes that differ most", "The time of a group of nodes in an")


def class_times(report: ProfileReport, cells: Sequence[CellSummary]) -> list[Record]:
    """Return the time of each class of work in each cell, and what lies between operators, from left to right."""
    records: list[Record] = []
    for cell in cells:
        start = 0.0
        for operator_class, time_ns in report.times_in_order(cell):
            name = _BETWEEN if operator_class is None else class_name(operator_class)
            colour = _COLOURS[operator_class]
            records.append(
                {"key": cell.id, "row": cell.label, "part": name, "colour": colour, "start": start / 1e6,
                 "end": (start + time_ns) / 1e6, "ms": time_ns / 1e6, "label": milliseconds(time_ns),
                 "whole": f"{estimated(cell.sum_ns if cell.overlaps else cell.latency_ns)} ms"}
            )  # fmt: skip
            start += time_ns
    longest = max((number_of(record["end"]) for record in records), default=0.0)
    return [
        {**record, "label": record["label"] if number_of(record["ms"]) >= _WIDE_ENOUGH * longest else ""}
        for record in records
    ]


def part_times(parts: Sequence[PartRow], names: PartNames, cells: Sequence[CellSummary]) -> list[Record]:
    """Return the time of each part in each cell that executes it, with its interval or range."""
    return [
        {"key": part.key, "row": names.of(part), "cell": cell.label, "ms": time.value / 1e6, "low": time.low / 1e6,
         "high": time.high / 1e6, "share": figures.share.value}
        for part in parts
        for cell in cells
        if (figures := part.figures.get(cell.id)) is not None and (time := figures.time_ns)
    ]  # fmt: skip


def roofline_points(report: ProfileReport, names: PartNames) -> list[Record]:
    """Return arithmetic intensity and speed of groups of nodes, those that take longest; empty where bytes are unknown.

    Nodes whose speed is unknown are left out, and cells on other devices than the CPU: their peaks are unknown.
    """
    labels = {cell.id: cell.label for cell in report.cells if cell.device == "cpu"}
    longest = sorted((part for part in report.nodes if part.nodes), key=lambda part: -part.most_ns)
    return [
        {"key": part.key, "row": names.of(part), "cell": labels[cell], "cell_id": cell, "intensity": intensity,
         "gflop_per_s": speed / 1e9, "ms": figures.time_ns.value / 1e6, "class": class_name(part.operator_class)}
        for part in longest[:_MOST_POINTS]
        for cell, figures in part.figures.items()
        if cell in labels and (intensity := figures.flops_per_byte) and (speed := figures.flops_per_s)
    ]  # fmt: skip


def roofs(document: ProfileDocument, points: Sequence[Record]) -> list[Record]:
    """Return the ceilings of the precision and threads that cells ran with, where they were measured."""
    low, high = (pick(number_of(point["intensity"]) for point in points) for pick in (min, max))
    shown = {point["cell_id"] for point in points}
    configurations = {
        (str(cell.effective.get("precision")), threads)
        for cell in document.cells
        if cell.id in shown and isinstance(threads := cell.effective.get("threads"), int)
    }
    steps = [low / 2 * (4 * high / low) ** (step / 40) for step in range(41)]
    return [
        _roof_record(roof_of_cell, intensity, f"{precision}, {threads} thread{'s' if threads > 1 else ''}")
        for precision, threads in sorted(configurations)
        for intensity in steps
        if (roof_of_cell := _roof(document.peaks, intensity, precision, threads)) is not None
    ]


def _roof(peaks: MachinePeaks | None, intensity: float, precision: str, threads: int) -> Roof | None:
    return None if peaks is None else roof(intensity, peaks, precision, threads)


def _roof_record(found: Roof, intensity: float, of: str) -> Record:
    return {"roof": of, "intensity": intensity, "gflop_per_s": found.gflop_per_s}


def classes_figure(records: Sequence[Record]) -> Figure:
    """Return a bar for each cell, of the time of its classes of work, with numbers where there is room."""
    totals = {key: sum(number_of(row["ms"]) for row in records if row["key"] == key) for key in _keys(records)}
    shown = described(
        records,
        lambda row: (
            f"{row['row']}: {row['part']} {significant(number_of(row['ms']))} ms,"
            f" {percent(number_of(row['ms']) / totals[str(row['key'])], 0)} of the latency"
        ),
    )
    colours = {str(row["part"]): str(row["colour"]) for row in records}
    base = alt.Chart(data_of(shown)).encode(y=row_axis(shown, "backends", _LONGEST_NAME))
    bars = base.mark_bar(stroke="white", strokeWidth=0.5).encode(
        x=alt.X("start:Q", title="milliseconds of an inference, profiled"),
        x2="end:Q",
        color=alt.Color("part:N", title=None, scale=alt.Scale(domain=list(colours), range=list(colours.values()))),
        description="text:N",
    )
    numbers = (
        base.transform_calculate(middle="(datum.start + datum.end) / 2")
        .mark_text(color="black", fontSize=11, aria=False)
        .encode(x="middle:Q", text="label:N")
    )
    sums: list[Record] = [
        {"key": row["key"], "end": totals[str(row["key"])], "label": row["whole"]}
        for row in {str(row["key"]): row for row in records}.values()
    ]
    whole = (
        alt.Chart(data_of(sums))
        .mark_text(color=INK, fontSize=11, align="left", dx=4, aria=False)
        .encode(y=base.encoding.y, x="end:Q", text="label:N")
    )
    return Figure(
        "classes",
        "Where the time goes",
        "A bar is a profiled inference: its operators by class of work, and what lies between them. The table has each"
        " share with its interval.",
        (bars + numbers + whole).properties(height=alt.Step(34)),
        spoken(shown),
    )


def _parts_figure(records: Sequence[Record], what: str, title: str, caption: str) -> Figure:
    """Return bars of the time of parts, one for each cell that executes them, with intervals."""
    shown = described(
        records,
        lambda row: (
            f"{row['row']}, {row['cell']}: {significant(number_of(row['ms']))} ms"
            f" [{significant(number_of(row['low']))}, {significant(number_of(row['high']))}],"
            f" {percent(number_of(row['share']), 0)} of the operators' time"
        ),
    )
    cells = list(dict.fromkeys(str(row["cell"]) for row in records))
    beside = alt.YOffset("cell:N", sort=cells)
    base = alt.Chart(data_of(shown)).encode(y=row_axis(shown, what, _LONGEST_NAME), yOffset=beside)
    bars = base.mark_bar().encode(
        x=alt.X("ms:Q", title="milliseconds of an inference, profiled"),
        color=alt.Color("cell:N", title=None, sort=cells, scale=alt.Scale(range=list(PALETTE))),
        description="text:N",
    )
    ends = base.mark_rule(strokeWidth=1.5, color=INK, aria=False).encode(x="low:Q", x2="high:Q")
    return Figure(
        what,
        title,
        f"{caption} inference; a line is the interval over launches, or the range of too few for one.",
        (bars + ends).properties(height=alt.Step(ROW_HEIGHT / 2)),
        spoken(shown),
    )


def roofline_figure(records: Sequence[Record], ceilings: Sequence[Record]) -> Figure:
    """Return speed against arithmetic intensity, both logarithmic, below the ceilings that the machine attains."""
    shown = described(
        records,
        lambda row: (
            f"{row['row']}, {row['cell']}: {significant(number_of(row['gflop_per_s']))} GFLOP/s at"
            f" {significant(number_of(row['intensity']))} operations a byte, {row['class']}"
        ),
    )
    scale, axis = alt.Scale(type="log", nice=False, padding=8), alt.Axis(grid=False)
    points = (
        alt.Chart(data_of(shown))
        .mark_point(filled=True, opacity=0.8)
        .encode(
            x=alt.X("intensity:Q", title="operations for each byte", scale=scale, axis=axis),
            y=alt.Y("gflop_per_s:Q", title="GFLOP/s", scale=scale, axis=axis),
            color=alt.Color("cell:N", title=None, scale=alt.Scale(range=list(PALETTE))),
            shape=alt.Shape("cell:N", title=None),
            size=alt.Size("ms:Q", title="milliseconds", scale=alt.Scale(range=[30, 400])),
            description="text:N",
        )
    )
    lines = (
        alt.Chart(data_of(ceilings))
        .mark_line(color=INK, strokeWidth=1.5, aria=False)
        .encode(x="intensity:Q", y="gflop_per_s:Q", detail="roof:N", strokeDash=alt.StrokeDash("roof:N", title="peak"))
    )
    without = "" if ceilings else " The machine's peaks are unknown: irbench doctor --peak measures them."
    return Figure(
        "roofline",
        "Roofline",
        "A point is a group of nodes, its size their time. Below the slope memory is the limit, below the flat part"
        f" arithmetic. Bytes are those of each node by itself, so fused nodes lie further right in truth.{without}",
        ((lines + points) if ceilings else points).properties(height=USUAL_HEIGHT),
        spoken(shown),
    )


def _keys(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(str(row["key"]) for row in records))
