"""The settings that a search chooses from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from irbench.features.tune.gaussian_process import Point, Settings
from irbench.spec import Cell, Objective

_MOST_VALUES = 4


_BATCHES = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class UsualValues:
    """The values that a search tries of each axis by default."""

    batch: tuple[int, ...]
    streams: tuple[int, ...]
    instances: tuple[int, ...]
    threads: tuple[int, ...]


def usual_values(objective: Objective, processors: int) -> UsualValues:
    """Return the values that are worth trying for an objective.

    For the latency of one call neither batches nor concurrent calls are: they only make it longer.
    """
    counts = spread(processors)
    if objective == "latency":
        return UsualValues((1,), (1,), (1,), counts)
    return UsualValues(_BATCHES, counts, counts, counts)


def spread(most: int) -> tuple[int, ...]:
    """Return whole numbers from 1 to ``most``, evenly apart on a scale of doublings, four at most."""
    doublings = most.bit_length() - 1
    steps = min(_MOST_VALUES - 1, doublings)
    counts = [round(most ** (step / steps)) for step in range(steps + 1)] if steps else [1]
    return tuple(dict.fromkeys((*counts, most) if most > 1 else counts))[-_MOST_VALUES:]


@dataclass(frozen=True)
class SearchSpace:
    """Rows of a table as the points of a search.

    Attributes:
        cells: What may be chosen, at least one.
        processors: How many may be used; a row that leaves threads to its runtime is taken to use all.
    """

    cells: tuple[Cell, ...]
    processors: int

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each cell, by its id."""
        return {cell.id: place for place, cell in enumerate(self.cells)}

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The id of each cell, by its place."""
        return tuple(cell.id for cell in self.cells)

    @cached_property
    def batches(self) -> tuple[int, ...]:
        """The batch size of each cell, by its place."""
        return tuple(cell.load.batch for cell in self.cells)

    @cached_property
    def settings(self) -> Settings:
        """The cells as points."""
        return Settings([self._point(cell) for cell in self.cells])

    @property
    def smallest(self) -> Sequence[int]:
        """Places of the cells with the smallest batch: what is certain to run in reasonable time."""
        least = min(self.batches)
        return [place for place, batch in enumerate(self.batches) if batch == least]

    @cached_property
    def _varied(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key for cell in self.cells for key in cell.load.varied))

    def _point(self, cell: Cell) -> Point:
        load = cell.load
        return (
            str(cell.address),
            load.precision,
            cell.artifact.variant if cell.artifact is not None else "",
            *(load.varied.get(key, "") for key in self._varied),
            float(load.batch),
            float(load.threads or self.processors),
            float(load.streams),
            float(load.instances),
        )
