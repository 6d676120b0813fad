"""The tables below the table of speeds: what the calls of its rows are made of."""

from __future__ import annotations

from irbench.core.result import GroupResult
from irbench.render.stage_table import stage_table
from irbench.render.table import TextTable
from irbench.render.training_tables import effect_table, step_table


def tables_below(result: GroupResult, confidence: float = 0.95) -> tuple[TextTable, ...]:
    """Return the parts of training steps and the effects of settings, or the stages of pipelines; those there are.

    ``confidence`` is that of the intervals over launches, as a fraction.
    """
    of_training = step_table(result, confidence), effect_table(result, confidence)
    tables = of_training if result.is_training else (stage_table(result, confidence),)
    return tuple(table for table in tables if table is not None)
