"""The chart of the README: ``python -m benchmarks.picture``, or ``make picture``.

The run behind it is stored in ``docs/demo.json``.
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


def main() -> None:
    """Write the chart."""
    _CHART.write_text(chart(), encoding="utf-8")


if __name__ == "__main__":
    main()
