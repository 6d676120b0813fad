"""What runs beside a model while it is measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from irbench.system.controls import Control

Pressure = Literal["cpu", "l3", "bandwidth"]
PRESSURES: tuple[Pressure, ...] = get_args(Pressure)
"""What irbench's own program presses on: arithmetic units, the last-level cache, and the bandwidth of memory."""
NeighbourKind = Literal[Pressure, "model", "command"]
FULL = 100
"""The intensity of a neighbour that is not held back, in percent."""
_PERIODS_COUNTED = 2
INTENSITY_IN_COMMAND = "{intensity}"
"""What stands in a command line for the intensity, in percent."""


@dataclass(frozen=True)
class Neighbour:
    """A program that runs beside a model.

    Attributes:
        kind: What it presses on, or what it is.
        target: A model's name, or a command line; empty for irbench's own pressure.
        intensity: Share of the time in which it works, in percent; of a command, what it makes of the number.
        cpus: Processors that it may use.
        shares_processors: Whether the model may use some of them too.
        rate: Calls per second of a model; ``None`` calls it again as soon as it has answered.
        controls: What keeps it away from the model.
        free_cpus: Processors that the model does not use, where controls move it.
        differs: Settings of what is called of a model that are not the row's, with their values: ``batch``, ``8``.
        warm_up_s: How long a command runs in each launch before the first block; the others say when they are ready.
    """

    kind: NeighbourKind
    target: str = ""
    intensity: int = FULL
    cpus: tuple[int, ...] = ()
    shares_processors: bool = False
    rate: float | None = None
    controls: tuple[Control, ...] = ()
    free_cpus: tuple[int, ...] = ()
    differs: tuple[tuple[str, str], ...] = ()
    warm_up_s: float = 0.0

    @property
    def name(self) -> str:
        """What tables call it without its intensity: ``bandwidth``, ``resnet50 at 20/s``, ``cpu (nice)``."""
        name = self.target or self.kind
        name = name if self.rate is None else f"{name} at {self.rate:g}/s"
        return f"{name} ({', '.join(self.controls)})" if self.controls else name

    @property
    def is_graded(self) -> bool:
        """Whether it has an intensity."""
        return self.kind in PRESSURES or INTENSITY_IN_COMMAND in self.target

    @property
    def asked(self) -> float | None:
        """Processors that pressure is to keep busy, or calls per second of a model; ``None`` where no amount is asked.

        At an intensity of 0 no work is asked for, so that no share of it can be missing.
        """
        if self.kind in PRESSURES:
            return len(self.cpus) * self.intensity / FULL or None
        return self.rate

    @property
    def label(self) -> str:
        """What tables call it: ``bandwidth 50%``."""
        return f"{self.name} {self.intensity}%" if self.is_graded else self.name

    @property
    def counted_s(self) -> float:
        """How long it is counted at least in one go: calls at a rate for two periods, so that none is without calls."""
        return 0.0 if self.rate is None else _PERIODS_COUNTED / self.rate

    @property
    def process(self) -> Neighbour:
        """What all neighbours have in common that one process serves: irbench's own changes its intensity."""
        return replace(self, intensity=FULL) if self.kind in PRESSURES else self

    @property
    def command_line(self) -> str:
        """The command line of a command, at its intensity."""
        return self.target.replace(INTENSITY_IN_COMMAND, str(self.intensity))


@dataclass(frozen=True)
class CorunPlan:
    """What models are measured beside.

    Attributes:
        neighbours: Each at every intensity that was asked for. The target of one that is a model is how the user named
            that among the models of the run.
        measured: How many of the run's first models were named to be measured; those after them were named as
            neighbours only, and are measured beside the others.
    """

    neighbours: tuple[Neighbour, ...]
    measured: int

    @property
    def round_s(self) -> float:
        """How long rounds last at least, so that each has calls of all neighbours."""
        return max((each.counted_s for each in self.neighbours), default=0.0)
