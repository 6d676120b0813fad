"""The words of a search for the best setting, for the terminal and as Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from irbench.render.accuracy import limit_text
from irbench.render.code_block import CodeBlock
from irbench.render.figures import NOT_MEASURED, ratio, significant
from irbench.render.flip_map import flip_map_parts
from irbench.render.quantities import plural
from irbench.render.table import Column, Row, TextTable
from irbench.render.table_title import SEPARATOR
from irbench.render.tuning_accuracy import accuracy_texts, with_accuracy
from irbench.render.verification import Document
from irbench.spec import Objective
from irbench.store.folders import results_option
from irbench.tuning.report import Alternative, Conclusion, FrontPoint, Gain, ReferenceKind, TunedSetting, TuningReport

__all__ = ["OBJECTIVE_TEXTS", "TUNING_TEXTS", "searching_text", "tuning_view"]

OBJECTIVE_TEXTS: Mapping[Objective, str] = {
    "fps": "frames per second",
    "latency": "latency",
    "cost": "processor time per sample",
}
TUNING_TEXTS: Mapping[Conclusion, str] = {
    "better": "best: {setting}",
    "preview": "best so far: {setting} (preview: too few launches for an interval; use a larger --budget)",
    "reference": "best: {setting}; no setting is known to be better",
    "undecided": (
        "undecided: {leader} looks better than {setting}, but the confidence interval of their ratio includes 1;"
        " a larger --budget may help"
    ),
    "doubtful": "undecided: {leader} looks better than {setting}, but something disturbed the confirmation;"
    " irbench show {run} says what",
    "unopposed": "best: {setting}; no default and no vendor's hint can be compared with it",
    "nothing": "no setting answers as was asked for; irbench show {run} says why",
    "interrupted": "interrupted: these are the results until then",
}
KIND_TEXTS: Mapping[ReferenceKind, str] = {"default": "the default", "hint": "the vendor's hint"}


def searching_text(settings: int, budget_s: float) -> str:
    """Return what a search is about to do."""
    seconds = f"{budget_s:.0f} s in all, plus preparing graphs"
    return f"searching {plural(settings, 'setting')}, then confirming the best; {seconds}"


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
    yield _conclusion(report)
    if report.leader is not None:
        rows = (
            _leading_row(report, report.leader),
            *(_row(report, other) for other in report.alternatives),
        )
        settings = (report.leader, *(other.setting for other in report.alternatives))
        yield with_accuracy(TextTable(_COLUMNS, rows), settings, report.accuracy_limit)
    yield from accuracy_texts(report)
    yield from flip_map_parts(report.flips)
    if len(report.front) > 1:
        yield "Latency against FPS: no measured setting is better in both than one of these."
        front = TextTable(_FRONT_COLUMNS, tuple(map(_point, report.front)))
        yield with_accuracy(front, [point.setting for point in report.front], report.accuracy_limit)
    if report.command:
        yield "Measure it again:"
        yield CodeBlock(shlex.join(report.command), "sh")
    if report.code:
        yield "Use it:"
        yield CodeBlock(report.code, "python")
    yield from _runs(report)


def _conclusion(report: TuningReport) -> str:
    text = TUNING_TEXTS[report.conclusion].format(
        setting="" if report.setting is None else report.setting.label,
        leader="" if report.leader is None else report.leader.label,
        run=f"{report.confirmation_run or report.search_run}{results_option(report.results)}",
    )
    gains = [_reference_gain(other, other.gain) for other in report.alternatives if other.kind and other.gain]
    return f"{text}: {', '.join(gains)}" if report.conclusion in ("better", "preview") and gains else text


def _reference_gain(other: Alternative, gain: Gain) -> str:
    kind = KIND_TEXTS[other.kind] if other.kind is not None else other.setting.label
    return f"{_gain(gain)} {kind} of {other.setting.backend}"


def _gain(gain: Gain) -> str:
    value, low, high = ratio(gain.value, gain.low, gain.high)
    interval = "" if gain.low == gain.high else f" [{low}, {high}]"
    return f"{value}x{interval}{' preview' if gain.is_preview else ''}"


_COLUMNS = (
    Column("setting", words=True, folds=True),
    Column("prec", words=True, drops=4),
    Column("batch"),
    Column("threads", drops=3),
    Column("p50 ms", drops=2),
    Column("FPS", drops=1),
    Column("what it is", words=True, folds=True),
    Column("lead of the best [95 %]", words=True, least=24),
)
_FRONT_COLUMNS = (
    Column("setting", words=True, folds=True),
    Column("prec", words=True, drops=1),
    Column("batch"),
    Column("threads"),
    Column("p50 ms"),
    Column("FPS"),
    Column("measured", words=True),
)


def _leading_row(report: TuningReport, leader: TunedSetting) -> Row:
    return Row((*_facts(leader), *_figures(report, leader), "found", "-"), style="bold")


def _row(report: TuningReport, other: Alternative) -> Row:
    without = "above --max-latency" if other.is_too_slow else other.failure or NOT_MEASURED
    gained = without if other.gain is None else _gain(other.gain)
    kind = "found" if other.kind is None else KIND_TEXTS[other.kind]
    return Row((*_facts(other.setting), *_figures(report, other.setting), kind, gained))


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
