"""Counters of a profile as a table: a line for each figure of each class of work, a column for each backend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irbench.core.counter_row import COUNTER_STOP_TEXTS
from irbench.core.quantities import NOT_MEASURED, listing, percent, plural
from irbench.features.counters.view import counting_notes, figure_text, nodes_missing_text, spanned_figure
from irbench.features.profile.counters.counted_operators import LEAST_CLASS_SHARE
from irbench.features.profile.profile_document import CountedPart, ProfileCounters, ProfileDocument
from irbench.features.profile.report import CellSummary, ClassCounters, ProfileReport
from irbench.features.profile.views.sentences import class_name
from irbench.features.reduce.view import uncuttable_text
from irbench.onnx.operator_classes import OperatorClass
from irbench.perf_events.obstacles import NotCounted, not_counted
from irbench.render.failure_texts import failure_sentence
from irbench.render.figure_texts import are_ranges, ends_heading
from irbench.render.table import Row, TableColumn, TextTable

COUNTERS_HEADING = "Counters of each class, per inference:"
_CALL = "empty call"
_MODEL = "whole model"
_TIME = "time counted"
_LONGEST_FIGURE = len("slots: bad speculation")
_LONGEST_CLASS = len("data movement")


def counter_table(counters: ProfileCounters, report: ProfileReport, cells: Sequence[CellSummary]) -> TextTable:
    """Return a line for each figure of each class that was counted, then for what of each class was counted."""
    rows = [row for cell in cells for row in report.counters if row.cell == cell.id]
    names = dict.fromkeys(figure.name for row in rows for figure in row.figures)
    ordered = sorted(names, key=lambda name: name not in counters.events)  # shares and ratios below the counts
    subjects = _subjects(rows, report)
    figures = [figure for row in rows for figure in row.figures]
    texts = {name: _figures(rows, cells, name, marks_ranges=not are_ranges(figures)) for name in ordered}
    lines = [line for name in ordered for line in _lines(figure_text(name), subjects, texts[name])]
    counted = _counted_times(counters, report, cells)
    columns = _columns([ends_heading(cell.label, figures, counters.confidence) for cell in cells])
    return TextTable(columns, (*lines, *_lines(_TIME, list(counted), counted), *_unavailable(counters)))


def counter_lines(document: ProfileDocument, report: ProfileReport) -> Iterator[str]:
    """Yield how was counted, what a counted operator shows and does not show, and what could not be counted."""
    counters = document.counters
    if counters is None:
        return
    if report.counters:
        yield _method(counters, report)
        if any(row.operator_class is not None for row in report.counters):
            yield (
                "Counters of a class: of models of its single operators, with the values that they have in the whole"
                " model; those that take longest, equal ones once, until they take"
                f" {percent(counters.share, 0)} of its time or are {counters.most_kinds} models. Each has an empty call"
                " in it, and not the fusions, layouts and caches of its neighbours: docs/counters.md."
            )
    figures = [figure for row in report.counters for figure in row.figures]
    yield from (f"counters: {note}." for note in counting_notes(counters, figures))
    yield from _without_nodes(counters, report)
    yield from _without_classes(counters, report)
    yield from _failures(counters, report)


def _columns(labels: Sequence[str]) -> tuple[TableColumn, ...]:
    """Return the columns; where several backends stand side by side nothing is folded, a single one may need it."""
    is_alone = len(labels) == 1
    return (
        TableColumn("figure", words=True, folds=True, least=TableColumn.least if is_alone else _LONGEST_FIGURE),
        TableColumn("class", words=True, folds=True, least=TableColumn.least if is_alone else _LONGEST_CLASS),
        *(TableColumn(label, words=True, folds=is_alone) for label in labels),
    )


def _lines(name: str, subjects: Sequence[str], texts: dict[str, list[str]]) -> Iterator[Row]:
    for place, subject in enumerate(subject for subject in subjects if subject in texts):
        yield Row(("" if place else name, subject, *texts[subject]))


def _figures(
    rows: Sequence[ClassCounters], cells: Sequence[CellSummary], name: str, *, marks_ranges: bool
) -> dict[str, list[str]]:
    """Return the texts of a figure by what it is of, one for each cell."""
    texts = {
        (row.cell, _subject(row)): spanned_figure(figure, marks_ranges=marks_ranges)
        for row in rows
        for figure in row.figures
        if figure.name == name
    }
    return {
        subject: [texts.get((cell.id, subject), NOT_MEASURED) for cell in cells]
        for subject in dict.fromkeys(subject for _, subject in texts)
    }


def _subjects(rows: Sequence[ClassCounters], report: ProfileReport) -> list[str]:
    """Return what lines are of: the classes as the table of times has them, then a call and the model."""
    order = [class_name(row.operator_class) for row in report.classes]
    subjects = {_subject(row) for row in rows}
    return [subject for subject in (*order, _CALL, _MODEL) if subject in subjects]


def _subject(row: ClassCounters) -> str:
    if row.operator_class is not None:
        return class_name(row.operator_class)
    return _CALL if row.kind == "call" else _MODEL


def _counted_times(
    counters: ProfileCounters, report: ProfileReport, cells: Sequence[CellSummary]
) -> dict[str, list[str]]:
    """Return which part of each class's time was counted, one for each cell, also of classes that were not."""
    cut = [cell.id for cell in cells if cell.id not in counters.whole_only]
    counted: dict[tuple[str, OperatorClass | None], str] = {}
    for counter in report.counters:
        models = f" in {plural(counter.models, 'model')}" if counter.models < counter.times else ""
        share = f"{percent(counter.counted_share, 0)}, {plural(counter.times, 'operator')}{models}"
        counted[counter.cell, counter.operator_class] = share
    texts: dict[str, list[str]] = {}
    for row in report.classes:
        large = [cell for cell in cut if cell in row.figures and row.figures[cell].share.value >= LEAST_CLASS_SHARE]
        none = dict.fromkeys(large, percent(0, 0))
        cell_texts = [counted.get((cell.id, row.operator_class), none.get(cell.id, NOT_MEASURED)) for cell in cells]
        if set(cell_texts) != {NOT_MEASURED}:
            texts[class_name(row.operator_class)] = cell_texts
    return texts


def _unavailable(counters: ProfileCounters) -> Iterator[Row]:
    for name, obstacle in not_counted(counters.asked, counters.unavailable):
        yield Row((name, NOT_MEASURED), obstacle.why(), "yellow")


def _method(counters: ProfileCounters, report: ProfileReport) -> str:
    launches = {row.launches for row in report.counters}
    ends = "-".join(map(str, sorted({min(launches), max(launches)})))
    noun = "launch" if ends == "1" else "launches"
    return (
        f"Counters: medians over {ends} {noun} of their own of each model, after the profile; their times are not used;"
        f" {COUNTER_STOP_TEXTS[counters.stopped_by]}, {counters.seconds:.0f} s, perf {counters.perf_version}."
    )


def _without_nodes(counters: ProfileCounters, report: ProfileReport) -> Iterator[str]:
    """Yield the cells of which toplev reported no nodes in some launches."""
    for cell in report.cells:
        missing = nodes_missing_text(
            [launch for part in counters.parts if part.cell == cell.id for launch in part.launches]
        )
        if missing is not None:
            yield f"{cell.label}: topdown-l{counters.level}: {missing}."


def _without_classes(counters: ProfileCounters, report: ProfileReport) -> Iterator[str]:
    """Yield which cells run no graph that could be cut."""
    counted = {row.cell for row in report.counters}
    other = [cell.label for cell in report.cells if cell.id in counted and cell.id in counters.whole_only]
    if other:
        yield f"{listing(other)}: no classes are counted, only the whole model: operators are cut out of ONNX graphs."


def _failures(counters: ProfileCounters, report: ProfileReport) -> Iterator[str]:
    labels = {cell.id: cell.label for cell in report.cells}
    for cell, failure in counters.failures.items():
        yield f"{labels[cell]}: operators could not be cut out of the graph: {failure_sentence(failure)}"
    reasons: dict[tuple[str, str], list[CountedPart]] = {}
    for part in counters.parts:
        reason = _reason(part)
        if reason is not None:
            reasons.setdefault((labels[part.cell], reason), []).append(part)
    for (label, reason), parts in reasons.items():
        more = f" and {plural(len(parts) - 1, 'other model')}" if len(parts) > 1 else ""
        yield f"{label}, not counted: {_part_name(parts[0])}{more}: {reason}."
    never = dict.fromkeys(figure.name for row in report.counters for figure in row.figures if figure.value is None)
    if never:
        names, reason = listing(list(map(figure_text, never))), NotCounted().why()
        yield f"counters: {names}: where the table has {NOT_MEASURED}, {reason}."


def _reason(part: CountedPart) -> str | None:
    """Return why a part was not counted, or not to the end; ``None`` if nothing was in the way."""
    if part.uncuttable is not None:
        return f"cannot be cut out of the graph: {uncuttable_text(part.uncuttable)}"
    return None if part.failure is None else part.failure.message.rstrip(".")


def _part_name(part: CountedPart) -> str:
    return {"model": _MODEL, "call": _CALL}.get(part.kind) or part.nodes[0]
