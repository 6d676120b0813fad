"""``irbench.export``: TensorFlow and Keras models to bundles that every backend can run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from irbench import bundles, exporter
from irbench.api.progress import ProgressOption, Say, reporting
from irbench.errors import IrbenchError
from irbench.exporter import ExportOptions
from irbench.measure.clock import Stopwatch
from irbench.notices import ExportNotice
from irbench.options import input_values, values
from irbench.options.asked_inputs import AskedInputs
from irbench.options.input_values import Data
from irbench.options.option import Readers, read_keywords
from irbench.options.values import path
from irbench.quantities import size_text
from irbench.render.export_texts import agreement, export_notice_text, export_problems
from irbench.runner.export_check import check_on_inputs
from irbench.spec import Bundle, shape_text

_GENERATED_ONLY = AskedInputs()


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
            f"{facts['nodes']} nodes",
            size_text(int(facts["bytes"] or 0)),
            agreement(self.bundle),
            "already there" if self.seconds is None else f"{self.seconds:.0f} s",
        )
        return " · ".join(parts)

    def __str__(self) -> str:
        """Return the name and the summary."""
        return f"{self.name}  {self.summary}"


def export(
    model: str | PathLike[str],
    *,
    opset: int = 18,
    batch: int | None = None,
    seed: int = 0,
    weights: str | PathLike[str] | None = None,
    layout: Literal["keep", "nchw"] = "nchw",
    signature: str | None = None,
    force: bool = False,
    output: str | PathLike[str] | None = None,
    name: str | None = None,
    imports: str | Iterable[str] | None = None,
    shape: Mapping[str, str | int | Iterable[int]] | None = None,
    deadline: str | float | timedelta | None = None,
    data: Data | None = None,
    value: Mapping[str, Any] | None = None,
    progress: ProgressOption = "auto",
) -> ExportedModel:
    """Export a model to a bundle: ONNX, a TensorFlow graph and the outputs that both must give.

    Args:
        model: A name of :func:`irbench.models`, a .keras file, a SavedModel folder, ``package.module:function`` or
            ``path/to/file.py:function``; the function takes nothing and returns a Keras model.
        opset: ONNX operator set, 13 to 23.
        batch: A fixed batch; ``None`` leaves it dynamic.
        seed: Of random weights and of generated inputs.
        weights: ``"random"``, or a file of them; ``None`` for the model's own.
        layout: Of image inputs in ONNX; nchw is the faster one.
        signature: Which function of a SavedModel; ``None`` for ``serving_default``, or the only one.
        force: Build even if a bundle made from the same things exists.
        output: The folder to put the bundle into.
        name: What the bundle is called; ``None`` for the name of the Keras model, or of its function or file.
        imports: Modules to import before the model is loaded, which register its layers with
            ``keras.saving.register_keras_serializable``.
        shape: Shapes of inputs or sizes of dynamic dimensions, ``{"sequence": 64}``, that the model is run with; they
            are its default sizes.
        deadline: How long each step of the export may take: ``"300s"`` or seconds; ``None`` for an hour, and 15 minutes
            for the comparison with the original.
        data: Also compare with the original on these samples, which :func:`irbench.run` describes.
        value: Constants for inputs of that comparison: ``{"sr": 16000}``.
        progress: ``"auto"`` or ``None``: whether a terminal or notebook hears how it goes.

    Raises:
        IrbenchError: It cannot be exported, or what came out is not what the original computes.
    """
    given = {
        "opset": opset,
        "batch": batch,
        "seed": seed,
        "weights": weights,
        "layout": layout,
        "signature": signature,
        "force": force,
        "output": output,
        "name": name,
        "imports": imports,
        "shape": shape,
        "deadline": deadline,
    }
    options = ExportOptions(**read_keywords("export", given, _READERS))
    asked = read_keywords("export", {"data": data, "value": value}, _INPUT_READERS)
    inputs = AskedInputs(asked.get("data"), asked.get("value", {}))
    with reporting(progress) as reporter:
        made = export_with(str(model), options, ExportListener(reporter.say, reporter.say), inputs)
        for problem in made.problems:
            reporter.say(f"warning: {made.name}: {problem}")
        return made


def require_exportable(models: Sequence[str], options: ExportOptions) -> None:
    """Refuse every wrong name and option before the first minute of work.

    Raises:
        IrbenchError: It says what is wrong.
    """
    if options.output is not None and len(models) > 1:
        raise IrbenchError("-o is the folder of a single bundle.", hint="Export one model at a time, or leave -o out.")
    if options.name is not None and len(models) > 1:
        raise IrbenchError("--name is that of a single bundle.", hint="Export one model at a time, or leave it out.")
    for model in models:
        exporter.validate(model, options)


@dataclass(frozen=True)
class ExportListener:
    """What an export reports to.

    Attributes:
        say: Receives progress, a few words at a time.
        announce: Receives what is to stay on the screen: which bundle is used, and why one is made again.
    """

    say: Say
    announce: Say


def export_with(
    model: str, options: ExportOptions, listener: ExportListener, inputs: AskedInputs = _GENERATED_ONLY
) -> ExportedModel:
    """Export one model; raises what :func:`export` does.

    Args:
        model: As the user named it.
        options: How it is exported.
        listener: Receives it.
        inputs: What it is compared with the original on besides generated inputs.
    """
    inputs.require_data()
    watch = Stopwatch()
    heard: list[ExportNotice] = []

    def notify(notice: ExportNotice) -> None:
        heard.append(notice)
        listener.announce(export_notice_text(notice))

    def check(bundle: Bundle) -> None:
        if inputs.data is not None or inputs.values:
            listener.say("comparing with the original on given inputs")
            check_on_inputs(bundle, inputs, options.deadline)

    folder = exporter.export(model, options, listener.say, notify, check=check)
    used = any(notice.code == "bundle-used" for notice in heard)
    return ExportedModel(bundles.load(folder), folder, None if used else watch.elapsed_s)


_READERS: Readers = {
    "opset": ("18", values.count),
    "batch": ("1", values.count),
    "seed": ("0", values.seed),
    "weights": ('"random", or a path', lambda value: str(Path(value))),
    "layout": ('"keep" or "nchw"', values.one_of("keep", "nchw")),
    "signature": ('"serving_default"', values.text),
    "force": ("True", values.flag),
    "output": ('"./resnet50"', path),
    "name": ('"resnet50_flowers"', values.text),
    "imports": ('["my_layers"]', values.names),
    "shape": ('{"tokens": (1, 64)}', values.shapes),
    "deadline": ('"300s", or 300', values.duration_s),
}
_INPUT_READERS: Readers = {
    "data": ('"images/", or {"x": array}', input_values.data),
    "value": ('{"sr": 16000}', input_values.constants),
}
