"""Which rows of different runs are the same cell: equal in all that was asked of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from irbench.result import GroupResult
from irbench.row import CellResult
from irbench.spec import AGAIN, Io


@dataclass(frozen=True)
class CellKey:
    """What was asked of a row.

    Attributes:
        threads: Total for each process; ``None`` where the runtime chose.
        batch: Samples per inference.
        variant: Level of optimisation; empty for the exported graph.
        kind: Of the artifact, ``onnx`` for example.
        again: Whether it is the second row of a backend that is compared with itself.
        instances: Processes that ran it side by side.
        environment: What tables call the Python whose runtime was measured; empty for the one that irbench ran in.
        options: Properties of the backend that were varied between rows.
        has_neighbour: Whether a process kept a processor busy meanwhile.
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
    )


def without_model(key: CellKey) -> CellKey:
    """Return a key that matches the same cell of any model: names of inputs are the model's own, too."""
    shapes = tuple((str(place), shape) for place, (_, shape) in enumerate(key.shapes))
    return replace(key, model="", shapes=shapes)


def key_names(keys: Collection[CellKey]) -> Mapping[CellKey, str]:
    """Return what each cell is called: as little as tells them apart.

    ``ort``; ``ort+int8 x4 batch 8`` where variants, streams or batches differ.
    """
    differs = {name: len({getattr(key, name) for key in keys}) > 1 for name in ("model", "batch", "threads", "io")}
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
        f"io {key.io}" if differs["io"] else "",
        "again" if key.again else "",
        "beside a busy neighbour" if key.has_neighbour else "",
    ]
    return " ".join(part for part in parts if part)
