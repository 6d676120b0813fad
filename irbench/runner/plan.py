"""From a request and what was prepared for it to groups of cells: who is compared with whom, and who cannot take part.

Nothing here starts a process or touches a file: :mod:`irbench.runner.prepare` did that before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from irbench.errors import IrbenchError
from irbench.optimizer import UNOPTIMIZED, variant
from irbench.record import Failure
from irbench.runner.request import RunRequest
from irbench.spec import AGAIN, Artifact, Bundle, Cell, Group, Load, Precision
from irbench.spi import Description

__all__ = ["MOST_CELLS", "PlannedGroup", "Prepared", "PreparedModel", "Reader", "plan", "split", "variants_of"]

MOST_CELLS = 6
"""Cells that are measured side by side; more take turns too seldom for the machine to stay the same."""

_FRAMEWORK_PRECISION: Precision = "fp32"
"""What is asked of an artifact that is no ONNX graph."""

_PORTABLE = "Compare it at --optimize basic or extended, which use standard ONNX operators only."


@dataclass(frozen=True)
class Reader:
    """A backend as planning sees it.

    Attributes:
        kinds: Artifact kinds it reads, best first.
        description: What it says of itself.
    """

    kinds: tuple[str, ...]
    description: Description


@dataclass(frozen=True)
class PreparedModel:
    """A model at one size, ready to be compiled.

    Attributes:
        bundle: The model.
        sizes: A size for every dynamic dimension, ``batch`` included.
        precision: What its ONNX graph is run in where no precision was asked for.
        artifacts: By the exported artifact's label and the level of optimisation: with every shape bound, or why it
            could not be made.
    """

    bundle: Bundle
    sizes: Mapping[str, int]
    precision: Precision
    artifacts: Mapping[tuple[str, str], Artifact | Failure]


@dataclass(frozen=True)
class Prepared:
    """What a run can be planned with.

    Attributes:
        readers: Its backends, by name.
        models: Each model at each batch, in the order of their tables.
    """

    readers: Mapping[str, Reader]
    models: tuple[PreparedModel, ...]


@dataclass(frozen=True)
class PlannedGroup:
    """A group, and the cells that were asked for but cannot run this model at all.

    Attributes:
        group: What is measured.
        absent: Cells without an artifact, with the reason that their row shows.
    """

    group: Group
    absent: Mapping[str, Failure] = field(default_factory=dict[str, Failure])

    @property
    def measured(self) -> tuple[Cell, ...]:
        """The cells that can run the model, in the group's order."""
        return tuple(cell for cell in self.group.cells if cell.id not in self.absent)

    @property
    def can_run(self) -> bool:
        """Whether there is a cell to measure."""
        return bool(self.measured)


def plan(request: RunRequest, prepared: Prepared) -> tuple[PlannedGroup, ...]:
    """Return one group for each model and batch, split where it would hold too many cells.

    Args:
        request: The whole run.
        prepared: From :func:`irbench.runner.prepare.prepare` for the same request.

    Raises:
        IrbenchError: No backend can run any model, or the baseline is not a row.
    """
    groups = [part for model in prepared.models for part in split(_group(request, prepared.readers, model), MOST_CELLS)]
    if not any(group.can_run for group in groups):
        failure = next(iter(groups[0].absent.values()))
        names = " and ".join(bundle.name for bundle in request.bundles)
        raise IrbenchError(f"None of the backends can run {names}: {failure.message}.", hint=failure.hint or "")
    return tuple(groups)


def variants_of(exported: Artifact, asked: Sequence[str]) -> tuple[str, ...]:
    """Return the levels of optimisation that an artifact is run at: only ONNX graphs are optimised."""
    return tuple(asked) if exported.kind == "onnx" else (UNOPTIMIZED,)


def split(planned: PlannedGroup, most: int) -> tuple[PlannedGroup, ...]:
    """Return the group in parts of at most ``most`` cells, each with the baseline or what replaces it."""
    group, measured = planned.group, planned.measured
    if len(measured) <= most:
        return (planned,)
    baseline = next((cell for cell in measured if cell.id == group.baseline), measured[0])
    others = [cell for cell in measured if cell.id != baseline.id]
    absent = tuple(cell for cell in group.cells if cell.id in planned.absent)
    parts = [others[start : start + most - 1] for start in range(0, len(others), most - 1)]
    first, *rest = (replace(group, cells=(baseline, *part)) for part in parts)
    return (
        PlannedGroup(replace(first, cells=(*first.cells, *absent)), planned.absent),
        *(PlannedGroup(replace(part, baseline=baseline.id)) for part in rest),
    )


def _group(request: RunRequest, readers: Mapping[str, Reader], model: PreparedModel) -> PlannedGroup:
    cells: list[Cell] = []
    absent: dict[str, Failure] = {}
    for (name, device), streams in product(request.backends, request.streams):
        for precision, level in _rows(request, readers[name], model):
            load = Load(
                batch=model.sizes["batch"],
                threads=request.threads,
                streams=streams,
                precision=precision,
                cpus=request.cpus,
                options=request.options.get(name, {}),
            )
            artifact, failure = _artifact(readers[name], model, level)
            cell = Cell(_new_id(cells, name, device, load, level), artifact, name, device, load, request.io)
            if failure is not None:
                absent[cell.id] = failure
            cells.append(cell)
    able = [cell for cell in cells if cell.id not in absent]
    usual = _usual_baseline(able or cells, readers)
    baseline = usual if request.baseline is None else _baseline(request.baseline, cells)
    return PlannedGroup(Group(model.bundle, model.sizes["batch"], dict(model.sizes), tuple(cells), baseline), absent)


def _rows(request: RunRequest, reader: Reader, model: PreparedModel) -> tuple[tuple[Precision, str], ...]:
    """Return what a backend runs: each variant in each precision, but one that was converted in its own only."""
    exported = model.bundle.artifact(reader.kinds)
    is_onnx = exported is not None and exported.kind == "onnx"
    levels = variants_of(exported, request.variants) if exported is not None else (UNOPTIMIZED,)
    precisions = request.precisions or ((model.precision if is_onnx else _FRAMEWORK_PRECISION),)
    return tuple(
        dict.fromkeys((_own_precision(level) or precision, level) for precision, level in product(precisions, levels))
    )


def _own_precision(level: str) -> Precision | None:
    conversion = None if level == UNOPTIMIZED else variant(level).conversion
    return conversion.precision if conversion is not None else None


def _artifact(reader: Reader, model: PreparedModel, level: str) -> tuple[Artifact | None, Failure | None]:
    """Return the artifact that a backend reads, if there is one, and why it cannot run it, if it cannot."""
    exported = model.bundle.artifact(reader.kinds)
    if exported is None:
        return None, _not_applicable(reader.kinds, model.bundle)
    made = model.artifacts[exported.label, level]
    if isinstance(made, Failure):
        return (exported if level == UNOPTIMIZED else replace(exported, variant=level)), made
    foreign = sorted(set(made.domains) - set(reader.description.domains))
    if foreign:
        return made, Failure("plan", f"it does not read the operators of {foreign[0]} that {level} writes", _PORTABLE)
    return made, None


def _not_applicable(kinds: tuple[str, ...], bundle: Bundle) -> Failure:
    held = ", ".join(sorted({artifact.kind for artifact in bundle.artifacts}))
    return Failure(
        "plan",
        f"it reads {' or '.join(kinds)}, the model is {held}",
        "Export the model from its TensorFlow source to run it there.",
    )


def _new_id(cells: Sequence[Cell], name: str, device: str, load: Load, variant: str) -> str:
    cell_id = f"{name}-{device}-{load.precision}-x{load.streams}"
    if variant != UNOPTIMIZED:
        cell_id += f"-{variant}"
    # a backend that is named twice is measured against itself
    return f"{cell_id}{AGAIN}" if any(cell.id == cell_id for cell in cells) else cell_id


def _usual_baseline(cells: Sequence[Cell], readers: Mapping[str, Reader]) -> str:
    """Return the id of a row of the framework that models come from, as it usually runs, else of the first."""
    plain = (cell for cell in cells if cell.label == cell.backend)
    return next((cell for cell in plain if readers[cell.backend].description.is_original), cells[0]).id


def _baseline(asked: str, cells: Sequence[Cell]) -> str:
    """Return the id of the row that was asked for, also where it cannot run: its replacement is told in a warning."""
    name, _, conditions = asked.partition("@")
    wanted = dict(_condition(part, asked, cells[0].backend) for part in conditions.split(",") if part)
    for cell in cells:
        facts = {"streams": str(cell.load.streams), "precision": cell.load.precision}
        names = {cell.label, str(cell.address)}
        if name in names and all(facts[key] == value for key, value in wanted.items()):
            return cell.id
    labels = Counter(cell.label for cell in cells)
    rows = dict.fromkeys(cell.label if labels[cell.label] == 1 else _address(cell) for cell in cells)
    raise IrbenchError(f"--baseline {asked} does not match any row.", hint=f"The rows are: {', '.join(rows)}")


def _condition(text: str, asked: str, example: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if key not in ("streams", "precision") or not equals:
        raise IrbenchError(
            f"--baseline {asked} is not a valid row.",
            hint=f"Give a backend, or a backend with a setting: {example}@streams=1",
        )
    return key, value


def _address(cell: Cell) -> str:
    return f"{cell.address}@streams={cell.load.streams},precision={cell.load.precision}"
