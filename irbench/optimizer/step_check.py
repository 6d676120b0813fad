"""Check a graph after each step: it is valid, a runtime loads it, and its outputs match the original's."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.errors import IrbenchError, first_line
from irbench.feeds import logical_inputs
from irbench.graph_record import GraphStep
from irbench.onnx.reading.check import check_file
from irbench.onnx.reading.precision import read_precision
from irbench.onnx.rewriting.bind import bind, is_rewritten, with_sizes
from irbench.optimizer.job import MODEL_FILE, OptimizationJob
from irbench.optimizer.model_files import vendors_of, write
from irbench.output_check import compare, input_scale, judge
from irbench.spec import BATCH, Artifact
from irbench.spi import Array
from irbench.worker.reference import answers

if TYPE_CHECKING:
    import onnx_ir

__all__ = ["NCHW_STEP", "BrokenModel", "OriginalRefused", "StepCheck"]

NCHW_STEP = "inputs_to_nchw"
"""The step that a layout asks for; no ``--passes`` names it."""


class OriginalRefused(IrbenchError):
    """The reference cannot run the graph that is to be optimised."""


class BrokenModel(IrbenchError):
    """A step broke the model.

    Args:
        name: The step.
        job: What was done to which graph.
        reason: What is wrong with the graph.
    """

    def __init__(self, name: str, job: OptimizationJob, reason: str) -> None:
        others = ",".join(graph_pass for graph_pass in job.recipe.passes if graph_pass != name)
        hint = f"Leave it out: --passes {others}" if others else "Leave it out."
        super().__init__(
            f"The pass {name} breaks {job.bundle.name}: {reason.rstrip('.')}.",
            hint="Leave --layout nchw out." if name == NCHW_STEP else hint,
        )
        self.reason = reason


class StepCheck:
    """Checks step after step against the outputs of the original graph, on one feed: the first sample, or a seeded one.

    Graphs are run with the job's sizes bound, or, where the reference refuses the original so, with dynamic shapes.

    Args:
        job: What is done to which graph.
        scratch: Where copies with bound shapes are written.

    Raises:
        OriginalRefused: The reference cannot run the original graph.
    """

    def __init__(self, job: OptimizationJob, scratch: Path) -> None:
        self._job = job
        self._scratch = scratch
        self._feeding = replace(job.feeding, seed=job.bundle.seed, samples=job.feeding.samples[:1])
        self._precision = read_precision(job.artifact.path).narrowest
        try:
            self._scale = input_scale(logical_inputs(job.bundle.inputs, job.sizes, self._feeding))
            self._expected = self._outputs_of_original()
        except Exception as problem:  # each runtime reports in a way of its own that it cannot load a graph
            raise OriginalRefused(
                f"{job.bundle.name} cannot be optimised: {job.reference} cannot run it: {_reason(problem, job)}",
                hint=getattr(problem, "hint", "") or _remedy(job),
            ) from problem

    def check(self, model: onnx_ir.Model, step: GraphStep, artifact: Artifact) -> GraphStep:
        """Write ``model``, check it, and return ``step`` with its error.

        Args:
            model: After the step.
            step: What was done.
            artifact: Its inputs and outputs are those of the model.

        Raises:
            BrokenModel: The step broke it.
        """
        path = self._job.folder / MODEL_FILE
        write(model, path)
        try:
            check_file(path, shapes=not vendors_of(model))
            outputs = self._outputs(replace(artifact, path=path, sha256=""))
            error = compare(outputs, self._expected, self._job.bundle.classifier, self._scale)
        except Exception as problem:  # each runtime reports in a way of its own that it cannot load a graph
            raise BrokenModel(step.name, self._job, first_line(problem).replace(str(path), "it")) from problem
        wrong = judge(error, self._precision)
        if wrong is not None:
            raise BrokenModel(step.name, self._job, wrong.message)
        return replace(step, max_rel_error=error.max_rel)

    def _outputs_of_original(self) -> tuple[Array, ...]:
        """Return what the original graph answers, and keep whether it does with its shapes bound."""
        self._binds = True
        try:
            return self._outputs(self._job.artifact)
        except Exception:
            if not is_rewritten(self._job.artifact):
                raise
            self._binds = False
            return self._outputs(self._job.artifact)

    def _outputs(self, artifact: Artifact) -> tuple[Array, ...]:
        job = self._job
        sized = bind(artifact, job.sizes, self._scratch) if self._binds else with_sizes(artifact, job.sizes)
        (outputs,) = answers(job.reference, sized, job.bundle, job.sizes, self._feeding)
        return outputs


def _reason(problem: Exception, job: OptimizationJob) -> str:
    """Return what a runtime said of a graph, without the folder of a copy that is gone by then."""
    name = job.artifact.path.name
    return re.sub(rf"\S*/{re.escape(name)}", name, first_line(problem))


def _remedy(job: OptimizationJob) -> str:
    dynamic = any(BATCH in spec.dynamic_dimensions for spec in job.artifact.inputs)
    batch = f"It was run at batch {job.sizes[BATCH]}; if only 1 works, add --batch 1. " if dynamic else ""
    return f"{batch}See what can run it: irbench verify {job.bundle.source or job.bundle.name}"
