"""The proof that a graph still is one after a step, and still computes what the original does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.errors import IrbenchError
from irbench.onnx.bind import bind
from irbench.onnx.check import check_file
from irbench.onnx.precision import read_precision
from irbench.optimizer.files import vendors_of, write
from irbench.optimizer.task import RESULT, Task
from irbench.output_check import compare, judge
from irbench.record import GraphStep
from irbench.spec import BATCH, Artifact
from irbench.spi import Array
from irbench.worker.reference import answer

if TYPE_CHECKING:
    import onnx_ir

__all__ = ["TURN_INPUTS", "Proof", "broken", "first_line"]

TURN_INPUTS = "inputs_to_nchw"
"""The step that a layout asks for; no ``--passes`` names it."""


class Proof:
    """Proves step after step against the answers of the graph as it came.

    Args:
        task: What is done to which graph.
        scratch: Where copies with bound shapes are written.

    Raises:
        IrbenchError: The graph cannot be run as it came.
    """

    def __init__(self, task: Task, scratch: Path) -> None:
        self._task = task
        self._scratch = scratch
        self._precision = read_precision(task.artifact.path).narrowest
        try:
            self._expected = self._answer(task.artifact)
        except Exception as problem:  # a runtime that cannot load the graph says so in a way of its own
            raise IrbenchError(
                f"{task.bundle.name} cannot be optimised, for {task.reference} cannot run it: {first_line(problem)}",
                hint=getattr(problem, "hint", "") or _remedy(task),
            ) from problem

    def of(self, model: onnx_ir.Model, step: GraphStep, artifact: Artifact) -> GraphStep:
        """Write ``model``, prove it, and return ``step`` with its error.

        Args:
            model: After the step.
            step: What was done.
            artifact: Its inputs and outputs are those of the model.

        Raises:
            IrbenchError: The step broke the model.
        """
        path = self._task.folder / RESULT
        write(model, path)
        try:
            check_file(path, shapes=not vendors_of(model))
            given = self._answer(replace(artifact, path=path, sha256=""))
            error = compare(given, self._expected, self._task.bundle.classifier)
        except Exception as problem:  # a runtime that cannot load the graph says so in a way of its own
            raise broken(step.name, self._task, first_line(problem).replace(str(path), "it")) from problem
        wrong = judge(error, self._precision)
        if wrong is not None:
            raise broken(step.name, self._task, wrong.message)
        return replace(step, max_rel_error=error.max_rel)

    def _answer(self, artifact: Artifact) -> tuple[Array, ...]:
        task = self._task
        bound = bind(artifact, task.sizes, self._scratch)
        return answer(task.reference, bound, task.bundle, task.sizes, task.bundle.seed)


def _remedy(task: Task) -> str:
    free = any(BATCH in spec.dynamic_dimensions for spec in task.artifact.inputs)
    batch = f"It was run at batch {task.sizes[BATCH]}; where only 1 works, add --batch 1. " if free else ""
    return f"{batch}See what can: irbench verify {task.bundle.source or task.bundle.name}"


def broken(name: str, task: Task, reason: str) -> IrbenchError:
    """Return the error that names the step which broke the model."""
    others = ",".join(graph_pass for graph_pass in task.recipe.passes if graph_pass != name)
    hint = f"Leave it out: --passes {others}" if others else "Leave it out."
    return IrbenchError(
        f"The pass {name} breaks {task.bundle.name}: {reason.rstrip('.')}.",
        hint="Leave --layout nchw out." if name == TURN_INPUTS else hint,
    )


def first_line(problem: Exception) -> str:
    """Return what an exception says, without what a tool writes below that; its name where it says nothing."""
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]
