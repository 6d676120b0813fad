"""The rows that a request asks for: known from models and sizes alone, before anything is made."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.notices import Note
from irbench.notices.notes import EnvironmentMeasured
from irbench.onnx.rewriting.bind import is_rewritten
from irbench.optimizer import UNOPTIMIZED, variant
from irbench.runner.request import RunRequest
from irbench.spec import AGAIN, Artifact, Bundle, Cell, Load, Precision, Program, PythonEnvironment, Workload
from irbench.spi import Description

DYNAMIC = "-dynamic"
"""How the id of a cell ends that runs the same graph with dynamic shapes."""
CONDITIONS = ("streams", "instances", "precision", "batch", "threads", "optimize", "model")
"""What may be said of a row besides its name."""
_AS_IT_IS: tuple[Mapping[str, str], ...] = ({},)
"""The only alternative where no option is varied."""
_FRAMEWORK_PRECISION: Precision = "fp32"
"""What is asked of an artifact that is not an ONNX graph."""


@dataclass(frozen=True)
class BackendInfo:
    """A backend as planning sees it.

    Attributes:
        kinds: Artifact kinds it reads, best first.
        program: The user's own code that it is; ``None`` for a backend.
        reads_model: Whether it may run the model's file; otherwise it has one row for all levels of optimisation.
    """

    kinds: tuple[str, ...]
    description: Description
    program: Program | None = None
    reads_model: bool = True

    def levels(self, exported: Artifact, levels: Sequence[str]) -> tuple[str, ...]:
        """Return the levels of optimisation that it runs an artifact at: only ONNX graphs are optimised."""
        return tuple(levels) if exported.kind == "onnx" and self.reads_model else (UNOPTIMIZED,)


@dataclass(frozen=True)
class SizedModel:
    """A model at one size.

    Attributes:
        precision: What its ONNX graph is run in where no precision was asked for: what it holds, ``native`` where that
            is none that can be asked for.
    """

    workload: Workload
    precision: Precision

    @property
    def bundle(self) -> Bundle:
        """The model."""
        return self.workload.bundle


@dataclass(frozen=True)
class RequestedCell:
    """A row before its artifact is made.

    Attributes:
        cell: The row, with the exported artifact; without one where its backend reads none that the model has.
        level: The level of optimisation that it is run at.
    """

    cell: Cell
    level: str


def asked_cells(
    request: RunRequest, backends: Mapping[str, BackendInfo], models: Sequence[SizedModel]
) -> tuple[RequestedCell, ...]:
    """Return the rows of a table in the order in which they were asked for; their ids are unique."""
    requested: list[RequestedCell] = []
    known: set[str] = set()
    asked = request.asked
    axes = product(range(len(models)), request.addresses, asked.instances, asked.streams, request.threads)
    for place, (name, device), instances, streams, threads in axes:
        exported = models[place].bundle.artifact(backends[name].kinds)
        alternatives = request.alternatives.get(name, _AS_IT_IS)
        rows = _rows(request, backends[name], models[place])
        for (precision, level, required), varied in product(rows, alternatives):
            load = Load(
                batch=models[place].workload.batch,
                threads=_threads_of_each(request, threads, instances),
                streams=streams,
                instances=instances,
                precision=precision,
                cpus=asked.cpus,
                options={**asked.set.get(name, {}), **varied},
                precision_required=required,
                varied=varied,
                require_full=asked.require_full,
            )
            cell_id = f"{_id_of(name, device, load, level)}{_axes(request, models, place, threads)}{_digest(varied)}"
            # a backend that is named twice is measured against itself
            cell_id = f"{cell_id}{AGAIN}" if cell_id in known else cell_id
            known.add(cell_id)
            artifact = at_level(exported, level) if exported is not None else None
            cell = Cell(cell_id, artifact, name, device, load, asked.io, workload=place, program=backends[name].program)
            requested += [RequestedCell(each, level) for each in in_environments(cell, asked.environments)]
            if asked.dynamic and level == UNOPTIMIZED and exported is not None and is_rewritten(exported):
                requested.append(RequestedCell(replace(cell, id=f"{cell_id}{DYNAMIC}", dynamic=True), level))
    return tuple(requested)


def at_level(exported: Artifact, level: str) -> Artifact:
    """Return an artifact under the name that it has at a level of optimisation."""
    return exported if level == UNOPTIMIZED else replace(exported, variant=level)


def is_at_level(cell: Cell, level: str) -> bool:
    """Whether a row runs the graph of a level of optimisation, ``int8`` also where it was quantised statically."""
    named = variant(level).name
    return _level(cell) in (named, f"{named}-static")


def named_baseline(label: str, cells: Sequence[Cell], workloads: Sequence[Workload]) -> str:
    """Return the id of the row that was asked for, also where it cannot run: its replacement is told in a warning.

    Args:
        label: A row's name, optionally with ``@streams=N,instances=M,precision=P,batch=B,threads=T,optimize=LEVEL`` and
            ``model=NAME``: the name that tables show, or the file.
        cells: The rows, at least one.
        workloads: What they run.
    """
    name, _, conditions = label.partition("@")
    criteria = [_condition(part, label, cells[0].backend) for part in conditions.split(",") if part]
    for cell in cells:
        model = workloads[cell.workload].bundle
        if name in (cell.label, str(cell.address)) and all(meets(cell, model, *condition) for condition in criteria):
            return cell.id
    rows = dict.fromkeys(_names_of_rows(cells, workloads))
    raise IrbenchError(f"`--baseline {label}` does not match any row.", hint=f"The rows are: {', '.join(rows)}")


def _rows(request: RunRequest, backend_info: BackendInfo, model: SizedModel) -> tuple[tuple[Precision, str, bool], ...]:
    """Return what a backend runs: each variant in each precision, but one that was converted in its own only.

    Returns:
        Precision, level of optimisation, and whether the precision is required.
    """
    exported = model.bundle.artifact(backend_info.kinds)
    is_onnx = exported is not None and exported.kind == "onnx"
    levels = backend_info.levels(exported, request.variants) if exported is not None else (UNOPTIMIZED,)
    precisions = request.precisions or ((model.precision if is_onnx else _FRAMEWORK_PRECISION),)
    pinned = request.precisions is not None or precisions == (_FRAMEWORK_PRECISION,)
    return tuple(
        dict.fromkeys(
            (_own_precision(level) or precision, level, pinned or _own_precision(level) is not None)
            for precision, level in product(precisions, levels)
        )
    )


def _threads_of_each(request: RunRequest, threads: int | None, instances: int) -> int | None:
    return threads if threads is None or request.asked.threads is not None else max(1, threads // instances)


def _own_precision(level: str) -> Precision | None:
    conversion = None if level == UNOPTIMIZED else variant(level).conversion
    return conversion.precision if conversion is not None else None


def _id_of(name: str, device: str, load: Load, level: str) -> str:
    instances = f"-i{load.instances}" if load.instances > 1 else ""
    variant_part = "" if level == UNOPTIMIZED else f"-{level}"
    return f"{name}-{device}-{load.precision}-x{load.streams}{instances}{variant_part}"


def _digest(varied: Mapping[str, str]) -> str:
    """Return a part of an id for options, the same whatever other rows there are; their text would be long."""
    if not varied:
        return ""
    text = ",".join(f"{key}={value}" for key, value in sorted(varied.items()))
    return f"-o{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _axes(request: RunRequest, models: Sequence[SizedModel], place: int, threads: int | None) -> str:
    """Return what else tells the rows of a table apart, as a part of their ids, which are names of files too."""
    names = list(dict.fromkeys(model.bundle.name for model in models))
    own = models[place]
    return "".join(
        (
            f"-m{names.index(own.bundle.name)}" if len(names) > 1 else "",
            f"-b{own.workload.batch}" if len({model.workload.batch for model in models}) > 1 else "",
            f"-t{threads or 'native'}" if len(request.threads) > 1 else "",
        )
    )


def _condition(text: str, baseline: str, example: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if key not in CONDITIONS or not equals:
        raise IrbenchError(
            f"`--baseline {baseline}` is not a valid row.",
            hint=f"Give a backend, or one with settings, as {example}@streams=1. Settings: {', '.join(CONDITIONS)}.",
        )
    return key, value


def meets(cell: Cell, model: Bundle, key: str, value: str) -> bool:
    """Whether a row has a value of one of :data:`CONDITIONS`, as texts name it."""
    if key == "optimize":
        return is_at_level(cell, value)
    if key == "model":
        return value in (model.name, Path(model.source).name) or str(Path(value).absolute()) == model.source
    return settings_of(cell, model)[key] == value


def _level(cell: Cell) -> str:
    return (cell.artifact.variant if cell.artifact is not None else "") or UNOPTIMIZED


def settings_of(cell: Cell, model: Bundle) -> dict[str, str]:
    """Return the value of a row for each of :data:`CONDITIONS`, as texts name it."""
    load = cell.load
    threads = str(load.threads or "native")
    counts = str(load.streams), str(load.instances), load.precision, str(load.batch), threads
    return dict(zip(CONDITIONS, (*counts, _level(cell), model.name), strict=True))


def _names_of_rows(cells: Sequence[Cell], workloads: Sequence[Workload]) -> Iterator[str]:
    """Yield what names each row: its label where no other has it, or its backend with the settings that differ."""
    labels = Counter(cell.label for cell in cells)
    facts = {cell.id: settings_of(cell, workloads[cell.workload].bundle) for cell in cells}
    for cell in cells:
        alike = [facts[other.id] for other in cells if other.address == cell.address]
        differing = [key for key in CONDITIONS if len({each[key] for each in alike}) > 1]
        settings = ",".join(f"{key}={facts[cell.id][key]}" for key in differing)
        yield cell.label if labels[cell.label] == 1 or not settings else f"{cell.address}@{settings}"


def in_environments(cell: Cell, environments: Sequence[PythonEnvironment]) -> tuple[Cell, ...]:
    """Return a cell for each environment, in their order; the cell itself without any, or of the user's own code."""
    if not environments or cell.program is not None:
        return (cell,)
    return tuple(
        replace(cell, id=f"{cell.id}-{environment.key}", environment=environment) for environment in environments
    )


def environment_notes(environments: Sequence[PythonEnvironment]) -> Iterator[Note]:
    """Yield for each environment what its rows ran in: its runtime, its Python, and in what else it differs."""
    every = {name for environment in environments for name in environment.distributions}
    runtimes = {environment.runtime for environment in environments}
    differing = sorted(
        name
        for name in every - runtimes
        if len({environment.distributions.get(name) for environment in environments}) > 1
    )
    for environment in environments:
        yield EnvironmentMeasured(
            label=environment.label,
            runtime=environment.runtime,
            version=environment.version,
            python_version=environment.python_version,
            python=environment.python,
            requirement=environment.requirement,
            indexes=tuple(environment.indexes),
            others={name: environment.distributions.get(name) for name in differing},
        )
