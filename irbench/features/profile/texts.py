"""The words of an operator profile: its title, what is said first, and what belongs below its tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from irbench.core.quantities import listing, percent, plural, significant
from irbench.features.profile.estimates import Estimate
from irbench.features.profile.launches import disturbance_warnings, warnings_of
from irbench.features.profile.matching import MATCHED_TEXTS, MatchedBy
from irbench.features.profile.record import PROFILE_STOPPED_TEXTS, ProfileDocument
from irbench.features.profile.report import (
    NO_SPEED_TEXTS,
    CellSummary,
    Excess,
    Figures,
    HeadlineFacts,
    NoSpeed,
    OperatorShare,
    PartRow,
    ProfileReport,
)
from irbench.notices import Context
from irbench.onnx.operator_classes import OperatorClass
from irbench.render.figures import ratio_with_ends
from irbench.render.table_title import SEPARATOR, confinement_text, sizes_text
from irbench.render.words import OPERATOR_CLASS_TEXTS, failure_sentence
from irbench.spec import Timing

_SHORT_MS = 0.1
_DOUBTFUL: tuple[MatchedBy, ...] = ("position", "signature", "unmatched")
_NEARLY_ALL = 0.995
_LEAST_SHARE = 0.01
"""The least share of the time that is worth a word on how it was joined."""


def profile_title(document: ProfileDocument) -> str:
    """Return what was profiled, and how."""
    threads = {str(cell.effective["threads"]) for cell in document.cells if cell.effective.get("threads") is not None}
    launches = max((len(cell.launches) for cell in document.cells), default=0)
    facts = (
        f"{document.model}  {sizes_text(document.shapes)}",
        plural(int(threads.pop()), "thread") if len(threads) == 1 else "",
        confinement_text(document.environment),
        f"{plural(launches, 'launch')} of {document.inferences} or more inferences",
        f"{document.seconds:.0f} s",
    )
    return SEPARATOR.join(fact for fact in facts if fact)


def headline_lines(document: ProfileDocument, report: ProfileReport) -> Iterator[str]:
    """Yield the latencies without profiling, and a sentence for each backend: where its time goes, where it loses."""
    if report.by_latency:
        yield _latencies(report, is_busy=any(disturbance_warnings(document.cells)))
    cells = {cell.id: cell for cell in report.cells}
    labels = {cell.id: cell.label for cell in report.cells}
    rows = {row.operator_class: row for row in report.classes}
    for facts in report.headline:
        cell = cells[facts.cell]
        spends = f"{cell.label} spends {_where(facts, rows, has_speed=not cell.is_costly)}"
        loses = _loses(facts.excess, cell, labels) if facts.excess is not None else ""
        yield "; ".join(said for said in (spends, _remainder(cell), _reservation(cell), loses) if said) + "."


def _latencies(report: ProfileReport, *, is_busy: bool) -> str:
    """Return what each backend takes without profiling, the fastest first."""
    first, *others = [(cell.label, _estimated_ms(cell.plain_ns)) for cell in report.by_latency]
    parts = (f"{first[0]} takes {first[1]} ms", *(f"{label} {latency} ms" for label, latency in others))
    beside = " beside the other programs that ran, and irbench run tells more" if is_busy else ""
    fastest = f": {report.fastest.label} is fastest{beside}" if report.fastest is not None else ""
    return f"Without profiling {', '.join(parts)}{fastest}."


def _reservation(cell: CellSummary) -> str:
    """Return that the times are not those of an inference as it usually runs, where profiling costs too much."""
    if not cell.is_costly or cell.slowdown is None:
        return ""
    return f"these are times of a profiled run, which takes {cell.slowdown.value:.1f} times as long"


def _where(facts: HeadlineFacts, rows: Mapping[OperatorClass, PartRow], *, has_speed: bool) -> str:
    largest = rows[facts.largest].figures[facts.cell]
    speed = largest.flops_per_s if has_speed else None
    rate = f" at {significant(speed / 1e9)} GFLOP/s{_of_peak(largest)}" if speed else ""
    where = f"{OPERATOR_CLASS_TEXTS[facts.largest].phrase}{_named(facts.operators, largest.share.value)}"
    said = f"{percent(largest.share.value, 0)} of its operators' time in {where}{rate}"
    if facts.next_largest is None:
        return said
    share = rows[facts.next_largest].figures[facts.cell].share.value
    return f"{said}, {percent(share, 0)} in {OPERATOR_CLASS_TEXTS[facts.next_largest].phrase}"


def _named(operators: Sequence[OperatorShare], whole: float) -> str:
    """Return the operators that take the most of a class; without a share where one of them is all of it."""
    if len(operators) == 1 and operators[0].share >= _NEARLY_ALL * whole:
        return f" ({operators[0].name})"
    named = ", ".join(f"{found.name} {percent(found.share, 0)}" for found in operators)
    return f" ({named})" if named else ""


def _of_peak(figures: Figures) -> str:
    return "" if figures.peak_share is None else f" ({percent(figures.peak_share, 0)} of peak)"


def _remainder(cell: CellSummary) -> str:
    """Return how the latency differs from the sum of operators, where that matters; shares say nothing of it."""
    between, latency, operators = (_estimated_ms(found) for found in (cell.between_ns, cell.latency_ns, cell.sum_ns))
    if cell.overlaps:
        return f"operators run at the same time, {operators} ms of them in {latency} ms"
    return f"{between} of {latency} ms lie between operators" if cell.has_gap and cell.gpu is None else ""


def _estimated_ms(found: Estimate | None) -> str:
    return milliseconds(None if found is None else found.value)


def _loses(excess: Excess, cell: CellSummary, labels: Mapping[str, str]) -> str:
    where = OPERATOR_CLASS_TEXTS[excess.operator_class].phrase
    of_operators = " of operators' time" if cell.overlaps else ""
    said = f"it loses {milliseconds(excess.time_ns)} ms{of_operators} to {labels[excess.against]} in {where}"
    if excess.inserted_ns > excess.time_ns / 2:
        return f"{said}, most of it added by the runtime"
    return said


def below_tables(document: ProfileDocument, report: ProfileReport) -> Iterator[str]:
    """Yield what a reader must know besides the figures, the most important first."""
    for cell in report.cells:
        if cell.failure is not None:
            yield f"{cell.label}: {failure_sentence(cell.failure)}"
    measured = [cell for cell in report.cells if cell.launches]
    overlapping = [cell.label for cell in measured if cell.overlaps]
    if overlapping:
        yield f"{listing(overlapping)}: operators ran at the same time, so they add up to more than the latency."
    yield from (joined for cell in measured if (joined := _joined(cell)))
    yield from (_rounded(cell) for cell in measured if cell.uncertainty_ns and cell.gpu is None)
    if measured:
        yield _interval(measured)
        yield f"Cost of profiling: {', '.join(map(_slowdown, measured))}."
    noisy = [cell.label for cell in measured if cell.cost_is_noise]
    if noisy:
        yield f"{listing(noisy)}: a cost of profiling below 1 is noise: the machine's speed changed between the runs."
    if document.peaks is not None and _has_peak_shares(report):
        yield (
            "of peak: share of what matrix products attained at most on the same machine in the same precision with as"
            f" many threads, measured {document.peaks.measured[:10]} (irbench doctor){_other_versions(document)}."
        )
    for warning in warnings_of(document):
        yield f"warning: {warning.whole(Context())}"
    yield from (note.text(Context({cell.id: cell.label for cell in report.cells})) for note in document.notes)
    if PROFILE_STOPPED_TEXTS[document.stopped_by]:
        yield PROFILE_STOPPED_TEXTS[document.stopped_by]


def no_speed_lines(report: ProfileReport, classes: Sequence[PartRow]) -> Iterator[str]:
    """Yield why the table of speeds has none of some classes, and of which backends where it has those of others."""
    measured = [cell for cell in report.cells if cell.launches]
    found: dict[NoSpeed, list[str]] = {}
    for row in classes:
        whys: dict[str, NoSpeed | None] = {
            cell.label: row.no_speed(cell.id) for cell in measured if cell.id in row.figures
        }
        reasons: dict[NoSpeed, None] = {why: None for why in whys.values() if why is not None}
        for why in reasons:
            labels = [label for label, other in whys.items() if other == why]
            of = f" ({listing(labels)})" if len(labels) < len(whys) else ""
            found.setdefault(why, []).append(f"{class_name(row.operator_class)}{of}")
    yield from (f"No GFLOP/s of {listing(parts)}: {NO_SPEED_TEXTS[why]}." for why, parts in found.items())


def fused_nodes_lines(rows: Iterable[PartRow]) -> Iterator[str]:
    """Yield what ``+8`` behind the name of a node means, where a row has it."""
    others = sorted({len(row.nodes) - 1 for row in rows if len(row.nodes) > 1})
    if not others:
        return
    codes = ", ".join(f"+{number}" for number in others)
    count = plural(others[0], "other node") if len(others) == 1 else "so many other nodes"
    yield f"{codes}: with {count} that a backend fuses with it."


def _other_versions(document: ProfileDocument) -> str:
    """Return which backends had another version when the peaks were measured; nothing where that is unknown."""
    versions = {} if document.peaks is None else document.peaks.versions
    found = {cell.backend: str(cell.effective.get("version")) for cell in document.cells if cell.launches}
    others = [
        f"{backend} {versions[backend]} (here {version})"
        for backend, version in found.items()
        if versions.get(backend, version) != version
    ]
    return f" with {listing(others)}" if others else ""


def _has_peak_shares(report: ProfileReport) -> bool:
    rows = (*report.classes, *report.operators, *report.nodes)
    return any(figures.peak_share is not None for row in rows for figures in row.figures.values())


def _slowdown(cell: CellSummary) -> str:
    """Return by how much profiling lengthens calls, with its interval."""
    found = cell.slowdown
    assert found is not None
    value, shown = ratio_with_ends(found.value, found.ends, marks_ranges=True)
    return f"{cell.label} {value}x{shown}"


def _joined(cell: CellSummary) -> str:
    """Return how operators were joined, where that is worth a word."""
    parts = [
        f"{percent(cell.matched[way], 0)} {MATCHED_TEXTS[way]}"
        for way in _DOUBTFUL
        if cell.matched.get(way, 0.0) >= _LEAST_SHARE
    ]
    return f"{cell.label}: {', '.join(parts)}." if parts else ""


def _rounded(cell: CellSummary) -> str:
    microseconds = cell.uncertainty_ns / 1e3
    return f"{cell.label}: its runtime rounds, so the time of each operator is known to ±{microseconds:.1f} us."


def _interval(measured: list[CellSummary]) -> str:
    """Return what ``±`` means, of each cell where they differ."""
    labels: dict[tuple[int, float | None], list[str]] = {}
    for cell in measured:
        labels.setdefault((cell.launches, cell.confidence), []).append(cell.label)
    if set(labels) == {(1, None)}:
        return "A single launch: a preview, without intervals."
    ends = [_ends_of(*launches, names if len(labels) > 1 else ()) for launches, names in labels.items()]
    preview = f": a preview; intervals take {Timing().min_launches} launches"
    few = any(confidence is None for _, confidence in labels)
    return f"±: {'; '.join(ends)}, in percentage points{preview if few else ''}."


def _ends_of(launches: int, confidence: float | None, names: Sequence[str]) -> str:
    whose = f" of {listing(names)}" if names else ""
    if launches == 1:
        return f"none{whose}, a single launch"
    what = "range" if confidence is None else f"{percent(confidence, 0)} confidence interval"
    return f"the {what} over {plural(launches, 'launch')}{whose}"


def milliseconds(value_ns: float | None) -> str:
    """Return a time in milliseconds with three digits, at most three of them after the point."""
    if value_ns is None:
        return significant(None)
    value = value_ns / 1e6
    return significant(value) if abs(value) >= _SHORT_MS else f"{value:.3f}"


def class_name(operator_class: OperatorClass) -> str:
    """Return what tables call a class of work."""
    return OPERATOR_CLASS_TEXTS[operator_class].heading
