"""Formats of services that follow benchmarks from commit to commit: Bencher and github-action-benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from irbench.render.formats.exported_run import Export
from irbench.render.formats.row_table import named_rows, row_values
from irbench.render.text_formats import json_text


@dataclass(frozen=True)
class _Figure:
    """A figure of a row, with its interval where it has one.

    Attributes:
        columns: Of the figure: the first of them that has a value.
        interval: Columns of the ends of the interval of the first; none where there is no interval.
        slug: Bencher's name of the measure; empty where Bencher has no such measure.
        scale: Makes the unit of Bencher's measure of the column's.
    """

    text: str
    unit: str
    columns: tuple[str, ...]
    interval: tuple[str, str] | None = None
    slug: str = ""
    scale: float = 1.0


_NS_PER_MS = 1e6
_SMALLER_IS_BETTER = (
    _Figure("p50", "ms", ("p50_over_launches_ms", "p50_ms"), ("p50_low_ms", "p50_high_ms"), "latency", _NS_PER_MS),
    _Figure(
        "p90", "ms", ("p90_over_launches_ms", "p90_ms"), ("p90_low_ms", "p90_high_ms"), "p90-latency-ns", _NS_PER_MS
    ),
    _Figure("p99", "ms", ("p99_ms",), None, "p99-latency-ns", _NS_PER_MS),
    _Figure("ready", "ms", ("ready_ms",), ("ready_low_ms", "ready_high_ms"), "ready-time-ns", _NS_PER_MS),
    _Figure("peak memory", "bytes", ("peak_memory_bytes",), None, "peak-memory-bytes"),
    _Figure(
        "memory growth",
        "bytes/call",
        ("memory_growth_bytes_per_call",),
        ("memory_growth_low_bytes_per_call", "memory_growth_high_bytes_per_call"),
        "memory-growth-bytes-per-call",
    ),
)
_BIGGER_IS_BETTER = (
    _Figure("throughput", "samples/s", ("fps_over_launches", "fps"), ("fps_low", "fps_high"), "throughput"),
    _Figure(
        "sustained throughput",
        "samples/s",
        ("sustained_fps_over_launches", "sustained_fps"),
        ("sustained_fps_low", "sustained_fps_high"),
        "sustained-throughput",
    ),
)


def as_bencher(export: Export) -> Iterator[str]:
    """Yield Bencher Metric Format: the measures of each row, none of a row without figures."""
    metrics = {
        name: {
            figure.slug: _metric(figure, value)
            for figure in (*_SMALLER_IS_BETTER, *_BIGGER_IS_BETTER)
            if (value := _value(figure, values)) is not None
        }
        for name, values in _named_values(export)
    }
    yield _as_text(metrics)


def as_github_smaller(export: Export) -> Iterator[str]:
    """Yield what github-action-benchmark calls ``customSmallerIsBetter``: latencies and memory."""
    yield _as_text(list(_entries(export, _SMALLER_IS_BETTER)))


def as_github_bigger(export: Export) -> Iterator[str]:
    """Yield what github-action-benchmark calls ``customBiggerIsBetter``: throughputs."""
    yield _as_text(list(_entries(export, _BIGGER_IS_BETTER)))


@dataclass(frozen=True)
class _Value:
    value: float
    low: float | None = None
    high: float | None = None


def _value(figure: _Figure, values: dict[str, Any]) -> _Value | None:
    """Return a figure of a row; its interval where it is the first column's."""
    column = next((column for column in figure.columns if values.get(column) is not None), None)
    if column is None:
        return None
    has_interval = column == figure.columns[0] and figure.interval is not None
    ends = [values.get(end) for end in figure.interval or ()] if has_interval else [None, None]
    return _Value(values[column], *ends)


def _metric(figure: _Figure, figures: _Value) -> dict[str, float]:
    ends = {"value": figures.value, "lower_value": figures.low, "upper_value": figures.high}
    return {name: value * figure.scale for name, value in ends.items() if value is not None}


def _entries(export: Export, figures: tuple[_Figure, ...]) -> Iterator[dict[str, Any]]:
    for name, values in _named_values(export):
        for figure in figures:
            value = _value(figure, values)
            if value is None:
                continue
            entry = {"name": f"{name} {figure.text}", "unit": figure.unit, "value": value.value}
            spread = {} if value.low is None else {"range": f"{value.low:.6g} to {value.high:.6g}"}
            yield {**entry, **spread, "extra": _origin(values)}


def _origin(values: dict[str, Any]) -> str:
    lines = (f"run {values['run_id']}", values["created"], values["machine"], _condition(values))
    return "\n".join(line for line in lines if line)


def _condition(values: dict[str, Any]) -> str:
    """Return that the machine was too busy for figures of a quiet one; an empty line where it was not."""
    if "busy" not in (values.get("condition"), values.get("no_winner")):
        return ""
    return f"busy machine: {values['blocks_disturbed']} of {values['blocks_measured']} blocks disturbed"


def _named_values(export: Export) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the values of each row; no values of one that failed or whose outputs are wrong."""
    for name, source in named_rows([run.document for run in export.runs]):
        yield name, row_values(source) if source.row.state == "ok" else {}


def _as_text(document: Any) -> str:
    return json_text(document) + "\n"
