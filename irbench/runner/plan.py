"""From a request to groups of cells: who is compared with whom, and who cannot take part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from irbench import registry
from irbench.errors import IrbenchError
from irbench.record import Failure
from irbench.runner.binding import bind_apart
from irbench.runner.request import RunRequest
from irbench.runner.sizes import bind_sizes
from irbench.spec import AGAIN, Artifact, Bundle, Cell, Group, Load

__all__ = ["MOST_CELLS", "PlannedGroup", "plan", "split"]

MOST_CELLS = 6
"""Cells that are measured side by side; more take turns too seldom for the machine to stay the same."""


@dataclass(frozen=True)
class PlannedGroup:
    """A group, and the cells that were asked for but cannot run this model at all.

    Attributes:
        group: What is measured.
        absent: Cells without an artifact, with the reason that their row shows.
    """

    group: Group
    absent: Mapping[str, Failure] = field(default_factory=dict[str, Failure])


def plan(request: RunRequest, scratch: Path) -> tuple[PlannedGroup, ...]:
    """Return one group for each model and batch, split where it would hold too many cells.

    Args:
        request: The whole run.
        scratch: Where copies of artifacts with bound shapes are written.

    Raises:
        IrbenchError: Shapes contradict each other, no backend can run a model, or the baseline is not a row.
    """
    groups: list[PlannedGroup] = []
    for bundle, batch in product(request.bundles, request.batches or (None,)):
        sizes = bind_sizes(bundle, batch, request.shapes)
        whole = _group(request, bundle, sizes, scratch)
        groups += split(whole, MOST_CELLS)
    return tuple(groups)


def split(planned: PlannedGroup, most: int) -> tuple[PlannedGroup, ...]:
    """Return the group in parts of at most ``most`` cells, the baseline in each."""
    group = planned.group
    measured = [cell for cell in group.cells if cell.id not in planned.absent]
    if len(measured) <= most:
        return (planned,)
    baseline = next(cell for cell in measured if cell.id == group.baseline)
    others = [cell for cell in measured if cell.id != group.baseline]
    absent = tuple(cell for cell in group.cells if cell.id in planned.absent)
    parts = [others[start : start + most - 1] for start in range(0, len(others), most - 1)]
    first, *rest = (replace(group, cells=(baseline, *part)) for part in parts)
    return (
        PlannedGroup(replace(first, cells=(*first.cells, *absent)), planned.absent),
        *(PlannedGroup(part) for part in rest),
    )


def _group(request: RunRequest, bundle: Bundle, sizes: Mapping[str, int], scratch: Path) -> PlannedGroup:
    bound: dict[str, Artifact] = {}
    cells: list[Cell] = []
    absent: dict[str, Failure] = {}
    for (name, device), streams, precision in product(request.backends, request.streams, request.precisions):
        kinds = registry.backend(name).consumes
        artifact = bundle.artifact(kinds)
        if artifact is not None:
            if artifact.label not in bound:
                bound[artifact.label] = bind_apart(artifact, sizes, scratch)
            artifact = bound[artifact.label]
        load = Load(
            batch=sizes["batch"],
            threads=request.threads,
            streams=streams,
            precision=precision,
            cpus=request.cpus,
            options=request.options.get(name, {}),
        )
        cell_id = f"{name}-{device}-{precision}-x{streams}"
        if any(one.id == cell_id for one in cells):  # a backend that is named twice is measured against itself
            cell_id += AGAIN
        cell = Cell(cell_id, artifact, name, device, load, request.io)
        if artifact is None:
            absent[cell.id] = _not_applicable(bundle, kinds)
        cells.append(cell)
    if len(absent) == len(cells):
        reason = next(iter(absent.values()))
        raise IrbenchError(f"None of the backends can run {bundle.name}: {reason.message}.", hint=reason.hint or "")
    baseline = _baseline(request.baseline, tuple(cell for cell in cells if cell.id not in absent))
    return PlannedGroup(Group(bundle, sizes["batch"], dict(sizes), tuple(cells), baseline), absent)


def _not_applicable(bundle: Bundle, kinds: tuple[str, ...]) -> Failure:
    held = ", ".join(sorted({artifact.kind for artifact in bundle.artifacts}))
    return Failure(
        "plan",
        f"it reads {' or '.join(kinds)}, the model is {held}",
        "Export the model from its TensorFlow source to run it there.",
    )


def _baseline(asked: str | None, cells: tuple[Cell, ...]) -> str:
    """Return the id of the baseline: the one asked for, else ``tf``, else the first."""
    if asked is None:
        return next((cell for cell in cells if cell.label == "tf"), cells[0]).id
    name, _, conditions = asked.partition("@")
    wanted = dict(_condition(one, asked) for one in conditions.split(",") if one)
    for cell in cells:
        facts = {"streams": str(cell.load.streams), "precision": cell.load.precision}
        names = {cell.label, cell.backend if cell.device == "cpu" else f"{cell.backend}:{cell.device}"}
        if name in names and all(facts[key] == value for key, value in wanted.items()):
            return cell.id
    rows = ", ".join(dict.fromkeys(_address(cell) for cell in cells))
    raise IrbenchError(f"--baseline {asked} is none of the rows.", hint=f"The rows are: {rows}")


def _condition(text: str, asked: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if key not in ("streams", "precision") or not equals:
        raise IrbenchError(
            f"--baseline {asked} is not understood.", hint="Write a backend, or one with a setting: tf@streams=1"
        )
    return key, value


def _address(cell: Cell) -> str:
    name = cell.backend if cell.device == "cpu" else f"{cell.backend}:{cell.device}"
    return f"{name}@streams={cell.load.streams},precision={cell.load.precision}"
