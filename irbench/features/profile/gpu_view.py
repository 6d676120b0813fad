"""What an inference on a GPU is made of, in words and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irbench.core.quantities import NOT_MEASURED, percent
from irbench.features.profile.estimates import Estimate
from irbench.features.profile.gpu import GpuParts
from irbench.features.profile.record import ProfileDocument
from irbench.features.profile.report import CellSummary
from irbench.features.profile.texts import milliseconds
from irbench.render.table import Column, Row, TextTable

_LEAST_SHARE = 0.01
"""The least share of the latency that is worth a word."""


def gpu_headlines(cells: Sequence[CellSummary]) -> Iterator[str]:
    """Yield a sentence for each cell that ran on a GPU: what its latency is made of."""
    for cell in cells:
        if cell.gpu is None or cell.latency_ns is None:
            continue
        gpu, latency = cell.gpu, cell.latency_ns.value
        copy_in, copy_out = _share(gpu.copy_in_ns, latency), _share(gpu.copy_out_ns, latency)
        copies = f"{copy_in} in copies to the GPU and {copy_out} in copies from it"
        if gpu.kernels_ns is None or gpu.waiting_ns is None:
            yield f"Of its latency {cell.label} spends {copies}; {_hand_over(gpu)}."
            continue
        kernels, waiting = _share(gpu.kernels_ns, latency), _share(gpu.waiting_ns, latency)
        spends = f"Of its latency {cell.label} spends {kernels} in kernels, {copies}"
        yield f"{spends}; for {waiting} the GPU waits for the host."


def gpu_table(cells: Sequence[CellSummary]) -> TextTable:
    """Return the parts of the latency on a GPU, with their shares; without rows where no cell ran on one."""
    on_gpu = [cell for cell in cells if cell.gpu is not None]
    columns = (Column("ms on the GPU", words=True), *(each for cell in on_gpu for each in _columns(cell)))
    names = ("copies in", "kernels", "waits for the host", "kernels and waiting", "copies out", "latency, profiled")
    rows = (
        Row((name, *(text for cell in on_gpu for text in _figures(_part(cell, name), cell))))
        for name in names
        if name != "kernels and waiting" or any(cell.gpu is not None and cell.gpu.kernels_ns is None for cell in on_gpu)
    )
    return TextTable(columns, tuple(rows) if on_gpu else ())


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


def _columns(cell: CellSummary) -> tuple[Column, Column]:
    return Column(cell.label), Column("%")


def _part(cell: CellSummary, name: str) -> Estimate | None:
    gpu = cell.gpu
    assert gpu is not None
    return {
        "copies in": gpu.copy_in_ns,
        "kernels": gpu.kernels_ns,
        "waits for the host": gpu.waiting_ns,
        "kernels and waiting": gpu.between_copies_ns,
        "copies out": gpu.copy_out_ns,
        "latency, profiled": cell.latency_ns,
    }[name]


def _figures(found: Estimate | None, cell: CellSummary) -> tuple[str, str]:
    if found is None or cell.latency_ns is None:
        return NOT_MEASURED, ""
    share = "" if found is cell.latency_ns else _points(found, cell.latency_ns.value)
    return milliseconds(found.value), share


def _points(part: Estimate, latency_ns: float) -> str:
    return f"{100 * part.value / latency_ns:.0f}"


def _share(part: Estimate, latency_ns: float) -> str:
    return percent(part.value / latency_ns, 0)
