"""The rows of several tables as one: the settings in which they differ, and their figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from irbench.core.row import CellResult
from irbench.render.columns import COLUMNS
from irbench.render.columns.declaration import RowSource, ShownSpeed
from irbench.render.figure_texts import ends_heading
from irbench.render.footer import reason
from irbench.render.speed_table import heading, style_of_row
from irbench.render.table import Row, TableColumn, TextTable

_FIGURES = (
    "p50_ms",
    "p90_ms",
    "first_token_ms",
    "token_ms",
    "prompt_tokens_per_s",
    "tokens_per_s",
    "fps",
    "speedup",
    "verdict",
    "accuracy",
    "max_rel_error",
    "peak_memory_bytes",
)
"""Columns of the table of speeds, in its order."""


def wide_table(sources: Sequence[RowSource]) -> TextTable:
    """Return a row for each row of speeds, in their order: what it is called, in what rows differ, and its figures.

    A speedup is over the row of its own table that is marked as the baseline.
    """
    settings = [(heading, texts) for heading, texts in _settings(sources).items() if len(set(texts)) > 1]
    figures = [(name, shown) for name in _FIGURES if (shown := COLUMNS[name].in_speeds) and _is_shown(shown, sources)]
    columns = (
        TableColumn("backend", words=True),
        *(TableColumn(heading, words=heading in ("model", "shape")) for heading, _ in settings),
        *(TableColumn(_heading(name, shown, sources), shown.words, drops=shown.drops) for name, shown in figures),
    )
    rows = (_row(source, tuple(texts[place] for _, texts in settings), figures) for place, source in enumerate(sources))
    return TextTable(columns, tuple(rows))


def _settings(sources: Sequence[RowSource]) -> Mapping[str, list[str]]:
    """Return what rows were asked for, by heading."""
    shown: Mapping[str, Callable[[RowSource], object]] = {
        "model": lambda source: source.model,
        "prec": lambda source: source.row.effective.get("precision") or source.row.requested.precision,
        "batch": lambda source: source.row.batch,
        "prompt": lambda source: source.prompt or "-",
        "threads": lambda source: source.row.requested.threads or "native",
        "streams": lambda source: source.row.requested.streams,
        "instances": lambda source: source.row.requested.instances,
    }
    texts = {heading: [str(text(source)) for source in sources] for heading, text in shown.items()}
    known = {(source.model, source.row.batch, source.prompt) for source in sources}
    if len({(source.model, source.row.batch, source.shapes) for source in sources}) > len(known):
        texts["shape"] = [source.shapes for source in sources]  # it also differs where the batch does
    return texts


def _is_shown(shown: ShownSpeed, sources: Sequence[RowSource]) -> bool:
    return any(shown.is_shown(source.table) for source in sources)


def _heading(name: str, shown: ShownSpeed, sources: Sequence[RowSource]) -> str:
    confidence = max(source.document.plan.confidence for source in sources)
    if name == "speedup":
        return ends_heading("speedup", (source.row.speedup for source in sources), confidence)
    table = next(source.table for source in sources if shown.is_shown(source.table))
    return heading(shown, table, confidence).heading


def _row(source: RowSource, settings: tuple[str, ...], figures: Sequence[tuple[str, ShownSpeed]]) -> Row:
    cell: CellResult = source.row
    named: Any = COLUMNS["label"].in_speeds
    cells = (COLUMNS["label"].text("speed", named, cell, source.table), *settings)
    if cell.latency_ms is None and cell.state != "ok":
        return Row(cells, reason(cell, whole=False), style_of_row(cell))
    texts = (COLUMNS[name].text("speed", shown, cell, source.table) for name, shown in figures)
    return Row((*cells, *texts), style=style_of_row(cell))
