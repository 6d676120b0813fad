"""Rows of a profile as flat values with units, as CSV and as a DataFrame."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING

from irbench.core.counter_row import CounterFigure
from irbench.errors import IrbenchError
from irbench.features.profile.class_counters import ClassCounters
from irbench.features.profile.record import ProfileDocument
from irbench.features.profile.report import By, PartRow, ProfileReport
from irbench.render.text_formats import csv_cell, json_line

if TYPE_CHECKING:
    import pandas as pd

_WHOLE_OR_UNKNOWN = ("nodes", "flops")
_REAL_OR_UNKNOWN = (
    "time_low_ms", "time_high_ms", "share_low", "share_high", "gflops_per_s", "peak_share", "counted_share",
    "time_range_low_ms", "time_range_high_ms",
)  # fmt: skip


@dataclass(frozen=True)
class ProfileRow:
    """A part of an inference on one backend. ``None`` is what is unknown.

    Attributes:
        profile_id: The profile's.
        model: What was profiled.
        batch: Samples per inference.
        label: What tables call the backend with its settings.
        backend: The backend.
        device: Where it ran.
        by: What parts are: ``class``, ``op`` or ``node``.
        key: The class of work, the operator types with their class, or the first node of the group; a runtime's own
            operator type stands in parentheses where it computes no node. Rows of several backends are compared by it.
        name: What tables call the part; of operators, what their runtime calls them. Those of one key and backend add
            up to what a table of several backends shows.
        operator_class: Its class of work.
        op_types: Types of the ONNX nodes that it stands for, with spaces between them.
        nodes: How many nodes of the exported graph it has; only of groups of nodes.
        time_ms: Time of an inference in it: the median over launches.
        time_low_ms: Lower end of its interval; ``None`` where there are too few launches for one.
        time_high_ms: Upper end; ``None`` likewise.
        share: Its share of the time of all operators, from 0 to 1.
        share_low: Lower end of its interval; ``None`` likewise.
        share_high: Upper end; ``None`` likewise.
        flops: Floating-point operations of an inference.
        gflops_per_s: A thousand million of them per second.
        peak_share: Share of the machine's peak of matrix products that these are, as a fraction.
        executions: How often its operators are executed in an inference.
        launches: In how many launches it was measured.
        is_preview: Whether there are too few launches for intervals.
        counted_share: Of its time, how much is in operators that were counted, from 0 to 1; only of classes of work.
        counters: What counters saw of these operators; only of classes of work.
        time_range_low_ms: The smallest launch, where there are too few for an interval and more than one; ``None``
            otherwise.
        time_range_high_ms: The largest launch; ``None`` likewise.
    """

    profile_id: str
    model: str
    batch: int
    label: str
    backend: str
    device: str
    by: By
    key: str
    name: str
    operator_class: str
    op_types: str
    nodes: int | None
    time_ms: float
    time_low_ms: float | None
    time_high_ms: float | None
    share: float
    share_low: float | None
    share_high: float | None
    flops: int | None
    gflops_per_s: float | None
    peak_share: float | None
    executions: int
    launches: int
    is_preview: bool
    counted_share: float | None = None
    counters: tuple[CounterFigure, ...] = ()
    time_range_low_ms: float | None = None
    time_range_high_ms: float | None = None


def profile_rows(document: ProfileDocument, report: ProfileReport, by: By) -> tuple[ProfileRow, ...]:
    """Return a row for each part in each cell that executes it, cell by cell."""
    counters = {(row.cell, row.operator_class): row for row in report.counters if by == "class"}
    parts = tuple(replace(part, key=row.key) for row in report.operators for part in row.parts)
    return tuple(
        _row(document, place, by, part, counters.get((cell.id, part.operator_class)))
        for place, cell in enumerate(document.cells)
        for part in (parts if by == "op" else report.rows(by))
        if cell.id in part.figures
    )


def rows_as_csv(rows: Sequence[ProfileRow]) -> str:
    """Return comma-separated lines, the names of the columns first; what is unknown is empty, and counters are JSON."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, [column.name for column in fields(ProfileRow)], lineterminator="\n")
    writer.writeheader()
    plain_rows = ({**asdict(row), "counters": _as_json(row.counters)} for row in rows)
    writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in plain_rows)
    return buffer.getvalue()


def rows_to_pandas(rows: Sequence[ProfileRow]) -> pd.DataFrame:
    """Return rows as a DataFrame.

    Raises:
        IrbenchError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise IrbenchError("pandas is not installed.", hint="Install it with: pip install pandas") from error
    frame = pd.DataFrame([asdict(row) for row in rows], columns=[column.name for column in fields(ProfileRow)])
    return frame.astype({**dict.fromkeys(_WHOLE_OR_UNKNOWN, "Int64"), **dict.fromkeys(_REAL_OR_UNKNOWN, "float64")})


def _as_json(figures: Sequence[CounterFigure]) -> str:
    return json_line(figures) if figures else ""


def _row(document: ProfileDocument, place: int, by: By, part: PartRow, counted: ClassCounters | None) -> ProfileRow:
    cell = document.cells[place]
    figures = part.figures[cell.id]
    time, share = figures.time_ns, figures.share
    rate = figures.flops_per_s
    is_preview, has_range = time.confidence is None, time.confidence is None and len(cell.launches) > 1
    return ProfileRow(
        profile_id=document.profile_id,
        model=document.model,
        batch=document.batch,
        label=cell.label,
        backend=cell.backend,
        device=cell.device,
        by=by,
        key=part.key,
        name=part.name,
        operator_class=str(part.operator_class),
        op_types=" ".join(part.op_types),
        nodes=len(part.nodes) or None,
        time_ms=time.value / 1e6,
        time_low_ms=None if is_preview else time.low / 1e6,
        time_high_ms=None if is_preview else time.high / 1e6,
        share=share.value,
        share_low=None if is_preview else share.low,
        share_high=None if is_preview else share.high,
        flops=figures.flops,
        gflops_per_s=None if rate is None else rate / 1e9,
        peak_share=figures.peak_share,
        executions=figures.executions,
        launches=len(cell.launches),
        is_preview=is_preview,
        counted_share=None if counted is None else counted.counted_share,
        counters=() if counted is None else counted.figures,
        time_range_low_ms=time.low / 1e6 if has_range else None,
        time_range_high_ms=time.high / 1e6 if has_range else None,
    )
