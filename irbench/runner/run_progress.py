"""Progress of a run as plain values, reported only between rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypedDict

from irbench.core.activity import Activity, Outlook
from irbench.core.result import GroupResult
from irbench.spec import Workload


@dataclass(frozen=True)
class Progress:
    """One moment of a run.

    Attributes:
        model: The group's model.
        activity: What runs now.
        launch: The launch under way, counted from 1; 0 before the first. The round of launches with ``--cold``, and the
            row of a soak.
        most_launches: After how many the group ends at the latest; ``None`` where only time ends it.
        elapsed_s: Since the group began.
        budget_s: What the group may take; ``None`` where that is not known, as of a soak with ``--calls``.
        remaining_s: How long the tables of the run are expected to take from now on, launches with counters left out;
            ``None`` where that is not known.
        outlook: How well the figure that decides is known; ``None`` where nothing is known of it.
        interim: The table as the finished launches give it, when a launch has just ended.
        batch: The group's batch, where the run has several and the group one; ``None`` otherwise.
        batches: Those of the group's rows, where they are several.
        sizes: The sizes of dimensions that tell the table from others of its sweep (``--shapes``), by name.
        counted: What ``launch`` counts.
    """

    model: str
    activity: Activity
    launch: int
    most_launches: int | None
    elapsed_s: float
    budget_s: float | None
    outlook: Outlook | None = None
    interim: GroupResult | None = None
    batch: int | None = None
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    batches: tuple[int, ...] = ()
    counted: Literal["launch", "round", "row"] = "launch"
    remaining_s: float | None = None

    @property
    def table(self) -> str:
        """What tells this table from the others: the model, and batches and sizes where there are several."""
        batch = [] if self.batch is None else [f"batch {self.batch}"]
        batches = [f"batches {', '.join(map(str, self.batches))}"] if self.batches else []
        parts = (*batch, *batches, *(f"{name} {size}" for name, size in self.sizes.items()))
        return f"{self.model} {', '.join(parts)}".rstrip()


class BatchFacts(TypedDict):
    """What a moment of a group says of batches; see :class:`Progress`."""

    batch: int | None
    batches: tuple[int, ...]


def batch_facts(workloads: Iterable[Workload], batches: Sequence[int] | None) -> BatchFacts:
    """Return what is said of the batches of a group."""
    own = tuple(sorted({workload.batch for workload in workloads}))
    if len(own) > 1:
        return BatchFacts(batch=None, batches=own)
    return BatchFacts(batch=max(own) if len(batches or ()) > 1 else None, batches=())


Listener: TypeAlias = Callable[[Progress], None]
