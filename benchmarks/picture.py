"""Charts of what was measured: ``python -m benchmarks.picture``, or ``make picture``.

The run behind that of the README is stored in ``docs/demo.json``; the table behind the other is that of
``results/reference/power.md``.
"""

from __future__ import annotations

from pathlib import Path

import altair as alt

from documentation.pictures import standalone
from irbench.charts.figure import INK, PALETTE, Chart, configured, data_of
from irbench.charts.records import Record
from irbench.store.run_document import decode_document

_DOCS = Path(__file__).parents[1] / "docs"
_RUN, _CHART = _DOCS / "demo.json", _DOCS / "pictures" / "speedups.svg"
_RUNTIMES = {"openvino": "OpenVINO", "ort": "ONNX Runtime", "tf": "TensorFlow", "tf-xla": "TensorFlow XLA"}
_POWER = Path(__file__).parents[1] / "results" / "reference" / "power.md"
_TIMES = ["20 s", "30 s", "60 s"]
_CHART_WIDTH = 230
"""Beside the names of the runtimes, so that all of it fits a telephone at its own size."""


def chart(run: Path = _RUN) -> str:
    """Return the speedups of a stored run with their confidence intervals, as SVG that follows the page's theme.

    Args:
        run: The document of the run.
    """
    (group,) = decode_document(run.read_bytes(), run.name).groups
    records: list[Record] = [
        {
            "runtime": _RUNTIMES[cell.backend],
            "speedup": round(1.0 if cell.speedup is None else cell.speedup.value, 4),
            "low": round(1.0 if cell.speedup is None else cell.speedup.low or 1.0, 4),
            "high": round(1.0 if cell.speedup is None else cell.speedup.high or 1.0, 4),
            "label": "1 (baseline)" if cell.speedup is None else f"{cell.speedup.value:.2f}x",
        }
        for cell in group.cells
    ]
    return standalone(configured(_speedups(records), _CHART_WIDTH), "speedups")


def _speedups(records: list[Record]) -> Chart:
    base = alt.Chart(data_of(records)).encode(
        alt.Y("runtime:N", title=None, sort=None, axis=alt.Axis(labelFontSize=14, grid=False, labelLimit=130))
    )
    scale = alt.Scale(domain=[0.8, 2.1], nice=False, zero=False)
    across = alt.X(
        "speedup:Q",
        title="speedup over TensorFlow, 95 % interval",
        scale=scale,
        axis=alt.Axis(values=[1, 1.5, 2], labelFontSize=13, titleFontSize=13),
    )
    line = (
        alt.Chart(data_of([{"one": 1}]))
        .mark_rule(color=INK, strokeDash=[5, 3], opacity=0.6)
        .encode(alt.X("one:Q", scale=scale))
    )
    ends = base.mark_rule(strokeWidth=4, color=PALETTE[0]).encode(alt.X("low:Q", scale=scale), alt.X2("high:Q"))
    points = base.mark_circle(size=90, color=PALETTE[0], opacity=1).encode(across)
    names = base.mark_text(align="left", dx=10, fontSize=13, color=INK)
    labels = names.encode(alt.X("high:Q", scale=scale), alt.Text("label:N"))
    drawn: Chart = alt.layer(line, ends, points, labels).properties(height=alt.Step(44))
    return drawn


def power_rows(page: Path = _POWER) -> list[dict[str, str]]:
    """Return the rows of the table that ``python -m benchmarks.truth --only power --format md`` printed, by heading."""
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    head, _, *rows = ([field.strip() for field in line.strip("| ").split("|")] for line in lines)
    return [dict(zip(head, row, strict=True)) for row in rows]


def power_chart() -> str:
    """Return in how many runs a difference was found, by its size and the time of the run, as SVG."""
    records: list[Record] = [
        {"difference": row["faster by"], "within": within, "share": int(row[within]) / int(row["runs"])}
        for row in power_rows()
        for within in _TIMES
    ]
    drawn: Chart = (
        alt.Chart(data_of(records))
        .mark_line(point=alt.OverlayMarkDef(size=60, opacity=1), strokeWidth=2)
        .encode(
            alt.X("difference:N", title="real difference", sort=None, axis=alt.Axis(labelAngle=0)),
            alt.Y("share:Q", title="runs that found it", axis=alt.Axis(format="%")),
            alt.Color("within:N", title="within", scale=alt.Scale(domain=_TIMES, range=list(PALETTE[: len(_TIMES)]))),
            alt.Shape("within:N", title="within", scale=alt.Scale(domain=_TIMES)),
        )
        .properties(height=200)
    )
    return standalone(configured(drawn, 420), "power")


def main() -> None:
    """Write the charts."""
    _CHART.write_text(chart(), encoding="utf-8")
    _CHART.with_name("power.svg").write_text(power_chart(), encoding="utf-8")


if __name__ == "__main__":
    main()
