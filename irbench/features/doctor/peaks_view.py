"""What a machine attains at most: in a few sentences, in two tables, and as a document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from irbench.core.quantities import NOT_MEASURED, age, binary_size, listing, percent, plural, significant
from irbench.features.doctor.report import NOT_KEPT_TEXTS, NotKept, PeakReport
from irbench.measure.hardware_probes import ACCESSES
from irbench.render.table import Column, Row, TextTable
from irbench.roofline import MEMORY, Bandwidth, ComputePeak, MachinePeaks, best_bandwidth, ridge_point

_MOST_DISTURBED = 0.5
"""Of the blocks: below, those that count are undisturbed."""


def products_progress(*, chosen: bool) -> str:
    """Return what is measured now: every size on every backend, or the fastest of them."""
    if chosen:
        return "measuring the fastest matrix products of each precision ..."
    return "looking for the fastest matrix products: every size and backend, one launch each ..."


def bandwidth_progress(launch: int, launches: int) -> str:
    """Return which launch of the measurement of bandwidths begins."""
    return f"measuring the bandwidth of caches and memory, launch {launch} of {launches} ..."


def peaks_message(report: PeakReport) -> str:
    """Return what is attained, what limits computations, and when that was measured."""
    if report.peaks is None:
        return "Interrupted: no peak is known of this machine yet."
    return " ".join((*_compute(report.peaks), *_memory(report.peaks), *_doubt(report.peaks), *_when(report)))


def compute_table(peaks: MachinePeaks) -> TextTable:
    """Return the peaks of matrix products, a row for each precision and number of cores."""
    columns = (
        Column("precision", words=True),
        Column("cores"),
        Column(f"GFLOP/s {_confidence(peaks)}"),
        Column("backend", words=True),
        Column("matrices", words=True, drops=1),
        Column("launches", drops=2),
    )
    rows = (
        Row(
            (
                peak.precision,
                str(peak.threads),
                _interval(peak.gflop_per_s, peak.low, peak.high),
                peak.backend,
                f"{peak.side} x {peak.side}",
                str(peak.launches),
            )
        )
        for peak in peaks.compute
    )
    return TextTable(columns, tuple(rows))


def bandwidth_table(peaks: MachinePeaks) -> TextTable:
    """Return the bandwidth of each level, a row for each level and number of cores."""
    headings = [Column(f"{access} GB/s", drops=2 if access == "copy" else 0) for access in ACCESSES]
    columns = (Column("level", words=True), Column("cores"), Column("working set", drops=1), *headings)
    places = dict.fromkeys((found.level, found.threads) for found in peaks.bandwidth)
    return TextTable(columns, tuple(_level_row(peaks, level, threads) for level, threads in places))


def peaks_document(report: PeakReport | None) -> dict[str, Any] | None:
    """Return everything but the raw times as JSON values; ``None`` where no peaks are known and none were asked for."""
    if report is None:
        return None
    peaks = report.peaks
    if peaks is None:
        return {"outcome": report.outcome, "measured": None, "compute": [], "bandwidth": []}
    known = {name: value for name, value in asdict(peaks).items() if name != "samples"}
    return {"outcome": report.outcome, "not_kept": report.not_kept, **known, "ridge_points": list(_ridge_points(peaks))}


def _ridge_points(peaks: MachinePeaks) -> Iterator[dict[str, Any]]:
    for peak in peaks.compute:
        for level in peaks.levels:
            found = ridge_point(peaks, peak.precision, peak.threads, level)
            if found is not None:
                yield {
                    "precision": peak.precision,
                    "threads": peak.threads,
                    "level": level,
                    "operations_per_byte": found,
                }


def _compute(peaks: MachinePeaks) -> Iterator[str]:
    if not peaks.compute:
        yield "No peak of matrix products is known: no installed backend that reads ONNX gave right answers."
    for threads in dict.fromkeys(peak.threads for peak in peaks.compute):
        of_threads = [peak for peak in peaks.compute if peak.threads == threads]
        attained = listing(
            f"{_rate(peak)} {'GFLOP/s ' * (place == 0)}in {peak.precision} ({peak.backend})"
            for place, peak in enumerate(of_threads)
        )
        yield f"{_cores(threads)} at most {attained}."


def _cores(threads: int) -> str:
    return "One core attains" if threads == 1 else f"{threads} cores attain"


def _rate(peak: ComputePeak) -> str:
    return significant(peak.gflop_per_s, _spread(peak.gflop_per_s, peak.low, peak.high))


def _memory(peaks: MachinePeaks) -> Iterator[str]:
    rates = [(threads, best) for threads in peaks.threads if (best := best_bandwidth(peaks, threads)) is not None]
    if not rates:
        return
    each = listing(
        f"{significant(best.gb_per_s, _spread(best.gb_per_s, best.low, best.high))} {'GB/s ' * (place == 0)}"
        f"for {plural(threads, 'core')}"
        for place, (threads, best) in enumerate(rates)
    )
    yield f"Main memory moves {each}."
    threads = rates[-1][0]
    ridges = [(peak.precision, ridge_point(peaks, peak.precision, threads)) for peak in peaks.compute]
    known = [f"{ridge:.0f} in {precision}" for precision, ridge in dict(ridges).items() if ridge is not None]
    if known:
        yield (
            f"With {plural(threads, 'core')} and data from main memory, arithmetic is the limit only from so many"
            f" operations per byte on: {listing(known)}."
        )


def _doubt(peaks: MachinePeaks) -> Iterator[str]:
    if peaks.disturbed_share is not None and peaks.disturbed_share > _MOST_DISTURBED:
        yield (
            f"Other programs disturbed {percent(peaks.disturbed_share, 0)} of the measurement, so the machine attains"
            " more when it is idle: measure again then."
        )


def _when(report: PeakReport) -> Iterator[str]:
    if report.peaks is None:
        return
    if report.outcome == "measured":
        yield _kept(report.peaks, report.not_kept)
        return
    ago = age(report.peaks.measured, report.now)
    if report.outcome == "interrupted":
        yield "Interrupted: these are the peaks that were known before."
    yield f"Measured {'just now' if ago == 'now' else f'{ago} ago'}; {report.peaks.command} measures them again."


def _kept(peaks: MachinePeaks, not_kept: NotKept | None) -> str:
    if not_kept is None:
        return "Measured now, and kept for this machine."
    return f"Measured now by {peaks.command}, and not kept: {NOT_KEPT_TEXTS[not_kept]}."


def _level_row(peaks: MachinePeaks, level: str, threads: int) -> Row:
    found = [peaks.bandwidth_of(level, threads, access) for access in ACCESSES]
    size = next((each.working_set_bytes for each in found if each is not None), 0)
    name = "main memory" if level == MEMORY else level
    return Row((name, str(threads), _size(size), *(_bandwidth(each) for each in found)))


def _bandwidth(found: Bandwidth | None) -> str:
    return NOT_MEASURED if found is None else _interval(found.gb_per_s, found.low, found.high)


def _size(count: int) -> str:
    """Return a size in whole KiB, or in whole MiB from ten of them on."""
    step = 1 << (20 if count >= 10 << 20 else 10)
    return binary_size(count // step * step)


def _interval(value: float, low: float, high: float) -> str:
    spread = _spread(value, low, high)
    decimals = _decimals(significant(value, spread))
    return f"{value:.{decimals}f} [{low:.{decimals}f}, {high:.{decimals}f}]"


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])


def _spread(value: float, low: float, high: float) -> float:
    return max((high - low) / 2 / value, 1e-3)


def _confidence(peaks: MachinePeaks) -> str:
    levels = {peak.confidence for peak in peaks.compute}
    return "[95 %]" if None not in levels else "[range]"
