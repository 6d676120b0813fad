"""How the best settings of a search are confirmed: what that must have time for, and what it needs to know of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from irbench.features.tune.launch_costs import LaunchCosts, confirmation_s
from irbench.spec import Cell, Timing
from irbench.spec.serving import ServingPlan

_SPARE = 1.15
"""Launches take a little longer than their parts."""


def confirmation_timing(timing: Timing) -> Timing:
    """Return the protocol of a confirmation: that of a run, but large batches may have two blocks in a launch.

    An interval is over launches, and those scatter more than blocks do: twice the launches are worth more than twice
    the blocks.
    """
    return replace(timing, min_blocks=2)


@dataclass(frozen=True)
class ConfirmationPlan(ABC):
    """What a search must leave time for: its best settings beside the references.

    Attributes:
        cells: All rows, by id.
        references: Returns the ids of the references of settings with some batch.
    """

    cells: Mapping[str, Cell]
    references: Callable[[int], Collection[str]]
    timing: Timing

    @abstractmethod
    def usable_share(self, cell: Cell, call_ms: float, /) -> float:
        """Return which share of its throughput a setting is compared by."""

    @abstractmethod
    def needed_s(self, best: Sequence[str], costs: LaunchCosts, /) -> float:
        """Return how long a search must leave for the best settings, in seconds."""

    @abstractmethod
    def has_time_for(self, best: Sequence[str], costs: LaunchCosts, left_s: float, /) -> bool:
        """Whether all of these settings can be confirmed in the time that is left."""

    @abstractmethod
    def serving(self, best: Sequence[str], costs: LaunchCosts, left_s: float, /) -> ServingPlan | None:
        """Return how requests are served in place of calls; ``None`` where calls are compared."""

    @abstractmethod
    def timing_of(self, rows: int, /) -> Timing:
        """Return the protocol of a confirmation of so many rows."""

    def affordable(self, best: Sequence[str], costs: LaunchCosts, left_s: float) -> tuple[str, ...]:
        """Return as many of the best settings as there is time to confirm, at least one if any."""
        for count in range(len(best), 1, -1):
            if self.has_time_for(best[:count], costs, left_s):
                return tuple(best[:count])
        return tuple(best[:1])

    def spare_s(self, best: Sequence[str], costs: LaunchCosts, left_s: float) -> float:
        """Return how much of the time that is left may go to finding out whether the best may be used.

        One launch of the best setting is kept. A search that ends a little late leaves less than what checks were to
        take, and without its check a setting cannot be recommended at all: a preview of it is worth more.
        """
        return left_s - self.needed_s(best[:1], costs) / self.timing.min_launches

    def rows(self, best: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of settings and of the references of the first."""
        batch = self.cells[best[0]].load.batch if best else 1
        return tuple(dict.fromkeys((*best, *self.references(batch))))


class ConfirmationByCalls(ConfirmationPlan):
    """The best settings called back to back, in enough launches."""

    def usable_share(self, _cell: Cell, _call_ms: float, /) -> float:
        """Return all of it: calls follow each other."""
        return 1.0

    def needed_s(self, best: Sequence[str], costs: LaunchCosts, /) -> float:
        """Return how long the fewest launches that give intervals take."""
        rows, timing = costs.of(self.rows(best)), self.timing
        looking = timing.look_share if timing.look_calls else 0.0
        return _SPARE * confirmation_s(rows, timing, timing.min_launches) / (1 - looking)

    def has_time_for(self, best: Sequence[str], costs: LaunchCosts, left_s: float, /) -> bool:
        """Whether they fit, with the references, into one launch: in parts, everything would need twice as many."""
        return len(self.rows(best)) <= self.timing.most_cells and self.needed_s(best, costs) <= left_s

    def serving(self, _best: Sequence[str], _costs: LaunchCosts, _left_s: float, /) -> None:
        """Return nothing."""

    def timing_of(self, _rows: int, /) -> Timing:
        """Return the protocol, whose confidence the decision adjusts itself."""
        return self.timing
