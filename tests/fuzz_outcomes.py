"""What becomes of one file: the coordinator's own steps, with workers that live on from file to file."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

from irbench.core.output_check import compare, judge
from irbench.errors import IrbenchError
from irbench.exporter.foreign import from_onnx_file
from irbench.options.run import RunOptions
from irbench.runner import reference
from irbench.runner.plan import plan
from irbench.runner.prepare import prepare
from irbench.runner.reference import expected_outputs
from irbench.runner.request import RunRequest
from irbench.spec import Bundle, Cell, Group, Timing
from irbench.spi import Outputs
from irbench.worker.cell import CellTask, PreparedSession
from irbench.worker.failures import CallFailed, WorkerDied, WorkerTimedOut
from irbench.worker.model_files import UnreadableFile
from irbench.worker.process import Worker

BACKENDS = ("ort", "openvino")
_DEADLINE_S = 20.0
_MEMORY_BYTES = 3 << 30
_FREE_SIZE = 3
_ENDS = {"crash": "crashed", "deadline": "hung"}
"""By why a file could not be read: what became of the process that read it."""


@dataclass
class Outcome:
    """What a file led to.

    Attributes:
        intake: ``accepted``, ``refused``, or why the coordinator failed: ``uncaught`` or ``no remedy``.
        said: The error's message, or the exception.
        backends: By backend: ``right``, ``not compared``, ``wrong``, ``refused``, ``crashed`` or ``hung``.
        reasons: By backend, what it said where it did not answer.
        checker: ``crashed`` or ``hung`` where the process that examines files died of this one.
    """

    intake: str = "accepted"
    said: str = ""
    backends: dict[str, str] = field(default_factory=dict[str, str])
    reasons: dict[str, str] = field(default_factory=dict[str, str])
    checker: str = ""

    @property
    def forbidden(self) -> bool:
        """Whether irbench itself failed, which no file may bring about."""
        return self.intake in ("uncaught", "no remedy")


class Laboratory:
    """Workers by purpose, each started anew when a file has ended it. Use it as a context manager."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="irbench-fuzz-")
        self._workers: dict[str, Worker] = {}

    def examine(self, path: Path) -> Outcome:
        """Take a file through intake, plan, reference and one inference on each backend."""
        outcome = Outcome()
        scratch = Path(self._folder.name) / "scratch"
        try:
            with self._calls_in_old_workers():
                bundle = from_onnx_file(path)
                request = _request(bundle)
                (planned,) = plan(request, prepare(request, scratch))
                group = planned.group
                (expected,) = expected_outputs(group.main, group.cells, scratch, _DEADLINE_S).outputs or (None,)
                for cell in planned.group.cells:
                    self._run(cell, planned.group, expected, outcome)
        except IrbenchError as error:
            if isinstance(error, UnreadableFile):
                outcome.checker = _ENDS.get(error.cause, "")
            one_line = error.message.strip() and "\n" not in error.message
            outcome.intake, outcome.said = ("refused" if error.hint and one_line else "no remedy"), error.message
        except Exception as error:  # noqa: BLE001 - whatever else comes out is what a fuzzer looks for
            outcome.intake, outcome.said = "uncaught", f"{type(error).__name__}: {error}"
        return outcome

    def _run(self, cell: Cell, group: Group, expected: Outputs | None, outcome: Outcome) -> None:
        task = CellTask(cell, group.main, Timing())
        try:
            worker = self._worker(cell.backend)
            worker.ask("irbench.worker.cell:CellHost", task, hold=True, deadline_s=_DEADLINE_S)
            worker.ask("import_runtime", deadline_s=_DEADLINE_S)
            prepared: PreparedSession = worker.ask("prepare", True, deadline_s=_DEADLINE_S)
        except CallFailed as error:
            outcome.backends[cell.backend], outcome.reasons[cell.backend] = "refused", error.message
        except WorkerDied as error:
            del self._workers[cell.backend]
            outcome.backends[cell.backend] = "hung" if isinstance(error, WorkerTimedOut) else "crashed"
            outcome.reasons[cell.backend] = error.message
        else:
            outcome.backends[cell.backend] = _judged(prepared, expected)

    @contextmanager
    def _calls_in_old_workers(self) -> Iterator[None]:
        with (
            patch("irbench.worker.model_files._CHECK_DEADLINE_S", _DEADLINE_S),
            patch.object(reference, "call_in_worker", self._call("reference")),
        ):
            yield

    def _call(self, purpose: str) -> Callable[..., Any]:
        def call(target: str, *args: Any, deadline_s: float, **_: Any) -> Any:
            try:
                return self._worker(purpose).ask(target, *args, deadline_s=min(deadline_s, _DEADLINE_S))
            except WorkerDied:
                del self._workers[purpose]
                raise

        return call

    def _worker(self, purpose: str) -> Worker:
        if purpose not in self._workers:
            worker = Worker(Path(self._folder.name) / f"{purpose}.log")
            limits = (_MEMORY_BYTES, _MEMORY_BYTES)
            worker.ask("resource:setrlimit", resource.RLIMIT_DATA, limits, deadline_s=60)
            self._workers[purpose] = worker
        return self._workers[purpose]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers.values():
            worker.kill()
        self._folder.cleanup()


def _request(bundle: Bundle) -> RunRequest:
    """Return what a user asks for who follows the hints: every free dimension gets a size."""
    shapes = {
        spec.tensor.name: tuple(_FREE_SIZE if isinstance(size, str) else size for size in spec.tensor.shape)
        for spec in bundle.inputs
        if spec.tensor.dynamic_dimensions
    }
    backends = tuple((name, "cpu") for name in BACKENDS)
    return RunRequest((bundle,), backends, RunOptions(shape=shapes), precisions=("native",))


def _judged(prepared: PreparedSession, expected: Outputs | None) -> str:
    if expected is None:
        return "not compared"
    try:
        errors = [compare(answer, expected, class_axes=(), scale=1.0) for answer in prepared.outputs]
    except ValueError:
        return "wrong"
    precision = str(prepared.effective["precision"])
    return "right" if all(judge(error, precision) is None for error in errors) else "wrong"
