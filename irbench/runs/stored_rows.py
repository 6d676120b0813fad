"""A row of a stored run, found by its name and planned again as it was measured, and the program that runs it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Literal, NoReturn

from irbench.core.graph_record import OptimizerActivity
from irbench.core.quantities import plural
from irbench.core.result import GroupResult, RunDocument
from irbench.core.row import CellResult, distinguish, name_of
from irbench.core.run_kinds import run_kind
from irbench.core.suggestions import did_you_mean
from irbench.data.sample_reading import find_samples
from irbench.errors import IrbenchError
from irbench.exporter.foreign import from_onnx_file
from irbench.programs.image_program import ImageReading
from irbench.programs.own_program import own_program
from irbench.programs.row_program import ProgramHeading, row_program
from irbench.render.table_title import sizes_text
from irbench.requests.graph_files import exported_from
from irbench.requests.run_requests import planned_models, requested
from irbench.runner.instances import cpu_shares
from irbench.runner.plan import PlannedGroup, other_form
from irbench.runs.repetition import measuring_command, stored_options
from irbench.spec import Bundle, Cell, Workload
from irbench.store import bundles
from irbench.system import host
from irbench.system.file_states import exists, is_file

Choice = Literal["named", "winner", "fastest"]
"""Why a row is taken: it was named; it is the winner; no row is decided to be, and it looks fastest."""


@dataclass(frozen=True)
class StoredRow:
    """A row that was measured.

    Attributes:
        document: Its run.
        table: Its table.
        row: What was measured.
        name: What tables and sentences call it, unique in the run.
        choice: Why it was taken.
    """

    document: RunDocument
    table: GroupResult
    row: CellResult
    name: str
    choice: Choice

    @property
    def model(self) -> str:
        """What it runs."""
        return self.row.model or self.table.model


@dataclass(frozen=True)
class PlannedRow:
    """A stored row as it would be measured again.

    Attributes:
        cell: Its graph has the shapes of the row, where the row's had.
        workload: Its model and its inputs.
    """

    cell: Cell
    workload: Workload


def find_row(document: RunDocument, name: str | None = None) -> StoredRow:
    """Return a row of a run that has figures.

    Args:
        document: The run.
        name: What the table calls it, or its id; ``None`` for the winner, or the row that looks fastest.

    Raises:
        IrbenchError: There is no such row, several are called so, it was not measured, or its outputs are wrong.
    """
    rows = {(place, row.id): row for place, table in enumerate(document.groups) for row in table.cells}
    if not rows:
        kind = run_kind(document.plan)
        measures = kind.measures if kind is not None else "nothing"
        raise IrbenchError(
            f"Run {document.run_id} measures {measures}, and programs are of rows that compare speeds.",
            hint="Measure the model with irbench run.",
        )
    if all(row.latency_ms is None for row in rows.values()):
        raise IrbenchError(
            f"Nothing was measured in run {document.run_id}.",
            hint=f"See why: irbench show {document.run_id} --warnings",
        )
    names = _names(document)
    if name is None:
        return _chosen(document)
    place = _named(names, rows, name)
    row = rows[place]
    if row.latency_ms is None or row.state != "ok":
        why = f": {row.failure.message}" if row.failure is not None else ""
        raise IrbenchError(
            f"{names[place]} has no valid figures{why}.",
            hint=f"Choose one of: {', '.join(names[key] for key, each in rows.items() if each.state == 'ok')}",
        )
    return StoredRow(document, document.groups[place[0]], row, names[place], "named")


def _names(document: RunDocument) -> Mapping[tuple[int, str], str]:
    rows = {(place, row.id): (table, row) for place, table in enumerate(document.groups) for row in table.cells}
    usual = {place: name_of(row, row.model or table.model) for place, (table, row) in rows.items()}
    names = distinguish(usual)
    if len(set(names.values())) == len(names):
        return names
    return distinguish({place: replace(usual[place], inputs=_inputs_text(*rows[place])) for place in rows})


def _inputs_text(table: GroupResult, row: CellResult) -> str:
    """Return what tells tables of a sweep of prompts or of shapes apart: ``prompt 64``, or ``1x64``."""
    return f"prompt {row.generation.prompt}" if row.generation is not None else sizes_text(row.shapes or table.shapes)


def _named(
    names: Mapping[tuple[int, str], str], rows: Mapping[tuple[int, str], CellResult], name: str
) -> tuple[int, str]:
    wanted = " ".join(name.split())
    for known in (names, {key: key[1] for key in rows}, {key: row.label for key, row in rows.items()}):
        found = [key for key, text in known.items() if text == wanted]
        if len(found) == 1:
            return found[0]
        if found:
            raise IrbenchError(
                f"{len(found)} rows are called {name}.", hint=f"Name one: {', '.join(names[key] for key in found)}"
            )
    listed = ", ".join(names.values())
    raise IrbenchError(f"No row is called {name!r}.", hint=f"{did_you_mean(wanted, names.values())}Rows: {listed}")


def _chosen(document: RunDocument) -> StoredRow:
    if len(document.groups) > 1:
        raise IrbenchError(
            f"Run {document.run_id} has {len(document.groups)} tables, each with a fastest row of its own.",
            hint=f"Name the row: irbench show {document.run_id} lists them.",
        )
    stored = fastest_row(document, 0)
    if stored is None:
        raise IrbenchError(
            f"No row of run {document.run_id} has valid outputs.",
            hint=f"See why: irbench show {document.run_id} --warnings",
        )
    return stored


def fastest_row(document: RunDocument, place: int) -> StoredRow | None:
    """Return the winner of a table, or the row that looks fastest where none is decided.

    Args:
        document: The run.
        place: Which of its tables.

    Returns:
        The row; ``None`` where no row has valid outputs.
    """
    table = document.groups[place]
    able = {row.id: row for row in table.cells if row.state == "ok" and row.latency_ms is not None}
    if not able:
        return None
    leader = table.winner or table.lead
    if leader is not None and leader.cell in able:
        row = able[leader.cell]
    elif table.objective == "fps":
        row = max(able.values(), key=lambda each: each.fps or 0.0)
    else:
        row = min(able.values(), key=lambda each: each.latency_ms.p50 if each.latency_ms else math.inf)
    is_decided = table.winner is not None or len(table.cells) == 1
    choice: Choice = "winner" if is_decided else "fastest"
    return StoredRow(document, table, row, _names(document)[place, row.id], choice)


class GraphGone(IrbenchError):
    """A graph that was measured is not stored any more, or is another one."""


def planned_row(stored: StoredRow, scratch: Path) -> PlannedRow:
    """Return a stored row as it would be measured again, with the very graph that was measured.

    Args:
        stored: The row.
        scratch: As :func:`planned_again` takes it.

    Raises:
        GraphGone: Its graph is not stored any more, or is another one.
        IrbenchError: The run cannot be planned again.
    """
    return row_of_plan(stored, planned_again(stored.document, scratch))


def planned_again(document: RunDocument, scratch: Path) -> tuple[PlannedGroup, ...]:
    """Return the tables of a stored run as they would be measured again.

    Nothing is exported, optimised or measured: rows whose optimised graph is not kept are absent from their table.

    Args:
        document: The run.
        scratch: An empty folder for copies of graphs with bound shapes, and for samples of data.

    Raises:
        GraphGone: A model, or all of the graphs, are not stored any more.
        IrbenchError: The run cannot be planned again.
    """
    options = stored_options(replace(document.plan, environments=()))
    missing: list[OptimizerActivity] = []

    def refuse(activity: OptimizerActivity) -> NoReturn:
        missing.append(activity)
        raise IrbenchError("Its optimised graph is not kept any more.")

    bundles_of_run = tuple(_stored_bundle(document, name) for name in options.models)
    try:
        return planned_models(requested(options), bundles_of_run, scratch, refuse)[1]
    except IrbenchError as error:
        if not missing:
            raise
        raise _gone(document, "its optimised graphs are not kept any more") from error


def row_of_plan(stored: StoredRow, groups: Sequence[PlannedGroup]) -> PlannedRow:
    """Return a stored row among the tables that :func:`planned_again` returned; raises as :func:`planned_row` does."""
    row = stored.row
    found = _found(stored, groups)
    if found is None:
        raise IrbenchError(
            f"{stored.name} cannot be planned again as it was measured.",
            hint=f"Measure it again: {measuring_command(stored.document.plan)}",
        )
    cell, workload = found
    artifact = cell.artifact
    if artifact is None or artifact.files is None or not artifact.path.exists():
        raise _gone(stored.document, f"the graph of {stored.model} cannot be read")
    if row.graph_files is not None and artifact.files.sha256 != row.graph_files.sha256:
        raise _gone(
            stored.document,
            f"the graph of {stored.model} was changed since: its SHA-256 is {artifact.files.sha256[:16]}...,"
            f" and that of the measured one {row.graph_files.sha256[:16]}...",
        )
    return PlannedRow(cell, workload)


def _found(stored: StoredRow, groups: Sequence[PlannedGroup]) -> tuple[Cell, Workload] | None:
    """Return the cell of a stored row, with the form of its graph that was measured in the end."""
    row = stored.row
    wanted = row.id if row.environment is None else row.id.removesuffix(f"-{row.environment.key}")
    for planned in groups:
        for cell in planned.group.cells:
            workload = planned.group.workload_of(cell)
            is_same = (cell.id, workload.bundle.name, cell.load.batch) == (wanted, stored.model, row.batch)
            if not is_same or not _has_shapes(stored, workload):
                continue
            if (failure := planned.absent.get(cell.id)) is not None:
                if failure.stage == "optimize":
                    raise _gone(stored.document, f"the graph {row.artifact} of {stored.model} is not kept any more")
                continue
            if cell.dynamic == row.dynamic:
                return replace(cell, environment=row.environment), workload
            other = other_form(cell, planned.others)
            return None if other is None else (replace(other, environment=row.environment), workload)
    return None


def _has_shapes(stored: StoredRow, workload: Workload) -> bool:
    """Whether a workload has the shapes of a row: tables of a sweep differ in nothing else."""
    shapes = stored.row.shapes or (stored.table.shapes if stored.row.batch == stored.table.batch else {})
    bound = {spec.tensor.name: spec.tensor.bind(workload.sizes).shape for spec in workload.bundle.inputs}
    return all(bound.get(name, shape) == tuple(shape) for name, shape in shapes.items())


def _stored_bundle(document: RunDocument, name: str) -> Bundle:
    path = Path(name)
    if path.suffix == ".onnx":
        if not is_file(path):
            raise _gone(document, f"there is no file {path} any more")
        return from_onnx_file(path)
    folder = path if is_file(path / bundles.CARD) else bundles.find(name) or exported_from(name)
    if folder is None:
        raise _gone(document, f"{name} is not exported any more")
    return bundles.load_intact(folder)


def _gone(document: RunDocument, why: str) -> GraphGone:
    return GraphGone(
        f"A graph of run {document.run_id} is not here: {why}.",
        hint=f"Put it back, or measure again and use that run: {measuring_command(document.plan)}",
    )


def program_of_row(stored: StoredRow, planned: PlannedRow) -> str:
    """Return the program that runs a stored row without irbench, as ``infer.py`` of a folder with its graph.

    Raises:
        IrbenchError: There is none for its backend, or for such a row.
    """
    if stored.row.stages:
        raise IrbenchError(
            f"{stored.name} is a pipeline of stages, which is a program already:"
            f" {', '.join(stage.name for stage in stored.row.stages)}.",
            hint="Deploy a row of the backend that its model stage names, and call infer.call in place of that stage.",
        )
    title = f"Run {stored.model} as {stored.name} of run {stored.document.run_id}, without irbench."
    return program_of_cell(planned.cell, planned.workload, title, stored.row)


def program_of_cell(cell: Cell, workload: Workload, title: str, row: CellResult | None = None) -> str:
    """Return the program that runs a row without irbench; raises what :func:`program_of_row` does.

    Args:
        cell: The row.
        workload: What it runs.
        title: The first sentence of the program.
        row: What was measured of it; ``None`` where that is not known.
    """
    heading = ProgramHeading(title, tuple(settings_texts(cell, row)))
    if cell.program is not None:
        return own_program(cell, workload, heading)
    shares: tuple[tuple[int, ...], ...] = ()
    if cell.load.instances > 1:
        shares = cpu_shares(host.allowance(cell.load.cpus).cpus, cell.load.instances)
    return row_program(cell, workload.batch, heading, shares, _images(cell, workload))


def _images(cell: Cell, workload: Workload) -> ImageReading | None:
    """Return how images became the inputs of a row; ``None`` where it was given something else."""
    source = workload.feeding.source
    if cell.artifact is None or not source or not exists(Path(source)) or find_samples(Path(source)).kind != "image":
        return None
    return ImageReading(workload, cell.artifact)


def reads_images(planned: PlannedRow) -> bool:
    """Whether the program of a row reads images."""
    return planned.cell.program is None and _images(planned.cell, planned.workload) is not None


def settings_texts(cell: Cell, row: CellResult | None = None) -> list[str]:
    """Return with what a row ran, in sentences: its runtime, precision, batch, threads and what it keeps in flight."""
    load, effective = cell.load, {} if row is None else row.effective
    version = f" {effective['version']}" if effective.get("version") else ""
    threads = "as many threads as the runtime chooses" if load.threads is None else plural(load.threads, "thread")
    parts = [
        f"{cell.address}{version}",
        str(effective.get("precision") or load.precision),
        f"batch {load.batch}",
        threads,
    ]
    if load.instances > 1:
        parts.append(f"{load.instances} processes, each with processors of its own")
    if load.streams > 1:
        parts.append(f"{load.streams} inferences in flight" + (" in each" if load.instances > 1 else ""))
    if cell.io == "bound":
        parts.append("buffers that stay bound")
    options = {**load.options, **load.varied}
    texts = [f"Settings: {', '.join(parts)}."]
    if options:
        texts.append(f"Options: {', '.join(f'{key}={value}' for key, value in options.items())}.")
    return texts


def deploy_command(run: str, row: str, results: str = "") -> str:
    """Return the command that writes the folder of a row."""
    return f"irbench deploy {quote(run)} {quote(row)} -o winner{results}"
