"""``irbench.export``: TensorFlow and Keras models to bundles that every backend can run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from irbench.api.loaded_models import Model, model_name
from irbench.api.progress import ProgressOption, Say, reporting
from irbench.core import registry
from irbench.core.output_check import compare, judge
from irbench.core.quantities import size_text
from irbench.core.record import OutputError
from irbench.errors import ExitCode, IrbenchError
from irbench.exporter import build
from irbench.features.export.keywords import ExportKeywords
from irbench.features.export.options import EXPORT
from irbench.measure.clock import Stopwatch
from irbench.notices import ExportNotice
from irbench.notices.bundle_notices import BundleUsed
from irbench.options.export import ExportOptions
from irbench.options.input_request import InputRequest
from irbench.options.option import names_keywords
from irbench.options.run import RunOptions
from irbench.render.export_texts import agreement, export_notice_text, export_problems
from irbench.runner.reference import computed_outputs, inputs_scale, references_for
from irbench.runner.requested_inputs import read_data, refuse_unknown_values, require_data
from irbench.spec import RANDOM_DRAWS, Bundle, Workload, shape_text
from irbench.store import bundles
from irbench.worker.scratch import scratch_folder

_GENERATED_ONLY = InputRequest()
_DEADLINE_S = 900.0


@dataclass(frozen=True)
class ExportedModel:
    """A model in every form that backends read.

    Attributes:
        bundle: Its inputs, artifacts and facts.
        folder: Where it lies; :func:`irbench.run` takes it, and the name.
        seconds: How long the export took; ``None`` where the bundle was there already.
    """

    bundle: Bundle
    folder: Path
    seconds: float | None

    @property
    def name(self) -> str:
        """What tables call the model."""
        return self.bundle.name

    @property
    def problems(self) -> tuple[str, ...]:
        """What is unusual in the model, layers whose outputs are all zero for example; it was exported all the same."""
        return export_problems(self.bundle)

    @property
    def onnx_path(self) -> Path:
        """The ONNX file.

        Raises:
            IrbenchError: The bundle holds none.
        """
        artifact = self.bundle.artifact(("onnx",))
        if artifact is None:
            raise IrbenchError(
                f"The bundle {self.name} contains no ONNX graph.", hint="Export it again with force=True."
            )
        return artifact.path

    @property
    def summary(self) -> str:
        """Operator set, inputs, size, agreement and time in one line."""
        onnx, facts = self.bundle.artifact(("onnx",)), self.bundle.details
        inputs = ", ".join(f"{spec.name} {shape_text(spec.shape)}" for spec in (onnx.inputs if onnx else ()))
        parts = (
            f"opset {onnx.opset if onnx else '-'}",
            inputs,
            *([f"{facts['nodes']} nodes"] if "nodes" in facts else []),  # some exporters do not count them
            size_text(int(facts["bytes"] or 0)),
            agreement(self.bundle),
            "already there" if self.seconds is None else f"{self.seconds:.0f} s",
        )
        return " · ".join(parts)

    def __str__(self) -> str:
        """Return the name and the summary."""
        return f"{self.name}  {self.summary}"


@names_keywords(EXPORT)
def export(model: Model, *, progress: ProgressOption = "auto", **options: Unpack[ExportKeywords]) -> ExportedModel:
    """Export a model to a bundle: ONNX, a file for its framework, and the outputs that both must give.

    Args:
        model: A name of :func:`irbench.models`, a .keras or .pt2 file, a SavedModel or Hugging Face folder,
            ``package.module:function`` or ``path/to/file.py:function``; the function takes nothing and returns a Keras
            model, or a PyTorch module or a function of JAX with its inputs. Or such a model itself.
        progress: ``"auto"`` or ``None``: whether a terminal or notebook shows progress.
        options: How it is exported, and what it is compared with the original on.

    Raises:
        IrbenchError: It cannot be exported, or what came out is not what the original computes.
    """
    own, shared = EXPORT.read(options)
    inputs = RunOptions(**shared).inputs
    with reporting(progress, EXPORT) as reporter:
        exported = export_with(
            model_name(model), ExportOptions(**own), ExportListener(reporter.say, reporter.say), inputs
        )
        for problem in exported.problems:
            reporter.say(f"warning: {exported.name}: {problem}")
        return exported


def require_exportable(models: Sequence[str], options: ExportOptions) -> None:
    """Refuse every wrong name and option before the first minute of work."""
    if options.output is not None and len(models) > 1:
        raise IrbenchError("-o is the folder of a single bundle.", hint="Export one model at a time, or leave -o out.")
    if options.name is not None and len(models) > 1:
        raise IrbenchError("`--name` is that of a single bundle.", hint="Export one model at a time, or leave it out.")
    for model in models:
        build.validate(model, options)


@dataclass(frozen=True)
class ExportListener:
    """What an export reports to: ``say`` receives progress, ``announce`` what is to stay on the screen."""

    say: Say
    announce: Say


def export_with(
    model: str, options: ExportOptions, listener: ExportListener, inputs: InputRequest = _GENERATED_ONLY
) -> ExportedModel:
    """Export one model; raises what :func:`export` does."""
    require_data(inputs)
    watch = Stopwatch()
    heard: list[ExportNotice] = []

    def notify(notice: ExportNotice) -> None:
        heard.append(notice)
        listener.announce(export_notice_text(notice))

    def check(bundle: Bundle) -> None:
        if inputs.data is not None or inputs.values:
            listener.say("comparing with the original on given inputs")
            check_on_inputs(bundle, inputs, options.deadline)

    folder = build.export(model, options, listener.say, notify, check=check)
    used = any(isinstance(notice, BundleUsed) for notice in heard)
    return ExportedModel(bundles.load(folder), folder, None if used else watch.elapsed_s)


def check_on_inputs(bundle: Bundle, request: InputRequest, deadline_s: float | None = None) -> OutputError:
    """Compare the ONNX graph of a bundle, on a reference, with the original framework; return the worst error.

    Each of the two may compute for 15 minutes, unless a deadline is given.
    """
    if RANDOM_DRAWS in bundle.details:
        raise IrbenchError(
            f"{bundle.name} draws random numbers, so that it cannot be compared with the original on these inputs.",
            hint="Leave `--data` and --value out.",
        )
    refuse_unknown_values(request, (bundle,))
    with scratch_folder() as folder:
        data = read_data(request, bundle, {})
        sizes = data.bind(None, {})
        workload = Workload(bundle, sizes, data.feeding(sizes, bundle.seed, folder / "inputs"))
        first = {kind: name for kind, name, _ in reversed(tuple(references_for(workload)))}
        missing = next((kind for kind in (registry.BACKENDS, registry.REFERENCES) if kind not in first), None)
        if missing is not None:
            raise IrbenchError(
                f"{bundle.name} cannot be compared on these inputs: no installed backend can run both its forms.",
                hint="Install TensorFlow and ONNX Runtime, or leave `--data` and --value out.",
                exit_code=ExitCode.NOT_INSTALLED,
            )
        expected, answers = (
            computed_outputs((kind, first[kind]), workload, (), folder, deadline_s or _DEADLINE_S)
            for kind in (registry.BACKENDS, registry.REFERENCES)
        )
        scale = inputs_scale(workload)
    pairs = zip(answers, expected, strict=True)
    try:
        errors = [compare(outputs, right, bundle.known_class_axes, scale) for outputs, right in pairs]
    except ValueError as problem:
        raise _different(bundle, str(problem)) from problem
    worst = max(errors, key=lambda error: error.max_rel)
    failure = judge(worst, "fp32")
    if failure is not None:
        raise _different(bundle, failure.message)
    return worst


def _different(bundle: Bundle, reason: str) -> IrbenchError:
    return IrbenchError(
        f"The ONNX model of {bundle.name} differs from the original model on these inputs: {reason}.",
        hint="The conversion went wrong for such inputs; a new export is not kept.",
        exit_code=ExitCode.DIFFERENT,
    )
