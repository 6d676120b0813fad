"""The rows that a search chooses from, and those that its choice is held against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from irbench.api.progress import Say
from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.core.quantities import plural
from irbench.errors import IrbenchError
from irbench.features.tune.options import TuneOptions
from irbench.features.tune.report import ReferenceKind
from irbench.features.tune.space import SearchSpace
from irbench.features.tune.values import SearchedValues, every_combination, searched_values, simplest
from irbench.optimizer import UNOPTIMIZED
from irbench.options.run import RunOptions
from irbench.options.values import Settings
from irbench.requests import probes
from irbench.requests.resolve import able_backends, resolve_backends, resolve_bundles
from irbench.requests.run_requests import planned, requested
from irbench.requests.user_code import accuracy_limit
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.runner.sizes import fixed_batch
from irbench.spec import Bundle, Cell, Load, Objective
from irbench.system import host
from irbench.worker import call_in_worker
from irbench.worker.requested_confinement import confinement_of

_NARROW = ("bf16", "fp16")
_LEVELS = (UNOPTIMIZED, "extended", "int8")
_WIDE = ("", "fp32")


def with_narrow_precisions(options: TuneOptions, run: RunOptions, bundle: Bundle) -> TuneOptions:
    """Return the options of a search, in which a limit has what is faster and less precise be tried, too.

    A precision and a level that the user gave stay as they are, and so does a model that is not in fp32.

    Args:
        options: What is searched.
        run: What is asked of every row, with its backends.
        bundle: The model.
    """
    graph = bundle.artifact(("onnx",))
    if accuracy_limit(run) is None or (graph is not None and graph.precision not in _WIDE):
        return replace(options, run=run)
    precision = run.precision or ("fp32", *_computed(run))
    levels = options.optimize or (_LEVELS if _reads_onnx(run) else None)
    return replace(options, run=replace(run, precision=precision), optimize=levels)


def _computed(run: RunOptions) -> tuple[str, ...]:
    """Return the narrow precisions that a backend computes in on this machine."""
    found: dict[str, None] = {}
    for address in map(BackendAddress.parse, run.backends or ()):
        description = registry.describe(registry.BACKENDS, address.name)
        known = probes.remembered(description) or probes.probe(description)
        found |= dict.fromkeys(known.precisions.get(address.device, ()))
    return tuple(name for name in _NARROW if name in found)


def _reads_onnx(run: RunOptions) -> bool:
    """Whether a backend runs graphs that can be converted."""
    return any("onnx" in registry.backend(BackendAddress.parse(name).name).consumes for name in run.backends or ())


_ADVICE_DEADLINE_S = 120.0


@dataclass(frozen=True)
class _Advice:
    """What the vendor of a backend advises: options, and how many inferences at a time."""

    options: Mapping[str, str]
    streams: int

    def is_followed_by(self, load: Load) -> bool:
        return (load.varied, load.streams, load.threads, load.instances) == (self.options, self.streams, None, 1)


@dataclass(frozen=True)
class TuningRows:
    """All rows of a search and its confirmation, as one planned table.

    Attributes:
        request: The run that has them all.
        planned: The table.
        space: Those that may be chosen.
        defaults: Rows that run a backend as it is used without any option.
        hints: Rows that run a backend as its vendor advises, at every batch.
        searched: Those that might have been chosen without a limit for accuracy; empty without one.
    """

    request: RunRequest
    planned: PlannedGroup
    space: SearchSpace
    defaults: tuple[Cell, ...]
    hints: tuple[Cell, ...]
    searched: tuple[Cell, ...] = ()

    def references(self, batch: int) -> dict[str, ReferenceKind]:
        """Return the rows that a setting of some batch is held against, by id."""
        hinted = (cell.id for cell in self.hints if cell.load.batch == batch)
        return {**{cell.id: "default" for cell in self.defaults}, **dict.fromkeys(hinted, "hint")}

    @property
    def has_batches(self) -> bool:
        """Whether the model can be run with several batch sizes that are fed the same."""
        return fixed_batch(self.request.bundles[0]) is None and self.request.inputs.data is None

    def default_of(self, cell: Cell) -> str:
        """Return the id of the row that runs the backend of another without any option."""
        own = (default.id for default in self.defaults if default.address == cell.address)
        return next(own, self.defaults[0].id)


def tuning_rows(options: TuneOptions, scratch: Path, say: Say) -> TuningRows:
    """Return the rows of a search: every combination of what is tried, and the references.

    Args:
        options: What is searched.
        scratch: A folder that is gone after the run.
        say: Receives what is exported and optimised.

    Raises:
        IrbenchError: The model is not there, a value is impossible, or no backend can run it.
    """
    say = _once(say)
    run = replace(options.run, models=(options.model,))
    bundles = resolve_bundles(run.models, everything=False, say=say, imports=run.imports)
    backends = able_backends(resolve_backends(run.backends or ()), bundles)
    run = replace(run, backends=run.backends or tuple(map(str, backends)))
    options = with_narrow_precisions(options, run, bundles[0])
    asked_precision, run = run.precision, options.run
    reads_onnx = any("onnx" in registry.backend(backend.name).consumes for backend in backends)
    tried = searched_values(
        options,
        run,
        host.allowance(run.cpus).threads,
        has_batches=fixed_batch(bundles[0]) is None,
        reads_onnx=reads_onnx,
    )
    advice = _advice(simplest(run, tried), options.objective, scratch / "advice")
    every = every_combination(options, run, tried)
    say(f"preparing {plural(len(tried.optimize) * len(tried.batch or (1,)), 'graph')}")
    request = replace(_with_advice(requested(every), advice), is_part_of="tune")
    request, groups = planned(request, every, scratch, say, tells_refused=run.precision == asked_precision)
    if len(groups) != 1:
        raise IrbenchError("The rows of a search must fit into one table.", hint="Give one --batch.")
    return _sorted_rows(request, groups[0], advice, tried)


def _sorted_rows(
    request: RunRequest, group: PlannedGroup, advice: Mapping[str, _Advice], tried: SearchedValues
) -> TuningRows:
    """Return rows by what they are for.

    Raises:
        IrbenchError: None of them can be searched.
    """
    hinted = {name: followed.options for name, followed in advice.items()}
    searched = [cell for cell in group.measured if tried.has(cell) and cell.load.varied != hinted.get(cell.backend)]
    if not searched:
        raise IrbenchError(
            f"No setting is left that {tried.processors} processors can run.",
            hint="Give smaller numbers of --threads or --instances.",
        )
    followed = (cell for cell in group.measured if cell.backend in advice and _is_plain(cell, group))
    defaults = tuple(_defaults(group)) or (searched[0],)
    return TuningRows(
        request=request,
        planned=group,
        space=SearchSpace(tuple(searched), tried.processors),
        defaults=defaults,
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
    """Return what the vendor of each backend advises for an objective, where one does, by the backend's name."""
    found: dict[str, _Advice] = {}
    for backend in map(BackendAddress.parse, run.backends or ()):
        name = backend.name
        hints = registry.describe(registry.BACKENDS, name).hints.get(objective, {})
        wanted = {key: value for key, value in hints.items() if key not in run.set.get(name, {})}
        if wanted and name not in found:
            asked = replace(run, backends=(str(backend),), set=_of(name, run.set))
            streams = streams_advised(asked, wanted, scratch / name)
            found |= {} if streams is None else {name: _Advice(wanted, streams)}
    return found


def streams_advised(asked: RunOptions, wanted: Mapping[str, str], scratch: Path) -> int | None:
    """Return how many inferences at a time a backend advises; ``None`` where it cannot: its rows will say why."""
    try:
        _, (group, *_) = planned(requested(asked), asked, scratch, lambda _line: None)
        cell = group.measured[0]
        load = replace(cell.load, options={**cell.load.options, **wanted})
        streams: int = call_in_worker(
            "irbench.worker.probing:advised_streams", cell.backend, cell.artifact, load, cell.device,
            deadline_s=_ADVICE_DEADLINE_S, confinement=confinement_of(replace(cell, load=load)), returns=int,
        )  # fmt: skip
    except IrbenchError:
        return None
    return streams


def _of(name: str, settings: Settings) -> Settings:
    return {backend: given for backend, given in settings.items() if backend == name}


def _with_advice(request: RunRequest, advice: Mapping[str, _Advice]) -> RunRequest:
    """Return the request with rows of each backend without any varied option, and with those that vendors advise."""
    names = dict.fromkeys(backend.name for backend in request.backends)
    sets = {name: ({}, *request.alternatives.get(name, ())) for name in names}
    hinted = {name: (*own, *([advice[name].options] if name in advice else [])) for name, own in sets.items()}
    streams = (*request.streams, *(followed.streams for followed in advice.values()))
    return replace(
        request,
        alternatives={name: _each_once(own) for name, own in hinted.items()},
        streams=tuple(dict.fromkeys(streams)),
    )


def _each_once(sets: Iterable[Mapping[str, str]]) -> tuple[Mapping[str, str], ...]:
    found: list[Mapping[str, str]] = []
    for options in sets:
        if options not in found:
            found.append(options)
    return tuple(found)


def _once(say: Say) -> Say:
    """Return what says each line once: a model is looked at several times, and its graph is made for each batch."""
    said: set[str] = set()

    def say_new(line: str) -> None:
        if line not in said:
            said.add(line)
            say(line)

    return say_new
