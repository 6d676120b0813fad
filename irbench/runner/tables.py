"""Which models and batches are rows of one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.options.values import Sweep
from irbench.runner.cells import SizedModel
from irbench.runner.inputs import ModelData
from irbench.runner.request import RunRequest
from irbench.spec import Bundle, Feeding, InputSpec, Workload, shape_text
from irbench.spec.requested_sizes import has_name


def compared_together(request: RunRequest, models: Sequence[SizedModel]) -> tuple[tuple[SizedModel, ...], ...]:
    """Return the models of each table, in the order of the first of each.

    The batches of a model share a table, and so do models that take equal inputs and give outputs of one form. Models
    of the zoo with different names are different networks, which have tables of their own. So has every model at every
    batch where the request says so, where samples take turns (a batch is several of them), and where rows are measured
    alone.

    Args:
        request: The whole run.
        models: Each at each of its sizes.
    """
    if request.apart or request.measures_rows_alone or request.sweep is not None:
        return tuple((model,) for model in models)
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
    """Whether a model is a row of a table: it fits one of its models, and is no other network of the zoo than any."""
    sources = {known.bundle.source for known in table} & networks
    if model.bundle.source in networks and sources - {model.bundle.source}:
        return False
    return any(_fit(known, model) for known in table)


def _fit(known: SizedModel, model: SizedModel) -> bool:
    first, second = known.workload, model.workload
    if first.feeding.count != second.feeding.count or len(first.feeding.samples) != len(second.feeding.samples):
        return False
    if first.bundle is second.bundle:
        return first.feeding.count == 1
    return _inputs(first) == _inputs(second) and _outputs(first) == _outputs(second)


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

    Args:
        data: The model, with the sizes that samples and lists of constants have.
        batch: The batch asked for; see :meth:`irbench.runner.inputs.ModelData.bind`.
        shapes: Shapes and sizes that all tables share, by name.
        sweep: What differs; without a name the shapes are those of the first input with dynamic dimensions.

    Raises:
        IrbenchError: A shape does not fit, two are the same, or the model has no dynamic dimension.
    """
    if sweep is None:
        return (data.bind(batch, shapes),)
    bundle = data.bundle
    name, given = sweep
    name = name or _first_dynamic(bundle)
    if not has_name(bundle, name):  # another model of the run has it
        return (data.bind(batch, shapes),)
    if name in shapes:
        raise IrbenchError(f"--shapes and --shape both set {name}.", hint="Leave one of them out.")
    found: list[dict[str, int]] = []
    for shape in given:
        sizes = data.bind(batch, {**shapes, name: shape})
        if sizes in found:
            raise IrbenchError(
                f"--shapes {name}={shape_text(shape)} asks for the same sizes as another shape of it.",
                hint="--batch overrides the batch of a shape: leave it out, or one of the shapes.",
            )
        found.append(sizes)
    return tuple(found)


def swept_sizes(sizes: Mapping[str, int], others: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Return the sizes that tell a table from the others of its sweep, by dimension."""
    return {name: size for name, size in sizes.items() if any(other[name] != size for other in others)}


def _first_dynamic(bundle: Bundle) -> str:
    for spec in bundle.inputs:
        if spec.tensor.dynamic_dimensions:
            return spec.tensor.name
    raise IrbenchError(f"{bundle.name} has no dynamic dimensions.", hint="Leave --shapes out: it has one shape only.")
