"""The stages of pipelines below the table that their rows are in."""

from __future__ import annotations

from collections.abc import Iterator

from irbench.core.quantities import percent, significant
from irbench.core.result import GroupResult
from irbench.core.row import CellResult, StageTime, row_names
from irbench.render.figure_texts import ends_heading, ends_text
from irbench.render.table import Row, TableColumn, TextTable


def stage_table(result: GroupResult, confidence: float = 0.95) -> TextTable | None:
    """Return the stages of each row in order, with their times and shares; ``None`` where no row has stages.

    Args:
        result: The table.
        confidence: That of the intervals over launches, as a fraction.
    """
    rows = [cell for cell in result.cells if cell.stages]
    if not rows:
        return None
    stages = [stage for cell in rows for stage in cell.stages]
    columns = (
        TableColumn("backend", words=True),
        TableColumn("stage", words=True),
        TableColumn(ends_heading("p50 ms", [stage.ms for stage in stages], confidence)),
        TableColumn(ends_heading("share", [stage.share for stage in stages], confidence)),
    )
    names = row_names(result.cells)
    return TextTable(columns, tuple(row for cell in rows for row in _rows(cell, names[cell.id])))


def stage_sentences(result: GroupResult) -> Iterator[str]:
    """Yield the stages of each row as a sentence, for pages that have one table alone."""
    names = row_names(result.cells)
    for cell in result.cells:
        if cell.stages:
            texts = (f"{name} {ms} ms, {share}" for name, ms, share in map(_cells, cell.stages))
            yield f"stages of {names[cell.id]}: {'; '.join(texts)}"


def _rows(cell: CellResult, name: str) -> list[Row]:
    names = [name, *("" for _ in cell.stages[1:])]
    return [Row((first, *_cells(stage))) for first, stage in zip(names, cell.stages, strict=True)]


def _cells(stage: StageTime) -> tuple[str, str, str]:
    share = f"{percent(stage.share.value)}{ends_text(stage.share.ends, _in_percent)}"
    return stage.name, f"{significant(stage.ms.value)}{ends_text(stage.ms.ends)}", share


def _in_percent(share: float) -> str:
    return f"{100 * share:.1f}"
