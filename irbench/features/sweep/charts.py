"""The charts of a sweep: throughput against each setting in which rows differ, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from irbench.charts import records, specs
from irbench.charts.figure import Figure
from irbench.charts.records import ChartRow
from irbench.charts.tables import words_of
from irbench.render.columns.declaration import RowSource


def figures_of_sweep(sources: Sequence[RowSource]) -> Iterator[Figure]:
    """Yield a chart for each model and each setting that has several values, over the rows of all tables."""
    models = dict.fromkeys(source.model for source in sources)
    for number, model in enumerate(models):
        own = [(place, source) for place, source in enumerate(sources) if source.model == model]
        rows = [ChartRow(f"r{place}", source.label, source.row) for place, source in own if source.row.state == "ok"]
        for setting in records.SETTINGS:
            if loads := records.loads(rows, setting):
                figure = specs.load_figure(loads, setting, words_of(own[0][1].table))
                title = figure.title if len(models) == 1 else f"{model}: {figure.title}"
                yield replace(figure, name=f"{figure.name}-{number + 1}" if number else figure.name, title=title)
