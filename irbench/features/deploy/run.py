"""``irbench.deploy``: write a row of a run as a folder that runs without irbench."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from irbench.api.arguments import given_path
from irbench.core import registry
from irbench.core.feeds import storable
from irbench.core.output_check import allowed_error
from irbench.errors import IrbenchError
from irbench.features.deploy.card import card
from irbench.features.deploy.report import Deployment
from irbench.options.values import RunName, run_name
from irbench.programs.own_program import own_module
from irbench.programs.row_program import INFER_FILE, graph_places
from irbench.requests.user_code import program_files
from irbench.runner.reference import ReferenceOutputs, expected_outputs
from irbench.runs.stored_rows import PlannedRow, StoredRow, find_row, planned_row, program_of_row, reads_images
from irbench.spec import Artifact
from irbench.spec.generation import GenerationArtifact
from irbench.spi import Array
from irbench.stats.rederive import planned_timing
from irbench.store.file_errors import explained
from irbench.store.folders import default_root
from irbench.store.listing import find_run
from irbench.store.runs import load_document
from irbench.system.file_access import move_folder
from irbench.system.file_states import digest
from irbench.worker.feed_turns import feeds_of_samples
from irbench.worker.model_files import read_external_files
from irbench.worker.scratch import scratch_folder

_MOST_CALLS = 8
"""Of the samples that a run was given, those whose inputs and expected outputs are stored."""
_ELSEWHERE = "name another folder with -o"


def deploy(
    run: RunName,
    output: str | PathLike[str],
    row: str | None = None,
    *,
    results: str | PathLike[str] | None = None,
) -> Path:
    """Write a row of a stored run to a folder that runs without irbench.

    The folder has the graph that was measured, ``infer.py``, which runs it with the same settings, ``check.py``, which
    compares outputs and speed with the run, ``requirements.txt`` and ``README.md``.

    Args:
        run: As :func:`irbench.load` takes it.
        output: The new folder.
        row: What the table calls the row; the winner by default, or the row that looks fastest where none is decided.
        results: The folder where runs are kept; ``None`` for the usual place.

    Returns:
        The folder.

    Raises:
        IrbenchError: There is no such row, its graph is gone or was changed, its backend has no program for it, or the
            folder cannot be written.
    """
    root = None if results is None else given_path("results", results)
    return write_deployment(run_name(run), row, given_path("output", output), root).folder


def write_deployment(run: str, row: str | None, output: Path, results: Path | None) -> Deployment:
    """Write a row of a stored run to a new folder.

    Args:
        run: Which run, as ``irbench show`` is given it.
        row: What its table calls the row; ``None`` for the winner, or the row that looks fastest.
        output: The folder; it does not exist, or is empty.
        results: The folder where runs are kept; ``None`` for the usual place.

    Raises:
        IrbenchError: There is no such row, its graph is gone or another one, its backend has no program for it, or the
            folder cannot be written.
    """
    document = load_document(find_run(results or default_root(), run))
    stored = find_row(document, row)
    require_new_folder(output)
    with scratch_folder() as scratch:
        planned = planned_row(stored, scratch / "graphs")
        program = program_of_row(stored, planned)
        expected = _expected(stored, planned, scratch / "reference")
        made = scratch / "made"
        with explained(output, _ELSEWHERE):
            sizes = _write_model(planned, made)
            (made / INFER_FILE).write_text(program, encoding="utf-8")
            calls = _write_check(stored, planned, expected, made)
            reference = "" if expected.source is None else expected.source.text()
            (made / "README.md").write_text(card(stored, planned, reference), encoding="utf-8")
            (made / "requirements.txt").write_text("\n".join(_requirements(stored, planned)) + "\n", encoding="utf-8")
            _put(made, output)
    return Deployment(output, document.run_id, stored.model, stored.name, stored.choice, calls, sum(sizes))


def require_new_folder(output: Path, option: str = "-o") -> None:
    """Refuse a folder that holds anything.

    Args:
        output: The folder.
        option: Which names it.

    Raises:
        IrbenchError: It is no folder, or is not empty.
    """
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise IrbenchError(f"{output} exists, and is not an empty folder.", hint=f"Name a new folder with {option}.")


def _put(made: Path, output: Path) -> None:
    """Copy a finished folder beside its place, and move it there in one step."""
    output.parent.mkdir(parents=True, exist_ok=True)
    beside = output.parent / f".{output.name}.unfinished"
    try:
        shutil.copytree(made, beside)
        move_folder(beside, output)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _expected(stored: StoredRow, planned: PlannedRow, scratch: Path) -> ReferenceOutputs:
    """Return the outputs that the row's were verified with, of the first samples."""
    feeding = planned.workload.feeding
    workload = replace(planned.workload, feeding=replace(feeding, samples=feeding.samples[:_MOST_CALLS]))
    return expected_outputs(workload, (planned.cell,), scratch, planned_timing(stored.document.plan).deadline)


def _write_model(planned: PlannedRow, folder: Path) -> list[int]:
    """Copy every file of the row's graphs, and the file of the user's own code; return their sizes."""
    cell = planned.cell
    assert cell.artifact is not None
    sizes: list[int] = []
    for place, graph in graph_places(cell).items():
        artifact: Artifact = cell.artifact if graph is None else graph.artifact
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if artifact.path.is_dir():
            shutil.copytree(artifact.path, target)
            continue
        locations = read_external_files(artifact.path) if artifact.kind == "onnx" else ()
        copies = {artifact.path: target, **{artifact.path.parent / at: target.parent / at for at in locations}}
        for source, copied in copies.items():
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copied)
            sizes.append(copied.stat().st_size)
    if cell.program is not None and cell.program.target.rpartition(":")[0].endswith(".py"):
        (file,) = program_files(cell.program)
        shutil.copyfile(file, folder / f"{own_module(cell.program)}.py")
    return sizes


def _write_check(stored: StoredRow, planned: PlannedRow, expected: ReferenceOutputs, folder: Path) -> int:
    """Write ``check.py`` with what it compares, and return how many calls that are."""
    checked = folder / "check"
    checked.mkdir()
    source = resources.files("irbench.programs").joinpath("check.py")
    (folder / "check.py").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    workload, artifact = planned.workload, planned.cell.artifact
    assert artifact is not None
    feeding = replace(workload.feeding, samples=workload.feeding.samples[:_MOST_CALLS])
    for call, feed in enumerate(feeds_of_samples(workload.bundle, workload.sizes, feeding, artifact)):
        _write_arrays(checked / f"inputs-{call}.npz", feed)
    outputs = expected.outputs or ()
    if any(isinstance(array, list) for call in outputs for array in call):  # sequences, of which no file holds any
        outputs = ()
    for call, arrays in enumerate(outputs):
        _write_arrays(checked / f"expected-{call}.npz", arrays)
    facts = {**_facts(stored, planned, expected), "calls": len(outputs), "files": dict(_digests(folder))}
    (checked / "measured.json").write_bytes(msgspec.json.format(msgspec.json.encode(facts), indent=2) + b"\n")
    return len(outputs)


def _write_arrays(path: Path, arrays: Sequence[Array]) -> None:
    import numpy as np

    named: dict[str, Any] = {str(place): storable(np.asarray(array)) for place, array in enumerate(arrays)}
    np.savez(path, allow_pickle=False, **named)


def _digests(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted((folder / "model").rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), digest(path)


def _facts(stored: StoredRow, planned: PlannedRow, expected: ReferenceOutputs) -> dict[str, Any]:
    row, cell = stored.row, planned.cell
    cpu = stored.document.environment.get("cpu") or {}
    precision = str(row.effective.get("precision") or cell.load.precision)
    error = row.output_error
    return {
        "run": stored.document.run_id,
        "row": stored.name,
        "kind": "generation" if isinstance(cell.artifact, GenerationArtifact) else "inference",
        "batch": row.batch,
        "reference": "" if expected.source is None else expected.source.text(),
        "scale": expected.scale,
        "tolerance": allowed_error(precision, row.graph_precision, row.accuracy),
        "max_rel": None if error is None else error.max_rel,
        "feedback": dict(planned.workload.feeding.feedback),
        "processor": str(cpu.get("Model name") or ""),
        "speed": _speed(stored),
    }


def _speed(stored: StoredRow) -> dict[str, Any]:
    row = stored.row
    assert row.latency_ms is not None
    is_sync = row.mode == "sync"
    spans = row.p50_over_launches if is_sync else row.fps_over_launches
    ends = None if spans is None else spans.ends
    return {
        "unit": "ms" if is_sync else "samples/s",
        "value": row.latency_ms.p50 if is_sync else row.fps,
        "low": None if ends is None else ends.low,
        "high": None if ends is None else ends.high,
    }


def _requirements(stored: StoredRow, planned: PlannedRow) -> Iterator[str]:
    """Yield the distributions that the program imports, with the versions of the run."""
    row = stored.row
    environment = row.environment.distributions if row.environment is not None else {}
    versions = {**(stored.document.environment.get("distributions") or {}), **environment}
    names = ["numpy", *(["pillow"] if reads_images(planned) else [])]
    if row.program is None:
        names.append(registry.describe(registry.BACKENDS, row.backend).distribution)
    else:
        yield "# and whatever your own code imports"
    yield from (f"{name}=={versions[name]}" if name in versions else name for name in names)
