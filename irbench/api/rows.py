"""The rows of a run as flat values with types and units, for DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from irbench.errors import IrbenchError
from irbench.result import CellResult, RunDocument

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["RunRow", "row_of", "rows_to_arrow", "rows_to_pandas"]


@dataclass(frozen=True)
class RunRow:
    """One row: a model on a backend under one load. ``None`` is what was not measured.

    Latencies are in milliseconds for one batch; p50, p90, fps and the speedup are those of the table.

    Attributes:
        run_id: The run's.
        run_name: What the user called the run; empty without a name.
        run_note: What is to be remembered of the run; empty without a note.
        table: Number of the table in its run, counted from 0.
        model: What the table is about.
        batch: Samples per inference.
        shapes: Of the inputs, as the title of the table has them: ``1x224x224x3``, or ``ids 1x128, mask 1x128``.
        label: What the table calls the row.
        backend: Its backend.
        device: Its device.
        precision: What the runtime really computed in; what was asked of it where it did not run.
        threads: Total for the process as the runtime reports it, or as requested where it reports none; ``None`` where
            the runtime chose. Streams that compute in threads of their own make it larger than ``threads_requested``.
        threads_requested: Total that was asked for; ``None`` for ``native``.
        streams: Inferences in flight.
        state: ``ok``, ``mismatch``, ``failed``, ``not-applicable`` or ``interrupted``.
        is_baseline: Whether speedups are relative to this row.
        is_winner: Whether it is the fastest.
        p50_ms: Median latency.
        p90_ms: 90th percentile.
        p99_ms: 99th percentile, with ``tail``.
        p99_9_ms: 99.9th percentile, with ``tail``.
        mean_ms: Mean latency.
        fps: Samples per second.
        sustained_fps: Samples per second of runs alone, with ``sustain``.
        speedup: How many times as fast as the baseline.
        speedup_low: Lower end of its confidence interval.
        speedup_high: Upper end.
        verdict: ``faster``, ``slower``, ``same``, ``undecided`` or ``preview``.
        launches: In how many launches it ran.
        launch_spread: Half the range of launch medians, as a fraction of their median.
        max_rel_error: Largest difference from the reference, relative to the largest reference value.
        ready_ms: From process start to the first answer.
        compile_ms: Compilation.
        peak_memory_bytes: Resident peak of the process.
        environment: What tells its Python from those of other rows, for example the version of its runtime; ``None``
            for the Python that irbench ran in.
        failure: Why there are no figures.
        hint: What to do about that.
    """

    run_id: str
    run_name: str
    run_note: str
    table: int
    model: str
    batch: int
    shapes: str
    label: str
    backend: str
    device: str
    precision: str
    threads: int | None
    threads_requested: int | None
    streams: int
    state: str
    is_baseline: bool
    is_winner: bool
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    p99_9_ms: float | None
    mean_ms: float | None
    fps: float | None
    sustained_fps: float | None
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    verdict: str | None
    launches: int | None
    launch_spread: float | None
    max_rel_error: float | None
    ready_ms: float | None
    compile_ms: float | None
    peak_memory_bytes: int | None
    environment: str | None
    failure: str | None
    hint: str | None


def row_of(document: RunDocument, number: int, cell: CellResult, label: str) -> RunRow:
    """Return a cell as a flat row.

    Args:
        document: Its run.
        number: Of its table in the run, counted from 0.
        cell: It.
        label: What the table calls it; no other row of the table is called the same.
    """
    from irbench.render.table_title import shapes_text

    group = document.groups[number]
    latency, speedup, phases = cell.latency_ms, cell.speedup, cell.phases_ms
    error, failure = cell.output_error, cell.failure
    threads = cell.effective.get("threads") or cell.requested.threads
    return RunRow(
        run_id=document.run_id,
        run_name=str(document.plan.get("name") or ""),
        run_note=str(document.plan.get("note") or ""),
        table=number,
        model=group.model,
        batch=cell.batch,
        shapes=shapes_text(group),
        label=label,
        backend=cell.backend,
        device=cell.device,
        precision=str(cell.effective.get("precision", cell.requested.precision)),
        threads=threads if isinstance(threads, int) else None,
        threads_requested=cell.requested.threads,
        streams=cell.requested.streams,
        state=cell.state,
        is_baseline=cell.id == group.baseline,
        is_winner=group.winner is not None and cell.id == group.winner.cell,
        p50_ms=latency.p50 if latency is not None else None,
        p90_ms=latency.p90 if latency is not None else None,
        p99_ms=latency.p99 if latency is not None else None,
        p99_9_ms=latency.p99_9 if latency is not None else None,
        mean_ms=latency.mean if latency is not None else None,
        fps=cell.fps,
        sustained_fps=cell.sustained_fps,
        speedup=speedup.value if speedup is not None else None,
        speedup_low=speedup.low if speedup is not None else None,
        speedup_high=speedup.high if speedup is not None else None,
        verdict=speedup.verdict if speedup is not None else None,
        launches=cell.launches_measured,
        launch_spread=cell.launch_spread,
        max_rel_error=error.max_rel if error is not None else None,
        ready_ms=phases.ready if phases is not None else None,
        compile_ms=phases.compile if phases is not None else None,
        peak_memory_bytes=(cell.peak_memory_bytes or {}).get("process"),
        environment=cell.environment.label if cell.environment is not None else None,
        failure=failure.message if failure is not None else None,
        hint=failure.hint if failure is not None else None,
    )


def rows_to_pandas(rows: Sequence[RunRow]) -> pd.DataFrame:
    """Return rows as a DataFrame whose columns have the same types whatever was measured.

    Raises:
        IrbenchError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise _missing("pandas") from error
    frame = pd.DataFrame([asdict(row) for row in rows], columns=[column.name for column in fields(RunRow)])
    return frame.astype(_types({"int": "int64", "int | None": "Int64", "float | None": "float64", "bool": "bool"}))


def rows_to_arrow(rows: Sequence[RunRow]) -> pa.Table:
    """Return rows as a table of Arrow, whose columns have the same types whatever was measured.

    Raises:
        IrbenchError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        raise _missing("pyarrow") from error
    types = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(), "str": pa.string()}
    schema = pa.schema([(column.name, types[str(column.type).removesuffix(" | None")]) for column in fields(RunRow)])
    return pa.Table.from_pylist([asdict(row) for row in rows], schema=schema)


def _types(by_annotation: dict[str, Any]) -> dict[str, Any]:
    """Return the type of each column whose annotation has one."""
    annotations = {column.name: str(column.type) for column in fields(RunRow)}
    return {name: by_annotation[kind] for name, kind in annotations.items() if kind in by_annotation}


def _missing(library: str) -> IrbenchError:
    return IrbenchError(f"{library} is not installed.", hint=f"Install it with: pip install {library}")
