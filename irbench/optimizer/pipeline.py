"""Run in the worker: apply the passes, checking the graph after each, and convert the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from irbench.core import registry
from irbench.core.graph_record import Agreement, GraphCheck, GraphStep, NarrowRange, OptimizerActivity, PassObstacle
from irbench.errors import first_line
from irbench.notices.conversions import beyond_text
from irbench.onnx.reading import external_data
from irbench.onnx.reading.check import check_file
from irbench.onnx.rewriting import detached_weights
from irbench.onnx.rewriting.inline_functions import inline_functions
from irbench.onnx.rewriting.upgrade_opset import CannotUpgrade, upgrade_opset
from irbench.onnx.shapes import infer
from irbench.onnx.sizes import sizes_of
from irbench.optimizer.agreement import FailsAtSizes, measure_agreement
from irbench.optimizer.body_check import Body, number_bodies
from irbench.optimizer.calibration_samples import CALIBRATION, EVALUATION, CheckSamples, halves, other_distributions
from irbench.optimizer.check_plan import ExpectedAnswer
from irbench.optimizer.conversion import (
    CannotConvert,
    NothingToConvert,
    convert,
    least_opset,
    require_fp32,
    require_opset,
)
from irbench.optimizer.inputs_to_nchw import as_nchw, inputs_to_nchw
from irbench.optimizer.job import (
    MODEL_FILE,
    OptimizationJob,
    OptimizationOutcome,
    load,
    step_of,
    vendors_of,
    weights_beside,
    write,
)
from irbench.optimizer.narrow_range import narrow_range
from irbench.optimizer.recipe import Conversion
from irbench.optimizer.step_check import (
    NCHW_STEP,
    BrokenModel,
    OriginalRefused,
    StepCheck,
    SteppedGraph,
    WrongAnswer,
    check_at_first,
)
from irbench.spec import BATCH, Artifact
from irbench.system.confinement import limit_memory
from irbench.system.host import available_memory_bytes, int8_weight_bits
from irbench.worker.scratch import scratch_folder

if TYPE_CHECKING:
    import onnx_ir

    from irbench.spi import Pass


def inlined(path: Path, scratch: Path) -> Path:
    """Write a graph without functions and return where.

    Raises:
        ValueError: It is too large.
    """
    content = inline_functions(path)
    if content is None:
        raise ValueError("the graph is too large for one message")
    target = scratch / "inlined.onnx"
    target.write_bytes(content)
    return target


def raised(path: Path, opset: int, scratch: Path) -> Path:
    """Write the graph at a later operator set and return where."""
    model = detached_weights.detach(external_data.load(path), {})
    upgrade_opset(model, opset)
    target = scratch / f"raised-{opset}.onnx"
    detached_weights.write(model, target)
    return target


@dataclass(frozen=True)
class CompletedStep:
    """A step that was done."""

    name: str
    apply: Callable[[onnx_ir.Model], object]
    artifact: Artifact
    modified: bool


def _blamed_pass(
    check: StepCheck, first: SteppedGraph, changes: Sequence[CompletedStep], wrong: WrongAnswer, bodies: Sequence[Body]
) -> BrokenModel:
    name = "raise_opset"  # the one step that is done to the graph before these
    for change in changes:
        change.apply(first.model)
        if not change.modified:
            continue
        name = change.name
        try:
            check.repeat(SteppedGraph(first.model, change.artifact), wrong, bodies)
        except Exception:  # noqa: BLE001 - a runtime may report in a way of its own that it cannot load a graph
            break
    return check.broken(name, wrong)


_Changed = TypeVar("_Changed")
_Report = Callable[[OptimizerActivity], None]

_EVALUATION_SAMPLES = 64
_MAX_MEMORY_SHARE = 0.9


def run_job_in_limited_memory(job: OptimizationJob, report: _Report) -> OptimizationOutcome:
    """Do as :func:`run_job` in most of the memory that is available, for which a process of its own is needed.

    An original graph that the reference cannot run is a value, which leaves the process.
    """
    limit_memory(int(_MAX_MEMORY_SHARE * available_memory_bytes()))
    try:
        return run_job(job, report)
    except OriginalRefused as refused:
        return OptimizationOutcome((), refused=(refused.message, refused.hint))


def run_job(job: OptimizationJob, report: _Report) -> OptimizationOutcome:
    """Apply the passes and the conversion, and write the graph into the job's folder.

    After each pass that changed something the graph is written, checked (with every shape inferred, where all
    operators are ONNX's own), loaded by the reference backend, and its outputs compared with the original's on three
    inputs. The last graph is compared on more inputs, at other sizes, and in each branch and body; if it fails there,
    the passes are repeated to find the one that broke it. A conversion is checked and loaded likewise; how far its
    outputs are from the original's is part of the outcome.
    """
    passes = [registry.graph_pass(name) for name in job.recipe.passes]
    conversion = job.recipe.conversion
    if conversion is not None:
        require_fp32(job.artifact.path, job.bundle.name, conversion.precision)
    with scratch_folder() as scratch:
        report(OptimizerActivity("reference-outputs"))
        pipeline = _Pipeline(job, scratch, report)
        if passes or conversion is not None:
            pipeline.inline_functions()
        pipeline.raise_opset(
            [graph_pass.opset for graph_pass in passes] + ([least_opset(conversion)] if conversion else [])
        )
        pipeline.number_bodies()
        if job.recipe.layout == "nchw":
            pipeline.take_inputs_as_nchw()
        for graph_pass in passes:
            pipeline.apply(graph_pass)
        pipeline.check_at_the_end()
        return pipeline.finish() if conversion is None else pipeline.finish_converted(conversion)


class _Pipeline:
    def __init__(self, job: OptimizationJob, scratch: Path, report: _Report) -> None:
        self._check = check_at_first(job, scratch)
        self._job = job = self._check.job
        self._scratch = scratch
        self._report = report
        self._source = job.artifact.path
        self._model = load(self._source)
        self._artifact = job.artifact  # its inputs follow the graph, its path stays that of the original
        self._nchw_inputs: tuple[str, ...] = ()
        self._steps = [step_of("original", self._model)]
        self._vendors = vendors_of(self._model)
        self._bodies: tuple[Body, ...] = ()
        self._changes: list[CompletedStep] = []
        self._checked: GraphCheck | None = None

    @property
    def _opset(self) -> int:
        return self._model.graph.opset_imports.get("", 0)

    def inline_functions(self) -> None:
        """Write the model's functions out where they are called, if it has some: passes leave functions alone."""
        if not self._model.functions:
            return
        self._report(OptimizerActivity("inline-functions"))
        try:
            self._begin_with(inlined(self._source, self._scratch), "inline_functions")
            reason = ", ".join(f"{domain}.{name}" for domain, name, _ in self._model.functions)
        except Exception as problem:  # noqa: BLE001 - ONNX's inliner reports failures in ways of its own
            reason = problem.reason if isinstance(problem, BrokenModel) else first_line(problem)
        if reason:
            self._add_obstacle("inline_functions", PassObstacle("functions-not-inlined", self._opset, reason))

    def raise_opset(self, opsets: Sequence[int]) -> None:
        """Move to the latest operator set that is wanted, or to the latest that the graph can be moved to."""
        obstacle: PassObstacle | None = None
        if not self._opset:
            return  # nothing in the graph is of ONNX's own set
        for opset in sorted({needed for needed in opsets if needed > self._opset}, reverse=True):
            self._report(OptimizerActivity("raise-opset", str(opset)))
            try:
                self._begin_with(raised(self._source, opset, self._scratch), "raise_opset")
            except (CannotUpgrade, BrokenModel) as problem:
                obstacle = PassObstacle("opset-not-raised", self._opset, problem.reason)
            else:
                return
        if obstacle is not None:
            self._add_obstacle("raise_opset", obstacle)

    def number_bodies(self) -> None:
        """Number the bodies of the graph, so that the check at the end finds again what passes have left of them."""
        self._bodies = number_bodies(self._model)

    def take_inputs_as_nchw(self) -> None:
        """Take images as NCHW where the graph transposes them to that itself; raises as :meth:`apply` does."""
        self._nchw_inputs = self._change(NCHW_STEP, inputs_to_nchw)
        self._artifact = as_nchw(self._artifact, self._nchw_inputs)
        self._add(NCHW_STEP, inputs_to_nchw, modified=bool(self._nchw_inputs))

    def apply(self, graph_pass: Pass) -> None:
        name, crash = graph_pass.name, self._job.left_out.get(graph_pass.name)
        if crash is not None or self._opset < graph_pass.opset:
            too_low = PassObstacle("opset-too-low", graph_pass.opset)
            self._add_obstacle(name, too_low if crash is None else PassObstacle("crashed", self._opset, crash))
            return
        modified = self._change(name, graph_pass)
        changed_silently = step_of(name, self._model).operators != self._steps[-1].operators
        self._add(name, graph_pass, modified=modified or changed_silently)

    def check_at_the_end(self) -> None:
        """Compare the last graph with the original on all inputs, if it is another one."""
        if not any(step.modified for step in self._steps):
            return
        self._report(OptimizerActivity("check"))
        try:
            self._check_all()
        except WrongAnswer as wrong:
            raise _blamed_pass(self._check, self._first(), self._changes, wrong, self._bodies) from wrong

    def finish(self) -> OptimizationOutcome:
        if not any(step.modified for step in self._steps):  # otherwise the last check wrote it
            write(self._model, self._job.folder / MODEL_FILE)
        return self._outcome(self._steps)

    def finish_converted(self, conversion: Conversion) -> OptimizationOutcome:
        """Write the graph in another precision and return what was done."""
        require_opset(self._opset, conversion, self._job.bundle.name)
        self._report(OptimizerActivity("convert", conversion.precision))
        last = SteppedGraph(self._model, self._artifact)
        step, agreement = _convert(last, self._job, conversion, self._scratch, self._check.at_other_sizes)
        return replace(self._outcome([*self._steps, step]), agreement=agreement)

    def _outcome(self, steps: Sequence[GraphStep]) -> OptimizationOutcome:
        """Return what was done, once the graph is written: shapes are inferred on it here."""
        return OptimizationOutcome(
            tuple(steps),
            self._nchw_inputs,
            checked=self._checked,
            fuses_when_bound=self._fuses_when_bound(),
        )

    def _fuses_when_bound(self) -> bool:
        """Whether attention is fused once all sizes are bound, where none was: it is tried."""
        tried = [step for step in self._steps if step.name == _FUSES_ATTENTION and step.obstacle is None]
        if not tried or any(step.modified for step in tried) or not _has_softmax_of_unknown_size(self._model):
            return False
        model = _bound(load(self._source), self._job)
        with suppress(Exception):  # what a pass fails at it fuses nothing in
            for change in self._changes:
                if change.apply(model) and change.name == _FUSES_ATTENTION:
                    return True
        return False

    def _check_all(self) -> None:
        last = SteppedGraph(self._model, self._artifact)
        self._checked = self._check.check_at_the_end(last, self._first() if self._bodies else last, self._bodies)

    def _change(self, name: str, change: Callable[[onnx_ir.Model], _Changed]) -> _Changed:
        self._report(OptimizerActivity("pass", name))
        try:
            return change(self._model)
        except Exception as error:
            raise BrokenModel(name, self._job, f"{type(error).__name__}: {first_line(error)}") from error

    def _add_obstacle(self, name: str, obstacle: PassObstacle) -> None:
        self._steps.append(replace(step_of(name, self._model), obstacle=obstacle))

    def _add(self, name: str, change: Callable[[onnx_ir.Model], object], *, modified: bool) -> None:
        step = step_of(name, self._model, modified=modified)
        self._changes.append(CompletedStep(name, change, self._artifact, modified))
        if modified:
            vendors = vendors_of(self._model)
            written, self._vendors = sorted(vendors - self._vendors), self._vendors | vendors
            step = replace(step, vendor=written[0] if written else None)
            step = self._check.check(SteppedGraph(self._model, self._artifact), step)
            if self._job.checks_all_after_each_pass:
                with suppress(WrongAnswer):  # the check at the end finds it again, and which pass it comes from
                    self._check_all()
        self._steps.append(step)

    def _begin_with(self, path: Path, name: str) -> None:
        """Go on with the graph of a file in place of the one as it came."""
        model = load(path)
        step = self._check.check(SteppedGraph(model, self._artifact), step_of(name, model, modified=True))
        self._source, self._model, self._vendors = path, model, vendors_of(model)
        self._steps.append(step)

    def _first(self) -> SteppedGraph:
        model = load(self._source)
        number_bodies(model)
        return SteppedGraph(model, self._job.artifact)


_FUSES_ATTENTION = "fuse_attention"


def _bound(model: onnx_ir.Model, job: OptimizationJob) -> onnx_ir.Model:
    """Give the inputs of a model the sizes of a job and one sample, in place, and return it."""
    import onnx_ir

    sizes = {**job.sizes, BATCH: 1}
    shapes = {spec.name: spec.bind(sizes).shape for spec in job.artifact.inputs}
    for value in model.graph.inputs:
        if value.name in shapes:
            value.shape = onnx_ir.Shape(shapes[value.name])
    return model


def _has_softmax_of_unknown_size(model: onnx_ir.Model) -> bool:
    infer(model, names_unknown=False)
    found = [node for node in model.graph if (node.domain, node.op_type) == ("", "Softmax")]
    return any(sizes_of(node.inputs[0]) is None for node in found)


def _convert(
    graph: SteppedGraph,
    job: OptimizationJob,
    conversion: Conversion,
    scratch: Path,
    at_other_sizes: Sequence[ExpectedAnswer],
) -> tuple[GraphStep, Agreement]:
    source, path = scratch / "in_fp32.onnx", job.folder / MODEL_FILE
    write(graph.model, source)
    for leftover in (path, weights_beside(path)):
        leftover.unlink(missing_ok=True)
    calibration_feeding, evaluation_feeding = halves(job.feeding)
    calibration = CheckSamples(
        graph.artifact, job.bundle, job.sizes, conversion.samples, CALIBRATION, calibration_feeding
    )
    evaluation = CheckSamples(job.artifact, job.bundle, job.sizes, _EVALUATION_SAMPLES, EVALUATION, evaluation_feeding)
    fits: NarrowRange | None = None
    try:
        name = convert(source, path, conversion, calibration, job.quantizer)
        model = load(path)
        vendors = sorted(vendors_of(model))
        check_file(path, shapes=not vendors)
        converted = replace(graph.artifact, path=path, sha256="")
        is_calibrated = name == "quantize_static"
        elsewhere = other_distributions(calibration) if is_calibrated else ()
        if conversion.precision == "fp16":
            fits = narrow_range(source, model, calibration, job.reference, scratch)
        agreement = measure_agreement(evaluation, converted, job.reference, scratch, at_other_sizes, elsewhere)
        agreement = replace(agreement, narrow_range=fits)
        if conversion.precision == "int8":
            agreement = replace(agreement, weight_bits=int8_weight_bits())
        if is_calibrated:
            same = calibration_feeding.samples == evaluation_feeding.samples != ()
            agreement = replace(agreement, calibrated_on=calibration.count, is_calibrated_on_same=same)
    except (NothingToConvert, FailsAtSizes):
        raise
    except Exception as problem:  # tools and runtimes report failures in ways of their own
        beyond = "" if fits is None or not fits.beyond else f"; {beyond_text(fits)}"
        raise CannotConvert(job.bundle.name, conversion.precision, f"{first_line(problem)}{beyond}") from problem
    step = replace(step_of(name, model, modified=True), vendor=vendors[0] if vendors else None)
    error = agreement.error.max_rel if agreement.is_measured(conversion.precision) else None
    return replace(step, max_rel_error=error), agreement
