"""``irbench.verify``: check whether every backend computes the expected outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from irbench.address import BackendAddress
from irbench.api.display import Displayable
from irbench.api.environments import Environments
from irbench.api.progress import ProgressOption, Say, reporting
from irbench.api.resolve import able_backends, resolve_backends, resolve_bundles
from irbench.api.results import Interrupted
from irbench.api.verify_options import VerifyOptions, expected_outputs, refuse_contradictions
from irbench.api.verify_suite import readers_of_onnx, run_suite
from irbench.conformance import verification
from irbench.conformance.case import CaseResult, SuiteReport
from irbench.conformance.case import exit_code as suite_exit_code
from irbench.conformance.model import trials, verified_cells
from irbench.conformance.verification import ModelReport, NoReference, PlannedTrials, VerificationRequest
from irbench.errors import ExitCode, IrbenchError
from irbench.options import input_values, values
from irbench.options.asked_inputs import AskedInputs
from irbench.options.input_values import Data
from irbench.options.option import Readers, read_keywords
from irbench.plain_text import plain
from irbench.render.context import Context
from irbench.render.json_text import json_text
from irbench.render.texts import warning_words
from irbench.render.verification import Document, model_view, suite_view
from irbench.row import CellResult
from irbench.runner.inputs import refuse_unknown_values
from irbench.spec import Bundle, PythonEnvironment
from irbench.system import host
from irbench.worker.scratch import scratch_folder

if TYPE_CHECKING:
    from rich.console import RenderableType


class Verification(Displayable):
    """What was verified.

    Attributes:
        report: Everything that was found, of a model or of a suite.
    """

    def __init__(self, report: ModelReport | SuiteReport) -> None:
        self.report = report

    @property
    def exit_code(self) -> ExitCode:
        """What ``irbench verify`` exits with."""
        if isinstance(self.report, ModelReport):
            return verification.exit_code(self.report)
        if not self.report.complete:
            return ExitCode.INTERRUPTED
        if self.report.between:
            changed = any(change.is_of_outcome for change in self.report.changes)
            return ExitCode.DIFFERENT if changed else ExitCode.OK
        return suite_exit_code(self.report.cases)

    @property
    def ok(self) -> bool:
        """Whether all was done and nothing failed, crashed or answered wrongly; between versions, nothing changed."""
        return self.exit_code == ExitCode.OK

    @property
    def rows(self) -> tuple[CellResult, ...] | tuple[CaseResult, ...]:
        """A row for each backend, or for each case on each backend."""
        return self.report.cells if isinstance(self.report, ModelReport) else self.report.cases

    def to_text(self, form: Literal["table", "json", "md"] = "table") -> str:
        """Return the report as text."""
        if form == "json":
            return json_text(self.report)
        return self._view().as_markdown() if form == "md" else str(self)

    def __repr__(self) -> str:
        """Return what was verified and whether all is well."""
        what = self.report.model if isinstance(self.report, ModelReport) else f"suite {self.report.suite}"
        return plain(f"<Verification of {what}: {'ok' if self.ok else 'not ok'}>")

    def __rich__(self) -> RenderableType:
        """Return the report as ``irbench verify`` prints it; called by rich."""
        return self._view()

    def _view(self) -> Document:
        return model_view(self.report) if isinstance(self.report, ModelReport) else suite_view(self.report)


def verify(
    model: str | PathLike[str] | None = None,
    *,
    backends: str | Iterable[str] | None = None,
    data: Data | None = None,
    value: Mapping[str, Any] | None = None,
    feedback: Mapping[str, str] | None = None,
    shape: Mapping[str, str | int | Iterable[int]] | None = None,
    suite: Literal["onnx"] | None = None,
    only: str | None = None,
    between: tuple[str, str] | None = None,
    progress: ProgressOption = "auto",
) -> Verification:
    """Run a model on every backend and compare the outputs with those expected; nothing is timed.

    Args:
        model: Anything that :func:`irbench.run` takes.
        backends: Backends, each with a device after a colon; every installed one that can read the model by default.
        data: Samples as :func:`irbench.run` takes them; a folder with test_data_set_*/input_*.pb and output_*.pb, or
            one such data set, also has the expected outputs.
        value: Constants for inputs: ``{"sr": 16000}``.
        feedback: Outputs that become inputs of the next call: ``{"h": "h0"}``; 8 steps are compared.
        shape: Shapes of inputs, or sizes of dynamic dimensions, by name.
        suite: ``onnx`` runs the test suite of the onnx package in place of a model.
        only: The suite's cases of such names: ``test_add*``.
        between: Two versions of a runtime as :func:`irbench.ab` takes them; the suite's report says what changed.
        progress: ``"auto"`` or ``None``: whether a terminal or notebook hears how it goes.

    Raises:
        IrbenchError: The call is impossible, or there is nothing to compare with; nothing was verified.
        Interrupted: Ctrl-C; what was verified by then is in its ``result``.
    """
    given = {
        "backends": backends,
        "data": data,
        "value": value,
        "feedback": feedback,
        "shape": shape,
        "suite": suite,
        "only": only,
        "between": between,
    }
    read = read_keywords("verify", given, _READERS)
    with reporting(progress) as reporter:
        found = verify_with(VerifyOptions(None if model is None else str(model), **read), reporter.say)
    if not found.report.complete:
        raise Interrupted("the verification is not complete", found)
    return found


def verify_with(options: VerifyOptions, say: Say) -> Verification:
    """Verify what was asked for; an interrupt leaves the report incomplete.

    Raises:
        IrbenchError: The call is impossible, or there is nothing to compare with; nothing was verified.
    """
    host.require_linux()
    refuse_contradictions(options)
    backends, environments = _participants(options, say)
    with scratch_folder() as folder:
        if options.suite is not None:
            readers = readers_of_onnx(backends, named=bool(options.backends))
            return Verification(run_suite(options.only, readers, environments, folder, say))
        return Verification(_model(options, backends, environments, folder, say))


def _participants(options: VerifyOptions, say: Say) -> tuple[tuple[BackendAddress, ...], tuple[PythonEnvironment, ...]]:
    """Return the backends, and the environments of two versions where these are compared."""
    if options.between is None:
        return resolve_backends(options.backends or ()), ()
    if len(options.backends or ()) > 1:
        raise IrbenchError("Two versions are compared on one backend.", hint="Give --backends one name.")
    named = options.backends[0] if options.backends else None
    address, environments = Environments(named, say, insist=False).of(options.between)
    return (address,), environments


def _asked(
    options: VerifyOptions,
    bundle: Bundle,
    backends: tuple[BackendAddress, ...],
    environments: tuple[PythonEnvironment, ...],
) -> VerificationRequest:
    folder = expected_outputs(options)
    inputs = AskedInputs() if folder is not None else AskedInputs(options.data, options.value, options.feedback)
    refuse_unknown_values(inputs, (bundle,))
    return VerificationRequest(bundle, backends, options.shape, folder, inputs, environments)


def _able_backends(backends: tuple[BackendAddress, ...], bundle: Bundle, say: Say) -> tuple[BackendAddress, ...]:
    """Return the backends that can read the model, as ``irbench run`` chooses them, and say which cannot."""
    able = able_backends(backends, (bundle,))
    left_out = [str(address) for address in backends if address not in able]
    if left_out:
        say(f"not verified, because they cannot read {bundle.name}: {', '.join(left_out)}")
    return able


def planned_trials(
    options: VerifyOptions,
    bundle: Bundle,
    backends: tuple[BackendAddress, ...],
    scratch: Path,
    environments: tuple[PythonEnvironment, ...] = (),
) -> PlannedTrials:
    """Return what each backend must answer.

    Args:
        options: What is verified.
        bundle: The model.
        backends: In the order of the rows.
        scratch: Where copies of the model with bound shapes are written.
        environments: Pythons whose runtimes are compared.

    Raises:
        IrbenchError: The data do not fit the model, or there is nothing to compare with.
    """
    try:
        return trials(_asked(options, bundle, backends, environments), scratch)
    except NoReference as lack:
        words = warning_words(lack.warning, Context())
        raise IrbenchError(words.brief, hint=words.more, exit_code=ExitCode.FAILED_CELL) from lack


def _model(
    options: VerifyOptions,
    backends: tuple[BackendAddress, ...],
    environments: tuple[PythonEnvironment, ...],
    scratch: Path,
    say: Say,
) -> ModelReport:
    (bundle,) = resolve_bundles((str(options.model),), everything=False, say=say)
    if not (options.backends or environments):
        backends = _able_backends(backends, bundle, say)
    planned = planned_trials(options, bundle, backends, scratch, environments)
    cells, complete = list[CellResult](), False
    try:
        for cell in verified_cells(planned.trials):
            cells.append(cell)
            say(f"{cell.label}: {cell.state}")
        complete = True
    except KeyboardInterrupt:
        say("interrupted")
    return planned.report(bundle.name, cells, complete=complete)


_READERS: Readers = {
    "backends": ('["ort", "openvino:gpu"]', values.names),
    "data": ('"model_zoo/model", or {"x": array}', input_values.data),
    "value": ('{"sr": 16000}', input_values.constants),
    "feedback": ('{"h": "h0"}', input_values.feedback),
    "shape": ('{"tokens": (1, 128)}', values.shapes),
    "suite": ('"onnx"', values.one_of("onnx")),
    "only": ('"test_add*"', values.text),
    "between": ('("onnxruntime==1.22.0", "onnxruntime==1.23.2")', values.pair),
}
