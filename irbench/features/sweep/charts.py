"""The charts of a sweep: throughput against batch and shape, and against each setting in which rows differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irbench.charts import records, specs
from irbench.charts.figure import Figure
from irbench.charts.tables import figures_of_shapes, of_model, words_of
from irbench.features.sweep.swept_rows import rows_by_model
from irbench.render.columns.declaration import RowSource


def figures_of_sweep(sources: Sequence[RowSource]) -> Iterator[Figure]:
    """Yield charts for each model over the rows of all tables: one of batches and shapes, one for each setting."""
    yield from figures_of_shapes(sources)
    by_model = rows_by_model(sources)
    for number, (model, (table, rows)) in enumerate(by_model.items()):
        for setting in records.SETTINGS:
            if loads := records.loads(rows, setting):
                figure = specs.load_figure(loads, setting, words_of(table))
                yield of_model(figure, model, number, len(by_model))
