"""The words of a search for the best setting, for the terminal and as Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from irbench.core.quantities import NOT_MEASURED, plural, significant
from irbench.features.tune.flip_map_view import flip_map_parts
from irbench.features.tune.recommendation_view import gain_text, is_recommended, recommendation_texts
from irbench.features.tune.report import KIND_TEXTS, Alternative, Excluded, FrontPoint, Gain, TunedSetting, TuningReport
from irbench.render.figures import are_ranges, ends_heading
from irbench.render.table import Column, Row, TextTable
from irbench.render.table_title import SEPARATOR
from irbench.render.views import CodeBlock, Document
from irbench.render.words import accuracy_text, limit_text, measure_text
from irbench.spec import AccuracyLimit, Objective, Timing
from irbench.store.folders import results_option

OBJECTIVE_TEXTS: Mapping[Objective, str] = {
    "fps": "frames per second",
    "latency": "latency",
    "cost": "processor time per sample",
}
SEARCHED_TEXTS: Mapping[Objective, str] = {
    "fps": "the most FPS",
    "latency": "the lowest latency",
    "cost": "the least processor time per sample",
}

_AFTER = 4
"""Columns that say what a setting is stand before that of its accuracy."""


def searching_text(
    settings: int, batches: Sequence[int], objective: Objective, max_latency_ms: float | None, budget_s: float
) -> str:
    """Return what a search is about to do.

    Args:
        settings: How many there are to choose from.
        batches: Their batch sizes.
        objective: What is to be the best.
        max_latency_ms: The largest p90 latency of a setting; ``None`` for any.
        budget_s: For searching and confirming.
    """
    batch = f"batch {batches[0]}" if len(batches) == 1 else f"any batch of {', '.join(map(str, sorted(batches)))}"
    limit = "" if max_latency_ms is None else f", p90 latency at most {max_latency_ms:g} ms"
    searched = f"searching {plural(settings, 'setting')} for {SEARCHED_TEXTS[objective]} ({batch}{limit})"
    return f"{searched}, then confirming the best; the budget is {budget_s:.0f} s"


def tuning_view(report: TuningReport) -> Document:
    """Return what is recommended and what it gains, the confirmation, the front, and how to use the setting."""
    return Document(tuple(_parts(report)))


def _parts(report: TuningReport) -> Iterator[str | TextTable | CodeBlock]:
    limit = "" if report.max_latency_ms is None else f"p90 latency at most {report.max_latency_ms:g} ms"
    tried = f"{report.measured} of {plural(report.settings, 'setting')} measured"
    asked = f"{Path(report.model).name}: {OBJECTIVE_TEXTS[report.objective]}"
    accuracy = "" if report.accuracy_limit is None else limit_text(report.accuracy_limit)
    facts = (asked, limit, accuracy, tried, f"{report.seconds:.0f} s")
    yield SEPARATOR.join(fact for fact in facts if fact)
    yield from recommendation_texts(report)
    if report.leader is not None:
        rows = (
            _leading_row(report, report.leader),
            *(_row(report, other) for other in report.alternatives),
        )
        settings = (report.leader, *(other.setting for other in report.alternatives))
        yield with_accuracy(TextTable(_columns(report), rows), settings, report.accuracy_limit)
    yield from accuracy_texts(report)
    yield from flip_map_parts(report.flips)
    if len(report.front) > 1:
        yield "Latency against FPS: no measured setting is better in both than one of these."
        front = TextTable(_FRONT_COLUMNS, tuple(map(_point, report.front)))
        yield with_accuracy(front, [point.setting for point in report.front], report.accuracy_limit)
    if report.command:
        yield f"Measure {_named(report)} again:"
        yield CodeBlock(shlex.join(report.command), "sh")
    if report.code:
        yield f"Use {_named(report)}:"
        yield CodeBlock(report.code, "python")
    yield from _runs(report)


_SETTING = Column("setting", words=True, folds=True, breaks_at="=", longest=17)
_COLUMNS = (
    _SETTING,
    Column("prec", words=True, drops=4),
    Column("batch"),
    Column("threads", drops=3),
    Column("p50 ms", drops=2),
    Column("FPS", drops=1),
    Column("what it is", words=True, folds=True),
)
_FOUND = "found"
_FRONT_COLUMNS = (
    _SETTING,
    Column("prec", words=True, drops=1),
    Column("batch"),
    Column("threads"),
    Column("p50 ms"),
    Column("FPS"),
    Column("measured", words=True),
)


def _columns(report: TuningReport) -> tuple[Column, ...]:
    heading = ends_heading("best ahead", _gains(report), Timing.confidence)
    return (*_COLUMNS, Column(heading, words=True, least=18))


def _gains(report: TuningReport) -> list[Gain | None]:
    return [other.gain for other in report.alternatives]


def _named(report: TuningReport) -> str:
    return "it" if report.setting is None else report.setting.label


def _leading_row(report: TuningReport, leader: TunedSetting) -> Row:
    kind = _kind(report, leader, _FOUND)
    return Row((*_facts(leader), *_figures(report, leader), kind, "-"), style=_style(report, leader))


def _row(report: TuningReport, other: Alternative) -> Row:
    without = "above --max-latency" if other.is_too_slow else other.failure or NOT_MEASURED
    marks_ranges = not are_ranges(_gains(report))
    gained = without if other.gain is None else gain_text(other.gain, marks_ranges=marks_ranges)
    kind = _kind(report, other.setting, _FOUND if other.kind is None else KIND_TEXTS[other.kind])
    cells = (*_facts(other.setting), *_figures(report, other.setting), kind, gained)
    return Row(cells, style=_style(report, other.setting))


def _kind(report: TuningReport, setting: TunedSetting, kind: str) -> str:
    return f"{kind}, recommended" if is_recommended(report, setting.row) else kind


def _style(report: TuningReport, setting: TunedSetting) -> str:
    return "bold" if is_recommended(report, setting.row) else ""


def _figures(report: TuningReport, setting: TunedSetting) -> tuple[str, str]:
    found = report.figures.get(setting.row)
    return (NOT_MEASURED, NOT_MEASURED) if found is None else (significant(found.latency_ms), significant(found.fps))


def _point(point: FrontPoint) -> Row:
    measured = "in full" if point.is_confirmed else "in the search"
    return Row((*_facts(point.setting), significant(point.latency_ms), significant(point.fps), measured))


def _facts(setting: TunedSetting) -> tuple[str, str, str, str]:
    label = setting.label.partition(" batch ")[0]
    return label, setting.precision, str(setting.batch), str(setting.threads or "native")


def _runs(report: TuningReport) -> Iterator[str]:
    known = {"search": report.search_run, "confirmation": report.confirmation_run}
    for what, run in known.items():
        if run is not None:
            yield f"{what.capitalize()}: irbench show {run}{results_option(report.results)}"


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
