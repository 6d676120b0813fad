"""Which charts the tables of a run have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from irbench.charts import records, specs
from irbench.charts.figure import Figure
from irbench.charts.records import ChartRow
from irbench.core.record import LaunchRecord
from irbench.core.result import GroupResult, RunDocument
from irbench.core.row import distinguish, name_of
from irbench.render.columns.declaration import RowSource
from irbench.render.table_title import sizes_text

_MOST_SPEEDUPS = 500


def figures_of_table(
    document: RunDocument, number: int, rows: Sequence[ChartRow], launches: Sequence[LaunchRecord] | None
) -> Iterator[Figure]:
    """Yield the charts of a table that have something to show.

    Args:
        document: The run.
        number: Of the table in its run.
        rows: Its rows.
        launches: The raw samples of the run; ``None`` where they are not to be had.
    """
    table = document.groups[number]
    words = words_of(table)
    speedups = records.speed_bars(rows[:_MOST_SPEEDUPS], table.baseline)
    baseline = next((row.label for row in rows if row.result.id == table.baseline), "the baseline")
    if slowdowns := records.slowdowns(rows):
        yield specs.sensitivity_figure(slowdowns)
    if speedups:
        yield specs.speedup_figure(speedups, baseline)
    for setting in records.SETTINGS:
        if loads := records.loads(rows, setting):
            yield specs.load_figure(loads, setting, words)
    if len(tradeoffs := records.tradeoffs(rows)) > 1:
        yield specs.tradeoff_figure(tradeoffs, words)
    if accuracies := records.accuracies(rows):
        yield specs.accuracy_figure(accuracies, words)
    if launches is not None:
        yield from _of_samples(document, number, records.fastest(rows), launches)


def _of_samples(
    document: RunDocument, number: int, rows: Sequence[ChartRow], launches: Sequence[LaunchRecord]
) -> Iterator[Figure]:
    samples, words = records.samples(document, number, rows, launches), words_of(document.groups[number])
    if samples.tokens:
        yield specs.token_figure(samples.tokens)
    if samples.distribution:
        yield specs.distribution_figure(samples.distribution, words)
    if len({record["launch"] for record in samples.launches}) > 1:
        yield specs.launches_figure(samples.launches, words)
    if samples.blocks:
        yield specs.timeline_figure(samples.blocks, words)


def figures_of_shapes(sources: Sequence[RowSource]) -> Iterator[Figure]:
    """Yield throughput against batch and shape, or prompt, over the tables of each model that has several of both."""
    by_model: dict[str, list[RowSource]] = {}
    for source in sources:
        if source.row.state == "ok":
            by_model.setdefault(source.model, []).append(source)
    for number, (model, own) in enumerate(by_model.items()):
        shapes = _shapes_without_batch(own)
        named = distinguish({place: replace(name_of(source.row), batch=0) for place, source in enumerate(own)})
        rows = [
            (ChartRow(f"h{place}", source.label, source.row), named[place], shapes[place])
            for place, source in enumerate(own)
        ]
        if fields := records.heat(rows):
            figure = specs.heat_figure(fields, words_of(own[0].table))
            yield of_model(figure, model, number, len(by_model))


def of_model(figure: Figure, model: str, number: int, models: int) -> Figure:
    """Return the chart of one of several models, counted from 0, with a name and a title that no other one has."""
    name = f"{figure.name}-{number + 1}" if number else figure.name
    return replace(figure, name=name, title=figure.title if models == 1 else f"{model}: {figure.title}")


def _shapes_without_batch(sources: Sequence[RowSource]) -> list[str]:
    """Return the prompt of each row, or the shapes of its inputs without a first axis that is the batch in all rows."""
    shapes = [source.input_shapes for source in sources]
    batched = {
        name
        for name in shapes[0]
        if all(list(own.get(name, ()))[:1] == [source.row.batch] for own, source in zip(shapes, sources, strict=True))
    }
    without = ({name: shape[name in batched :] for name, shape in own.items()} for own in shapes)
    texts = (sizes_text({name: shape for name, shape in own.items() if shape}) for own in without)
    return [
        text if source.prompt is None else f"prompt {source.prompt}"
        for text, source in zip(texts, sources, strict=True)
    ]


def words_of(table: GroupResult) -> specs.CallWords:
    """Return what a call of a table is called, and how many of what it makes in a second."""
    if any(row.generation is not None for row in table.cells):
        return specs.GENERATIONS
    return specs.STEPS if table.is_training else specs.INFERENCES
