"""What irbench says of one trained model: verified on real inputs, optimised at every level, converted, measured."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.real.accuracy import Accuracy, accuracy, answers
from benchmarks.real.subjects import Subject
from benchmarks.workbench import MEASURED, CommandFailed, Workbench
from irbench.core.result import GroupResult
from irbench.errors import IrbenchError, first_line
from irbench.spi import Array
from irbench.store.run_document import decode_document

UNOPTIMIZED, INT8 = "none", "int8"
LEVELS = ("basic", "extended", "all")


@dataclass(frozen=True)
class Scope:
    """How much of it is done.

    Attributes:
        backends: What runs the models.
        levels: Of optimisation.
        verified: Number of real inputs that each graph is verified on.
        calibrated: Number of other real inputs that int8 is made with.
        judged: Number of real inputs that int8 is judged on.
        how: Options of ``irbench run``.
    """

    backends: str = "ort,openvino"
    levels: tuple[str, ...] = LEVELS
    verified: int = 3
    calibrated: int = 32
    judged: int = 24
    how: tuple[str, ...] = ("--quick",)


@dataclass(frozen=True)
class Verified:
    """One graph on one backend, compared on real inputs.

    Attributes:
        graph: A level, ``none`` for the graph as it came.
        backend: Its name.
        max_rel: The largest relative error; ``None`` where it gave no answer.
        failure: What is wrong; empty where the answers agree.
    """

    graph: str
    backend: str
    max_rel: float | None
    failure: str = ""


@dataclass(frozen=True)
class Problem:
    """A step that failed.

    Attributes:
        step: ``export``, ``verify basic`` and so on.
        reason: What irbench said.
    """

    step: str
    reason: str


@dataclass(frozen=True)
class Tour:
    """What became of one model.

    Attributes:
        name: Of the model.
        verified: Every graph on every backend.
        measured: The tables of the run, graphs of one precision in each; none where nothing was measured.
        int8: What int8 changes in the answers; ``None`` where the model could not be converted.
        problems: Steps that failed.
        refused_by: See :class:`benchmarks.real.subjects.Subject`.
    """

    name: str
    verified: tuple[Verified, ...] = ()
    measured: tuple[GroupResult, ...] = ()
    int8: Accuracy | None = None
    problems: tuple[Problem, ...] = ()
    refused_by: frozenset[str] = frozenset()

    @property
    def wrong(self) -> tuple[str, ...]:
        """What went wrong, in words; what int8 changes in the answers is a figure, and not among it."""
        cells = [cell for group in self.measured for cell in group.cells if INT8 not in cell.artifact.partition("+")[2]]
        return (
            *(
                f"{problem.step}: {problem.reason}"
                for problem in self.problems
                if problem.step.split()[-1] not in self.refused_by
            ),
            *(
                f"{found.graph} on {found.backend}: {found.failure}"
                for found in self.verified
                if found.failure and found.backend not in self.refused_by
            ),
            *(
                f"{cell.label}: {cell.failure.message if cell.failure else cell.state}"
                for cell in cells
                if cell.state != "ok" and not {cell.backend, cell.label} & self.refused_by
            ),
        )


def visit(bench: Workbench, subject: Subject, root: Path, scope: Scope) -> Tour:
    """Take one model through every step; a step that fails is kept with its reason, and the others go on.

    Args:
        bench: Where commands run.
        subject: The model.
        root: Where the wheels were unpacked.
        scope: How much is done.
    """
    visitor = _Visitor(bench, subject, root, scope)
    visitor.visit()
    found = (tuple(visitor.verified), visitor.measured, visitor.int8, tuple(visitor.problems))
    return Tour(subject.name, *found, subject.refused_by)


@dataclass
class _Visitor:
    bench: Workbench
    subject: Subject
    root: Path
    scope: Scope
    verified: list[Verified] = field(default_factory=list[Verified])
    problems: list[Problem] = field(default_factory=list[Problem])
    measured: tuple[GroupResult, ...] = ()
    int8: Accuracy | None = None

    def visit(self) -> None:
        folder = self.bench.scratch / self.subject.name.replace(" ", "-")
        folder.mkdir()
        source, graph = self._source()
        if graph is None:
            return
        expected = self._answers("reference", graph)
        if expected is None:
            return
        data, calibration = folder / "data", folder / "calibration"
        _write_sets(data, self.subject, expected[: self.scope.verified])
        _write_sets(calibration, self.subject, [()] * self.scope.calibrated, first=self.scope.judged)
        self._verify(UNOPTIMIZED, source, data)
        made = {
            level: self._optimize(source, folder / f"{level}.onnx", data, "--level", level)
            for level in self.scope.levels
        }
        for level, file in made.items():
            if file is not None:
                self._verify(level, file, data)
        converted = self._optimize(source, folder / "int8.onnx", calibration, "--precision", INT8)
        self._judge(converted, expected)
        made[INT8] = converted
        self._measure(source, data, [level for level, file in made.items() if file is not None])

    def _source(self) -> tuple[object, Path | None]:
        """Return what irbench is given to read, and the ONNX file; ``None`` where the export failed."""
        path = self.subject.source(self.root)
        if path.is_file():
            return path, path
        output = self.bench.scratch / f"{path.name}-bundle"
        exported = self._call("export", "export", path, "-o", output)
        return output, None if exported is None else output / "model.onnx"

    def _answers(self, step: str, graph: Path) -> list[list[Array]] | None:
        try:
            return answers(self.subject, graph, self.scope.judged)
        except Exception as error:  # noqa: BLE001 - whatever ONNX Runtime raises is the reason in the table
            self.problems.append(Problem(step, first_line(error)))
            return None

    def _verify(self, graph: str, source: object, data: Path) -> None:
        asked = ("--data", data, "--backends", self._backends(source), "--format", "json")
        reported = self._call(f"verify {graph}", "verify", source, *asked)
        self.verified.extend(_verified(graph, reported) if reported is not None else ())

    def _optimize(self, source: object, output: Path, data: Path, *how: str) -> Path | None:
        written = self._call(f"optimize {' '.join(how[1:])}", "optimize", source, "--data", data, *how, "-o", output)
        return output if written is not None else None

    def _judge(self, converted: Path | None, expected: Sequence[Sequence[Array]]) -> None:
        found = None if converted is None else self._answers(INT8, converted)
        self.int8 = None if found is None else accuracy(self.subject, expected, found)

    def _measure(self, source: object, data: Path, levels: Sequence[str]) -> None:
        graphs = ("--optimize", ",".join((UNOPTIMIZED, *levels)), "--baseline", self.scope.backends.partition(",")[0])
        asked = ("--data", data, "--backends", self._backends(source), *graphs, "--format", "json")
        reported = self._call("run", "run", source, *asked, *self.scope.how)
        if reported is not None:
            self.measured = decode_document(reported.encode(), "the run").groups

    def _backends(self, source: object) -> str:
        """Return the backends; a SavedModel runs in its own framework too."""
        return self.scope.backends if Path(str(source)).is_file() else f"{self.scope.backends},tf"

    def _call(self, step: str, *arguments: object) -> str | None:
        """Return what a command printed; ``None`` where it failed, which is kept."""
        try:
            return self.bench.irbench(*arguments, accept=MEASURED).out
        except (CommandFailed, IrbenchError) as error:
            self.problems.append(Problem(step, str(error)))
            return None


def _verified(graph: str, reported: str) -> Iterator[Verified]:
    for cell in json.loads(reported)["cells"]:
        error: Mapping[str, Any] | None = cell["output_error"]
        failure = cell["failure"]
        reason = "" if cell["state"] == "ok" else failure["message"] if failure else cell["state"]
        yield Verified(graph, cell["backend"], None if error is None else error["max_rel"], reason)


def _write_sets(folder: Path, subject: Subject, expected: Sequence[Sequence[Array]], first: int = 0) -> None:
    """Write real inputs and the outputs that they must lead to, where these are known, as ONNX has them.

    Args:
        folder: Takes a folder for each set.
        subject: Gives the inputs.
        expected: The outputs of each set.
        first: Number of the first input.
    """
    from onnx import numpy_helper

    for number, outputs in enumerate(expected):
        place = folder / f"test_data_set_{number}"
        place.mkdir(parents=True)
        for role, arrays in (("input", subject.sample(first + number)), ("output", outputs)):
            for position, array in enumerate(arrays):
                tensor = numpy_helper.from_array(np.asarray(array))
                (place / f"{role}_{position}.pb").write_bytes(tensor.SerializeToString())
