"""A row of a run as CSV: what is compound has a column for each part, whatever a later row holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from irbench.record import Failure, OutputError
from irbench.render.flat_rows import CSV_COLUMNS, compound_fields
from irbench.result import CellResult, LatencyMs, PhasesMs, Requested, Spans, Speedup
from irbench.spec import Disagreement, Program


@dataclass(frozen=True)
class MadeUp:
    label: str
    figure: float | None
    always: Requested
    sometimes: Spans | None
    struct: PhasesMs | None
    several: tuple[Spans, ...]
    by_name: Mapping[str, Spans] | None


def test_a_field_is_compound_where_it_holds_one_dataclass_or_struct():
    assert compound_fields(MadeUp) == {"always": Requested, "sometimes": Spans, "struct": PhasesMs}


def test_every_part_of_a_row_has_a_column_and_the_whole_has_none():
    parts = compound_fields(CellResult)
    kinds = {Requested, Failure, LatencyMs, Speedup, OutputError, Spans, PhasesMs, Disagreement, Program}
    assert kinds == set(parts.values())
    assert not set(parts) & set(CSV_COLUMNS)
    assert {"latency_ms.p50", "p50_over_launches.low", "phases_ms.import", "failure.hint"} <= set(CSV_COLUMNS)
