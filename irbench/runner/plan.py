"""From a request to groups of cells: who is compared with whom, and who cannot take part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.optimizer import UNOPTIMIZED
from irbench.record import Failure
from irbench.runner.artifacts import GroupArtifacts
from irbench.runner.request import RunRequest
from irbench.runner.sizes import bind_sizes
from irbench.spec import AGAIN, Bundle, Cell, Group, Load

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

    @property
    def measured(self) -> tuple[Cell, ...]:
        """The cells that can run the model, in the group's order."""
        return tuple(cell for cell in self.group.cells if cell.id not in self.absent)

    @property
    def can_run(self) -> bool:
        """Whether there is a cell to measure."""
        return bool(self.measured)


def _silent(_text: str) -> None: ...


def plan(request: RunRequest, scratch: Path, say: Callable[[str], None] = _silent) -> tuple[PlannedGroup, ...]:
    """Return one group for each model and batch, split where it would hold too many cells.

    Args:
        request: The whole run.
        scratch: Where copies of artifacts with bound shapes are written.
        say: Hears the progress of optimisations, and why a table is split.

    Raises:
        IrbenchError: Shapes contradict each other, no backend can run any model, the baseline is not a row, or what
            optimising needs is not installed.
    """
    groups: list[PlannedGroup] = []
    for bundle, batch in product(request.bundles, request.batches or (None,)):
        sizes = bind_sizes(bundle, batch, request.shapes)
        whole = _group(request, bundle, sizes, GroupArtifacts(bundle, sizes, scratch, say))
        parts = split(whole, MOST_CELLS)
        if len(parts) > 1:
            rows = len(whole.measured)
            say(f"{rows} rows make {len(parts)} tables ({MOST_CELLS} rows at most in one), each with the baseline")
        groups += parts
    if not any(group.can_run for group in groups):
        failure = next(iter(groups[0].absent.values()))
        names = " and ".join(bundle.name for bundle in request.bundles)
        raise IrbenchError(f"None of the backends can run {names}: {failure.message}.", hint=failure.hint or "")
    return tuple(groups)


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


def _group(request: RunRequest, bundle: Bundle, sizes: Mapping[str, int], artifacts: GroupArtifacts) -> PlannedGroup:
    cells: list[Cell] = []
    absent: dict[str, Failure] = {}
    for (name, device), streams in product(request.backends, request.streams):
        for precision, variant in artifacts.rows(name, request.variants, request.precisions):
            load = Load(
                batch=sizes["batch"],
                threads=request.threads,
                streams=streams,
                precision=precision,
                cpus=request.cpus,
                options=request.options.get(name, {}),
            )
            artifact, refusal = artifacts.of(name, variant)
            cell = Cell(_new_id(cells, name, device, load, variant), artifact, name, device, load, request.io)
            if refusal is not None:
                absent[cell.id] = refusal
            cells.append(cell)
    able = [cell for cell in cells if cell.id not in absent]
    baseline = _usual_baseline(able or cells) if request.baseline is None else _baseline(request.baseline, cells)
    return PlannedGroup(Group(bundle, sizes["batch"], dict(sizes), tuple(cells), baseline), absent)


def _new_id(cells: Sequence[Cell], name: str, device: str, load: Load, variant: str) -> str:
    cell_id = f"{name}-{device}-{load.precision}-x{load.streams}"
    if variant != UNOPTIMIZED:
        cell_id += f"-{variant}"
    # a backend that is named twice is measured against itself
    return f"{cell_id}{AGAIN}" if any(cell.id == cell_id for cell in cells) else cell_id


def _usual_baseline(cells: Sequence[Cell]) -> str:
    """Return the id of ``tf``, else of the first."""
    return next((cell for cell in cells if cell.label == "tf"), cells[0]).id


def _baseline(asked: str, cells: Sequence[Cell]) -> str:
    """Return the id of the row that was asked for, also where it cannot run: its replacement is told in a warning."""
    name, _, conditions = asked.partition("@")
    wanted = dict(_condition(part, asked) for part in conditions.split(",") if part)
    for cell in cells:
        facts = {"streams": str(cell.load.streams), "precision": cell.load.precision}
        names = {cell.label, str(cell.address)}
        if name in names and all(facts[key] == value for key, value in wanted.items()):
            return cell.id
    labels = Counter(cell.label for cell in cells)
    rows = dict.fromkeys(cell.label if labels[cell.label] == 1 else _address(cell) for cell in cells)
    raise IrbenchError(f"--baseline {asked} is none of the rows.", hint=f"The rows are: {', '.join(rows)}")


def _condition(text: str, asked: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if key not in ("streams", "precision") or not equals:
        raise IrbenchError(
            f"--baseline {asked} is not understood.", hint="Write a backend, or one with a setting: tf@streams=1"
        )
    return key, value


def _address(cell: Cell) -> str:
    return f"{cell.address}@streams={cell.load.streams},precision={cell.load.precision}"
