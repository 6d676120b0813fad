"""The lines below a table: how it was measured, legend, marks and notes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from irbench.notices import Reference
from irbench.plain_text import plain
from irbench.quantities import listing, plural
from irbench.record import Failure
from irbench.render.accuracy import limit_text
from irbench.render.context import Context
from irbench.render.energy import energy_legend
from irbench.render.line_wrapping import shorten, shorten_middle
from irbench.render.note_texts import note_text, reference_text
from irbench.render.remedies import remedy
from irbench.render.table_title import SEPARATOR
from irbench.result import GroupResult, RunDocument, StoppedBy
from irbench.row import CellResult, State
from irbench.stats.figures import calls_to_bound

_LONGEST_MESSAGE = 140
_LONGEST_HEAD = 40
_LONGEST_HINT = 160
"""What a row shows of why it failed, in characters; more would push the other rows off the screen."""

STOPPED_TEXTS: Mapping[StoppedBy, str] = {
    "target": "target reached",
    "launches": "launch limit reached",
    "budget": "the budget has no time for another launch",
    "searched": "nothing more to gain is expected",
    "interrupt": "interrupted",
    "failures": "all backends failed",
    "unfinished": "unfinished: still being measured, or the run was killed",
}
"""Why a table's measurement ended."""


def footer(result: GroupResult, context: Context, hidden: Collection[str] = ()) -> Iterator[str]:
    """Yield how it was measured, what the columns mean, what marks the rows, and notes.

    Args:
        result: The table.
        context: What its rows are called.
        hidden: Headings of the columns for which there is no room, and which therefore need no explanation.
    """
    yield SEPARATOR.join(_protocol(result))
    legend = SEPARATOR.join(text for heading, text in _legend(result, context) if heading not in hidden)
    if legend:
        yield legend
    if _assumes_one_mode(result):
        yield "few launches: intervals assume a unimodal distribution of launch speeds"
    for text, cells in _marked(result).items():
        yield f"* {text}: {', '.join(context.name(cell) for cell in cells)}"
    yield from dict.fromkeys(note_text(note, context) for note in result.notes)


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
    """Return the ids of the cells that each mark is about."""
    marked: dict[str, list[str]] = {}
    for cell in result.cells:
        for mark in cell.marks:
            marked.setdefault(mark.text(), []).append(cell.id)
    return marked


def incomplete(document: RunDocument) -> str:
    """Return that the run did not end by itself, and which tables are missing; an empty line where it did."""
    if document.complete:
        return ""
    planned, made = document.tables_planned, len(document.tables)
    if planned is None:
        missing = "tables may be missing"
    elif made < planned:
        missing = f"{planned - made} of {plural(planned, 'table')} {'is' if planned - made == 1 else 'are'} missing"
    elif made > 1 or not document.groups:
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
    """Return a row's state, at which stage it came to that, and why.

    Args:
        state: Of the row.
        failure: Why.
        has_figures: Whether the row shows figures all the same; of wrong outputs the reason alone is then returned.
    """
    words = state.replace("-", " ")
    where = f"{words} at {failure.stage.replace('_', ' ')}" if state == "failed" else words
    why = SEPARATOR.join(part.strip() for part in (failure.message, remedy(failure)) if part.strip())
    return why if state == "mismatch" and has_figures else f"{where}: {why}"


def _protocol(result: GroupResult) -> Iterator[str]:
    if result.blocks_measured:
        size = f"{plural(result.launches, 'launch')} x {_blocks(result)}{_raced(result)}"
        yield f"{'preview: ' if result.preview else ''}{size}, {_excluded(result)}"
    else:
        yield "no launch finished"
    yield f"{result.seconds:.0f} s"
    yield STOPPED_TEXTS[result.stopped_by]


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
    if any(speedup.all_blocks_verdict not in (speedup.verdict, None) for speedup in speedups):
        return f"{share} (verdicts change if included)"
    if any(speedup.moves_with_all_blocks for speedup in speedups):
        return f"{share} (speedups change if included)"
    known = all(speedup.all_blocks_verdict is not None for speedup in speedups)
    return f"{share} (same verdicts if included)" if known else share


def _legend(result: GroupResult, context: Context) -> Iterator[tuple[str, str]]:
    """Yield what each column means that does not explain itself, behind its heading."""
    latencies = [cell.latency_ms for cell in result.cells if cell.latency_ms is not None]
    if any(cell.launch_spread is not None for cell in result.cells):
        yield "spread", "spread: of launch medians"
    if any(cell.phases_ms is not None and cell.phases_ms.ready is not None for cell in result.cells):
        yield "ready s", "ready: process start to first output"
    has_tail = any(latency.p99 is not None for latency in latencies)
    if has_tail and not any(latency.p99_9 is not None for latency in latencies):
        yield "p99.9 ms", f"p99.9: needs {calls_to_bound(99.9):,} calls of a row, so more launches"
    paces = {cell.paced_ms.pace for cell in result.cells if cell.paced_ms is not None}
    yield from (("paced p50 ms", f"paced: a call every {pace:g} ms") for pace in sorted(paces))
    yield from (("J/inference", text) for text in energy_legend(result))
    yield from (("of roof", text) for text in _roofs(result))
    if any(latency.calls_per_sample > 1 for latency in latencies):
        yield "p90 ms", "p90: not available where a sample is several calls"
    limits = dict.fromkeys(cell.accuracy.limit for cell in result.cells if cell.accuracy is not None)
    yield from (("accuracy", f"accuracy: {limit_text(limit)}") for limit in limits)
    yield from (("max err", text) for text in _references(result, context))
    if result.lead is not None and result.lead.condition is not None:
        yield (
            "speedup",
            "speedup: of this machine as loaded as it was, by mean times over all blocks; p50 and FPS may differ",
        )
    if result.unverified:
        yield "speedup", "speedup ?: outputs not verified"


def _roofs(result: GroupResult) -> Iterator[str]:
    """Yield of which peaks shares are, and when these were measured."""
    works = [cell.work for cell in result.cells if cell.roof_share is not None and cell.work is not None]
    for measured in sorted({work.peaks_measured or "" for work in works}):
        day = f" measured {measured[:10]}" if measured else ""
        yield f"of roof: share of the roof by this machine's peaks{day} (irbench doctor)"


def _references(result: GroupResult, context: Context) -> Iterator[str]:
    """Yield what outputs were compared with, and which rows with something else."""
    if result.verified_against is not None:
        yield f"max err: against {reference_text(result.verified_against)}"
    others: dict[Reference, list[str]] = {}
    for cell in result.cells:
        if cell.verified_against is not None:
            others.setdefault(cell.verified_against, []).append(context.name(cell.id))
    for reference, rows in others.items():
        yield f"max err of {listing(rows)}: against {reference_text(reference)}"


def _assumes_one_mode(result: GroupResult) -> bool:
    in_rows = any(cell.speedup is not None and cell.speedup.assumes_one_mode for cell in result.cells)
    return in_rows or (result.lead is not None and result.lead.assumes_one_mode)
