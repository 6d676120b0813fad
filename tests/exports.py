"""Runs as formats of exports are given them: with a table of speeds, with cold starts, and with a soak."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from documents import ENVIRONMENT, RUN_ID, cell, document, example, failed, group
from launches import MS, block, launch, measured, streamed, synchronous
from stored_plans import stored_plan

from irbench.core.record import LaunchRecord
from irbench.core.result import Lead, RunDocument, Winner
from irbench.core.row import CellResult, Spans, Speedup
from irbench.render.formats.export_formats import FORMATS
from irbench.render.formats.exported_run import Export, ExportedRun
from irbench.store.runs import Store

TIMING = {"burn_in_blocks": 1, "min_blocks": 2}
ORT, OPENVINO, FAILED = "ort/fp32", "openvino x2/fp32", "tf/fp32"


def speed_rows() -> tuple[CellResult, ...]:
    """Return a row with intervals, one with two streams, and one that failed."""
    return (
        cell(
            "ort",
            37.0,
            p50_over_launches=Spans(36.9, low=36.0, high=38.0, all_blocks_value=37.1),
            fps_over_launches=Spans(26.6, low=26.0, high=27.2),
        ),
        cell("openvino", 64.0, streams=2),
        failed("tf"),
    )


def speed_launch(number: int) -> LaunchRecord:
    """Return a launch of four blocks, the first of which is burn-in: 10 ms a call, and two requests in flight."""
    cells = (
        measured(ORT, [synchronous(at, [10 * MS] * 3) for at in range(4)]),
        measured(
            OPENVINO,
            [streamed(at, [-4 * MS, 0, 6 * MS], [6 * MS, 12 * MS, 16 * MS]) for at in range(4)],
            streams=2,
        ),
    )
    blocks = tuple(block(at, order=(ORT, OPENVINO)[:: -1 if at % 2 else 1]) for at in range(4))
    return launch(number, cells, blocks=blocks)


def stored_run(root: Path, *, name: str = "", launches: int = 2) -> ExportedRun:
    """Store a run of :func:`speed_rows` with its raw samples."""
    writer = Store(root).begin(ENVIRONMENT, stored_plan(timing=TIMING, name=name))
    for number in range(launches):
        writer.add_launch(speed_launch(number))
    table = group(*speed_rows(), baseline=ORT)
    writer.commit(replace(writer.document, groups=(table,), complete=True))
    return ExportedRun.of(writer.document, writer.folder)


def run_of(found: RunDocument, number: int = 0) -> ExportedRun:
    """Return a run whose raw times are in its document, or are not read."""
    return ExportedRun.of(replace(found, run_id=f"{RUN_ID[:-1]}{number}"), Path("/nowhere"))


def busy_run() -> ExportedRun:
    """Return a run with a winner on a busy machine: 30 of its 30 blocks were disturbed."""
    slower = cell(
        "ort",
        64.0,
        speedup=Speedup(0.58, low=0.57, high=0.59, verdict="slower", excludes_one=True, all_blocks_value=0.58),
    )
    fastest = cell("openvino", 37.0)
    lead = Lead(fastest.id, slower.id, 1.7, low=1.6, high=1.8, launches=6, condition="busy")
    table = group(
        fastest,
        slower,
        baseline=fastest.id,
        winner=Winner(fastest.id, slower.id, 1.7, 1.6, 1.8, "busy"),
        lead=lead,
        condition="busy",
        blocks_measured=30,
        blocks_disturbed=30,
        blocks_excluded=0,
    )
    return run_of(document(table), 4)


def two_tables() -> ExportedRun:
    """Return a run of two tables with rows in every state."""
    return run_of(document(example(), group(cell("ort"), failed("tf"), failed("tf-xla", state="not-applicable"))), 1)


def text(form: str, *runs: ExportedRun, columns: tuple[str, ...] = ()) -> str:
    """Return what a text format makes of runs."""
    return "".join(FORMATS[form].pieces(Export(runs, columns)))


def data(form: str, *runs: ExportedRun, columns: tuple[str, ...] = ()) -> bytes:
    """Return what a binary format makes of runs."""
    return b"".join(FORMATS[form].pieces(Export(runs, columns)))
