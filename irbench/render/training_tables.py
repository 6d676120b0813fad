"""Tables of training steps: the parts of a step, and what each setting changes."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain

from irbench.core.quantities import NOT_MEASURED, plural, significant
from irbench.core.record import Failure
from irbench.core.result import GroupResult
from irbench.core.row import CellResult, Spans, row_names
from irbench.core.training_row import Effect
from irbench.render.figure_texts import are_ranges, ends_heading, ends_text
from irbench.render.table import Row, TableColumn, TextTable
from irbench.spec import Cell, LossCheck, Objective
from irbench.spec.training import BEGINNINGS, INPUT
from irbench.stats.run_modes.training import BESIDE, COMPUTE, WHOLE, scatter

_ALWAYS = (WHOLE, INPUT, COMPUTE)
_HOST, _FORWARD, _BACKWARD, _OPTIMIZER = BEGINNINGS
_WHERE_WIDE = (_FORWARD, _BACKWARD, _OPTIMIZER, BESIDE, _HOST)
"""Parts in the order in which they are left out of narrow tables, the last ones first."""
_IMPLAUSIBLE = " ?"
_RATIOS: Mapping[Objective, tuple[str, str]] = {
    "fps": ("times as fast", "samples per second"),
    "cost": ("times as cheap", "samples per second of the processor"),
}


def loss_line(cell: Cell, outcome: LossCheck | Failure, steps: int) -> str:
    """Return how the check of a row's loss ended."""
    name = f"{cell.label} batch {cell.load.batch}"
    if isinstance(outcome, Failure):
        return f"{name}: not timed: {outcome.message}"
    return f"{name}: {outcome.metric} {_loss(outcome)} in {plural(steps, 'step')}"


def metric_text(check: LossCheck) -> str:
    """Return what must fall, as a sentence names it: the loss, or a metric by its own name."""
    return "the loss" if check.metric == "loss" else check.metric


def fall_text(check: LossCheck) -> str:
    """Return why a loss counts as not falling: it is no number, it is not lower, or not by more than it scatters."""
    steps, metric = plural(len(check.losses), "step"), metric_text(check)
    if not check.is_finite:
        return f"{metric} is not a number after {steps}"
    if check.last >= check.first:
        return f"{metric} does not fall: {_loss(check)} in {steps}"
    fall = f"{metric} falls by {significant(check.first - check.last)} in {steps} ({_loss(check)})"
    return f"{fall}, which is not more than it scatters: three standard errors are {significant(scatter(check))}"


def step_table(result: GroupResult, confidence: float = 0.95) -> TextTable | None:
    """Return input wait, compute and whole step of each row side by side, and the parts of compute.

    Args:
        result: The table.
        confidence: That of the intervals over launches, as a fraction.

    Returns:
        ``None`` for rows that are no training steps.
    """
    rows = [cell for cell in result.cells if result.is_training and cell.step_parts]
    if not rows:
        return None
    parts = [{part.name: part.ms for part in cell.step_parts} for cell in rows]
    figures = {name: [own[name] for own in parts if name in own] for name in (*_ALWAYS, *_WHERE_WIDE)}
    headings = {
        name: ends_heading(f"{'step' if name == WHOLE else name} ms", known, confidence)
        for name, known in figures.items()
    }
    mixed = {name for name, known in figures.items() if not are_ranges(known)}
    columns = (
        TableColumn("row", words=True),
        *(TableColumn(headings[name]) for name in _ALWAYS),
        *(TableColumn(headings[name], drops=place) for place, name in enumerate(_WHERE_WIDE, start=1)),
        TableColumn("first step s", drops=7),
        TableColumn("peak MB", drops=8),
        TableColumn(_checked_metric(rows), drops=9),
    )
    names = row_names(result.cells)
    return TextTable(columns, tuple(_step_row(cell, names[cell.id], mixed) for cell in rows))


def _implausible(row: CellResult) -> frozenset[str]:
    """Return the implausible parts of a step: below 0, or forward and backward together above the whole step."""
    parts = {part.name: part.ms.value for part in row.step_parts}
    below = {name for name, value in parts.items() if value < 0}
    above = parts.get(_FORWARD, 0.0) + parts.get(_BACKWARD, 0.0) > parts.get(WHOLE, math.inf)
    return frozenset({*below, *((_FORWARD, _BACKWARD) if above else ())})


def step_legend(result: GroupResult) -> Iterator[str]:
    """Yield what the columns of the parts mean."""
    if step_table(result) is None:
        return
    yield (
        "step: input + compute, means of all steps in the blocks · input: waiting for the batch · compute: the compiled"
        " step until its loss is known"
    )
    if any(part.name == BESIDE for cell in result.cells for part in cell.step_parts):
        yield (
            "host, forward, backward, optimizer: of steps on a batch in memory, from interleaved beginnings of the step"
            " · beside: what compute takes longer in the blocks, where the pipeline works beside it"
        )
    if any(map(_implausible, result.cells)):
        yield (
            "?: implausible (below 0, or forward and backward together longer than the whole step): noise is larger"
            " than this part, or the machine's speed changed"
        )
    metric = _checked_metric(result.cells)
    ends = "mean of the first and the last quarter of the check"
    yield f"first step: tracing, compiling and making it · {metric}: {ends}"
    known = [effect for effect in result.effects if effect.value is not None]
    if known:
        rounds = max(effect.rounds for effect in known)
        others = ", averaged over the other settings" if len({*chain(*(own.settings for own in known))}) > 1 else ""
        alone = "; each interval alone" if any(effect.confidence is not None for effect in known) else ""
        speeds = _RATIOS.get(result.objective, _RATIOS["fps"])[1]
        yield f"effects: ratios of {speeds}{others}, over {plural(rounds, 'launch')} of all rows{alone}"
    unknown = len(result.effects) - len(known)
    if unknown:
        yield f"{plural(unknown, 'effect')} cannot be told from others by these rows"
    if any(effect.pairs_left_out for effect in known):
        yield "assumed: settings do not interact; there are too few rows to tell"


def effect_table(result: GroupResult, confidence: float = 0.95) -> TextTable | None:
    """Return what each setting changes, then each pair of settings; ``None`` where settings do not vary."""
    if all(effect.value is None for effect in result.effects):
        return None
    heading = _RATIOS.get(result.objective, _RATIOS["fps"])[0]
    columns = (
        TableColumn("setting", words=True),
        TableColumn("instead of", words=True),
        TableColumn(ends_heading(heading, result.effects, confidence)),
    )
    return TextTable(columns, tuple(_effect_row(effect) for effect in result.effects if effect.value is not None))


def _effect_row(effect: Effect) -> Row:
    assert effect.value is not None
    value = f"{_ratio(effect.value)}{ends_text(effect.ends, _ratio)}"
    settings = " and ".join(_settings(effect.settings))
    first = ", ".join(effect.first.values())
    return Row((settings, first if len(effect.settings) == 1 else "each alone", value))


def _settings(values: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in values.items()]


def _ratio(value: float) -> str:
    return f"{value:.3f}"


def _step_row(cell: CellResult, name: str, mixed: Collection[str]) -> Row:
    parts, implausible = {part.name: part.ms for part in cell.step_parts}, _implausible(cell)
    peak = (cell.peak_memory_bytes or {}).get("process")
    phases = cell.phases_ms
    first = None if phases is None else (phases.first_inference or 0.0) + (phases.compile or 0.0)
    return Row(
        (
            name,
            *(
                f"{_span(parts.get(part), marks_ranges=part in mixed)}{_IMPLAUSIBLE if part in implausible else ''}"
                for part in (*_ALWAYS, *_WHERE_WIDE)
            ),
            NOT_MEASURED if first is None else significant(first / 1e3),
            NOT_MEASURED if peak is None else f"{peak / 1e6:,.0f}",
            NOT_MEASURED if cell.loss is None else _loss(cell.loss),
        )
    )


def _span(spans: Spans | None, *, marks_ranges: bool) -> str:
    return (
        NOT_MEASURED
        if spans is None
        else f"{significant(spans.value)}{ends_text(spans.ends, marks_ranges=marks_ranges)}"
    )


def _checked_metric(rows: Iterable[CellResult]) -> str:
    """Return the metric whose fall was checked, the same in all rows."""
    return next((row.loss.metric for row in rows if row.loss is not None), "loss")


def _loss(check: LossCheck) -> str:
    return f"{significant(check.first)} to {significant(check.last)}"
