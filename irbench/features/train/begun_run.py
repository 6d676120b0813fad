"""A run of training steps that was begun before: what it asked for, and what its checks of losses gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from irbench.core.result import RunDocument
from irbench.core.stored_plan import StoredPlan
from irbench.errors import IrbenchError
from irbench.exporter.source import Source
from irbench.features.train.loss_checks import Outcome
from irbench.features.train.options import TRAIN, TrainOptions
from irbench.options.stored import own_options_of
from irbench.runs.run_destination import Destination
from irbench.system.document_damage import damage_text


@dataclass(frozen=True)
class BegunRun:
    """A run that goes on.

    Attributes:
        options: What it asked for.
        plan: What it asked for besides, as any run does.
        outcomes: What the check of each row's loss gave, by cell id; empty where it ended before its first launch.
        destination: Its folder.
    """

    options: TrainOptions
    plan: StoredPlan
    outcomes: Mapping[str, Outcome]
    destination: Destination

    @property
    def own_code(self) -> tuple[str, ...]:
        """What it runs of the user's beside models and modules."""
        return () if Source(self.options.data).function is None else (self.options.data,)


def begun_run(document: RunDocument, destination: Destination) -> BegunRun | None:
    """Return what is known of a run of training steps; ``None`` for a run of anything else.

    Raises:
        IrbenchError: What it asked for is nothing that irbench writes.
    """
    asked = document.plan.training
    if not asked:
        return None
    rows = (row for table in document.groups for row in table.cells)
    outcomes = {row.id: outcome for row in rows if (outcome := row.loss or row.failure) is not None}
    plan = replace(document.plan, training=None, models=document.plan.sources)  # no bundle that has its name
    return BegunRun(_options(asked), plan, outcomes, destination)


def _options(asked: Any) -> TrainOptions:
    try:
        return own_options_of(TRAIN, asked)
    except (AttributeError, TypeError, ValueError) as error:
        raise IrbenchError(
            f"The run does not record which training was asked for: {damage_text(error)}.",
            hint="Begin another run with irbench train.",
        ) from error
