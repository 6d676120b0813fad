"""The pictures of docs/protocol.md, simulated and drawn: ``python -m documentation.pictures``.

They are made of seeded random numbers, not of measurements, and of the intervals that irbench computes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from irbench.charts.drawing import page_svg
from irbench.charts.figure import INK, PALETTE, Chart, configured, data_of
from irbench.charts.records import Record
from irbench.spec import Timing
from irbench.stats.intervals import interval_at, looks_of

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
_STYLE = (
    "<style>:root{color:#1b1f24;color-scheme:light dark}@media(prefers-color-scheme:dark){:root{color:#d8dde3}}</style>"
)
"""A picture in a page is a document of its own: it learns of the page's theme by its ``color-scheme``."""
_COLOURS = alt.Color(
    "backend:N", title=None, scale=alt.Scale(domain=["A", "B"], range=list(PALETTE[:2])), legend=alt.Legend(columns=2)
)
_HEADER = alt.Header(labelColor=INK, labelFontSize=13, labelOrient="top")
_ROUNDS, _RUNS, _LAUNCHES = 48, 60, 10


def interleaving() -> Chart:
    """Return calls of two equal backends on a machine that gets slower, one after the other and interleaved."""
    records = [*_calls("A, then B", _one_after_the_other), *_calls("interleaved in blocks", _interleaved)]
    chart: Chart = (
        alt.Chart(data_of(records))
        .mark_point(size=34, filled=True, opacity=1)
        .encode(
            alt.X("second:Q", title="time, s", axis=alt.Axis(grid=False)),
            alt.Y("ms:Q", title="round, ms", scale=alt.Scale(zero=False)),
            _COLOURS,
            alt.Shape("backend:N", scale=alt.Scale(domain=["A", "B"], range=["circle", "diamond"])),
            alt.Row("order:N", title=None, sort=None, header=_HEADER),
        )
        .properties(height=130)
    )
    return chart


def _calls(order: str, backend_of: Callable[[int], str]) -> Iterator[Record]:
    random = np.random.default_rng(1)
    for number in range(_ROUNDS):
        drift = 1 + 0.06 * number / _ROUNDS
        yield {
            "order": order,
            "second": round(number * 0.25, 2),
            "ms": round(float(10 * drift * random.lognormal(0, 0.008)), 3),
            "backend": backend_of(number),
        }


def _one_after_the_other(number: int) -> str:
    return "A" if number < _ROUNDS // 2 else "B"


def _interleaved(number: int) -> str:
    return "ABBABAAB"[number % 8]


def intervals() -> Chart:
    """Return the intervals of many runs of one true speedup: how many contain it, and how wide they are."""
    random, looks, truth = np.random.default_rng(4), looks_of(Timing()), 1.05
    records = list[Record]()
    for run in range(_RUNS):
        found = interval_at(list(np.log(truth) + random.normal(0, 0.02, _LAUNCHES)), looks, 0.95)
        low, high = float(np.exp(found.low)), float(np.exp(found.high))
        holds = "contains it" if low <= truth <= high else "misses it"
        records.append({"run": run, "low": low, "high": high, "value": float(np.exp(found.value)), "holds": holds})
    data = data_of(records)
    colour = alt.Color(
        "holds:N", title=None, scale=alt.Scale(domain=["contains it", "misses it"], range=[PALETTE[0], PALETTE[1]])
    )
    across = alt.X(
        "run:Q",
        title="runs",
        axis=alt.Axis(labels=False, ticks=False, grid=False),
        scale=alt.Scale(domain=[-1, _RUNS], nice=False),
    )
    ends = alt.Chart(data).mark_rule(strokeWidth=2).encode(
        across, alt.Y("low:Q", title="speedup", scale=alt.Scale(zero=False)), alt.Y2("high:Q"), colour
    )  # fmt: skip
    points = alt.Chart(data).mark_circle(size=22).encode(across, alt.Y("value:Q"), colour)
    line = alt.Chart(data_of([{"truth": truth}])).mark_rule(color=INK, strokeDash=[5, 3]).encode(alt.Y("truth:Q"))
    chart: Chart = alt.layer(line, ends, points)
    return chart.properties(height=220)


def launches() -> Chart:
    """Return rounds of launches that run at one of two speeds, which each process start gets anew."""
    random, records = np.random.default_rng(7), list[Record]()
    for launch in range(1, 13):
        level = (10.0 if random.random() < 0.6 else 10.9) * random.lognormal(0, 0.004)
        for _ in range(14):
            ms = round(float(level * random.lognormal(0, 0.006)), 3)
            records.append({"launch": launch, "ms": ms, "place": float(random.uniform(-0.3, 0.3))})
    across = alt.X("launch:O", title="launch: a fresh process each", axis=alt.Axis(labelAngle=0, grid=False))
    height = alt.Y("ms:Q", title="round, ms", scale=alt.Scale(zero=False))
    base = alt.Chart(data_of(records))
    points = base.mark_circle(size=22, opacity=0.7, color=PALETTE[0]).encode(across, height, alt.XOffset("place:Q"))
    medians = base.mark_tick(color=PALETTE[1], thickness=3, size=26).encode(across, alt.Y("median(ms):Q"))
    chart: Chart = alt.layer(points, medians)
    return chart.properties(height=220)


_PICTURES: Mapping[str, Callable[[], Chart]] = {
    "interleaving": interleaving,
    "intervals": intervals,
    "launches": launches,
}


def pictures() -> Mapping[Path, str]:
    """Return the SVG of each picture by its file."""
    return {FOLDER / f"{name}.svg": standalone(configured(draw(), 560), name) for name, draw in _PICTURES.items()}


def standalone(spec: dict[str, Any], name: str) -> str:
    """Return a chart as an SVG document that follows the theme of the page it is shown in."""
    return re.sub(r"(<svg[^>]*>)", rf"\1{_STYLE}", page_svg(spec, name), count=1)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, text in pictures().items():
        path.write_text(text)
