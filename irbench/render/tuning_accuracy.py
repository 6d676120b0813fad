"""The words of a search about accuracy: a column of its tables, and what the limit excluded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from irbench.quantities import NOT_MEASURED, plural
from irbench.render.accuracy import accuracy_text, limit_text, measure_text
from irbench.render.table import Column, TextTable
from irbench.spec import AccuracyLimit
from irbench.tuning.report import Excluded, TunedSetting, TuningReport

_AFTER = 4
"""Columns that say what a setting is stand before that of its accuracy."""


def with_accuracy(table: TextTable, settings: Sequence[TunedSetting], limit: AccuracyLimit | None) -> TextTable:
    """Return a table of settings with a column for their accuracy; as it is without a limit."""
    if limit is None:
        return table
    column = Column("agreement" if not limit.function else limit.function.rpartition(":")[2])
    rows = zip(table.rows, settings, strict=True)
    return replace(
        table,
        columns=(*table.columns[:_AFTER], column, *table.columns[_AFTER:]),
        rows=tuple(
            replace(row, cells=(*row.cells[:_AFTER], _value(setting, limit), *row.cells[_AFTER:]))
            for row, setting in rows
        ),
    )


def accuracy_texts(report: TuningReport) -> Iterator[str]:
    """Yield what must be said of accuracy below the table of the confirmation; nothing without a limit."""
    limit = report.accuracy_limit
    if limit is None:
        return
    if report.excluded is not None and report.excluded.settings:
        yield _excluded(report.excluded, limit)
    if any(setting.misses_tolerance for setting in _shown(report)):
        yield "* off by more than the tolerance of its precision; the limit replaces it."
    if report.random_inputs:
        samples = plural(report.random_inputs, "random input")
        yield f"{measure_text(limit)} on {samples} says little about real ones: use --data."


def _shown(report: TuningReport) -> Iterator[TunedSetting]:
    if report.leader is not None:
        yield report.leader
    yield from (other.setting for other in report.alternatives)
    yield from (point.setting for point in report.front)


def _value(setting: TunedSetting, limit: AccuracyLimit) -> str:
    mark = "*" if setting.misses_tolerance else ""
    return NOT_MEASURED if setting.accuracy is None else f"{accuracy_text(setting.accuracy, limit)}{mark}"


def _excluded(found: Excluded, limit: AccuracyLimit) -> str:
    counted = f"{plural(found.settings, 'setting')} of {plural(found.combinations, 'combination')}"
    text = f"Not searched: {counted} that miss {limit_text(limit)}"
    if found.failed:
        text += f" ({found.failed} of them failed)"
    best = found.best
    if best is None or best.accuracy is None:
        return f"{text}."
    graph = "" if best.optimize == "none" else f"+{best.optimize}"
    options = "".join(f" {key}={value}" for key, value in best.options.items())
    name = f"{best.backend}{graph} {best.precision}{options}"
    return f"{text}; the best of them is {name} with {accuracy_text(best.accuracy, limit)}."
