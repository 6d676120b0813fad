"""The words of an operator profile: its title, what is said first, and what belongs below its tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from irbench.core.quantities import NOT_MEASURED, listing, percent, plural, significant
from irbench.core.row import LaunchesStop
from irbench.features.profile.joining import (
    MatchedBy,
)
from irbench.features.profile.profile_document import (
    ProfileDocument,
)
from irbench.features.profile.report import (
    CellSummary,
    Estimate,
    Excess,
    GpuParts,
    HeadlineFacts,
    NoSpeed,
    OperatorShare,
    PartRow,
    ProfileReport,
)
from irbench.notices import Context
from irbench.notices.warnings import BusyMachine
from irbench.onnx.operator_classes import OPERATOR_CLASS_TEXTS, OperatorClass
from irbench.render.failure_texts import failure_sentence
from irbench.render.figure_texts import ratio_with_ends
from irbench.render.table_title import SEPARATOR, confinement_text, sizes_text
from irbench.spec import Timing

NO_SPEED_TEXTS: Mapping[NoSpeed, str] = {
    "nothing-counted": "nothing is computed there that counts as an operation",
    "unknown-operations": "the nodes are unknown, or no formula counts their operations",
    "counted-elsewhere": "the operations count for another operator of the same nodes",
    "partly-known": "operators whose operations are known take less than nine tenths of the time",
}
_DOUBTFUL: Mapping[MatchedBy, str] = {
    "position": "matched to nodes by the order of execution, because the runtime does not name them",
    "signature": "joined by class and shape along the graph",
    "unmatched": "in operators whose nodes are unknown",
}
_STOPPED_EARLY: Mapping[LaunchesStop, str] = {
    "budget": "The budget ended it: a larger --budget has more launches.",
    "interrupt": "Interrupted: these are the results until then.",
    "unfinished": "Unfinished: these are the results until then.",
}
_SHORT_MS = 0.1
_NEARLY_ALL = 0.995
_LEAST_SHARE = 0.01
"""The least share of the time, or of the latency, that is worth a word."""


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
        first, *others = [(cell.label, estimated(cell.plain_ns)) for cell in report.by_latency]
        parts = (f"{first[0]} takes {first[1]} ms", *(f"{label} {latency} ms" for label, latency in others))
        is_busy = any(isinstance(warning, BusyMachine) for warning in document.warnings)
        beside = " beside the other programs that ran, and irbench run tells more" if is_busy else ""
        fastest = f": {report.fastest.label} is fastest{beside}" if report.fastest is not None else ""
        yield f"Without profiling {', '.join(parts)}{fastest}."
    cells = {cell.id: cell for cell in report.cells}
    rows = {row.operator_class: row for row in report.classes}
    for facts in report.headline:
        cell = cells[facts.cell]
        spends = f"{cell.label} spends {_where(facts, rows, has_speed=not cell.is_costly)}"
        loses = _loses(facts.excess, cell, cells) if facts.excess is not None else ""
        reservation = ""
        if cell.is_costly and cell.slowdown is not None:
            times = f"{cell.slowdown.value:.1f} times"
            reservation = f"these are times of a profiled run, which takes {times} as long"
        yield "; ".join(part for part in (spends, _remainder(cell), reservation, loses) if part) + "."


def _where(facts: HeadlineFacts, rows: Mapping[OperatorClass, PartRow], *, has_speed: bool) -> str:
    largest = rows[facts.largest].figures[facts.cell]
    speed = largest.flops_per_s if has_speed else None
    of_peak = "" if largest.peak_share is None else f" ({percent(largest.peak_share, 0)} of peak)"
    rate = f" at {significant(speed / 1e9)} GFLOP/s{of_peak}" if speed else ""
    where = f"{OPERATOR_CLASS_TEXTS[facts.largest].phrase}{_named(facts.operators, largest.share.value)}"
    share_text = f"{percent(largest.share.value, 0)} of its operators' time in {where}{rate}"
    if facts.next_largest is None:
        return share_text
    next_share = rows[facts.next_largest].figures[facts.cell].share.value
    return f"{share_text}, {percent(next_share, 0)} in {OPERATOR_CLASS_TEXTS[facts.next_largest].phrase}"


def _named(operators: Sequence[OperatorShare], whole: float) -> str:
    """Return the operators that take the most of a class; without a share where one of them is all of it."""
    if len(operators) == 1 and operators[0].share >= _NEARLY_ALL * whole:
        return f" ({operators[0].name})"
    named = ", ".join(f"{operator.name} {percent(operator.share, 0)}" for operator in operators)
    return f" ({named})" if named else ""


def _remainder(cell: CellSummary) -> str:
    """Return how the latency differs from the sum of operators, where that matters; shares say nothing of it."""
    between, latency, operators = map(estimated, (cell.between_ns, cell.latency_ns, cell.sum_ns))
    if cell.overlaps:
        return f"operators run at the same time, {operators} ms of them in {latency} ms"
    return f"{between} of {latency} ms lie between operators" if cell.has_gap and cell.gpu is None else ""


def _loses(excess: Excess, cell: CellSummary, cells: Mapping[str, CellSummary]) -> str:
    where = OPERATOR_CLASS_TEXTS[excess.operator_class].phrase
    of_operators = " of operators' time" if cell.overlaps else ""
    added = ", most of it added by the runtime" if excess.inserted_ns > excess.time_ns / 2 else ""
    other = cells[excess.against].label
    return f"it loses {milliseconds(excess.time_ns)} ms{of_operators} to {other} in {where}{added}"


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
    for cell in measured:
        if cell.uncertainty_ns and cell.gpu is None:
            known = f"±{cell.uncertainty_ns / 1e3:.1f} us"
            yield f"{cell.label}: its runtime rounds, so the time of each operator is known to {known}."
    if measured:
        yield _interval(measured)
        yield f"Cost of profiling: {', '.join(map(_slowdown, measured))}."
    noisy = [cell.label for cell in measured if cell.cost_is_noise]
    if noisy:
        yield f"{listing(noisy)}: a cost of profiling below 1 is noise: the machine's speed changed between the runs."
    yield from _peaks(document, report)
    yield from warning_lines(document)
    yield from (note.text(Context({cell.id: cell.label for cell in report.cells})) for note in document.notes)
    if document.stopped_by in _STOPPED_EARLY:
        yield _STOPPED_EARLY[document.stopped_by]


def warning_lines(document: ProfileDocument) -> Iterator[str]:
    """Yield what speaks against all figures."""
    return (f"warning: {warning.whole(Context())}" for warning in document.warnings)


def no_speed_lines(report: ProfileReport, classes: Sequence[PartRow]) -> Iterator[str]:
    """Yield why the table of speeds has none of some classes, and of which backends where it has those of others."""
    measured = [cell for cell in report.cells if cell.launches]
    parts = defaultdict[NoSpeed, list[str]](list)
    for row in classes:
        cells = [cell for cell in measured if cell.id in row.figures]
        labels = defaultdict[NoSpeed, list[str]](list)
        for cell in cells:
            reason = row.no_speed(cell.id)
            if reason is not None:
                labels[reason].append(cell.label)
        for reason, without in labels.items():
            of = f" ({listing(without)})" if len(without) < len(cells) else ""
            parts[reason].append(f"{class_name(row.operator_class)}{of}")
    yield from (f"No GFLOP/s of {listing(names)}: {NO_SPEED_TEXTS[reason]}." for reason, names in parts.items())


def fused_nodes_lines(rows: Iterable[PartRow]) -> Iterator[str]:
    """Yield what ``+8`` behind the name of a node means, where a row has it."""
    others = sorted({len(row.nodes) - 1 for row in rows if len(row.nodes) > 1})
    if not others:
        return
    codes = ", ".join(f"+{number}" for number in others)
    count = plural(others[0], "other node") if len(others) == 1 else "so many other nodes"
    yield f"{codes}: with {count} that a backend fuses with it."


def _peaks(document: ProfileDocument, report: ProfileReport) -> Iterator[str]:
    """Yield what shares of the peak are, and which backends had another version when the peaks were measured."""
    peaks, rows = document.peaks, (*report.classes, *report.operators, *report.nodes)
    if peaks is None or all(figures.peak_share is None for row in rows for figures in row.figures.values()):
        return
    used = {cell.backend: str(cell.effective.get("version")) for cell in document.cells if cell.launches}
    others = [
        f"{backend} {peaks.versions[backend]} (here {version})"
        for backend, version in used.items()
        if peaks.versions.get(backend, version) != version
    ]
    yield (
        "of peak: share of what matrix products attained at most on the same machine in the same precision with as many"
        f" threads, measured {peaks.measured[:10]} (irbench doctor){f' with {listing(others)}' if others else ''}."
    )


def _slowdown(cell: CellSummary) -> str:
    """Return by how much profiling lengthens calls, with its interval."""
    assert cell.slowdown is not None
    value, ends = ratio_with_ends(cell.slowdown.value, cell.slowdown.ends, marks_ranges=True)
    return f"{cell.label} {value}x{ends}{' (noise)' if cell.seems_sped_up else ''}"


def _joined(cell: CellSummary) -> str:
    """Return how operators were joined, where that is worth a word."""
    parts = [
        f"{percent(cell.matched[way], 0)} {text}"
        for way, text in _DOUBTFUL.items()
        if cell.matched.get(way, 0.0) >= _LEAST_SHARE
    ]
    return f"{cell.label}: {', '.join(parts)}." if parts else ""


def _interval(measured: list[CellSummary]) -> str:
    """Return what ``±`` means, of each cell where they differ."""
    labels = defaultdict[tuple[int, float | None], list[str]](list)
    for cell in measured:
        labels[cell.launches, cell.confidence].append(cell.label)
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


def milliseconds(value_ns: float) -> str:
    """Return a time in milliseconds with three digits, at most three of them after the point."""
    value = value_ns / 1e6
    return significant(value) if abs(value) >= _SHORT_MS else f"{value:.3f}"


def estimated(time_ns: Estimate | None) -> str:
    """Return the value of an estimate in milliseconds."""
    return NOT_MEASURED if time_ns is None else milliseconds(time_ns.value)


def class_name(operator_class: OperatorClass) -> str:
    """Return what tables call a class of work."""
    return OPERATOR_CLASS_TEXTS[operator_class].heading


def gpu_headlines(cells: Sequence[CellSummary]) -> Iterator[str]:
    """Yield a sentence for each cell that ran on a GPU: what its latency is made of."""
    for cell in cells:
        if cell.gpu is None or cell.latency_ns is None:
            continue
        gpu, latency_ns = cell.gpu, cell.latency_ns.value
        copy_in, copy_out = _share(gpu.copy_in_ns, latency_ns), _share(gpu.copy_out_ns, latency_ns)
        copies = f"{copy_in} in copies to the GPU and {copy_out} in copies from it"
        if gpu.kernels_ns is None or gpu.waiting_ns is None:
            yield f"Of its latency {cell.label} spends {copies}; {_hand_over(gpu)}."
            continue
        kernels, waiting = _share(gpu.kernels_ns, latency_ns), _share(gpu.waiting_ns, latency_ns)
        spends = f"Of its latency {cell.label} spends {kernels} in kernels, {copies}"
        yield f"{spends}; for {waiting} the GPU waits for the host."


def _share(part: Estimate, latency_ns: float) -> str:
    return percent(part.value / latency_ns, 0)


def gpu_notes(document: ProfileDocument, cells: Sequence[CellSummary]) -> Iterator[str]:
    """Yield what a reader must know besides: what is unknown, how exact it is, and what did not run on the GPU."""
    for cell, profiled in zip(cells, document.cells, strict=True):
        if cell.gpu is None:
            continue
        if cell.gpu.kernels_ns is None:
            yield (
                f"{cell.label}: its runtime records no kernels of the GPU, so the time of its operators is unknown, and"
                " how long the GPU waits for the host. docs/profiling.md says which builds record them."
            )
        elif cell.gpu.rounding_ns:
            yield (
                f"{cell.label}: its runtime cuts times of kernels off, so up to {milliseconds(cell.gpu.rounding_ns)} ms"
                " of the waiting may be kernels or copies."
            )
        yield from _on_cpu(cell, cell.gpu, profiled.effective.get("nodes"), profiled.effective.get("nodes_elsewhere"))


def _on_cpu(cell: CellSummary, gpu: GpuParts, nodes: object, elsewhere: object) -> Iterator[str]:
    """Yield how much ran on the CPU, where that is known and something did."""
    counted = f"{elsewhere} of {nodes} nodes" if isinstance(elsewhere, int) and elsewhere else ""
    share = percent(gpu.on_cpu.value, 0) if gpu.on_cpu.value >= _LEAST_SHARE else "less than 1 %"
    if counted:
        yield f"{cell.label}: {counted} ran on the CPU, {share} of the latency."
    elif gpu.on_cpu.value >= _LEAST_SHARE:
        yield f"{cell.label}: operators that ran on the CPU took {share} of the latency."


def _hand_over(gpu: GpuParts) -> str:
    """Return what is known of the rest, where the runtime records only what the host does."""
    between = milliseconds(gpu.between_copies_ns.value)
    if gpu.issuing_ns is None:
        return f"what the GPU does in the {between} ms between them is unknown"
    return f"of the {between} ms between them the host takes {milliseconds(gpu.issuing_ns.value)} ms to hand over work"
