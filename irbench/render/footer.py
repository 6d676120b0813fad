"""The lines below a table: how it was measured, legend, marks and notes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from irbench.core.plain_text import plain
from irbench.core.quantities import plural
from irbench.core.record import Failure
from irbench.core.result import STOPPED_TEXTS, GroupResult, RunDocument
from irbench.core.row import CellResult, State
from irbench.notices import Context, Note, Warn
from irbench.notices.notes import Reference
from irbench.notices.warnings import Disturbed, FewCleanBlocks, StolenTime, by_cost
from irbench.render.columns import IN_SPEEDS
from irbench.render.columns.neighbours import has_neighbours
from irbench.render.failure_texts import remedy
from irbench.render.line_wrapping import cell_count, shorten, shorten_middle
from irbench.render.table_title import SEPARATOR
from irbench.render.training_tables import step_legend

_LONGEST_MESSAGE = 140
_LONGEST_HEAD = 40
_LONGEST_HINT = 160
"""What a row shows of why it failed, in characters; more would push the other rows off the screen."""


def footer(
    result: GroupResult,
    context: Context,
    hidden: Collection[str] = (),
    told: Collection[Note] = (),
    more_columns: int = 0,
) -> Iterator[str]:
    """Yield how it was measured, what the columns mean, what marks the rows, and notes that are not ``told`` yet.

    Args:
        result: The table.
        context: What its rows are called.
        hidden: Headings of columns that the table does not show.
        told: Notes that stand below another table.
        more_columns: How many columns only a table with all of them has.
    """
    more = (f"--all-columns shows {more_columns} more",) if more_columns else ()
    yield SEPARATOR.join((*_protocol(result), *more))
    legend = SEPARATOR.join(_legend(result, context, hidden))
    if legend:
        yield legend
    for text, cells in _marked(result).items():
        yield f"* {text}: {context.listed(cells)}"
    yield from step_legend(result)
    yield from dict.fromkeys(note.text(context) for note in result.notes if note not in told)


def mismatches(result: GroupResult, context: Context) -> Iterator[str]:
    """Yield how far wrong outputs are off, of the rows whose figures are shown all the same."""
    for cell in result.cells:
        if cell.state == "mismatch" and cell.latency_ms is not None:
            yield f"mismatch: {context.name(cell.id)}: {reason(cell)}"
    if any(cell.state == "mismatch" and cell.model not in (None, result.model) for cell in result.cells):
        yield f"outputs are compared with those of {result.model}: give another network a table of its own with --apart"


def not_applicable(result: GroupResult, context: Context) -> Iterator[str]:
    """Yield why rows cannot run the model: a sentence for all that have the same reason."""
    rows: dict[Failure, list[str]] = {}
    for cell in result.cells:
        if cell.state == "not-applicable" and cell.failure is not None:
            rows.setdefault(cell.failure, []).append(context.name(cell.id))
    for failure, labels in rows.items():
        helps = remedy(failure)
        yield f"not applicable: {', '.join(labels)}: {failure.message}.{f' {helps}' if helps else ''}"


def _marked(result: GroupResult) -> dict[str, list[str]]:
    marked: dict[str, list[str]] = {}
    for cell in result.cells:
        for mark in cell.marks:
            marked.setdefault(mark.text(), []).append(cell.id)
    return marked


def incomplete(document: RunDocument) -> str:
    """Return that the run did not end by itself, and which tables are missing; an empty line where it did."""
    if document.complete:
        return ""
    planned, measured = document.tables_planned, len(document.tables)
    if planned is None:
        missing = "tables may be missing"
    elif measured < planned:
        missing = (
            f"{planned - measured} of {plural(planned, 'table')} {'is' if planned - measured == 1 else 'are'} missing"
        )
    elif measured > 1 or not document.groups:
        missing = "the last table holds what was measured until then"
    else:
        missing = "more launches were planned"
    return f"The run is incomplete: {missing}."


def reason(cell: CellResult, *, whole: bool = True) -> str:
    """Return in words why a cell has no figures, or none that count; what is long is cut unless all is wanted."""
    if cell.failure is None or cell.state == "not-applicable":  # told below the table, once for all such rows
        return cell.state.replace("-", " ")
    failure = cell.failure if whole else _shortened(cell.failure)
    return failure_text(cell.state, failure, has_figures=cell.latency_ms is not None)


def is_long(cell: CellResult) -> bool:
    """Whether the reason of a row without figures has more to say than the row shows."""
    return cell.latency_ms is None and plain(reason(cell)) != plain(reason(cell, whole=False))


def _shortened(failure: Failure) -> Failure:
    hint = None if failure.hint is None else shorten(failure.hint, _LONGEST_HINT)
    return replace(failure, message=shorten_middle(failure.message, _LONGEST_MESSAGE, _LONGEST_HEAD), hint=hint)


def failure_text(state: State, failure: Failure, *, has_figures: bool = False) -> str:
    """Return a row's state, at which stage it came to that, and why."""
    words = state.replace("-", " ")
    where = f"{words} at {failure.stage.replace('_', ' ')}" if state == "failed" else words
    why = SEPARATOR.join(part.strip() for part in (failure.message, remedy(failure)) if part.strip())
    return why if state == "mismatch" and has_figures else f"{where}: {why}"


def verified_line(reference: Reference | None, states: Collection[State]) -> Iterator[str]:
    """Yield what outputs were verified against, and that those of rows with wrong outputs were not."""
    if reference is not None and ("ok" in states or "mismatch" not in states):
        of = " of the other rows" if "mismatch" in states else ""
        yield f"outputs{of} verified against {reference.text()}"


def _protocol(result: GroupResult) -> Iterator[str]:
    if result.blocks_measured:
        assumed = " (assumed unimodal)" if _assumes_one_mode(result) else ""
        size = f"{_launches(result)}{assumed} x {_blocks(result)}{_raced(result)}"
        disturbed = "" if _tells_disturbance_elsewhere(result) else f", {_excluded(result)}"
        yield f"{'preview: ' if result.preview else ''}{size}{disturbed}"
    else:
        yield "no launch finished"
    yield f"{result.seconds:.0f} s"
    yield STOPPED_TEXTS[result.stopped_by]


def _launches(result: GroupResult) -> str:
    """Return how many launches there were, and how many of them have blocks that count where not all do."""
    counted, launches = result.launches_counted, plural(result.launches, "launch")
    if not counted or counted == result.launches:
        return launches
    return f"{launches} (the {counted} with enough undisturbed blocks count)"


def _blocks(result: GroupResult) -> str:
    """Return how many blocks a launch has: ``8 blocks``, or ``5 to 8 blocks`` where launches differ."""
    fewest, most = result.blocks_range or (result.blocks_per_launch, result.blocks_per_launch)
    return plural(most, "block") if fewest == most else f"{fewest} to {plural(most, 'block')}"


def _raced(result: GroupResult) -> str:
    """Return that some rows ran in fewer launches, being decided before."""
    compared = [cell for cell in result.cells if cell.speedup is not None or cell.id == result.baseline]
    counts = [cell.launches_measured for cell in compared if cell.launches_measured is not None]
    return f" (decided rows stopped after {min(counts)})" if counts and min(counts) < max(counts) else ""


def _excluded(result: GroupResult) -> str:
    if result.blocks_excluded == 0:
        disturbed = result.blocks_disturbed
        return f"{disturbed} of {result.blocks_measured} disturbed, all included" if disturbed else "none disturbed"
    share = f"{result.blocks_excluded} of {result.blocks_measured} excluded"
    speedups = [cell.speedup for cell in result.cells if cell.speedup is not None]
    if not speedups:
        return share
    if result.lead is not None and result.lead.contradiction is not None:
        return f"{share} (another row leads if included)"
    same = all(speedup.all_blocks_verdict == speedup.verdict for speedup in speedups)
    moves = any(speedup.moves_with_all_blocks for speedup in speedups)  # which a warning says
    return f"{share} (same verdicts if included)" if same and not moves else share


def is_disturbance_told_above(result: GroupResult) -> bool:
    """Whether the sentence above the table says that other programs ran, or were busier beside one of its rows."""
    lead = result.lead
    if lead is None or lead.contradiction is not None or has_neighbours(result):
        return False
    if lead.reason in ("busy", "uneven-load"):
        return True
    return result.condition is not None and lead.reason in (None, "preview", "same", "undecided")


def shown_warnings(result: GroupResult) -> tuple[Warn, ...]:
    """Return a table's warnings without those of a disturbance that its headline or its first line below tells.

    It is told once: in the headline where the answer depends on it, in the gravest warning where disturbed blocks are
    part of the figures, and else by how many blocks were excluded.
    """
    of_disturbance = by_cost(warning for warning in result.warnings if isinstance(warning, Disturbed | StolenTime))
    are_excluded = result.blocks_excluded > 0 and not any(isinstance(each, FewCleanBlocks) for each in of_disturbance)
    shown = () if is_disturbance_told_above(result) or are_excluded else of_disturbance[:1]
    return tuple(each for each in result.warnings if each in shown or each not in of_disturbance)


def _tells_disturbance_elsewhere(result: GroupResult) -> bool:
    shown = any(isinstance(warning, Disturbed | StolenTime) for warning in shown_warnings(result))
    return shown or is_disturbance_told_above(result)


def _legend(result: GroupResult, context: Context, hidden: Collection[str]) -> Iterator[str]:
    shown = (shown for _, shown in IN_SPEEDS if shown.heading not in hidden)
    for legend in sorted((column.legend for column in shown if column.legend), key=lambda legend: legend.place):
        yield from legend.texts(result, context)


def _assumes_one_mode(result: GroupResult) -> bool:
    in_rows = any(cell.speedup is not None and cell.speedup.assumes_one_mode for cell in result.cells)
    return in_rows or (result.lead is not None and result.lead.assumes_one_mode)


def whole_warnings(warnings: Iterable[Warn], context: Context) -> Iterator[str]:
    """Yield all that is to be said of each warning, with its remedy and the code under which it is explained."""
    for warning in by_cost(warnings):
        yield plain(f"warning: {warning.whole(context)} [{warning.code}]")


def short_warnings(warnings: Iterable[Warn], context: Context, width: int) -> Iterator[str]:
    """Yield what is wrong for each warning, and what else there is to say where all fits into ``width`` cells."""
    ordered = by_cost(warnings)
    for warning, whole in zip(ordered, whole_warnings(ordered, context), strict=True):
        brief = plain(f"warning: {warning.brief(context)} [{warning.code}]")
        yield whole if cell_count(whole) <= width else brief


def is_shortened(warnings: Iterable[Warn], context: Context, width: int) -> bool:
    """Whether some warning has more to say than is shown."""
    return list(whole_warnings(warnings, context)) != list(short_warnings(warnings, context, width))
