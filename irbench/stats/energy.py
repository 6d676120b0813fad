"""Energy per inference and power, from what counters showed while a row ran alone.

The counters are those of the whole machine, so that what other programs do is included. Energy per inference is the
mean power over the reading times the time that an inference took: a reading begins a few calls before the timed
window, in the same work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from irbench.core.record import EnergyReading, LaunchRecord, Sustained
from irbench.core.row import EnergyUse, Spans
from irbench.spec import Timing
from irbench.stats.figures import positive_span
from irbench.stats.intervals import interval_at, looks_of, median


@dataclass(frozen=True)
class LaunchEnergyUse:
    """What one launch showed of a row.

    Attributes:
        seconds: Time per inference, of all that are in flight together.
        watts: Mean power while it ran, by domain.
        idle_watts: Mean power while nothing ran, by domain; empty where that is unknown.
    """

    seconds: float
    watts: Mapping[str, float]
    idle_watts: Mapping[str, float]

    @property
    def joules(self) -> float:
        """Energy per inference."""
        return sum(self.watts.values()) * self.seconds

    @property
    def joules_above_idle(self) -> float | None:
        """Energy per inference beyond what the idle machine uses in that time; ``None`` where that is unknown."""
        idle = self.all_idle_watts
        return None if idle is None else self.joules - idle * self.seconds

    @property
    def all_idle_watts(self) -> float | None:
        """Power of the idle machine over the domains that count for the row; ``None`` where one is unknown."""
        idle = [self.idle_watts.get(domain) for domain in self.watts]
        return None if None in idle else sum(watts for watts in idle if watts is not None)


def energy_by_launch(records: Sequence[LaunchRecord], cell: str) -> dict[int, LaunchEnergyUse]:
    """Return what each launch that read energy showed of a row, by the launch's number."""
    uses: dict[int, LaunchEnergyUse] = {}
    for record in records:
        for run in record.sustained:
            use = _use(run, record.idle_energy) if run.cell == cell else None
            if use is not None:
                uses[record.launch] = use
    return uses


class EnergyFields(TypedDict):
    """What a row says of its energy."""

    energy: EnergyUse | None
    energy_over_launches: Spans | None
    energy_above_idle_over_launches: Spans | None


def energy_figures(records: Sequence[LaunchRecord], cell: str, timing: Timing) -> EnergyFields:
    """Return a row's energy over the launches that read it; nothing without any."""
    uses = list(energy_by_launch(records, cell).values())
    return EnergyFields(
        energy=_use_of_row(uses),
        energy_over_launches=_span(uses, timing),
        energy_above_idle_over_launches=_above_idle_span(uses, timing),
    )


def _use_of_row(uses: Sequence[LaunchEnergyUse]) -> EnergyUse | None:
    if not uses:
        return None
    above = [use.joules_above_idle for use in uses if use.joules_above_idle is not None]
    idle = [use.all_idle_watts for use in uses if use.all_idle_watts is not None]
    domains = dict.fromkeys(domain for use in uses for domain in use.watts)
    return EnergyUse(
        joules=median([use.joules for use in uses]),
        joules_above_idle=median(above) if above else None,
        watts=median([sum(use.watts.values()) for use in uses]),
        idle_watts=median(idle) if idle else None,
        watts_by_domain={
            domain: median([use.watts[domain] for use in uses if domain in use.watts]) for domain in domains
        },
    )


def _span(uses: Sequence[LaunchEnergyUse], timing: Timing) -> Spans | None:
    return positive_span([use.joules for use in uses], timing) if uses else None


def _above_idle_span(uses: Sequence[LaunchEnergyUse], timing: Timing) -> Spans | None:
    """Return the same of the energy above that of the idle machine, whose lower end may be below 0."""
    above = [use.joules_above_idle for use in uses if use.joules_above_idle is not None]
    if not above:
        return None
    interval = interval_at(above, looks_of(timing), timing.confidence)
    return Spans(interval.value, **interval.ends())


def _use(run: Sustained, idle: EnergyReading | None) -> LaunchEnergyUse | None:
    if run.energy is None:
        return None
    watts = _watts(run.energy)
    idle_watts = _watts(idle) if idle is not None else {}
    return LaunchEnergyUse(run.wall_ns / 1e9 / max(1, run.completions), watts, idle_watts) if watts else None


def _watts(reading: EnergyReading) -> dict[str, float]:
    """Return the mean power of each domain; one that stood still was not read."""
    return {
        domain: used_uj / max(1, reading.wall_ns) * 1e3
        for domain, used_uj in reading.microjoules.items()
        if used_uj > 0
    }
