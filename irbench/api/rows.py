"""The rows of a run as flat values with types and units, and as a DataFrame."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from irbench.errors import IrbenchError
from irbench.render.formats.columns import ExportColumn, RowSource
from irbench.render.formats.row_table import RowTable, row_values

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class RunRow:
    """One row: a model on a backend under one load. ``None`` is what was not measured.

    Latencies are in milliseconds for one batch; p50, p90, fps and the speedup are those of the table. Attributes are
    columns of :meth:`Run.to_pandas` and of every export, which have more (docs/exports.md).

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
        threads: Total for each process as the runtime reports it, or as requested where it reports none; ``None`` where
            the runtime chose. Streams that compute in threads of their own make it larger than ``threads_requested``.
        threads_requested: Total that was asked for; ``None`` for ``native``.
        streams: Inferences that each process keeps in flight.
        instances: Processes that run the model side by side.
        state: ``ok``, ``mismatch``, ``failed``, ``not-applicable``, ``interrupted`` or
            ``not-measured``.
        condition: ``busy`` where winner and verdicts are of the machine as loaded as it was; ``None`` elsewhere.
        blocks_measured: Blocks of the table, in all launches.
        blocks_disturbed: How many of them something outside disturbed; ``None`` in older documents.
        no_winner: Why no row of the table is called the fastest, for example ``undecided`` or ``busy``; ``None`` where
            one is, or none is compared.
        is_baseline: Whether speedups are relative to this row.
        is_winner: Whether it is the fastest, under the condition.
        p50_ms: Median latency.
        p90_ms: 90th percentile.
        p99_ms: 99th percentile, with ``tail``.
        p99_9_ms: 99.9th percentile, with ``tail``.
        paced_p50_ms: Median latency at the pace of ``pace``.
        paced_p90_ms: 90th percentile of that.
        mean_ms: Mean latency.
        fps: Samples per second.
        sustained_fps: Samples per second of runs alone, with ``sustain``.
        energy_per_inference_j: Energy of one inference of one batch, in joules, with ``energy``.
        power_w: Mean power of runs alone, in watts, with ``energy``.
        gflop_per_s: 10^9 operations per second, where the peaks of the machine are known (:func:`irbench.doctor`).
        roof_share: The share of what the machine attains at most for the model, as a fraction.
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
    instances: int
    state: str
    condition: str | None
    blocks_measured: int
    blocks_disturbed: int | None
    no_winner: str | None
    is_baseline: bool
    is_winner: bool
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    p99_9_ms: float | None
    paced_p50_ms: float | None
    paced_p90_ms: float | None
    mean_ms: float | None
    fps: float | None
    sustained_fps: float | None
    energy_per_inference_j: float | None
    power_w: float | None
    gflop_per_s: float | None
    roof_share: float | None
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


def row_of(source: RowSource) -> RunRow:
    """Return a row with its values of those columns of exports that it has an attribute for."""
    values = row_values(source)
    return RunRow(**{column.name: values[column.name] for column in fields(RunRow)})


def rows_to_pandas(table: RowTable) -> pd.DataFrame:
    """Return rows as a DataFrame whose columns have the same types whatever was measured.

    Raises:
        IrbenchError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise IrbenchError("pandas is not installed.", hint="Install it with: pip install pandas") from error
    frame = pd.DataFrame(list(table.scalar_records()), columns=list(table.names))
    return frame.astype({column.name: _pandas_type(column) for column in table.columns if column.type in _PANDAS_TYPES})


_PANDAS_TYPES = {"int64": ("int64", "Int64"), "double": ("float64", "float64"), "bool": ("bool", "boolean")}
"""Of columns whose values are never and may be missing; text stays as it is."""


def _pandas_type(column: ExportColumn) -> str:
    never_missing, may_be_missing = _PANDAS_TYPES[column.type]
    return may_be_missing if column.is_nullable else never_missing
