"""What a table says in words: its title, its winner, how it was measured, and what a reader must know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from irbench.phrases import plural
from irbench.record import Failure
from irbench.render.figures import ratio
from irbench.result import CellResult, GroupResult, Lead, RunDocument, Winner, row_names

__all__ = ["footer", "headline", "incomplete", "lead_sentence", "reason", "remarks", "row_marks", "title"]

_STOPPED = {
    "target": "stopped by target",
    "launches": "stopped after the last launch allowed",
    "budget": "stopped by budget",
    "interrupt": "interrupted",
    "failures": "no healthy cell was left",
    "unfinished": "unfinished: the run was ended from outside",
}
# what contradicts the leader, and what to do about it
_DISAGREE = {
    "all-blocks-disagree": "{leader} is ahead in quiet blocks, {rival} over all of them. Repeat it on a quiet machine",
    "throughput-disagrees": "{leader} has the shorter median latency, {rival} the higher throughput (FPS): slow calls"
    " decide. Compare p90, and choose by what you deploy for",
    "sustained-disagrees": "{leader} is ahead in turns, {rival} where each runs alone. Choose by how you deploy it",
}
_SEPARATOR = " · "
_IO = {"copy": "copies included", "bound": "copies left out"}


def title(
    result: GroupResult, environment: Mapping[str, Any] | None = None, plan: Mapping[str, Any] | None = None
) -> str:
    """Return the model, its shapes, and everything that all cells have in common."""
    ran = [cell for cell in result.cells if cell.effective] or list(result.cells)
    shapes = ", ".join(_shape(name, shape, len(result.shapes)) for name, shape in result.shapes.items())
    facts = (
        f"{result.model}  {shapes}",
        _same({_precision(cell) for cell in ran}, "mixed precision"),
        f"{_threads(ran)}{_cores(environment or {}, plan or {})}",
        _same({cell.device for cell in ran}, "several devices"),
        _mode(result),
    )
    return _SEPARATOR.join(fact for fact in facts if fact)


def headline(result: GroupResult) -> str:
    """Return who is fastest, against whom, by how much; or what can be said instead."""
    said = _leader(result)
    return f"{said}; outputs unverified" if said and result.unverified else said


def _leader(result: GroupResult) -> str:
    names = row_names(result.cells)
    ranked = [cell for cell in result.cells if cell.state == "ok" and cell.latency_ms is not None]
    if result.lead is not None:
        return lead_sentence(result, result.lead)
    if result.winner is not None:  # a document from before leads were stored
        return (
            f"{names[result.winner.cell]} is fastest: {_ahead(result, result.winner)} (adjusted for choosing the best)"
        )
    if not ranked:
        return "no cell has a valid result"
    if len(ranked) == 1:
        return f"only {names[ranked[0].id]} has a valid result" if len(result.cells) > 1 else ""
    return result.notes[0] if result.notes else ""


def lead_sentence(result: GroupResult, lead: Lead) -> str:
    """Return who is fastest and by how much, or why nobody can be called so and what to do about it."""
    names = row_names(result.cells)
    leader, rival, ahead = names[lead.cell], names[lead.rival], _ahead(result, lead)
    if lead.reason is None:
        return f"{leader} is fastest: {ahead}{_adjusted(result)}"
    if lead.reason == "busy":
        share = f"{result.blocks_disturbed} of {plural(result.blocks_measured, 'block')}"
        return (
            "no winner: this machine was too busy to tell. Close what else runs (top shows it), or keep to processors"
            f" that it leaves alone with --cpus, and repeat the run: {share} were disturbed"
        )
    if lead.reason == "preview":
        return f"preview: {_preview(leader, rival, ahead, lead)}"
    if lead.reason in _DISAGREE:
        return f"no winner: {_DISAGREE[lead.reason].format(leader=leader, rival=rival)}"
    found = "are the same" if lead.reason == "same" else "cannot be told apart"
    return f"no winner: {leader} and {rival} {found}: {ahead}{_adjusted(result)}"


def _ahead(result: GroupResult, lead: Lead | Winner) -> str:
    """Return ``1.14x its nearest rival ort [1.12, 1.16]``, without brackets where there was one launch only."""
    value, low, high = ratio(lead.value, lead.low, lead.high)
    span = "" if lead.low == lead.high else f" [{low}, {high}]"
    unit = " in FPS" if any(cell.mode == "streams" for cell in result.cells) else ""
    return f"{value}x its nearest rival {row_names(result.cells)[lead.rival]}{unit}{span}{_on_threads(result, lead)}"


def _on_threads(result: GroupResult, lead: Lead | Winner) -> str:
    """Return on how many threads the two run, where that is not the same number."""
    used = {cell.id: cell.effective.get("threads") for cell in result.cells}
    own, other = used.get(lead.cell), used.get(lead.rival)
    return "" if None in (own, other) or own == other else f" on {own} threads against {other}"


def _preview(leader: str, rival: str, ahead: str, lead: Lead) -> str:
    if lead.launches == 1:
        return f"{leader} leads, {ahead}, in the only launch, which gives no range"
    if lead.low <= 1:
        return f"{leader} and {rival} cannot be told apart, {ahead}, the range over {plural(lead.launches, 'launch')}"
    return f"{leader} leads, {ahead}, the range over {plural(lead.launches, 'launch')}"


def _adjusted(result: GroupResult) -> str:
    return " (adjusted for choosing the best)" if sum(cell.speedup is not None for cell in result.cells) > 1 else ""


def footer(result: GroupResult) -> Iterator[str]:
    """Yield how it was measured, what the columns mean, what marks the rows, and further notes."""
    yield _SEPARATOR.join(_protocol(result))
    yield _SEPARATOR.join(_legend(result))
    if _assumes_one_mode(result):
        yield "few launches: their intervals assume that launches scatter around one usual speed"
    names = row_names(result.cells)
    marks = dict.fromkeys(mark for cell in result.cells for mark in row_marks(cell))
    for mark in marks:
        yield f"* {mark}: {', '.join(names[cell.id] for cell in result.cells if mark in row_marks(cell))}"
    above = _leader(result)
    yield from (note for note in result.notes if note != above)


def remarks(result: GroupResult) -> Iterator[str]:
    """Yield wrong outputs and warnings, each with what to do about it; a warning's code is where it is explained."""
    names = row_names(result.cells)
    for cell in result.cells:
        if cell.state == "mismatch" and cell.latency_ms is not None:
            yield f"mismatch: {names[cell.id]}: {reason(cell)}"
    yield from _not_applicable(result)
    for warning in result.warnings:
        yield f"warning: {' '.join(filter(None, (warning.message, warning.remedy)))} [{warning.code}]"


def _not_applicable(result: GroupResult) -> Iterator[str]:
    """Yield why rows cannot run the model: a sentence for all that have the same reason."""
    names = row_names(result.cells)
    rows: dict[Failure, list[str]] = {}
    for cell in result.cells:
        if cell.state == "not-applicable" and cell.failure is not None:
            rows.setdefault(cell.failure, []).append(names[cell.id])
    for failure, labels in rows.items():
        hint = f" {failure.hint}" if failure.hint else ""
        yield f"not applicable: {', '.join(labels)}: {failure.message}.{hint}"


def incomplete(document: RunDocument) -> str:
    """Return that the run did not end by itself, so that tables may be missing; an empty line where it did."""
    return "" if document.complete else "The run was ended before it was complete: tables may be missing."


def reason(cell: CellResult) -> str:
    """Return in words why a cell has no figures, or none that count."""
    state = cell.state.replace("-", " ")
    if cell.failure is None or cell.state == "not-applicable":  # told below the table, once for all such rows
        return state
    where = f"{state} at {cell.failure.stage.replace('_', ' ')}" if cell.state == "failed" else state
    why = _SEPARATOR.join(part.strip() for part in (cell.failure.message, cell.failure.hint or "") if part.strip())
    return why if cell.state == "mismatch" and cell.latency_ms is not None else f"{where}: {why}"


def row_marks(cell: CellResult) -> tuple[str, ...]:
    """Return what must be said of a row beside its figures, once each."""
    spoken = (cell.speedup.reason,) if cell.speedup is not None and cell.speedup.reason else ()
    return tuple(dict.fromkeys((*cell.marks, *spoken)))


def _protocol(result: GroupResult) -> Iterator[str]:
    if result.blocks_measured:
        size = f"{plural(result.launches, 'launch')} x {plural(result.blocks_per_launch, 'block')}{_raced(result)}"
        yield f"{'preview: ' if result.preview else ''}{size}, {_set_aside(result)}"
    else:
        yield "no launch was finished"
    yield f"{result.seconds:.0f} s"
    yield _STOPPED[result.stopped_by]


def _raced(result: GroupResult) -> str:
    """Return that some rows ran in fewer launches, being decided before."""
    compared = [cell for cell in result.cells if cell.speedup is not None or cell.id == result.baseline]
    counts = [cell.launches_measured for cell in compared if cell.launches_measured is not None]
    return f" (decided rows left after {min(counts)})" if counts and min(counts) < max(counts) else ""


def _set_aside(result: GroupResult) -> str:
    if result.blocks_set_aside == 0:
        disturbed = result.blocks_disturbed
        return f"{disturbed} of {result.blocks_measured} disturbed, all counted" if disturbed else "none disturbed"
    share = f"{result.blocks_set_aside} of {result.blocks_measured} set aside"
    speedups = [cell.speedup for cell in result.cells if cell.speedup is not None]
    if not speedups:
        return share
    if any(speedup.all_blocks_verdict not in (speedup.verdict, None) for speedup in speedups):
        return f"{share} (verdicts change with them)"
    if any(not speedup.low <= speedup.all_blocks_value <= speedup.high for speedup in speedups):
        return f"{share} (speedups move with them)"
    known = all(speedup.all_blocks_verdict is not None for speedup in speedups)
    return f"{share} (same verdicts with them)" if known else share


def _legend(result: GroupResult) -> Iterator[str]:
    latencies = [cell.latency_ms for cell in result.cells if cell.latency_ms is not None]
    if any(cell.launch_spread is not None for cell in result.cells):
        yield "spread: of launch medians"
    yield "ready: process start to first answer"
    if not any(latency.p99 is not None for latency in latencies):
        yield "p99: use --tail"
    if any(latency.calls_per_sample > 1 for latency in latencies):
        yield "p90: not measured, a sample is several calls"
    if result.verified_against is not None:
        yield f"max err: against {result.verified_against}"
    if result.unverified:
        yield "speedup ?: outputs unverified"


def _assumes_one_mode(result: GroupResult) -> bool:
    in_rows = any(cell.speedup is not None and cell.speedup.assumes_one_mode for cell in result.cells)
    return in_rows or (result.lead is not None and result.lead.assumes_one_mode)


def _precision(cell: CellResult) -> str:
    return str(cell.effective.get("precision") or cell.requested.precision)


def _threads(cells: Sequence[CellResult]) -> str:
    found = {cell.effective.get("threads") or cell.requested.threads for cell in cells}
    if len(found) != 1:
        return "threads differ"
    (threads,) = found
    return "native threads" if threads is None else plural(int(threads), "thread")


def _cores(environment: Mapping[str, Any], plan: Mapping[str, Any]) -> str:
    cpus, cores = plan.get("cpus"), environment.get("physical_cores_allowed")
    if isinstance(cpus, Sequence) and cpus:
        return f" on {'processor' if len(cpus) == 1 else 'processors'} {','.join(str(cpu) for cpu in cpus)}"
    return f" on {plural(cores, 'core')}" if isinstance(cores, int) else ""


def _mode(result: GroupResult) -> str:
    io = _same({_IO[cell.io] for cell in result.cells}, "copies in some cells")
    if all(cell.mode == "sync" for cell in result.cells):
        return f"sync, back to back, {io}"
    return f"streams, compared by FPS, {io}"


def _shape(name: str, shape: Sequence[int], inputs: int) -> str:
    sizes = "x".join(str(size) for size in shape) or "scalar"
    return sizes if inputs == 1 else f"{name} {sizes}"


def _same(values: set[str], otherwise: str) -> str:
    return values.pop() if len(values) == 1 else otherwise
