"""``irbench.verify``: check whether every backend computes the expected outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from irbench import __version__, registry
from irbench.address import BackendAddress
from irbench.api import input_values, values
from irbench.api.display import Displayable
from irbench.api.input_values import Data
from irbench.api.options import Readers, read_keywords
from irbench.api.progress import ProgressOption, Say, reporting
from irbench.api.resolve import able_backends, resolve_backends, resolve_bundles
from irbench.api.results import Interrupted
from irbench.api.values import Constants, Feedback, Shapes
from irbench.conformance import score, verification
from irbench.conformance.case import CaseResult, Runtime, SuiteReport
from irbench.conformance.model import trials, verified_cells
from irbench.conformance.suite import collect_cases, run_cases
from irbench.conformance.verification import ModelReport, NoReference, VerificationRequest
from irbench.errors import ExitCode, IrbenchError
from irbench.measure.clock import Stopwatch
from irbench.render.context import Context
from irbench.render.texts import warning_words
from irbench.render.verification import Document, model_view, suite_view
from irbench.result import CellResult
from irbench.runner.asked_inputs import AskedInputs, DataSource
from irbench.runner.inputs import refuse_unknown_values
from irbench.spec import Bundle, Number
from irbench.system import host
from irbench.worker.scratch import scratch_folder

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Verification", "VerifyOptions", "verify", "verify_with"]

_SAY_EVERY = 100


@dataclass(frozen=True)
class VerifyOptions:
    """What is verified: a model, or cases of a suite.

    Attributes:
        model: As the user named it.
        backends: Names with devices; ``None`` for every installed one that can read the model.
        data: Samples; with expected outputs where it is a data set of the ONNX convention, or a folder of them.
        value: Constants for inputs.
        feedback: Outputs by the inputs that they become in the next call.
        shape: Of inputs, or sizes of dynamic dimensions, by name.
        suite: ``onnx`` for the test suite that the onnx package carries.
        only: A pattern of the suite's cases.
    """

    model: str | None = None
    backends: tuple[str, ...] | None = None
    data: DataSource | None = None
    value: Constants = field(default_factory=dict[str, tuple[Number, ...]])
    feedback: Feedback = field(default_factory=dict[str, str])
    shape: Shapes = field(default_factory=dict[str, tuple[int, ...]])
    suite: Literal["onnx"] | None = None
    only: str | None = None


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
        return score.exit_code(self.report.cases) if self.report.complete else ExitCode.INTERRUPTED

    @property
    def ok(self) -> bool:
        """Whether nothing failed, crashed or answered wrongly, and all was done."""
        return self.exit_code == ExitCode.OK

    @property
    def rows(self) -> tuple[CellResult, ...] | tuple[CaseResult, ...]:
        """A row for each backend, or for each case on each backend."""
        return self.report.cells if isinstance(self.report, ModelReport) else self.report.cases

    def to_text(self, form: Literal["table", "json", "md"] = "table") -> str:
        """Return the report as text."""
        if form == "json":
            return msgspec.json.format(msgspec.json.encode(self.report), indent=1).decode()
        return self._view().as_markdown() if form == "md" else str(self)

    def __repr__(self) -> str:
        """Return what was verified and whether all is well."""
        what = self.report.model if isinstance(self.report, ModelReport) else f"suite {self.report.suite}"
        return f"<Verification of {what}: {'ok' if self.ok else 'not ok'}>"

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
    _refuse_contradictions(options)
    backends = resolve_backends(options.backends or ())
    with scratch_folder() as folder:
        if options.suite is not None:
            readers = _readers_of_onnx(backends, named=bool(options.backends))
            return Verification(_suite(options.only, readers, folder, say))
        return Verification(_model(options, backends, folder, say))


def _refuse_contradictions(options: VerifyOptions) -> None:
    AskedInputs(options.data).require_data()
    if options.suite is None:
        if options.only is not None:
            raise IrbenchError("--only needs a test suite.", hint="Add --suite onnx.")
        if options.model is None:
            raise IrbenchError("Nothing to verify.", hint="Give a model or an ONNX file, or add --suite onnx.")
        if options.shape and _expected_outputs(options) is not None:
            raise IrbenchError("With --data the files determine the shapes.", hint="Leave --shape out.")
        return
    given = {
        "A model": options.model,
        "--data": options.data,
        "--value": options.value,
        "--feedback": options.feedback,
        "--shape": options.shape,
    }
    for name, value in given.items():
        if value:
            raise IrbenchError(f"{name} and --suite cannot be combined.", hint="Leave one of them out.")


def _expected_outputs(options: VerifyOptions) -> Path | None:
    """Return the data sets whose outputs are the expected ones, or one; ``None`` where a reference computes them."""
    if not isinstance(options.data, Path) or options.value or options.feedback:
        return None
    patterns = ("output_*.pb", "test_data_set_*/output_*.pb")
    return options.data if any(any(options.data.glob(pattern)) for pattern in patterns) else None


def _asked(options: VerifyOptions, bundle: Bundle, backends: tuple[BackendAddress, ...]) -> VerificationRequest:
    folder = _expected_outputs(options)
    inputs = AskedInputs() if folder is not None else AskedInputs(options.data, options.value, options.feedback)
    refuse_unknown_values(inputs, (bundle,))
    return VerificationRequest(bundle, backends, options.shape, folder, inputs)


def _readers_of_onnx(backends: Sequence[BackendAddress], *, named: bool) -> tuple[BackendAddress, ...]:
    """Return the backends that can run the suite's graphs; one that was named and cannot is refused."""
    readers = tuple(address for address in backends if "onnx" in registry.backend(address.name).consumes)
    for address in backends:
        if named and address not in readers:
            raise IrbenchError(
                f"{address.name} does not read ONNX, and the test suite consists of ONNX models.",
                hint="Remove it from --backends.",
            )
    return readers


def _able_backends(backends: tuple[BackendAddress, ...], bundle: Bundle, say: Say) -> tuple[BackendAddress, ...]:
    """Return the backends that can read the model, as ``irbench run`` chooses them, and say which cannot."""
    able = able_backends(backends, (bundle,))
    left_out = [str(address) for address in backends if address not in able]
    if left_out:
        say(f"not verified, because they cannot read {bundle.name}: {', '.join(left_out)}")
    return able


def _model(options: VerifyOptions, backends: tuple[BackendAddress, ...], scratch: Path, say: Say) -> ModelReport:
    (bundle,) = resolve_bundles((str(options.model),), everything=False, say=say)
    if not options.backends:
        backends = _able_backends(backends, bundle, say)
    try:
        planned = trials(_asked(options, bundle, backends), scratch)
    except NoReference as lack:
        words = warning_words(lack.warning, Context())
        raise IrbenchError(words.brief, hint=words.more, exit_code=ExitCode.FAILED_CELL) from lack
    cells, complete = list[CellResult](), False
    try:
        for cell in verified_cells(planned.trials):
            cells.append(cell)
            say(f"{cell.label}: {cell.state}")
        complete = True
    except KeyboardInterrupt:
        say("interrupted")
    return planned.report(bundle.name, cells, complete=complete)


def _suite(pattern: str | None, backends: tuple[BackendAddress, ...], scratch: Path, say: Say) -> SuiteReport:
    say(f"collecting the cases of onnx {version('onnx')}")
    cases = collect_cases(scratch, pattern or "*")
    results, complete, watch = list[CaseResult](), False, Stopwatch()
    try:
        for number, done in enumerate(run_cases(cases, backends, scratch), 1):
            results += done
            if number % _SAY_EVERY == 0:
                say(f"{number} of {len(cases)} cases after {watch.elapsed_s:.0f} s")
        complete = True
    except KeyboardInterrupt:
        say("interrupted")
    return SuiteReport(
        suite="onnx",
        suite_version=version("onnx"),
        irbench_version=__version__,
        pattern=pattern,
        seconds=round(watch.elapsed_s, 1),
        complete=complete,
        backends=tuple(_runtime(address, results) for address in backends),
        cases=tuple(results),
    )


def _runtime(address: BackendAddress, results: list[CaseResult]) -> Runtime:
    label = str(address)
    description = registry.describe(registry.BACKENDS, address.name)
    own = (result for result in results if result.backend == label)
    return Runtime(label, description.distribution, str(description.version), score.counts(own))


_READERS: Readers = {
    "backends": ('["ort", "openvino:gpu"]', values.names),
    "data": ('"model_zoo/model", or {"x": array}', input_values.data),
    "value": ('{"sr": 16000}', input_values.constants),
    "feedback": ('{"h": "h0"}', input_values.feedback),
    "shape": ('{"tokens": (1, 128)}', values.shapes),
    "suite": ('"onnx"', values.one_of("onnx")),
    "only": ('"test_add*"', values.text),
}
