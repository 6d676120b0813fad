"""The work before planning: bind shapes, optimise graphs, read precisions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from shlex import quote
from typing import TypeAlias, cast, get_args

from irbench.core import registry
from irbench.core.graph_record import OptimizerActivity
from irbench.core.record import Failure
from irbench.errors import ExitCode, IrbenchError
from irbench.onnx.rewriting.bind import is_rewritten, with_sizes
from irbench.optimizer import UNOPTIMIZED, CheckInputs, OriginalRefused, command_options, optimize, variant
from irbench.options.values import Sweep
from irbench.runner.generation_inputs import refuse_impossible_generation
from irbench.runner.own_rows import may_read_model
from irbench.runner.plan import PreparedModel, PreparedRun
from irbench.runner.request import RunRequest
from irbench.runner.requested_cells import BackendInfo, SizedModel, asked_cells, named_baseline
from irbench.runner.requested_inputs import ModelData, read_data
from irbench.spec import BATCH, Artifact, Bundle, Feeding, GraphFiles, InputSpec, Precision, Workload, shape_text
from irbench.spec.generation import PROMPT, GenerationArtifact, artifacts_of, graph_bundle, graph_sizes
from irbench.spec.requested_sizes import has_name, size_options
from irbench.spi import Description
from irbench.system.file_states import digest
from irbench.worker.feed_turns import takes_turns
from irbench.worker.model_files import bound_shapes, read_external_files, read_graph_precision

Report: TypeAlias = Callable[[OptimizerActivity], None]

_CHECKED_TOKENS = 4
"""Tokens that a decoder is given at once where an optimised graph of it is checked: neither a prompt nor a step."""
_USUAL: Precision = "fp32"
"""What is asked where there is no ONNX graph to look into."""


def _silent(_activity: OptimizerActivity) -> None: ...


def prepare(request: RunRequest, scratch: Path, report: Report = _silent) -> PreparedRun:
    """Make every artifact that a run needs, each once, however many rows run it.

    An artifact that cannot be made is a failure of its rows, and a value here.
    """
    backends = {name: _backend_info(name, request) for name, _ in request.addresses}
    models = _sized(request, scratch / "inputs")
    tables = compared_together(request, models)
    if request.asked.baseline is not None:  # nothing is made for a run that is refused in the end
        for table in tables:
            cells = [requested.cell for requested in asked_cells(request, backends, table)]
            named_baseline(request.asked.baseline, cells, [model.workload for model in table])
    prepared = (tuple(_prepared(request, backends, model, scratch, report) for model in table) for table in tables)
    return PreparedRun(backends, tuple(prepared))


def _sized(request: RunRequest, folder: Path) -> tuple[SizedModel, ...]:
    """Return each model at each batch, in the order of tables; sizes of all are checked before graphs are read."""
    read = [read_data(request.inputs, bundle, request.asked.shape) for bundle in request.bundles]
    swept = [(data, _sizes(request, data, batch)) for data, batch in product(read, request.asked.batch or (None,))]
    tables = [(data, sizes, every) for data, every in swept for sizes in every]
    if request.asked.generate is not None:
        for data, sizes, _ in tables:
            refuse_impossible_generation(data, sizes)
    return tuple(
        SizedModel(
            Workload(
                bundle=data.bundle,
                sizes=sizes,
                feeding=_feeding(request, data, sizes, folder / str(number)),
                other_sizes=() if request.asked.shapes is None else tuple(other for other in every if other != sizes),
            ),
            precision=_precision(request, data.bundle),
        )
        for number, (data, sizes, every) in enumerate(tables)
    )


def _sizes(request: RunRequest, data: ModelData, batch: int | None) -> tuple[Mapping[str, int], ...]:
    asked = request.asked
    if asked.generate is not None and asked.data is None:
        return tuple(data.bind(batch, {**asked.shape, PROMPT: (length,)}) for length in request.prompts)
    return sizes_of_sweep(data, batch, asked.shape, asked.shapes)


def _feeding(request: RunRequest, data: ModelData, sizes: Mapping[str, int], folder: Path) -> Feeding:
    feeding = data.feeding(sizes, request.asked.seed, folder)
    if request.asked.io == "bound" and takes_turns(feeding):
        what = "--feedback" if feeding.feedback else f"{feeding.count} samples"
        raise IrbenchError(
            f"--io bound does not time copies, and {what} need a copy for each call.",
            hint="Leave --io bound out, or give one sample.",
        )
    return feeding


def _prepared(
    request: RunRequest, backends: Mapping[str, BackendInfo], model: SizedModel, scratch: Path, report: Report
) -> PreparedModel:
    workshop = _Workshop(model, scratch, report, binds_only=request.asked.dynamic)
    forms = dict.fromkeys(_wanted(request, model.bundle, backends))
    artifacts = {(exported.label, level): workshop.make(exported, level) for exported, level in forms}
    return PreparedModel(model, artifacts, workshop.unbound)


def _backend_info(name: str, request: RunRequest) -> BackendInfo:
    if name in request.asked.cells:
        program = request.asked.cells[name]
        described = Description(name, "", None)
        return BackendInfo(("onnx",), described, program, reads_model=may_read_model(program))
    return BackendInfo(registry.backend(name).consumes, registry.describe(registry.BACKENDS, name))


def _wanted(request: RunRequest, bundle: Bundle, backends: Mapping[str, BackendInfo]) -> Iterator[tuple[Artifact, str]]:
    """Yield each form of the model that a backend reads, with each level of optimisation that it is run at."""
    for name, _ in request.addresses:
        exported = bundle.artifact(backends[name].kinds)
        if exported is not None:
            yield from ((exported, level) for level in backends[name].levels(exported, request.variants))


def _precision(request: RunRequest, bundle: Bundle) -> Precision:
    """Return what the ONNX graph holds where no precision is asked for, ``native`` where it is none that can be."""
    artifact = bundle.artifact(("onnx",))
    if request.precisions is not None or artifact is None:
        return _USUAL
    precision = read_graph_precision(artifact.path).narrowest
    return cast("Precision", precision) if precision in get_args(Precision) else "native"


@dataclass(frozen=True)
class _Workshop:
    """Makes the artifacts of one model at one size.

    Attributes:
        scratch: Where copies with bound shapes are written.
        report: Called with what an optimisation does now.
        binds_only: Whether a graph that fails with bound shapes is not made with dynamic ones.
        unbound: Why the graph of a level was made with dynamic shapes, by the level.
    """

    model: SizedModel
    scratch: Path
    report: Report
    binds_only: bool = False
    unbound: dict[str, str] = field(default_factory=dict[str, str])

    def make(self, exported: Artifact, level: str) -> Artifact | Failure:
        if level == UNOPTIMIZED:
            return self._bound(exported)
        if isinstance(exported, GenerationArtifact):
            return self._generation(exported, level)
        try:
            sizes = self.model.workload.sizes
            return self._optimized(self.model.bundle, level, sizes, _check_inputs(self.model))
        except OriginalRefused as refused:
            if self.binds_only or not is_rewritten(exported):
                return self._failure(refused, level)
            return self._dynamic(level, refused)

    def _bound(self, exported: Artifact) -> Artifact | Failure:
        try:
            return _with_precision(bound_shapes(exported, self.model.workload.sizes, self.scratch))
        except IrbenchError as error:
            return Failure("bind", error.message.rstrip("."), error.hint or None)

    def _generation(self, exported: GenerationArtifact, level: str) -> Artifact | Failure:
        """Optimise the graphs of a generation, whose sizes stay dynamic: some of them grow."""
        made: dict[str, Artifact] = {}
        for graph in exported.graphs:
            sizes = graph_sizes(exported, graph, self.model.workload.sizes, _CHECKED_TOKENS)
            try:
                optimized = self._optimized(
                    graph_bundle(self.model.bundle, graph), level, {}, CheckInputs(Feeding(), sizes)
                )
            except OriginalRefused as refused:
                return self._failure(refused, level)
            if isinstance(optimized, Failure):
                return optimized
            made[str(graph.artifact.path)] = optimized
        whole = exported.with_graphs(lambda graph: graph.with_artifact(made[str(graph.artifact.path)]))
        return with_sizes(with_graph_files(whole), self.model.workload.sizes)

    def _dynamic(self, level: str, refused: OriginalRefused) -> Artifact | Failure:
        try:
            inputs = CheckInputs(self.model.workload.feeding, self.model.workload.sizes)
            artifact = self._optimized(self.model.bundle, level, {}, inputs)
        except OriginalRefused as again:
            return self._failure(again, level)
        if isinstance(artifact, Failure):
            return artifact
        self.unbound[level] = refused.message.rstrip(".")
        return with_sizes(artifact, self.model.workload.sizes)

    def _optimized(
        self, bundle: Bundle, level: str, sizes: Mapping[str, int], check_inputs: CheckInputs | None
    ) -> Artifact | Failure:
        try:
            optimized = optimize(bundle, sizes, variant(level), self.report, check_inputs)
            return with_graph_files(_with_precision(optimized.artifact))
        except OriginalRefused:
            raise
        except IrbenchError as error:
            if error.exit_code == ExitCode.NOT_INSTALLED:
                raise
            return self._failure(error, level)

    def _failure(self, error: IrbenchError, level: str) -> Failure:
        """Return why a level cannot be made; what the error advises is for ``irbench optimize``, with other options."""
        bundle, workload = self.model.bundle, self.model.workload
        sizes = (f"--batch {workload.batch}", *size_options(bundle, workload.sizes))
        words = ("irbench optimize", quote(bundle.source or bundle.name), command_options(level), *sizes)
        remedy = f"Leave {level} out of --optimize, or see at which step it fails: {' '.join(words)}"
        return Failure("optimize", error.message.rstrip("."), remedy)


def _check_inputs(model: SizedModel) -> CheckInputs | None:
    feeding = model.workload.feeding
    if not (feeding.samples or feeding.values):
        return None
    return CheckInputs(feeding, model.workload.sizes if feeding.samples else {})


def _with_precision(artifact: Artifact) -> Artifact:
    if artifact.kind != "onnx":
        return artifact
    return replace(artifact, precision=read_graph_precision(artifact.path).narrowest)


def with_files_of_graphs(bundle: Bundle) -> Bundle:
    """Return the bundle, each of whose artifacts says what its files are."""
    return replace(bundle, artifacts=tuple(map(with_graph_files, bundle.artifacts)))


def with_graph_files(artifact: Artifact) -> Artifact:
    """Return the artifact with digest and size of its files; ``None`` where they cannot be read."""
    try:
        return replace(artifact, files=_graph_files(artifact))
    except (OSError, IrbenchError):  # who compiles the graph says what is wrong with it
        return replace(artifact, files=None)


def _graph_files(artifact: Artifact) -> GraphFiles:
    """Return the digest of the file alone where it is the only one: that of ``sha256sum``."""
    files = dict(_named_files(artifact))
    is_folder = artifact.path.is_dir()
    digests = {name: digest(path, follow=is_folder or not name) for name, path in files.items()}
    lines = "".join(f"{name} {sha256}\n" for name, sha256 in digests.items())
    whole = next(iter(digests.values())) if not is_folder and len(files) == 1 else _digest_of(lines)
    return GraphFiles(whole, sum(path.stat().st_size for path in files.values()))


def _named_files(artifact: Artifact) -> Iterator[tuple[str, Path]]:
    """Yield each file under a name that does not tell where the model lies."""
    path = artifact.path
    if path.is_dir():
        yield from ((file.relative_to(path).as_posix(), file) for file in sorted(path.rglob("*")) if file.is_file())
        return
    yield "", path
    if artifact.kind == "onnx":
        yield from ((location, path.parent / location) for location in read_external_files(path))
    others = (graph for graph in artifacts_of(artifact) if graph.path != path)
    for number, other in enumerate(others):
        yield from ((f"{number}/{name}", file) for name, file in _named_files(other))


def _digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def compared_together(request: RunRequest, models: Sequence[SizedModel]) -> tuple[tuple[SizedModel, ...], ...]:
    """Return the models of each table, in the order of the first of each.

    The batches of a model at one shape share a table, and so do models that take equal inputs and give outputs of one
    form. Where the request says so, all models with equally many samples in turns share one, each at the same place
    among its shapes or prompts. Models of the zoo with different names are different networks, which have tables of
    their own. So has every model at every batch where the request says so, where samples take turns (a batch is several
    of them), and where rows are measured alone.
    """
    asked = request.asked
    is_alone = asked.generate is not None and not request.side_by_side
    if asked.apart or request.measures_rows_alone or asked.dynamic or is_alone:
        return tuple((model,) for model in models)
    if request.side_by_side:
        shapes: dict[int, list[Mapping[str, int]]] = {}
        alike: dict[tuple[int, int], list[SizedModel]] = {}
        for model in models:
            own, known = _unbatched(model.workload.sizes), shapes.setdefault(id(model.bundle), [])
            known += [own] if own not in known else []
            alike.setdefault((model.workload.feeding.count, known.index(own)), []).append(model)
        return tuple(map(tuple, alike.values()))
    networks = frozenset(registry.names(registry.MODELS))
    tables: list[list[SizedModel]] = []
    for model in models:
        joined = (table for table in tables if _joins(table, model, networks))
        table = next(joined, None)
        if table is None:
            tables.append([model])
        else:
            table.append(model)
    return tuple(map(tuple, tables))


def same_inputs(first: Workload, second: Workload) -> bool:
    """Whether two workloads are fed the same values, so that their answers can be compared."""
    return _values(first.feeding) == _values(second.feeding) and _inputs(first) == _inputs(second)


def _joins(table: Sequence[SizedModel], model: SizedModel, networks: frozenset[str]) -> bool:
    """Whether a model is a row of a table: it fits one of its models, and none is another network of the zoo."""
    sources = {known.bundle.source for known in table} & networks
    if model.bundle.source in networks and sources - {model.bundle.source}:
        return False
    return any(_fit(known, model) for known in table)


def _fit(known: SizedModel, model: SizedModel) -> bool:
    first, second = known.workload, model.workload
    if first.feeding.count != second.feeding.count or len(first.feeding.samples) != len(second.feeding.samples):
        return False
    if first.bundle is second.bundle:
        return first.feeding.count == 1 and _unbatched(first.sizes) == _unbatched(second.sizes)
    return _inputs(first) == _inputs(second) and _outputs(first) == _outputs(second)


def _unbatched(sizes: Mapping[str, int]) -> Mapping[str, int]:
    return {name: size for name, size in sizes.items() if name != BATCH}


def _inputs(workload: Workload) -> tuple[InputSpec, ...]:
    return tuple(replace(spec, tensor=spec.tensor.bind(workload.sizes)) for spec in workload.bundle.inputs)


def _values(feeding: Feeding) -> Feeding:
    """Return what tells values apart: the digests of samples, not where a copy of them lies for each model."""
    return replace(feeding, samples=())


def _outputs(workload: Workload) -> tuple[tuple[int, str], ...]:
    """Return the rank and the type of each output; names and computed sizes may differ after a rewrite."""
    outputs = workload.bundle.artifacts[0].outputs if workload.bundle.artifacts else ()
    return tuple((len(spec.shape), spec.dtype) for spec in outputs)


def sizes_of_sweep(
    data: ModelData, batch: int | None, shapes: Mapping[str, tuple[int, ...]], sweep: Sweep | None
) -> tuple[dict[str, int], ...]:
    """Return the sizes of all dynamic dimensions for each shape of a sweep, or once where there is none.

    A sweep without a name has the shapes of the first input with dynamic dimensions.
    """
    if sweep is None:
        return (data.bind(batch, shapes),)
    bundle = data.bundle
    name, swept_shapes = sweep
    name = name or _first_dynamic(bundle)
    if not has_name(bundle, name):  # another model of the run has it
        return (data.bind(batch, shapes),)
    if name in shapes:
        raise IrbenchError(f"--shapes and --shape both set {name}.", hint="Leave one of them out.")
    swept: list[dict[str, int]] = []
    for shape in swept_shapes:
        sizes = data.bind(batch, {**shapes, name: shape})
        if sizes in swept:
            raise IrbenchError(
                f"--shapes {name}={shape_text(shape)} asks for the same sizes as another shape of it.",
                hint="--batch overrides the batch of a shape: leave it out, or one of the shapes.",
            )
        swept.append(sizes)
    return tuple(swept)


def swept_sizes(sizes: Mapping[str, int], others: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Return the sizes that tell a table from the others of its sweep, by dimension."""
    return {name: size for name, size in sizes.items() if any(other[name] != size for other in others)}


def _first_dynamic(bundle: Bundle) -> str:
    for spec in bundle.inputs:
        if spec.tensor.dynamic_dimensions:
            return spec.tensor.name
    raise IrbenchError(f"{bundle.name} has no dynamic dimensions.", hint="Leave --shapes out: it has one shape only.")
