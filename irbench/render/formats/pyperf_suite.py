"""pyperf's JSON: a benchmark for each row, a run for each launch, a value in seconds for each block that counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from irbench.core.record import CellLaunch, LaunchRecord, Round
from irbench.errors import one_line
from irbench.render.columns.declaration import RowSource
from irbench.render.formats.exported_run import Export, ExportedRun
from irbench.render.formats.row_table import named_rows, row_values
from irbench.render.text_formats import json_line
from irbench.stats.observed import Blocks, round_statistic_ns, sort_blocks
from irbench.stats.rederive import blocks_in_table, planned_timing
from irbench.store.runs import read_launches

PyperfRun: TypeAlias = dict[str, Any]

_FORMAT_VERSION = "1.0"
_METADATA = {
    "run_id": "irbench_run_id",
    "run_name": "irbench_run_name",
    "created": "irbench_created",
    "irbench_version": "irbench_version",
    "command": "command",
    "machine": "irbench_machine",
    "model": "irbench_model",
    "batch": "irbench_batch",
    "shapes": "irbench_shapes",
    "label": "irbench_row",
    "backend": "irbench_backend",
    "device": "irbench_device",
    "precision": "irbench_precision",
    "threads": "irbench_threads",
    "streams": "irbench_streams",
    "instances": "irbench_instances",
    "condition": "irbench_condition",
    "blocks_measured": "irbench_blocks_measured",
    "blocks_disturbed": "irbench_blocks_disturbed",
    "peak_memory_bytes": "mem_max_rss",
}
"""What pyperf keeps beside values, by column; ``command`` and ``mem_max_rss`` are names of its own."""


def as_pyperf(export: Export) -> Iterator[str]:
    """Yield a suite that ``pyperf`` loads; rows without values are not in it, as pyperf has no place for them."""
    suite = {"benchmarks": list(benchmarks(export)), "version": _FORMAT_VERSION}
    yield json_line(suite) + "\n"


def benchmarks(export: Export) -> Iterator[dict[str, Any]]:
    """Yield the benchmark of each row that has values."""
    of_rows = {run.run_id: _runs_of_rows(run) for run in export.runs}
    for name, source in named_rows([run.document for run in export.runs]):
        runs = of_rows[source.document.run_id].get((source.table_number, source.row.id), [])
        runs = runs if source.kind == "speed" else list(_derived_runs(source))
        if runs and source.row.state == "ok":
            yield {"metadata": {"name": name, "unit": "second", **_metadata(source)}, "runs": runs}


def _metadata(source: RowSource) -> Mapping[str, Any]:
    values = row_values(source)
    texts = {name: values.get(column) for column, name in _METADATA.items()}
    kept = {name: one_line(value).strip() if isinstance(value, str) else value for name, value in texts.items()}
    return {name: value for name, value in kept.items() if value not in (None, "")}


def _runs_of_rows(run: ExportedRun) -> dict[tuple[int, str], list[PyperfRun]]:
    runs_by_row: dict[tuple[int, str], list[PyperfRun]] = {}
    document = run.document
    if not document.groups:
        return runs_by_row
    timing = planned_timing(document.plan)
    for record in read_launches(run.folder, document):
        table = document.groups[record.group]
        sorted_blocks = sort_blocks(record, timing)
        sync = {row.id for row in table.cells if row.mode == "sync"}
        for cell in record.cells:
            blocks = blocks_in_table(record, sorted_blocks, table, cell.cell)
            value_s = partial(_value_s, cell, by_completion=cell.cell not in sync)
            values_s = [value_s(round_) for round_ in cell.rounds if round_.block in blocks.counted]
            burn_in = [round_ for round_ in cell.rounds if round_.block not in blocks.blocks]
            warm_ups = [(_calls(cell, round_), value_s(round_)) for round_ in burn_in]
            if values_s:
                pyperf_run = _run(values_s, warm_ups, _facts(record, cell, blocks))
                runs_by_row.setdefault((record.group, cell.cell), []).append(pyperf_run)
    return runs_by_row


def _value_s(cell: CellLaunch, round_: Round, *, by_completion: bool) -> float:
    """Return the median latency of a round's calls, or the time per completion where several are in flight.

    The row's own mode decides, and not its table: the same row must have the same kind of value in every file that it
    is compared in.
    """
    return round_statistic_ns(round_, cell.calls_per_sample, by_completion=by_completion) / 1e9


def _calls(cell: CellLaunch, round_: Round) -> int:
    return round_.completion_ns.size * cell.calls_per_sample


def _facts(record: LaunchRecord, cell: CellLaunch, blocks: Blocks) -> dict[str, Any]:
    duration_s = math.fsum(block.wall_ns for block in record.blocks) / 1e9
    return {
        "loops": max(_calls(cell, round_) for round_ in cell.rounds),
        "duration": duration_s,
        "load_avg_1min": record.load_average,
        "irbench_launch": record.launch,
        "irbench_blocks_excluded": len(blocks.blocks - blocks.counted),
    }


def _derived_runs(source: RowSource) -> Iterator[PyperfRun]:
    """Yield the runs of a row whose raw times are in the document: cold starts by launch, a soak by block.

    Loads of requests have none: how long they took says how many came.
    """
    if source.kind == "cold-start":
        for launch in source.row.launches:
            if launch.ready_ns > 0:
                yield _run([launch.ready_ns / 1e9], [], {"irbench_launch": launch.round})
    elif source.kind == "soak" and source.row.series is not None and any(source.row.series.median_ns):
        yield _run([median_ns / 1e9 for median_ns in source.row.series.median_ns if median_ns > 0], [], {})


def _run(values_s: list[float], warm_ups: list[tuple[int, float]], facts: Mapping[str, Any]) -> PyperfRun:
    return {
        "values": values_s,
        **({"warmups": warm_ups} if warm_ups else {}),
        **({"metadata": dict(facts)} if facts else {}),
    }
