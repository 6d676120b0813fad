"""What the cells of a site's tables say: of a machine, a setting, a figure, a speedup and a run."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from irbench.across_runs.machine_comparison import ComparedMachine, ComparedSetting, MachineCell, compare_cells
from irbench.across_runs.texts import difference_text
from irbench.across_runs.timed_runs import TimedRun
from irbench.core.plain_text import plain
from irbench.core.quantities import NOT_MEASURED, plural, significant
from irbench.core.row import CellResult, Ends, Spans
from irbench.features.report.site import Kind, run_file
from irbench.pages.values import Bar, PageCell
from irbench.render.columns.neighbours import slowdown_of
from irbench.render.figure_texts import ends_text, ratio_with_ends
from irbench.render.interval_plot import speedup_span
from irbench.render.table_title import code_in_command, command_text
from irbench.spec import Io

Axis: TypeAlias = tuple[float, float]
"""Between which speedups the bars of a table lie, which are drawn on a logarithmic scale."""
_OF_EVERY_NAME = re.compile(r"\((?:R|TM)\)|\b(?:CPU|Processor|\d+-Core)\b|@ [\d.]+GHz", re.IGNORECASE)


def machine_name(run: TimedRun) -> str:
    """Return ``Intel Xeon Platinum 8370C, 2 processors``: the processor without what all names of its maker have."""
    environment = run.document.environment
    cpu, count = environment.get("cpu"), environment.get("cpus_allowed")
    name = str(cpu.get("Model name") or "") if isinstance(cpu, Mapping) else ""
    parts = (
        " ".join(_OF_EVERY_NAME.sub(" ", name).split()),
        plural(count, "processor") if isinstance(count, int) else "",
    )
    return plain(", ".join(filter(None, parts))) or "unknown machine"


def model_of(cell: MachineCell) -> str:
    """Return the model that a cell runs."""
    return cell.setting.key.model


def backend_of(cell: MachineCell) -> str:
    """Return what runs a cell: its backend, with its device unless that is the processor."""
    key = cell.setting.key
    return key.backend if key.device == "cpu" else f"{key.backend}:{key.device}"


def kind_of(cell: MachineCell) -> Kind:
    """Return what a cell measures, also one that failed and has none of the figures of its kind."""
    plan, row = cell.run.document.plan, cell.row
    if row.requested.beside is not None:
        return "corun"
    if cell.setting.key.new_tokens or plan.generate:
        return "generation"
    return "training" if plan.training or row.loss is not None else "inference"


class MatrixPlace(NamedTuple):
    """A row of the matrix of models and backends: what is equal in its cells."""

    model: str
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    io: Io
    precision: str
    inputs: str
    machine: str


def fastest_by_backend(cells: Sequence[MachineCell]) -> Mapping[MatrixPlace, Mapping[str, MachineCell]]:
    """Return the fastest cell of each backend with one inference in flight, by place; places in their order.

    Whatever is no inference, and rows without a time, are left out.
    """
    rows: dict[MatrixPlace, dict[str, MachineCell]] = {}
    for cell in cells:
        key = cell.setting.key
        if kind_of(cell) != "inference" or key.streams > 1 or key.instances > 1 or not cell.launches_ms:
            continue
        place = MatrixPlace(key.model, key.shapes, key.io, cell.setting.precision, cell.setting.inputs, cell.machine)
        backends = rows.setdefault(place, {})
        known = backends.get(backend_of(cell))
        if known is None or _time_ms(cell) < _time_ms(known):
            backends[backend_of(cell)] = cell
    return dict(sorted(rows.items()))


def best_backends(row: Mapping[str, MachineCell], within: float) -> frozenset[str]:
    """Return the fastest of a row of the matrix, and all that are not certainly slower; none of a single backend."""
    if len(row) == 1:
        return frozenset()
    first = min(row, key=lambda backend: _time_ms(row[backend]))
    compared = {backend: compare_cells(row[first], cell, within) for backend, cell in row.items() if backend != first}
    ties = (backend for backend, other in compared.items() if not other.is_judged or other.verdict != "slower")
    return frozenset((first, *ties))


def _time_ms(cell: MachineCell) -> float:
    return statistics.median(time for launches in cell.launches_ms for time in launches)


def setting_text(setting: ComparedSetting) -> str:
    """Return how a cell runs: ``batch 1, 2 threads``."""
    key, threads = setting.key, setting.threads
    parts = (
        f"batch {key.batch}",
        plural(key.new_tokens, "new token") if key.new_tokens else "",
        "native threads" if threads is None else plural(threads, "thread"),
        plural(key.streams, "stream") if key.streams > 1 else "",
        f"{key.instances} instances" if key.instances > 1 else "",
        "without copies" if key.io == "bound" else "",
        ", ".join(f"{name}={value}" for name, value in key.options),
    )
    return plain(", ".join(filter(None, parts)))


def p50_cell(row: CellResult) -> PageCell:
    """Return the median latency of a row with its interval; its state where its outputs are not valid."""
    if row.state != "ok":
        return PageCell(row.state.replace("-", " "))
    latency = row.latency_ms
    return PageCell(_figure(row.p50_over_launches, latency.p50 if latency is not None else None))


def fps_cell(row: CellResult) -> PageCell:
    """Return the FPS of a row with its interval."""
    return PageCell(_figure(row.fps_over_launches, row.fps) if row.state == "ok" else NOT_MEASURED)


def spans_cell(row: CellResult, spans: Spans | None) -> PageCell:
    """Return a figure of a row with its interval."""
    return PageCell(_figure(spans, None) if row.state == "ok" else NOT_MEASURED)


def slowdown_cell(row: CellResult) -> PageCell:
    """Return how many times as long as alone a row takes beside its neighbour."""
    slowdown = slowdown_of(row)
    if row.state != "ok" or slowdown is None:
        return PageCell(NOT_MEASURED)
    return PageCell("".join(ratio_with_ends(slowdown.value, slowdown.ends, marks_ranges=True)))


def _figure(spans: Spans | None, value: float | None) -> str:
    if spans is None:
        return significant(value)
    return f"{significant(spans.value)}{ends_text(spans.ends, marks_ranges=True)}"


def speedup_axis(compared: Sequence[ComparedMachine]) -> Axis:
    """Return the axis on which the speedups of a table are drawn."""
    speedups = [other.speedup for other in compared]
    return speedup_span(
        [value for value, _ in speedups], [end for _, ends in speedups for end in (ends.low, ends.high)]
    )


def speedup_cell(compared: ComparedMachine | None, axis: Axis) -> PageCell:
    """Return a speedup with its interval, also drawn; that a row is the baseline where there is none."""
    if compared is None:
        return PageCell("1 baseline")
    value, ends = compared.speedup
    shown, brackets = ratio_with_ends(value, ends, marks_ranges=True)
    return PageCell(f"{shown}{brackets}", bar=_bar(value, ends, axis))


def verdict_text(compared: ComparedMachine | None) -> str:
    """Return the verdict over a machine, or why there is none; empty for the baseline."""
    if compared is None:
        return ""
    return compared.verdict if compared.is_judged else "not judged: the machine was busy"


def differences_text(compared: ComparedMachine | None) -> str:
    """Return in what a machine differs from the baseline besides."""
    return "" if compared is None else plain("; ".join(map(difference_text, compared.differences)))


def run_cell(cell: MachineCell) -> PageCell:
    """Return when a cell was measured, with the page of its run."""
    several = f" ({cell.runs} runs)" if cell.runs > 1 else ""
    return PageCell(f"{moment_of(cell.run)}{several}", run_file(cell.run.document.run_id))


def moment_of(run: TimedRun) -> str:
    """Return when a run began, to the minute, in UTC."""
    return run.document.created[: len("yyyy-mm-ddThh:mm")].replace("T", " ")


def run_name(run: TimedRun) -> str:
    """Return what a run is called."""
    return plain(run.document.plan.name or run.document.run_id)


def models_text(run: TimedRun) -> str:
    """Return the models of a run."""
    return plain(", ".join(dict.fromkeys(table.model for table in run.document.groups)))


def command_cell(run: TimedRun) -> PageCell:
    """Return the command that measures a run again, which is opened on demand."""
    text = "command that runs code of its author: read it first" if code_in_command(run.document.plan) else ""
    return PageCell(text, code=plain(command_text(run.document)))


def _bar(value: float, ends: Ends, axis: tuple[float, float]) -> Bar:
    return Bar(*(_place(number, axis) for number in (ends.low, value, ends.high, 1.0)))


def _place(number: float, axis: tuple[float, float]) -> float:
    """Return where a ratio lies on a logarithmic axis, between 0 and 1."""
    low, high = axis
    share = math.log(max(number, low) / low) / math.log(high / low)
    return round(min(max(share, 0.0), 1.0), 3)
