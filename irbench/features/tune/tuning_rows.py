"""The rows that a search chooses from, and the references: what is tried, advice of vendors, a limit of accuracy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from irbench.api.progress import Say
from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.core.quantities import plural
from irbench.core.record import Failure
from irbench.errors import IrbenchError
from irbench.features.tune.options import TuneOptions
from irbench.features.tune.report import Excluded, ReferenceKind, setting_of
from irbench.features.tune.search_schedule import SEARCH
from irbench.features.tune.search_space import SearchSpace, usual_values
from irbench.notices.notes import AccuracyOfRandomInputs
from irbench.optimizer import UNOPTIMIZED
from irbench.options.run import RunOptions
from irbench.options.values import AS_IT_IS, alternatives
from irbench.render.accuracy_texts import accuracy_text, limit_text
from irbench.requests import probes
from irbench.requests.resolve import able_backends, resolve_backends, resolve_bundles
from irbench.requests.run_requests import once, planned, refuse_several_values, requested
from irbench.requests.user_code import accuracy_limit
from irbench.runner.accuracy_check import answers_key
from irbench.runner.plan import PlannedGroup, with_rows
from irbench.runner.request import RunRequest
from irbench.runner.requested_cells import is_at_level
from irbench.runner.requested_inputs import fixed_batch
from irbench.runs.measurement import with_accuracy
from irbench.spec import Accuracy, AccuracyLimit, Bundle, Cell, Load, Objective, Timing
from irbench.spi import Description
from irbench.system import host
from irbench.worker import call_in_worker
from irbench.worker.requested_confinement import confinement_of

_NARROW = ("bf16", "fp16")
_LEVELS = (UNOPTIMIZED, "extended", "int8")
_WIDE = ("", "fp32")
_ADVICE_DEADLINE_S = 120.0
_USUAL_LEVELS = (UNOPTIMIZED, "extended")
_NATIVE: Literal["native"] = "native"


def with_narrow_precisions(options: TuneOptions, run: RunOptions, bundle: Bundle) -> TuneOptions:
    """Return the options of a search, in which a limit of accuracy adds precisions and levels that are faster.

    A precision and a level that the user gave stay as they are, and so does a model that is not in fp32. ``run`` has
    its backends.
    """
    graph = bundle.artifact(("onnx",))
    if accuracy_limit(run) is None or (graph is not None and graph.precision not in _WIDE):
        return replace(options, run=run)
    precision = run.precision or ("fp32", *_narrow_precisions(run))
    levels = options.optimize or (_LEVELS if _reads_onnx(run) else None)
    return replace(options, run=replace(run, precision=precision), optimize=levels)


def _narrow_precisions(run: RunOptions) -> tuple[str, ...]:
    available: set[str] = set()
    for address in map(BackendAddress.parse, run.backends or ()):
        description = registry.describe(registry.BACKENDS, address.name)
        known = probes.remembered(description) or probes.probe(description)
        available.update(known.precisions.get(address.device, ()))
    return tuple(name for name in _NARROW if name in available)


def _reads_onnx(run: RunOptions) -> bool:
    return any("onnx" in registry.backend(BackendAddress.parse(name).name).consumes for name in run.backends or ())


@dataclass(frozen=True)
class _Advice:
    """The options and the number of concurrent inferences that the vendor of a backend advises."""

    options: Mapping[str, str]
    streams: int

    def is_followed_by(self, load: Load) -> bool:
        return (load.varied, load.streams, load.threads, load.instances) == (self.options, self.streams, None, 1)


@dataclass(frozen=True)
class TuningRows:
    """All rows of a search and its confirmation, as one planned table.

    Attributes:
        request: The run of all rows.
        space: Rows that may be chosen.
        defaults: Rows that run a backend without any option.
        hints: Rows that run a backend as its vendor advises, at every batch.
        searched: Rows that might have been chosen without a limit of accuracy; empty without one.
        probe: The protocol of the search.
        vetting_s: What it is expected to take to find out whether the best of a search may be used, in seconds.
    """

    request: RunRequest
    planned: PlannedGroup
    space: SearchSpace
    defaults: tuple[Cell, ...]
    hints: tuple[Cell, ...]
    searched: tuple[Cell, ...] = ()
    probe: Timing = SEARCH
    vetting_s: float = 0.0

    def references(self, batch: int) -> dict[str, ReferenceKind]:
        """Return the references of settings with some batch, by id."""
        hinted = (cell.id for cell in self.hints if cell.load.batch == batch)
        return {**{cell.id: "default" for cell in self.defaults}, **dict.fromkeys(hinted, "hint")}

    @property
    def has_batches(self) -> bool:
        """Whether the model can be run with several batch sizes on the same inputs."""
        return fixed_batch(self.request.bundles[0]) is None and self.request.asked.data is None

    def default_of(self, cell: Cell) -> str:
        """Return the id of the row that runs the backend of another without any option."""
        own = (default.id for default in self.defaults if default.address == cell.address)
        return next(own, self.defaults[0].id)


def tuning_rows(options: TuneOptions, scratch: Path, say: Say) -> TuningRows:
    """Return the rows of a search: every combination of what is tried, and the references."""
    say = once(say)
    run = replace(options.run, models=(options.model,))
    bundles = resolve_bundles(run.models, everything=False, say=say, imports=run.imports)
    backends = able_backends(resolve_backends(run.backends or ()), bundles)
    run = replace(run, backends=run.backends or tuple(map(str, backends)))
    options = with_narrow_precisions(options, run, bundles[0])
    own_precision, run = run.precision, options.run
    has_batches = fixed_batch(bundles[0]) is None and run.generate is None
    processors = host.allowance(run.cpus).threads
    tried = searched_values(options, run, processors, has_batches=has_batches, reads_onnx=_reads_onnx(run))
    advice = {} if run.generate else _advice(simplest(run, tried), options.compared_by, scratch / "advice")
    every = every_combination(options, run, tried)
    say(f"preparing {plural(len(tried.optimize) * len(tried.batch or (1,)), 'graph')}")
    request = replace(_with_advice(requested(every), advice), is_part_of="tune", goal=options.goal)
    request, groups = planned(request, scratch, say, tells_refused=run.precision == own_precision and not tried.gpus)
    if len(groups) != 1:
        raise IrbenchError("The rows of a search must fit into one table.", hint="Give one --batch.")
    return _sorted_rows(request, groups[0], advice, tried)


def _sorted_rows(
    request: RunRequest, group: PlannedGroup, advice: Mapping[str, _Advice], tried: SearchedValues
) -> TuningRows:
    hinted = {name: followed.options for name, followed in advice.items()}
    searched = [cell for cell in group.measured if tried.has(cell) and cell.load.varied != hinted.get(cell.backend)]
    if not searched:
        raise IrbenchError(
            f"No setting is left that {tried.processors} processors can run.",
            hint="Give smaller numbers of --threads or --instances.",
        )
    followed = (cell for cell in group.measured if cell.backend in advice and _is_plain(cell, group))
    return TuningRows(
        request=request,
        planned=group,
        space=SearchSpace(tuple(searched), tried.processors),
        defaults=tuple(_defaults(group)) or (searched[0],),
        hints=tuple(cell for cell in followed if advice[cell.backend].is_followed_by(cell.load)),
    )


def _defaults(group: PlannedGroup) -> Iterator[Cell]:
    smallest = min(cell.load.batch for cell in group.measured)
    for cell in group.measured:
        load = cell.load
        without = (load.threads, load.streams, load.instances, load.varied, load.batch)
        if without == (None, 1, 1, {}, smallest) and _is_plain(cell, group):
            yield cell


def _is_plain(cell: Cell, group: PlannedGroup) -> bool:
    """Whether a row runs the graph as it was exported, in the first precision of its backend."""
    own = (other for other in group.group.cells if other.address == cell.address and not _level(other))
    first = next(own, cell)
    return not _level(cell) and cell.load.precision == first.load.precision


def _level(cell: Cell) -> str:
    level = cell.artifact.variant if cell.artifact is not None else ""
    return "" if level == UNOPTIMIZED else level


def _advice(run: RunOptions, objective: Objective, scratch: Path) -> dict[str, _Advice]:
    """Return what the vendor of each backend advises for an objective, by the name of the backend."""
    advice: dict[str, _Advice] = {}
    for backend in map(BackendAddress.parse, run.backends or ()):
        name = backend.name
        hints = registry.describe(registry.BACKENDS, name).hints.get(objective, {})
        advised = {key: value for key, value in hints.items() if key not in run.set.get(name, {})}
        if advised and name not in advice:
            settings = {name: run.set[name]} if name in run.set else {}
            alone = replace(run, backends=(str(backend),), set=settings)
            streams = streams_advised(alone, advised, scratch / name)
            advice |= {} if streams is None else {name: _Advice(advised, streams)}
    return advice


def streams_advised(run: RunOptions, advised: Mapping[str, str], scratch: Path) -> int | None:
    """Return how many concurrent inferences a backend advises; ``None`` where it fails: its rows will say why."""
    try:
        _, (group, *_) = planned(requested(run), scratch, lambda _line: None)
        cell = group.measured[0]
        load = replace(cell.load, options={**cell.load.options, **advised})
        streams: int = call_in_worker(
            "irbench.worker.probing:advised_streams", cell.backend, cell.artifact, load, cell.device,
            deadline_s=_ADVICE_DEADLINE_S, confinement=confinement_of(replace(cell, load=load)), returns=int,
        )  # fmt: skip
    except IrbenchError:
        return None
    return streams


def _with_advice(request: RunRequest, advice: Mapping[str, _Advice]) -> RunRequest:
    """Return the request with rows of each backend without any varied option, and with what vendors advise."""
    alternatives: dict[str, tuple[Mapping[str, str], ...]] = {}
    for name in dict.fromkeys(backend.name for backend in request.backends):
        varied: list[Mapping[str, str]] = [{}, *request.alternatives.get(name, ())]
        varied += [advice[name].options] if name in advice else []
        alternatives[name] = tuple(options for place, options in enumerate(varied) if options not in varied[:place])
    streams = (*request.asked.streams, *(followed.streams for followed in advice.values()))
    return replace(request.asking(streams=tuple(dict.fromkeys(streams))), alternatives=alternatives)


@dataclass(frozen=True)
class SearchedValues:
    """The values that are tried.

    Attributes:
        batch: ``None`` where the model has one batch only.
        streams: Concurrent inferences of each process.
        threads: Of each process.
        optimize: Levels of optimisation.
        processors: How many all processes together may use.
        varied: Sets of options by backend and device; a backend that is not there has none.
        gpus: Backends on a GPU whose rows leave host threads to the runtime.
    """

    batch: tuple[int, ...] | None
    streams: tuple[int, ...]
    instances: tuple[int, ...]
    threads: tuple[int | Literal["native"], ...]
    optimize: tuple[str, ...]
    processors: int
    varied: Mapping[str, Sequence[Mapping[str, str]]]
    gpus: frozenset[str] = frozenset()

    def has(self, cell: Cell) -> bool:
        """Whether a row is searched: its values are among these, and its threads do not wait for each other."""
        load, address = cell.load, str(cell.address)
        return (
            load.streams in self.streams
            and load.instances in self.instances
            and (load.threads or _NATIVE) in ((_NATIVE,) if address in self.gpus else self.threads)
            and any(is_at_level(cell, level) for level in self.optimize)
            and load.varied in self.varied.get(address, ({},))
            and load.instances * (load.threads or 1) <= self.processors
        )


def searched_values(
    options: TuneOptions, run: RunOptions, processors: int, *, has_batches: bool, reads_onnx: bool
) -> SearchedValues:
    """Return what is tried: what the user gave, else the usual values; ``run`` names its backends."""
    usual = usual_values(options.compared_by, processors)
    if run.data is not None and len(run.batch or ()) > 1:
        raise IrbenchError(
            "Batches of `--data` are different inputs, which cannot be compared.",
            hint="Give one --batch, or leave `--data` out.",
        )
    if run.generate is not None:
        refuse_several_values(run, ("batch", "prompt"))
    addresses = [BackendAddress.parse(backend) for backend in run.backends or ()]
    varied = {str(address): run.vary.get(address.name) or _tunable(run, address) for address in addresses}
    gpus = {str(each) for each in addresses if not run.threads and each.device in _described(each).nvidia_devices}
    return SearchedValues(
        batch=run.batch or (usual.batch if has_batches and run.data is None else None),
        streams=options.streams or usual.streams,
        instances=options.instances or usual.instances,
        threads=run.threads or ((_NATIVE,) if gpus >= varied.keys() else usual.threads),
        optimize=options.optimize or (_USUAL_LEVELS if reads_onnx else (UNOPTIMIZED,)),
        processors=processors,
        varied=alternatives(varied),
        gpus=frozenset(gpus),
    )


def simplest(run: RunOptions, tried: SearchedValues) -> RunOptions:
    """Return options that ask for each backend without any option, with the smallest batch."""
    return replace(
        run,
        batch=None if tried.batch is None else (min(tried.batch),),
        streams=(1,),
        instances=(1,),
        threads=(_NATIVE,),
        optimize=(UNOPTIMIZED,),
        precision=run.precision and run.precision[:1],
        vary={},
    )


def every_combination(options: TuneOptions, run: RunOptions, tried: SearchedValues) -> RunOptions:
    """Return options that ask for every combination of what is tried, and for each backend without any option."""
    return replace(
        run,
        batch=tried.batch,
        streams=tuple(dict.fromkeys((1, *tried.streams))),
        instances=tuple(dict.fromkeys((1, *tried.instances))),
        threads=tuple(dict.fromkeys((*tried.threads, _NATIVE))),
        optimize=tuple(dict.fromkeys((UNOPTIMIZED, *tried.optimize))),
        objective=options.objective,
        max_latency=options.max_latency,
        vary={**_tunable_by_name(run), **run.vary},
    )


def _tunable_by_name(run: RunOptions) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return what is worth trying of each backend on any of its devices."""
    by_name: dict[str, dict[str, tuple[str, ...]]] = {}
    for address in map(BackendAddress.parse, run.backends or ()):
        by_name.setdefault(address.name, {}).update(_tunable(run, address))
    return {name: options for name, options in by_name.items() if options}


def _tunable(run: RunOptions, address: BackendAddress) -> dict[str, tuple[str, ...]]:
    """Return the options of a backend that are worth trying on a device, without those that the user set.

    Those that need bound inputs are tried where these are bound.
    """
    description = _described(address)
    return {
        key: (AS_IT_IS, *values)
        for key, values in description.tunable.get(address.device, {}).items()
        if key not in run.set.get(address.name, {}) and (run.io == "bound" or key not in description.bound_options)
    }


def _described(address: BackendAddress) -> Description:
    return registry.describe(registry.BACKENDS, address.name)


def within_accuracy(rows: TuningRows, scratch: Path, say: Say) -> TuningRows:
    """Return the rows of a search that keep the limit, each with its accuracy; all of them without a limit."""
    limit = rows.request.accuracy
    if limit is None:
        return rows
    used = {cell.id for cell in (*rows.space.cells, *rows.defaults, *rows.hints)}
    (checked,) = with_accuracy(rows.request, (with_rows(rows.planned, used),), scratch, say)
    space = _kept(rows.space.cells, checked)
    defaults = _kept(rows.defaults, checked)
    if not space or not defaults:
        raise _nothing_left(rows.defaults, checked, limit)
    return replace(
        rows,
        planned=checked,
        space=SearchSpace(space, rows.space.processors),
        defaults=defaults,
        hints=_kept(rows.hints, checked),
        searched=rows.space.cells,
    )


def excluded(rows: TuningRows) -> Excluded | None:
    """Return which settings the limit excluded; ``None`` without a limit."""
    if rows.request.accuracy is None:
        return None
    cells = {cell.id: cell for cell in rows.planned.group.cells}
    out = [cells[cell.id] for cell in rows.searched if cell.id in rows.planned.absent]
    best: tuple[Cell, Accuracy] | None = None
    for cell in out:
        accuracy = cell.accuracy
        if accuracy is not None and (best is None or accuracy.limit.is_better(accuracy.value, best[1].value)):
            best = (cell, accuracy)
    return Excluded(
        settings=len(out),
        combinations=len({answers_key(cell, rows.planned.group) for cell in out}),
        failed=len({answers_key(cell, rows.planned.group) for cell in out if cell.accuracy is None}),
        best=None if best is None else setting_of(best[0]),
    )


def random_inputs(planned: PlannedGroup) -> int:
    """Return on how many random samples accuracy was measured; 0 where samples were given, and without a limit."""
    return next((note.samples for note in planned.notes if isinstance(note, AccuracyOfRandomInputs)), 0)


def _kept(cells: Sequence[Cell], checked: PlannedGroup) -> tuple[Cell, ...]:
    known = {cell.id: cell for cell in checked.measured}
    return tuple(known[cell.id] for cell in cells if cell.id in known)


def _nothing_left(defaults: Sequence[Cell], checked: PlannedGroup, limit: AccuracyLimit) -> IrbenchError:
    cells = {cell.id: cell for cell in checked.group.cells}
    first = cells[defaults[0].id]
    problem: Failure | None = checked.absent.get(first.id)
    if first.accuracy is not None and problem is not None:
        return IrbenchError(
            f"{first.label} without any option has {accuracy_text(first.accuracy.value, limit)}, and the limit is"
            f" {limit_text(limit)}.",
            hint="Give a limit that the model itself keeps on these samples.",
        )
    if problem is not None:
        return IrbenchError(f"{problem.message}.", hint=problem.hint or "")
    return IrbenchError(f"No setting keeps {limit_text(limit)}.", hint="Give a looser limit, or other settings.")
