"""The rows that a request asks for: known from models and sizes alone, before anything is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from irbench.errors import IrbenchError
from irbench.onnx.rewriting.bind import is_rewritten
from irbench.optimizer import UNOPTIMIZED, variant
from irbench.runner.request import RunRequest
from irbench.spec import AGAIN, Artifact, Bundle, Cell, Feeding, Load, Precision, Program
from irbench.spi import Description

__all__ = ["DYNAMIC", "AskedCell", "Reader", "SizedModel", "asked_cells", "at_level", "named_baseline", "variants_of"]

DYNAMIC = "-dynamic"
"""How the id of a cell ends that runs the same graph with dynamic shapes."""
_FRAMEWORK_PRECISION: Precision = "fp32"
"""What is asked of an artifact that is no ONNX graph."""


@dataclass(frozen=True)
class Reader:
    """A backend as planning sees it.

    Attributes:
        kinds: Artifact kinds it reads, best first.
        description: What it says of itself.
        program: The user's own code that it is; ``None`` for a backend.
    """

    kinds: tuple[str, ...]
    description: Description
    program: Program | None = None


@dataclass(frozen=True)
class SizedModel:
    """A model at one size.

    Attributes:
        bundle: The model.
        sizes: A size for every dynamic dimension, ``batch`` included.
        precision: What its ONNX graph is run in where no precision was asked for: what it holds, ``native`` where that
            is none that can be asked for.
        feeding: Its inputs.
        other_sizes: The other sizes of the sweep that it is part of.
    """

    bundle: Bundle
    sizes: Mapping[str, int]
    precision: Precision
    feeding: Feeding = field(default_factory=Feeding)
    other_sizes: tuple[Mapping[str, int], ...] = ()


@dataclass(frozen=True)
class AskedCell:
    """A row before its artifact is made.

    Attributes:
        cell: The row, with the exported artifact; without one where its backend reads none that the model has.
        level: The level of optimisation that it is run at.
    """

    cell: Cell
    level: str


def asked_cells(request: RunRequest, readers: Mapping[str, Reader], model: SizedModel) -> tuple[AskedCell, ...]:
    """Return the rows of a model in the order of its table; their ids are unique.

    Args:
        request: The whole run.
        readers: Its backends, by name.
        model: The model at one size.
    """
    asked: list[AskedCell] = []
    for (name, device), streams in product(request.addresses, request.streams):
        exported = model.bundle.artifact(readers[name].kinds)
        for precision, level, required in _rows(request, readers[name], model):
            load = Load(
                batch=model.sizes["batch"],
                threads=request.threads,
                streams=streams,
                precision=precision,
                cpus=request.cpus,
                options=request.options.get(name, {}),
                precision_required=required,
            )
            cell_id = _new_id([item.cell for item in asked], name, device, load, level)
            artifact = at_level(exported, level) if exported is not None else None
            cell = Cell(cell_id, artifact, name, device, load, request.io, program=readers[name].program)
            asked.append(AskedCell(cell, level))
            if request.sweep is not None and level == UNOPTIMIZED and exported is not None and is_rewritten(exported):
                asked.append(AskedCell(replace(cell, id=f"{cell_id}{DYNAMIC}", dynamic=True), level))
    return tuple(asked)


def at_level(exported: Artifact, level: str) -> Artifact:
    """Return an artifact under the name that it has at a level of optimisation."""
    return exported if level == UNOPTIMIZED else replace(exported, variant=level)


def named_baseline(asked: str, cells: Sequence[Cell]) -> str:
    """Return the id of the row that was asked for, also where it cannot run: its replacement is told in a warning.

    Args:
        asked: A row's name, optionally with ``@streams=N,precision=P``.
        cells: The rows, at least one.

    Raises:
        IrbenchError: It names none of them, or is not written as a row is.
    """
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


def variants_of(exported: Artifact, asked: Sequence[str]) -> tuple[str, ...]:
    """Return the levels of optimisation that an artifact is run at: only ONNX graphs are optimised."""
    return tuple(asked) if exported.kind == "onnx" else (UNOPTIMIZED,)


def _rows(request: RunRequest, reader: Reader, model: SizedModel) -> tuple[tuple[Precision, str, bool], ...]:
    """Return what a backend runs: each variant in each precision, but one that was converted in its own only.

    Returns:
        Precision, level of optimisation, and whether the precision is required.
    """
    exported = model.bundle.artifact(reader.kinds)
    is_onnx = exported is not None and exported.kind == "onnx"
    levels = variants_of(exported, request.variants) if exported is not None else (UNOPTIMIZED,)
    precisions = request.precisions or ((model.precision if is_onnx else _FRAMEWORK_PRECISION),)
    pinned = request.precisions is not None or precisions == (_FRAMEWORK_PRECISION,)
    return tuple(
        dict.fromkeys(
            (_own_precision(level) or precision, level, pinned or _own_precision(level) is not None)
            for precision, level in product(precisions, levels)
        )
    )


def _own_precision(level: str) -> Precision | None:
    conversion = None if level == UNOPTIMIZED else variant(level).conversion
    return conversion.precision if conversion is not None else None


def _new_id(cells: Sequence[Cell], name: str, device: str, load: Load, variant: str) -> str:
    cell_id = f"{name}-{device}-{load.precision}-x{load.streams}"
    if variant != UNOPTIMIZED:
        cell_id += f"-{variant}"
    # a backend that is named twice is measured against itself
    return f"{cell_id}{AGAIN}" if any(cell.id == cell_id for cell in cells) else cell_id


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
