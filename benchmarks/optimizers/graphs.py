"""The graphs of one model from one exporter: made by every optimiser, counted, and their answers compared."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import msgspec

import irbench
from benchmarks.backbone_check import CheckRequest, GraphError
from benchmarks.optimizers.structure import structure_digest
from benchmarks.optimizers.subjects import EXPORTED, OTHERS, OWN, Exporter, Subject
from irbench.core.row import Speedup
from irbench.errors import IrbenchError, first_line
from irbench.exporter.foreign import from_onnx_file
from irbench.onnx.rewriting.bind import bind
from irbench.optimizer import copy_model
from irbench.spec import Artifact, Bundle, InputSpec
from irbench.worker import call_in_worker
from irbench.worker.model_files import read_inventory

State = Literal["equal", "differs", "fails"]
BACKENDS = ("ort", "openvino")
_ROOT = Path(__file__).parents[2]
_PYTHON = _ROOT / "build" / "optimizers" / "bin" / "python"
_DEADLINE_S = 900.0
_LOCK = _ROOT / "requirements-optimizers.lock"
_NAMED = ("onnxscript", "onnxslim", "torch", "torchvision", "transformers")
"""What makes graphs in its own environment."""
_OWN = ("onnxruntime", "openvino")
_FACTS = "graphs.json"
_VOCABULARY = 1000.0


@dataclass(frozen=True)
class MadeGraph:
    """What one optimiser made of an exported graph.

    Attributes:
        name: The optimiser, or :data:`benchmarks.optimizers.subjects.EXPORTED`.
        operators: How often each operator occurs, constants left out; none where it failed.
        failure: Why there is no graph.
        structure: A digest that graphs share which differ in names or in the order of nodes alone.
    """

    name: str
    operators: Mapping[str, int] = field(default_factory=dict[str, int])
    failure: str = ""
    structure: str = ""

    @property
    def nodes(self) -> int:
        """How many nodes it has, those within other nodes included."""
        return sum(self.operators.values())


@dataclass(frozen=True)
class Timed:
    """A graph's row in the table of a unit's speeds.

    Attributes:
        state: That of the row; ``ok`` where it was measured.
        p50_ms: Its median latency.
        speedup: Over the exported graph; ``None`` for that one.
    """

    state: str
    p50_ms: float | None = None
    speedup: Speedup | None = None


@dataclass(frozen=True)
class Speeds:
    """A table of speeds.

    Attributes:
        seconds: How long it took.
        launches: The most that a row has.
        rows: By the graph.
    """

    seconds: float
    launches: int
    rows: Mapping[str, Timed]


@dataclass(frozen=True)
class Unit:
    """Everything that is known of the graphs of a model from an exporter.

    Attributes:
        model: Its name.
        exporter: Which of PyTorch's wrote the graph.
        graphs: The exported one and those that optimisers made of it, in their order.
        errors: Of every graph on every backend.
        failure: Why there is no exported graph.
        versions: Of what made and ran the graphs.
        speeds: ``None`` where it was not measured.
    """

    model: str
    exporter: Exporter
    graphs: tuple[MadeGraph, ...] = ()
    errors: tuple[GraphError, ...] = ()
    failure: str = ""
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    speeds: Speeds | None = None


def state_of(errors: Sequence[GraphError], name: str, backend: str) -> State:
    """Return how a graph answers on a backend; ``fails`` where it does not load or run, or was not made."""
    found = [error for error in errors if (error.level, error.backend) == (name, backend)]
    if not found or not all(error.ran for error in found):
        return "fails"
    return "differs" if any(error.failure for error in found) else "equal"


def folder_of(place: Path, subject: Subject, exporter: Exporter) -> Path:
    """Return where all of a unit lies."""
    return place / f"{subject.name}-{exporter}"


def file_of(folder: Path, name: str) -> Path:
    """Return the file of a graph within the folder of its unit."""
    return folder / f"{name.replace(' ', '-').lower()}.onnx"


def stored(folder: Path) -> Unit | None:
    """Return what :func:`visit` stored; ``None`` where it did not get that far."""
    path = folder / _FACTS
    return msgspec.json.decode(path.read_bytes(), type=Unit) if path.exists() else None


def visit(place: Path, subject: Subject, exporter: Exporter) -> Unit:
    """Make, count and compare the graphs of a unit, and store what was found."""
    folder = folder_of(place, subject, exporter)
    folder.mkdir(parents=True, exist_ok=True)
    exported = file_of(folder, EXPORTED)
    failure = "" if exported.exists() else _exported(subject, exporter, exported)
    unit = Unit(subject.name, exporter, failure=failure, versions=_versions())
    if not failure:
        made = (*_made_by_others(folder, subject), *(_made(folder, name) for name in OWN))
        unit = _compared(replace(unit, graphs=(_counted(EXPORTED, exported), *made)), folder, subject)
    (folder / _FACTS).write_bytes(msgspec.json.format(msgspec.json.encode(unit)))
    return unit


def keep(facts: Path, unit: Unit) -> None:
    """Write what is known of a unit to its file within a folder, in place of what was known of it before."""
    facts.mkdir(parents=True, exist_ok=True)
    (facts / f"{unit.model}-{unit.exporter}.json").write_bytes(msgspec.json.encode(unit) + b"\n")


def kept(facts: Path, subject: Subject, exporter: Exporter) -> Unit | None:
    """Return what :func:`keep` wrote; ``None`` where it wrote nothing."""
    path = facts / f"{subject.name}-{exporter}.json"
    return msgspec.json.decode(path.read_bytes(), type=Unit) if path.exists() else None


def _exported(subject: Subject, exporter: Exporter, target: Path) -> str:
    """Write the exported graph; return why that failed."""
    done = _call("exporting", subject.name, exporter, target)
    return _last_line(done.stderr) if done.returncode else ""


def _made_by_others(folder: Path, subject: Subject) -> Iterator[MadeGraph]:
    names = [name for name in subject.optimizers if name in OTHERS]
    targets = [part for name in names for part in (name, file_of(folder, name))]
    done = _call("others", subject.name, file_of(folder, EXPORTED), *targets)
    ended = {call.name: call for line in done.stdout.splitlines() for call in _calls(line)}
    for name in names:
        call = ended.get(name, MadeGraph(name, failure=_last_line(done.stderr)))
        yield call if call.failure else _counted(name, file_of(folder, name))


def _calls(line: str) -> Iterator[MadeGraph]:
    with suppress(msgspec.DecodeError):  # optimisers print lines of their own
        yield msgspec.json.decode(line, type=MadeGraph)


def _made(folder: Path, name: str) -> MadeGraph:
    target = file_of(folder, name)
    try:
        made = irbench.optimize(file_of(folder, EXPORTED), level=name.removeprefix("irbench "), progress=None)
        copy_model(made.kept_path, target)
    except IrbenchError as error:
        return MadeGraph(name, failure=error.message)
    return _counted(name, target)


def _call(module: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a module in the environment of the others."""
    command = [str(_PYTHON), "-m", f"benchmarks.optimizers.{module}", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=_ROOT, check=False)


def _last_line(printed: str) -> str:
    return (printed.strip().splitlines() or ["it printed nothing"])[-1]


def _counted(name: str, path: Path) -> MadeGraph:
    try:
        operators = read_inventory(path).operators
    except IrbenchError as error:
        return MadeGraph(name, failure=error.message)
    without_constants = {key: count for key, count in operators.items() if key != "Constant"}
    return MadeGraph(name, without_constants, structure=structure_digest(path))


def _compared(unit: Unit, folder: Path, subject: Subject) -> Unit:
    bundle = from_onnx_file(file_of(folder, EXPORTED))
    with tempfile.TemporaryDirectory(prefix="irbench-optimizers-") as scratch:
        artifacts = dict(_bound(unit.graphs, folder, subject, Path(scratch)))
        found = _errors(artifacts, bundle, subject)
        return replace(unit, errors=tuple(replace(error, failure=_without(scratch, error.failure)) for error in found))


def _without(folder: str, text: str) -> str:
    """Return a text that names files within a folder by their names alone: facts are compared between machines."""
    return re.sub(rf"{re.escape(folder)}/(?:[^/\s]+/)*", "", text)


def _bound(
    graphs: Sequence[MadeGraph], folder: Path, subject: Subject, scratch: Path
) -> Iterator[tuple[str, Artifact | str]]:
    for graph in graphs:
        if not graph.failure:
            try:
                artifact = from_onnx_file(file_of(folder, graph.name)).artifact(("onnx",))
                assert artifact is not None
                yield graph.name, bind(artifact, subject.sizes, scratch)
            except (IrbenchError, KeyError) as error:
                yield graph.name, first_line(error)


def _errors(artifacts: Mapping[str, Artifact | str], bundle: Bundle, subject: Subject) -> Iterator[GraphError]:
    """Yield each graph on each backend; one whose process ends is asked alone, so that it costs no other its answer."""
    sound = {name: artifact for name, artifact in artifacts.items() if isinstance(artifact, Artifact)}
    exported = sound[EXPORTED]
    inputs = tuple(map(_with_tokens, bundle.inputs))
    request = CheckRequest(exported, sound, inputs, subject.sizes, bundle.seed, BACKENDS)
    try:
        yield from _asked(request)
    except IrbenchError:
        for name, artifact in sound.items():
            for backend in BACKENDS:
                try:
                    yield from _asked(replace(request, graphs={name: artifact}, backends=(backend,)))
                except IrbenchError as error:
                    yield GraphError(name, backend, None, error.message, ran=False)
    for name, problem in artifacts.items():
        if isinstance(problem, str):
            yield from (GraphError(name, backend, None, problem, ran=False) for backend in BACKENDS)


def _asked(request: CheckRequest) -> tuple[GraphError, ...]:
    found: tuple[GraphError, ...] = call_in_worker(
        "benchmarks.backbone_check:check_graphs", request, deadline_s=_DEADLINE_S
    )
    return found


def _with_tokens(spec: InputSpec) -> InputSpec:
    return replace(spec, high=_VOCABULARY) if spec.tensor.name == "input_ids" else spec


def _versions() -> dict[str, str]:
    listed = (line.partition("==") for line in _LOCK.read_text(encoding="utf-8").splitlines() if "==" in line)
    others = {name: rest.split()[0] for name, _, rest in listed if name in _NAMED}
    return {**others, "irbench": irbench.__version__, **{name: version(name) for name in _OWN}}
