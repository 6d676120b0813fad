"""The figures of a row that are compared over runs: what each is called, its unit, and its values in a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from irbench.record import CellLaunch, LaunchRecord
from irbench.row import CellResult
from irbench.spec import Timing
from irbench.stats.energy import energy_by_launch
from irbench.stats.figures import (
    Rounds,
    by_launch,
    frames_per_second,
    launch_levels,
    new_shape_by_launch,
    percentile_ms,
    rounds_that_count,
    supports_p90,
    sustained_by_launch,
    tail_percentiles_ms,
)
from irbench.stats.observed import Observed

Unit = Literal["ms", "fps", "bytes", "J", ""]


@dataclass(frozen=True)
class CellSamples:
    """What one run measured of a cell.

    Attributes:
        timing: The numbers of the run's protocol.
    """

    row: CellResult
    records: Sequence[LaunchRecord]
    launches: Sequence[Observed]
    timing: Timing

    @property
    def rounds(self) -> Rounds:
        """Its rounds that count, each with its launch."""
        return rounds_that_count(self.records, self.launches, self.row.id)

    @property
    def measured(self) -> tuple[CellLaunch, ...]:
        """What it measured in each launch."""
        return tuple(cell for record in self.records for cell in record.cells if cell.cell == self.row.id)


def _no_launches(_samples: CellSamples) -> tuple[float, ...]:
    return ()


@dataclass(frozen=True)
class ComparedFigure:
    """One figure.

    Attributes:
        of_row: Its value in a run's table.
        by_launch: Its value in each launch; nothing where a run has one value only.
        exact: Whether it is counted and not measured, so that every difference is real.
        depends_on_load: Whether other programs change it: times do, memory and errors do not.
    """

    name: str
    unit: Unit
    of_row: Callable[[CellResult], float | None]
    more_is_worse: bool = True
    by_launch: Callable[[CellSamples], Sequence[float]] = _no_launches
    exact: bool = False
    depends_on_load: bool = True


def _time_ms(row: CellResult) -> float | None:
    return row.p50_over_launches.value if row.p50_over_launches is not None else None


def _levels_ms(samples: CellSamples) -> Sequence[float]:
    return [math.exp(level) / 1e6 for level in launch_levels(samples.launches, samples.row.id)]


def _each_launch(figure: Callable[[Rounds], float]) -> Callable[[CellSamples], Sequence[float]]:
    return lambda samples: [figure(rounds) for rounds in by_launch(samples.rounds)]


def _p90_ms(samples: CellSamples) -> Sequence[float]:
    launches = by_launch(samples.rounds)
    return [percentile_ms(90)(rounds) for rounds in launches] if all(map(supports_p90, launches)) else []


def _p99_ms(samples: CellSamples) -> Sequence[float]:
    return tail_percentiles_ms([launch.tail_ns for launch in samples.measured], 99, samples.timing)


def _fps(samples: CellSamples) -> Sequence[float]:
    return [frames_per_second(rounds, samples.row.batch) for rounds in by_launch(samples.rounds)]


def _sustained(samples: CellSamples) -> Sequence[float]:
    return list(sustained_by_launch(samples.records, samples.row.id, samples.row.batch).values())


def _energy_joules(samples: CellSamples) -> Sequence[float]:
    return [use.joules for use in energy_by_launch(samples.records, samples.row.id).values()]


def _new_shape_ms(samples: CellSamples) -> Sequence[float]:
    return list(new_shape_by_launch(samples.records, samples.row.id).values())


def _peak_memory_bytes(samples: CellSamples) -> Sequence[float]:
    peaks = (launch.peak_memory_bytes.get("process") for launch in samples.measured)
    return [float(peak) for peak in peaks if peak is not None]


def _latency(name: str) -> Callable[[CellResult], float | None]:
    return lambda row: getattr(row.latency_ms, name, None)


def _phase(name: str) -> Callable[[CellResult], float | None]:
    return lambda row: getattr(row.phases_ms, name, None)


_ALL = (
    ComparedFigure("time", "ms", _time_ms, by_launch=_levels_ms),
    ComparedFigure("p50", "ms", _latency("p50"), by_launch=_each_launch(percentile_ms(50))),
    ComparedFigure("p90", "ms", _latency("p90"), by_launch=_p90_ms),
    ComparedFigure("p99", "ms", _latency("p99"), by_launch=_p99_ms),
    ComparedFigure("p99.9", "ms", _latency("p99_9")),
    ComparedFigure("new_shape", "ms", lambda row: row.new_shape_ms, by_launch=_new_shape_ms),
    ComparedFigure("fps", "fps", lambda row: row.fps, more_is_worse=False, by_launch=_fps),
    ComparedFigure("sustained", "fps", lambda row: row.sustained_fps, more_is_worse=False, by_launch=_sustained),
    ComparedFigure(
        "energy", "J", lambda row: row.energy.joules if row.energy is not None else None, by_launch=_energy_joules
    ),
    ComparedFigure("spread", "", lambda row: row.launch_spread),
    ComparedFigure(
        "max_err",
        "",
        lambda row: row.output_error.max_rel if row.output_error else None,
        depends_on_load=False,
    ),
    ComparedFigure("ready", "ms", _phase("ready")),
    ComparedFigure("import", "ms", _phase("import_")),
    ComparedFigure("load", "ms", _phase("load")),
    ComparedFigure("compile", "ms", _phase("compile")),
    ComparedFigure("first_inference", "ms", _phase("first_inference")),
    ComparedFigure(
        "peak_memory",
        "bytes",
        lambda row: (row.peak_memory_bytes or {}).get("process"),
        by_launch=_peak_memory_bytes,
        depends_on_load=False,
    ),
    ComparedFigure(
        "size",
        "bytes",
        lambda row: row.graph_files.size_bytes if row.graph_files else None,
        exact=True,
        depends_on_load=False,
    ),
)

FIGURES: Mapping[str, ComparedFigure] = {figure.name: figure for figure in _ALL}
"""By name, in the order in which they are listed. ``time`` is what verdicts are made from: of one batch, or of one
sample of a row with several streams or instances. The phases are those of a run's first launch."""
