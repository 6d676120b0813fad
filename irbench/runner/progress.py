"""Progress of a run as plain values, reported only between rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from irbench.activity import Activity, Outlook
from irbench.result import GroupResult

__all__ = ["Listener", "Progress"]


@dataclass(frozen=True)
class Progress:
    """One moment of a run.

    Attributes:
        model: The group's model.
        activity: What runs now.
        launch: The launch under way, counted from 1; 0 before the first. The round of launches with ``--cold``, and the
            row of a soak.
        most_launches: After how many the group ends at the latest.
        elapsed_s: Since the group began.
        budget_s: What the group may take; ``None`` where that is not known, as of a soak with ``--calls``.
        outlook: How well the figure that decides is known; ``None`` where nothing is known of it.
        interim: The table as the finished launches give it, when a launch has just ended.
        batch: The group's batch, where the run has several; ``None`` where it has one.
        sizes: The sizes of dimensions that tell the table from others of its sweep (``--shapes``), by name.
        counted: What ``launch`` counts.
    """

    model: str
    activity: Activity
    launch: int
    most_launches: int
    elapsed_s: float
    budget_s: float | None
    outlook: Outlook | None = None
    interim: GroupResult | None = None
    batch: int | None = None
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    counted: Literal["launch", "round", "row"] = "launch"

    @property
    def table(self) -> str:
        """What tells this table from the others: the model, and batch and sizes where there are several."""
        told = {**({} if self.batch is None else {"batch": self.batch}), **self.sizes}
        return f"{self.model} {', '.join(f'{name} {size}' for name, size in told.items())}".rstrip()


Listener: TypeAlias = Callable[[Progress], None]
