"""Tables of training steps: the parts of a step, and what each setting changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from irbench.core.quantities import NOT_MEASURED, plural, significant
from irbench.core.record import Failure
from irbench.core.result import GroupResult
from irbench.core.row import CellResult, Spans, row_names
from irbench.core.training_row import Effect
from irbench.render.figure_texts import ends_heading, ends_text
from irbench.render.table import Row, TableColumn, TextTable
from irbench.spec import Cell, LossCheck
from irbench.spec.training import INPUT, STEP

_PARTS = ("forward", "backward", "optimizer", "beside", "host")


def loss_line(cell: Cell, outcome: LossCheck | Failure, steps: int) -> str:
    """Return how the check of a row's loss ended."""
    name = f"{cell.label} batch {cell.load.batch}"
    if isinstance(outcome, Failure):
        return f"{name}: not timed: {outcome.message}"
    return f"{name}: loss {_loss(outcome)} in {plural(steps, 'step')}"


def step_table(result: GroupResult, confidence: float = 0.95) -> TextTable | None:
    """Return input wait, compute and whole step of each row side by side, and the parts of compute.

    Args:
        result: The table.
        confidence: That of the intervals over launches, as a fraction.

    Returns:
        ``None`` for rows that are no training steps.
    """
    rows = [cell for cell in result.cells if result.is_training and cell.stages]
    if not rows:
        return None
    stages = [stage.ms for cell in rows for stage in cell.stages]
    columns = (
        TableColumn("row", words=True),
        TableColumn(ends_heading("step ms", [own for cell in rows if (own := cell.p50_over_launches)], confidence)),
        TableColumn(ends_heading("input ms", stages, confidence)),
        TableColumn(ends_heading("compute ms", stages, confidence)),
        *(TableColumn(name, drops=place) for place, name in enumerate(_PARTS, start=1)),
        TableColumn("first step s", drops=7),
        TableColumn("peak MB", drops=8),
        TableColumn("loss", drops=9),
    )
    names = row_names(result.cells)
    return TextTable(columns, tuple(_step_row(cell, names[cell.id]) for cell in rows))


def step_legend(result: GroupResult) -> Iterator[str]:
    """Yield what the columns of the parts mean."""
    if step_table(result) is None:
        return
    yield (
        "step: input + compute, in the blocks · input: waiting for the batch · compute: the compiled step until its"
        " loss is known"
    )
    if any(cell.step_parts for cell in result.cells):
        yield (
            "host, forward, backward, optimizer: of steps on a batch in memory, from interleaved beginnings of the step"
            " · beside: what compute takes longer in the blocks, where the pipeline works beside it"
        )
    yield "first step: tracing, compiling and making it · loss: mean of the first and the last quarter of the check"
    if result.effects:
        rounds = max(effect.rounds for effect in result.effects)
        others = (
            ", averaged over the other settings" if len({*chain(*(own.settings for own in result.effects))}) > 1 else ""
        )
        alone = "; each interval alone" if any(effect.confidence is not None for effect in result.effects) else ""
        yield f"effects: ratios of speeds{others}, over {plural(rounds, 'launch')} of all rows{alone}"
    unknown = sum(effect.value is None for effect in result.effects)
    if unknown:
        yield f"{plural(unknown, 'effect')} of pairs cannot be told from others by these rows"
    if any(effect.pairs_left_out for effect in result.effects):
        yield "effects take for granted that settings do not change each other's: too few rows to tell"


def effect_table(result: GroupResult, confidence: float = 0.95) -> TextTable | None:
    """Return what each setting changes, then each pair of settings; ``None`` where settings do not vary."""
    if all(effect.value is None for effect in result.effects):
        return None
    columns = (
        TableColumn("setting", words=True),
        TableColumn("instead of", words=True),
        TableColumn(ends_heading("times as fast", result.effects, confidence)),
    )
    return TextTable(columns, tuple(_effect_row(effect) for effect in result.effects if effect.value is not None))


def _effect_row(effect: Effect) -> Row:
    assert effect.value is not None
    value = f"{_ratio(effect.value)}{ends_text(effect.ends, _ratio)}"
    settings = " and ".join(_settings(effect.settings))
    first = ", ".join(effect.first.values())
    return Row((settings, first if len(effect.settings) == 1 else "apart", value))


def _settings(values: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in values.items()]


def _ratio(value: float) -> str:
    return f"{value:.3f}"


def _step_row(cell: CellResult, name: str) -> Row:
    stages = {stage.name: stage.ms for stage in cell.stages}
    parts = {part.name: part.ms for part in cell.step_parts}
    peak = (cell.peak_memory_bytes or {}).get("process")
    phases = cell.phases_ms
    first = None if phases is None else (phases.first_inference or 0.0) + (phases.compile or 0.0)
    return Row(
        (
            name,
            _span(cell.p50_over_launches),
            _span(stages.get(INPUT)),
            _span(stages.get(STEP)),
            *(NOT_MEASURED if part not in parts else significant(parts[part].value) for part in _PARTS),
            NOT_MEASURED if first is None else significant(first / 1e3),
            NOT_MEASURED if peak is None else f"{peak / 1e6:,.0f}",
            NOT_MEASURED if cell.loss is None else _loss(cell.loss),
        )
    )


def _span(spans: Spans | None) -> str:
    return NOT_MEASURED if spans is None else f"{significant(spans.value)}{ends_text(spans.ends)}"


def _loss(check: LossCheck) -> str:
    return f"{significant(check.first)} to {significant(check.last)}"
