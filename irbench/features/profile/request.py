"""What is asked of a profile, as one typed request."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from irbench.errors import IrbenchError
from irbench.features.profile.options import ProfileSettings
from irbench.features.profile.profiled_launches import ProfilePlan
from irbench.optimizer import UNOPTIMIZED
from irbench.options.run import RunOptions
from irbench.stats.intervals import MOST_LAUNCHES

TOP = 20
"""Rows of a table of nodes or operators."""


@dataclass(frozen=True)
class ProfileOptions:
    """What is profiled.

    Attributes:
        run: What is profiled, with the settings of a run; it has one model.
        plan: How long it takes.
        compared: Two levels of optimisation, by name; empty where none are compared.
    """

    run: RunOptions
    plan: ProfilePlan = field(default_factory=ProfilePlan)
    compared: tuple[str, ...] = ()

    @property
    def asked(self) -> RunOptions:
        """The settings of the run, with the levels that are compared."""
        return replace(self.run, optimize=self.compared) if self.compared else self.run

    def require_one_table(self) -> None:
        """Refuse two options that contradict each other.

        Raises:
            IrbenchError: Levels are compared, and a level was given.
        """
        if self.compared and self.run.optimize != (UNOPTIMIZED,):
            raise IrbenchError("--compare and --optimize cannot be combined.", hint="--compare names both levels.")


def profile_options(settings: ProfileSettings, run: RunOptions) -> ProfileOptions:
    """Return what is profiled.

    Args:
        settings: What is asked of a profile alone.
        run: The rest, with its model.

    Raises:
        IrbenchError: These are more launches than intervals can be computed of.
    """
    single = {
        "batch": settings.batch,
        "threads": settings.threads,
        "precision": settings.precision,
        "optimize": settings.optimize,
    }
    lists: dict[str, Any] = {name: (value,) for name, value in single.items() if value is not None}
    return ProfileOptions(replace(run, **lists), _profile_plan(settings), settings.compare or ())


def _profile_plan(settings: ProfileSettings) -> ProfilePlan:
    launches, usual = settings.launches, ProfilePlan()
    if launches is not None and launches > MOST_LAUNCHES:
        raise IrbenchError(
            f"A profile has at most {MOST_LAUNCHES} launches, not {launches}.", hint="Give fewer: --launches 20"
        )
    return ProfilePlan(
        launches=launches or usual.launches,
        inferences=settings.inferences or usual.inferences,
        budget_s=settings.budget or usual.budget_s,
        counted_launches=launches or usual.counted_launches,
    )
