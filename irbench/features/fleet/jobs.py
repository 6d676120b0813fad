"""A plan as jobs: what is measured on one target without a break, and the files that go there with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

from irbench.api.progress import Say
from irbench.errors import IrbenchError
from irbench.features.fleet.messages import Command, JobRequest, SentFile
from irbench.features.plan.expansion import SweepTable, digest
from irbench.features.plan.preview import most_seconds
from irbench.features.plan.table_options import SweepSetup
from irbench.requests.resolve import require_models, resolve_bundles
from irbench.runner.prepare import with_files_of_graphs
from irbench.spec import Bundle
from irbench.store.card import CARD, load_card
from irbench.system import file_states
from irbench.system.file_states import FileState
from irbench.worker.model_files import read_external_files

_OWN_CODE = ("cells", "import", "metric")
"""Keys of a plan that run code of the user's, which is not sent to other machines."""


@dataclass(frozen=True)
class Job:
    """Tables that one target measures one after the other: a table, or a curve of them.

    Attributes:
        id: The same whenever the same fleet goes on.
        pool: Whose targets may measure it.
        seconds: The most that it takes; 0 where nobody knows.
        command: What measures them.
    """

    id: str
    pool: str
    tables: tuple[SweepTable, ...]
    seconds: float
    command: Command = "sweep"


@dataclass(frozen=True)
class Shipment:
    """A model or data of a plan, as it is sent.

    Attributes:
        place: What stands for it in the folder of a job.
        sources: Where its files are, by their place.
        artifacts: Digests of a model's artifacts, SHA-256 in hexadecimal, which runs of it record.
    """

    place: str
    sources: Mapping[str, Path]
    artifacts: frozenset[str] = frozenset()


def jobs_of(
    tables: Sequence[SweepTable], pools: Sequence[str], fleet: str, setup: SweepSetup, command: Command = "sweep"
) -> tuple[Job, ...]:
    """Return the jobs of a plan, each once for every pool.

    Args:
        tables: In the order in which they are measured.
        pools: Names of the pools.
        fleet: The id of this fleet.
        setup: What all tables have in common.
        command: What measures them.
    """
    seconds = most_seconds(tables, setup) if command == "sweep" else dict.fromkeys((table.id for table in tables), 0.0)
    return tuple(
        Job(
            digest([fleet, pool, [table.id for table in together]]),
            pool,
            together,
            sum(seconds[table.id] for table in together),
            command,
        )
        for pool in pools
        for together in _together(tables)
    )


def _together(tables: Sequence[SweepTable]) -> Iterator[tuple[SweepTable, ...]]:
    """Yield each table by itself, and those of a curve together: its end depends on what was measured before."""
    curves = [table for table in tables if table.step is not None]
    yield from ((table,) for table in tables if table.step is None)
    for _, curve in groupby(sorted(curves, key=_curve), key=_curve):
        yield tuple(sorted(curve, key=lambda table: table.batch))


def _curve(table: SweepTable) -> str:
    assert table.step is not None
    return table.step.curve


def refuse_own_code(tables: Sequence[SweepTable]) -> None:
    """Refuse a plan whose tables run code of the user's."""
    for key in _OWN_CODE:
        if any(table.values(key) for table in tables):
            raise IrbenchError(
                f"The plan has `{key}`, and a fleet sends no code of yours to other machines.",
                hint="Leave it out, or run irbench sweep on each machine.",
            )


class Shipments:
    """The models and data of a plan, found on this machine; a model that is not exported yet is exported first."""

    def __init__(self, tables: Sequence[SweepTable], setup: SweepSetup, say: Say) -> None:
        models = {str(model) for table in tables for model in table.values("models")}
        data = {str(value) for table in tables for value in table.values("data")}
        located = {model: _located(model, setup.folder) for model in sorted(models)}
        require_models(list(located.values()), everything=False)
        found = {model: _model(model, name, say) for model, name in located.items()}
        self._by_name = {**found, **{name: _data(name, setup.folder / name) for name in sorted(data)}}
        self._states: dict[Path, FileState] = {}

    def request(self, job: Job, name: str) -> JobRequest:
        """Return what is asked of a target."""
        names = {str(value) for table in job.tables for key in ("models", "data") for value in table.values(key)}
        shipments = {name: self._by_name[name] for name in sorted(names)}
        files = {
            place: self._sent(place, source)
            for shipment in shipments.values()
            for place, source in shipment.sources.items()
        }
        places = {name: shipment.place for name, shipment in shipments.items()}
        return JobRequest(
            job=job.id,
            name=name,
            tables=job.tables,
            files=tuple(files.values()),
            places=places,
            command=job.command,
        )

    def models(self, job: Job) -> frozenset[str]:
        """Return the digests of the artifacts of a job's models, SHA-256 in hexadecimal."""
        names = {str(name) for table in job.tables for name in table.values("models")}
        return frozenset().union(*(self._by_name[name].artifacts for name in names))

    def source(self, sha256: str) -> Path:
        """Return a file of a content that some request has named.

        Raises:
            IrbenchError: It has another content by now.
        """
        paths = [path for path, state in self._states.items() if state.sha256 == sha256]
        for path in paths:
            if file_states.is_unchanged(path, self._states[path]):
                return path
        raise IrbenchError(
            f"{paths[0]} was changed after this call had begun with it.",
            hint="Put it back and go on with --resume, or measure the new one under another --name.",
        )

    def _sent(self, place: str, source: Path) -> SentFile:
        if source not in self._states:
            self._states[source] = file_states.file_state(source)
        known = self._states[source]
        return SentFile(place, known.sha256, known.size_bytes)


def _located(model: str, folder: Path) -> str:
    """Return how a model of a plan is named from anywhere."""
    is_path = model.endswith(".onnx") or file_states.is_file(folder / model / CARD)
    return str(folder / model) if is_path else model


def _model(named: str, located: str, say: Say) -> Shipment:
    (bundle,) = map(with_files_of_graphs, resolve_bundles((located,), everything=False, say=say))
    artifacts = frozenset(artifact.files.sha256 for artifact in bundle.artifacts if artifact.files is not None)
    if located.endswith(".onnx"):
        path = Path(located)
        place = _place(named)
        beside = PurePosixPath(place).parent
        others = {str(beside / location): path.parent / location for location in read_external_files(path)}
        return Shipment(place, {place: path, **others}, artifacts)
    folder = _folder_of(bundle)
    place = f"./{bundle.name}"
    names = (CARD, *load_card(folder).checksums)
    return Shipment(place, {f"{bundle.name}/{name}": folder / name for name in names}, artifacts)


def _folder_of(bundle: Bundle) -> Path:
    """Return the folder of a bundle: the nearest one around a file of it that has a card."""
    path = next(artifact.path for artifact in bundle.artifacts)
    return next(folder for folder in path.parents if file_states.is_file(folder / CARD))


def _data(named: str, path: Path) -> Shipment:
    place = _place(named)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        return Shipment(place, {f"{place}/{file.relative_to(path).as_posix()}": file for file in files})
    if not path.is_file():
        raise IrbenchError(f"{path} is neither a file nor a folder.", hint="Check `data` in the plan.")
    return Shipment(place, {place: path})


def _place(named: str) -> str:
    """Return where something lies in the folder of a job: as it is named where that is below the plan's folder."""
    path = PurePosixPath(named)
    is_below = not path.is_absolute() and ".." not in path.parts
    return str(path) if is_below else f"{digest(named)}/{path.name}"


def with_places(tables: Sequence[SweepTable], places: Mapping[str, str]) -> tuple[SweepTable, ...]:
    """Return tables whose models and data are named by their places."""

    def placed(settings: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: places.get(str(value), value) if key in ("models", "data") else value
            for key, value in settings.items()
        }

    return tuple(
        replace(table, cells=tuple(replace(cell, settings=placed(cell.settings)) for cell in table.cells))
        for table in tables
    )
