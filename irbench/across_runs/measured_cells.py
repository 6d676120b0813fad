"""The cells of a run: which rows of different runs are the same one, and the figures that are compared, by launch."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from irbench.across_runs.checked_runs import CheckedRun
from irbench.core.record import CellLaunch, LaunchRecord
from irbench.core.result import GroupResult, RunDocument
from irbench.core.row import CellResult
from irbench.options.conditions import UNITS, Unit
from irbench.spec import AGAIN, GraphFiles, Io, Timing
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
    tails_ns,
)
from irbench.stats.observed import Observed, records_that_count
from irbench.stats.rederive import observed_launches, planned_timing
from irbench.stats.run_modes.generation import first_token_ms, token_ms


@dataclass(frozen=True)
class CellSamples:
    """What one run measured of a cell."""

    row: CellResult
    records: Sequence[LaunchRecord]
    launches: Sequence[Observed]
    timing: Timing

    @property
    def rounds(self) -> Rounds:
        """Its rounds that count, each with its launch."""
        return rounds_that_count(self.records, self.launches, self.row.id)

    @property
    def counted(self) -> Sequence[LaunchRecord]:
        """The launches that are not left out for it."""
        return records_that_count(self.records, self.launches, self.row.id)

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
        by_launch: Its value in each launch; nothing where a run has one value only.
        depends_on_load: Whether other programs change it: times do, memory and errors do not.
        by_start: Its value in each launch where both of two rows are started in it, and one counts as much as another;
            ``None`` where that is the same.
        is_repeatable: Whether equal inputs give equal values, so that rows of one run need no interval of it.
    """

    name: str
    of_row: Callable[[CellResult], float | None]
    more_is_worse: bool = True
    by_launch: Callable[[CellSamples], Sequence[float]] = _no_launches
    exact: bool = False
    depends_on_load: bool = True
    by_start: Callable[[CellSamples], Sequence[float]] | None = None
    is_repeatable: bool = False

    def in_pairs(self, samples: CellSamples) -> Sequence[float]:
        """Return its value in each launch, for rows that shared all of these."""
        return (self.by_start or self.by_launch)(samples)

    @property
    def is_judged_in_one_run(self) -> bool:
        """Whether one run decides on it: each launch has a value, or a single value is exact."""
        return self.exact or self.is_repeatable or self.by_start is not None or self.by_launch is not _no_launches

    @property
    def unit(self) -> Unit:
        """Of its values."""
        return UNITS[self.name]


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
    return tail_percentiles_ms(tails_ns(samples.counted, samples.row.id), 99, samples.timing)


def _fps(samples: CellSamples) -> Sequence[float]:
    return [frames_per_second(rounds, samples.row.batch) for rounds in by_launch(samples.rounds)]


def _sustained(samples: CellSamples) -> Sequence[float]:
    return list(sustained_by_launch(samples.counted, samples.row.id, samples.row.batch).values())


def _energy_joules(samples: CellSamples) -> Sequence[float]:
    return [use.joules for use in energy_by_launch(samples.counted, samples.row.id).values()]


def _of_tokens(figure: Callable[[Rounds], float]) -> Callable[[CellSamples], Sequence[float]]:
    def by_launch_of(samples: CellSamples) -> Sequence[float]:
        if samples.row.generation is None:
            return ()
        values = [figure(rounds) for rounds in by_launch(samples.rounds)]
        return [value for value in values if math.isfinite(value)]

    return by_launch_of


def _generation(name: str) -> Callable[[CellResult], float | None]:
    def of_row(row: CellResult) -> float | None:
        spans = getattr(row.generation, name, None)
        return None if spans is None else spans.value

    return of_row


def _tokens_per_s(samples: CellSamples) -> Sequence[float]:
    generation = samples.row.generation
    return [] if generation is None else [generation.new_tokens * fps for fps in _fps(samples)]


def _new_shape_ms(samples: CellSamples) -> Sequence[float]:
    return list(new_shape_by_launch(samples.counted, samples.row.id).values())


def _peak_memory_bytes(samples: CellSamples) -> Sequence[float]:
    peaks = (launch.peak_memory_bytes.get("process") for launch in samples.measured)
    return [float(peak) for peak in peaks if peak is not None]


def _latency(name: str) -> Callable[[CellResult], float | None]:
    return lambda row: getattr(row.latency_ms, name, None)


def _phase(name: str) -> ComparedFigure:
    """Return a phase of starting a row: of a run that of its first launch, in which no other row starts beside it."""
    attribute = "import_" if name == "import" else name

    def by_start_ms(samples: CellSamples) -> Sequence[float]:
        return [launch.phases_ns[name] / 1e6 for launch in samples.measured if name in launch.phases_ns]

    return ComparedFigure(name, lambda row: getattr(row.phases_ms, attribute, None), by_start=by_start_ms)


_ALL = (
    ComparedFigure("time", _time_ms, by_launch=_levels_ms),
    ComparedFigure("p50", _latency("p50"), by_launch=_each_launch(percentile_ms(50))),
    ComparedFigure("p90", _latency("p90"), by_launch=_p90_ms),
    ComparedFigure("p99", _latency("p99"), by_launch=_p99_ms),
    ComparedFigure("p99.9", _latency("p99_9")),
    ComparedFigure("new_shape", lambda row: row.new_shape_ms, by_launch=_new_shape_ms),
    ComparedFigure("first_token", _generation("first_token_ms"), by_launch=_of_tokens(first_token_ms)),
    ComparedFigure("token", _generation("token_ms"), by_launch=_of_tokens(token_ms)),
    ComparedFigure("tokens_per_s", _generation("tokens_per_s"), more_is_worse=False, by_launch=_tokens_per_s),
    ComparedFigure("fps", lambda row: row.fps, more_is_worse=False, by_launch=_fps),
    ComparedFigure("sustained", lambda row: row.sustained_fps, more_is_worse=False, by_launch=_sustained),
    ComparedFigure(
        "energy", lambda row: row.energy.joules if row.energy is not None else None, by_launch=_energy_joules
    ),
    ComparedFigure("spread", lambda row: row.launch_spread),
    ComparedFigure(
        "max_err",
        lambda row: row.output_error.max_rel if row.output_error else None,
        depends_on_load=False,
        is_repeatable=True,
    ),
    *map(_phase, ("ready", "import", "load", "compile", "first_inference")),
    ComparedFigure(
        "peak_memory",
        lambda row: (row.peak_memory_bytes or {}).get("process"),
        by_launch=_peak_memory_bytes,
        depends_on_load=False,
    ),
    ComparedFigure(
        "size",
        lambda row: row.graph_files.size_bytes if row.graph_files else None,
        exact=True,
        depends_on_load=False,
    ),
)

FIGURES: Mapping[str, ComparedFigure] = {figure.name: figure for figure in _ALL}
"""By name, in the order in which they are listed. ``time`` is what verdicts are made from: of one batch, or of one
sample of a row with several streams or instances. The phases are those of a run's first launch."""


def figure_of(name: str, row: CellResult) -> ComparedFigure:
    """Return a figure of a row. The p50 of calls that follow each other is its time: one change has one number."""
    return FIGURES["time" if name == "p50" and row.mode == "sync" else name]


@dataclass(frozen=True)
class CellKey:
    """What was asked of a row.

    Attributes:
        threads: Total for each process; ``None`` where the runtime chose.
        again: Whether it is the second row of a backend that is compared with itself.
        environment: What tables call the Python whose runtime was measured; empty for the one that irbench ran in.
        new_tokens: How many tokens a call generated; 0 where calls were single inferences.
        beside: What tables call that which ran at the same time; empty for nothing.
    """

    model: str
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    backend: str
    device: str
    precision: str
    streams: int
    threads: int | None
    batch: int
    io: Io
    variant: str = ""
    kind: str = "onnx"
    dynamic: bool = False
    again: bool = False
    instances: int = 1
    environment: str = ""
    options: tuple[tuple[str, str], ...] = ()
    has_neighbour: bool = False
    new_tokens: int = 0
    beside: str = ""


def key_of(table: GroupResult, row: CellResult) -> CellKey:
    """Return what was asked of a table's row."""
    kind, _, variant = row.artifact.partition("+")
    return CellKey(
        model=row.model or table.model,
        shapes=tuple((name, tuple(shape)) for name, shape in (row.shapes or table.shapes).items()),
        backend=row.backend,
        device=row.device,
        precision=row.requested.precision,
        streams=row.requested.streams,
        threads=row.requested.threads,
        batch=row.batch,
        io=row.io,
        variant=variant,
        kind=kind,
        dynamic=row.dynamic,
        again=row.id.endswith(AGAIN),
        instances=row.requested.instances,
        environment="" if row.environment is None else row.environment.label,
        options=tuple(sorted(row.requested.options.items())),
        has_neighbour=any(note.code == "busy-neighbour" for note in table.notes),
        beside="" if row.requested.beside is None else row.requested.beside.label,
        # of a row that failed, its table says it
        new_tokens=next((cell.generation.new_tokens for cell in table.cells if cell.generation is not None), 0),
    )


def without_model(key: CellKey) -> CellKey:
    """Return a key that matches the same cell of any model: names of inputs are the model's own, too."""
    shapes = tuple((str(place), shape) for place, (_, shape) in enumerate(key.shapes))
    return replace(key, model="", shapes=shapes)


def key_names(keys: Collection[CellKey]) -> Mapping[CellKey, str]:
    """Return what each cell is called: as little as tells them apart.

    ``ort``; ``ort+int8 x4 batch 8`` where variants, streams or batches differ.
    """
    differs = {
        name: len({getattr(key, name) for key in keys}) > 1
        for name in ("model", "batch", "threads", "io", "new_tokens")
    }
    shapes_matter = len({(key.model, key.batch) for key in keys}) < len({(key.model, key.shapes) for key in keys})
    precise = {key: _name(key, differs, shapes=shapes_matter) for key in keys}
    names = list(precise.values())
    return {key: name if names.count(name) == 1 else f"{name} {key.precision}" for key, name in precise.items()}


def _name(key: CellKey, differs: Mapping[str, bool], *, shapes: bool) -> str:
    device = "" if key.device == "cpu" else f":{key.device}"
    parts = [
        f"{key.model}:" if differs["model"] else "",
        f"{key.backend}{device}{f'+{key.variant}' if key.variant else ''}",
        "dynamic" if key.dynamic else "",
        f"{key.instances}x{key.threads or 'native'}" if key.instances > 1 else "",
        key.environment,
        *(f"{option}={value}" for option, value in key.options),
        f"x{key.streams}" if key.streams > 1 else "",
        f"batch {key.batch}" if differs["batch"] else "",
        ", ".join("x".join(map(str, shape)) for _, shape in key.shapes) if shapes else "",
        f"threads {key.threads or 'native'}" if differs["threads"] else "",
        f"{key.new_tokens} tokens" if differs["new_tokens"] else "",
        f"io {key.io}" if differs["io"] else "",
        f"beside {key.beside}" if key.beside else "",
        "again" if key.again else "",
        "beside a busy neighbour" if key.has_neighbour else "",
    ]
    return " ".join(part for part in parts if part)


@dataclass(frozen=True)
class MeasuredCell:
    """One cell in one run.

    Attributes:
        rows: Its rows: one, or several where a table was split and each part had it as the baseline.
        inputs: Digests of the inputs that were given; empty where they were generated.
        on_busy_machine: Whether something outside disturbed more than half of the blocks of one of its tables.
    """

    key: CellKey
    run: CheckedRun
    rows: tuple[CellResult, ...]
    samples: tuple[CellSamples, ...] = field(repr=False)
    inputs: str = ""
    on_busy_machine: bool = False

    @property
    def row(self) -> CellResult:
        """Its first row."""
        return self.rows[0]

    def by_launch(self, figure: ComparedFigure) -> tuple[float, ...]:
        """Return a figure's value in each launch, in the figure's unit; nothing where a run has one value only."""
        return tuple(value for samples in self.samples for value in figure.by_launch(samples))

    def in_run(self, figure: ComparedFigure) -> float | None:
        """Return a figure's value in the run: the median over launches, or what its row shows; ``None`` without."""
        launches = self.by_launch(figure)
        return statistics.median(launches) if launches else figure.of_row(self.row)

    @property
    def is_measured(self) -> bool:
        """Whether it has right outputs, a time, and one model."""
        return self.row.state == "ok" and not self.is_ambiguous and bool(self.by_launch(FIGURES["time"]))

    @property
    def is_ambiguous(self) -> bool:
        """Whether its rows ran different graphs: models of one name, whose times are not of the same thing."""
        return _several_graphs(self.rows)


def measured_cells(run: CheckedRun) -> Mapping[CellKey, MeasuredCell]:
    """Return every cell of a run by what was asked of it, also those without figures."""
    parts_by_key: dict[CellKey, list[tuple[CellSamples, GroupResult]]] = {}
    for number, table in enumerate(run.document.groups):
        for samples in _samples(run, number, table):
            parts_by_key.setdefault(key_of(table, samples.row), []).append((samples, table))
    return {key: _cell(key, run, parts) for key, parts in parts_by_key.items()}


def ambiguous_models(document: RunDocument) -> tuple[str, ...]:
    """Return the names of models of which several are of one name, so that their rows cannot be told apart."""
    return tuple(dict.fromkeys(key.model for key in ambiguous_cells(document)))


def ambiguous_cells(document: RunDocument) -> tuple[CellKey, ...]:
    """Return the cells of which there are several rows that ran different graphs."""
    rows_by_key: dict[CellKey, list[CellResult]] = {}
    for table in document.groups:
        for row in table.cells:
            rows_by_key.setdefault(key_of(table, row), []).append(row)
    return tuple(key for key, rows in rows_by_key.items() if _several_graphs(rows))


def _several_graphs(rows: Iterable[CellResult]) -> bool:
    return len({row.graph_files for row in rows if row.graph_files is not None}) > 1


def _samples(run: CheckedRun, number: int, table: GroupResult) -> Iterator[CellSamples]:
    timing = planned_timing(run.document.plan)
    records = [record for record in run.records if record.group == number]
    observed: dict[tuple[str, int], Sequence[Observed]] = {}
    for row in table.cells:
        alike = (row.mode, row.batch)  # whose rows are reduced together
        if alike not in observed:
            observed[alike] = observed_launches(table, row, records, timing)
        yield CellSamples(row, records, observed[alike], timing)


def _cell(key: CellKey, run: CheckedRun, parts: Sequence[tuple[CellSamples, GroupResult]]) -> MeasuredCell:
    (first, table), *_ = parts
    return MeasuredCell(
        key=key,
        run=run,
        rows=tuple(samples.row for samples, _ in parts),
        samples=tuple(samples for samples, _ in parts),
        inputs=inputs_digest(table, first.row),
        on_busy_machine=any(table.is_mostly_disturbed for _, table in parts),
    )


def inputs_digest(table: GroupResult, row: CellResult) -> str:
    """Return digests of the inputs that a row was given; empty where they were generated."""
    inputs = row.given_inputs or table.given_inputs
    return "" if inputs is None else msgspec.json.encode(inputs.sha256, order="sorted").decode()


@dataclass(frozen=True)
class MeasuredGraph:
    """A graph that was measured.

    Attributes:
        artifact: What documents call the graph: ``onnx``, ``onnx+basic-int8``.
        batch: Samples per inference: an optimised graph is another one at each.
    """

    model: str
    artifact: str
    batch: int
    files: GraphFiles


def measured_graphs(document: RunDocument) -> tuple[MeasuredGraph, ...]:
    """Return the graphs that a run measured, as far as its document says it, each once."""
    rows = ((row.model or table.model, row) for table in document.groups for row in table.cells)
    graphs = (
        MeasuredGraph(model, row.artifact, row.batch, row.graph_files)
        for model, row in rows
        if row.graph_files is not None
    )
    return tuple(dict.fromkeys(graphs))


def is_another_graph(known: Collection[MeasuredGraph], artifact: str, batch: int, files: GraphFiles | None) -> bool:
    """Return whether none of these graphs is the one that would be measured; another kind may be new."""
    alike = [graph for graph in known if graph.artifact == artifact]
    return bool(alike) and all((graph.batch, graph.files) != (batch, files) for graph in alike)
