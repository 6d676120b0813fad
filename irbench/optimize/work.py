"""What runs in the worker: pass after pass over one graph, each proven before the next begins."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from irbench import registry
from irbench.errors import IrbenchError
from irbench.ir.bind import bind
from irbench.ir.check import check_file
from irbench.ir.loose import loosen, opset_of, write
from irbench.ir.passes.upgrade_opset import upgrade_opset
from irbench.record import GraphStep
from irbench.spec import Artifact, Bundle
from irbench.spi import Array
from irbench.verify import compare, judge
from irbench.worker.reference import answer

if TYPE_CHECKING:
    import onnx_ir

    from irbench.ir.passes import Pass

__all__ = ["RESULT", "Task", "work"]

RESULT = "model.onnx"
_MOST_BYTES = 1 << 31
"""What one protobuf message can hold."""


@dataclass(frozen=True)
class Task:
    """What is to be done to which graph.

    Attributes:
        artifact: The graph, its shapes bound as far as they shall be.
        bundle: The model; its inputs are what outputs are compared on.
        sizes: A size for every free dimension, for the comparison.
        passes: Names, in order.
        folder: Where the result is written, an empty folder.
        reference: The backend that answers for the graph before and after each pass.
    """

    artifact: Artifact
    bundle: Bundle
    sizes: Mapping[str, int]
    passes: tuple[str, ...]
    folder: Path
    reference: str


def work(task: Task, say: Callable[[str], None]) -> tuple[GraphStep, ...]:
    """Apply the passes and write the graph into the task's folder.

    After each pass that changed something the graph is written, checked (with every shape inferred, where all
    operators are ONNX' own), loaded by the reference backend, and its outputs compared with the original's.

    Returns:
        The graph as it came, then a step for each pass.

    Raises:
        IrbenchError: A pass failed or broke the model; it is named.
    """
    passes = [registry.graph_pass(name) for name in task.passes]
    with tempfile.TemporaryDirectory(prefix="irbench-") as scratch:
        say("computing what the graph answers")
        proof = _Proof(task, Path(scratch))
        raised = _raised(task, max((one.opset for one in passes), default=0), Path(scratch))
        model = _load(raised or task.artifact.path)
        steps = [_step("original", _load(task.artifact.path))]
        if raised is not None:
            steps.append(proof.of(model, replace(_step("raise_opset", model), modified=True)))
        for one in passes:
            say(one.name)
            modified = _apply(one, model, task)
            step = replace(_step(one.name, model), modified=modified, vendor=one.vendor if modified else None)
            steps.append(proof.of(model, step) if modified else step)
        if not any(step.modified for step in steps):
            _write(model, task.folder / RESULT)
    return tuple(steps)


class _Proof:
    """Proves that a graph still is one, and still computes what the original did."""

    def __init__(self, task: Task, scratch: Path) -> None:
        self._task = task
        self._scratch = scratch
        self._expected = self._answer(task.artifact)
        self._portable = True

    def of(self, model: onnx_ir.Model, step: GraphStep) -> GraphStep:
        """Write ``model``, prove it, and return ``step`` with its error.

        Raises:
            IrbenchError: The step broke the model.
        """
        path = self._task.folder / RESULT
        _write(model, path)
        self._portable = self._portable and step.vendor is None
        try:
            check_file(path, shapes=self._portable)
            given = self._answer(replace(self._task.artifact, path=path, sha256=""))
            error = compare(given, self._expected, self._task.bundle.classifier)
        except Exception as problem:  # a runtime that cannot load the graph says so in a way of its own
            raise _broken(step.name, self._task, (str(problem).strip().splitlines() or [""])[0]) from problem
        wrong = judge(error, "fp32")
        if wrong is not None:
            raise _broken(step.name, self._task, wrong.message)
        return replace(step, max_rel_error=error.max_rel)

    def _answer(self, artifact: Artifact) -> tuple[Array, ...]:
        task = self._task
        bound = bind(artifact, task.sizes, self._scratch)
        return answer(task.reference, bound, task.bundle, task.sizes, task.bundle.seed)


def _apply(one: Pass, model: onnx_ir.Model, task: Task) -> bool:
    try:
        return one(model)
    except Exception as error:
        reason = (str(error).strip().splitlines() or [""])[0]
        raise _broken(one.name, task, f"{type(error).__name__}: {reason}") from error


def _broken(name: str, task: Task, reason: str) -> IrbenchError:
    others = ",".join(one for one in task.passes if one != name)
    return IrbenchError(
        f"The pass {name} breaks {task.bundle.name}: {reason.rstrip('.')}.",
        hint=f"Leave it out: --passes {others}" if others else "Leave it out.",
    )


def _raised(task: Task, opset: int, scratch: Path) -> Path | None:
    """Write the graph at the operator set that the passes need; ``None`` where it is there, or cannot be raised."""
    import onnx

    loose = loosen(onnx.load(str(task.artifact.path)), {})
    if opset_of(loose.model) >= opset:
        return None
    try:
        upgrade_opset(loose, opset)
    except IrbenchError:
        return None  # the passes that need it then leave the graph alone
    path = scratch / "raised.onnx"
    write(loose, path)
    return path


def _load(path: Path) -> onnx_ir.Model:
    import onnx_ir

    return onnx_ir.load(path)


def _write(model: onnx_ir.Model, path: Path) -> None:
    """Write the model; weights go to a file beside it where a protobuf message could not hold them."""
    import onnx_ir

    constants = (value.const_value for value in model.graph.initializers.values())
    size = sum(one.nbytes for one in constants if one is not None)
    onnx_ir.save(model, path, external_data=f"{path.name}.data" if size >= _MOST_BYTES else None)


def _step(name: str, model: onnx_ir.Model) -> GraphStep:
    operators = Counter(
        f"{node.domain}.{node.op_type}" if node.domain else node.op_type for node in model.graph.all_nodes()
    )
    return GraphStep(name, modified=False, operators=dict(sorted(operators.items())))
