"""``irbench.verify``: check whether every backend computes the expected outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from irbench.api.loaded_models import Model, model_name
from irbench.api.progress import ProgressOption, Say, reporting
from irbench.core.address import BackendAddress
from irbench.core.row import CellResult
from irbench.errors import ExitCode, IrbenchError
from irbench.features.verify.keywords import VerifyKeywords
from irbench.features.verify.model import trials, verified_cells
from irbench.features.verify.options import VERIFY, VerifyOptions
from irbench.features.verify.report import ModelReport, NoReference, PlannedTrials, Verification, VerificationRequest
from irbench.features.verify.suite import readers_of_onnx, run_suite
from irbench.notices import Context
from irbench.options.input_request import InputRequest
from irbench.options.option import names_keywords
from irbench.requests.class_outputs import with_classes
from irbench.requests.resolve import Environments, able_backends, resolve_backends, resolve_bundles
from irbench.runner.requested_inputs import refuse_unknown_values, require_data
from irbench.runs.results import Interrupted
from irbench.spec import Bundle, PythonEnvironment
from irbench.system import host
from irbench.worker.scratch import scratch_folder


@names_keywords(VERIFY)
def verify(
    model: Model | None = None,
    *,
    progress: ProgressOption = "auto",
    **options: Unpack[VerifyKeywords],
) -> Verification:
    """Run a model on every backend and compare the outputs with those expected; nothing is timed.

    Of a decode loop (``feedback``), 8 steps are compared.

    Args:
        model: Anything that :func:`irbench.run` takes.
        progress: ``"auto"`` or ``None``: whether a terminal or notebook shows progress.
        options: What is verified, on which backends and inputs.

    Raises:
        IrbenchError: The call is impossible, or there is nothing to compare with; nothing was verified.
        Interrupted: Ctrl-C; what was verified by then is in its ``result``.
    """
    settings = VERIFY.from_keywords(options, model=None if model is None else model_name(model))
    with reporting(progress, VERIFY) as reporter:
        verification = verify_with(settings, reporter.say)
    if not verification.report.complete:
        raise Interrupted("the verification is not complete", verification)
    return verification


def verify_with(options: VerifyOptions, say: Say) -> Verification:
    """Verify what was asked for; an interrupt leaves the report incomplete."""
    host.require_linux()
    _refuse_contradictions(options)
    backends, environments = _participants(options, say)
    with scratch_folder() as folder:
        if options.suite is not None:
            readers = readers_of_onnx(backends, named=bool(options.backends))
            return Verification(run_suite(options.only, readers, environments, folder, say))
        return Verification(_model(options, backends, environments, folder, say))


def _participants(options: VerifyOptions, say: Say) -> tuple[tuple[BackendAddress, ...], tuple[PythonEnvironment, ...]]:
    if options.between is None:
        return resolve_backends(options.backends or ()), ()
    if len(options.backends or ()) > 1:
        raise IrbenchError("Two versions are compared on one backend.", hint="Give `--backends` one name.")
    named = options.backends[0] if options.backends else None
    address, environments = Environments(named, say, insist=False).of(options.between)
    return (address,), environments


def planned_trials(
    options: VerifyOptions,
    bundle: Bundle,
    backends: tuple[BackendAddress, ...],
    scratch: Path,
    environments: tuple[PythonEnvironment, ...] = (),
) -> PlannedTrials:
    """Return what each backend must answer."""
    folder = _expected_outputs(options)
    inputs = InputRequest() if folder is not None else InputRequest(options.data, options.value, options.feedback)
    refuse_unknown_values(inputs, (bundle,))
    try:
        return trials(VerificationRequest(bundle, backends, options.shape, folder, inputs, environments), scratch)
    except NoReference as lack:
        brief, more = lack.warning.brief(Context()), lack.warning.more(Context())
        raise IrbenchError(brief, hint=more, exit_code=ExitCode.FAILED_CELL) from lack


def _model(
    options: VerifyOptions,
    backends: tuple[BackendAddress, ...],
    environments: tuple[PythonEnvironment, ...],
    scratch: Path,
    say: Say,
) -> ModelReport:
    (bundle,) = with_classes(resolve_bundles((str(options.model),), everything=False, say=say), options.classes)
    if not (options.backends or environments):
        able = able_backends(backends, (bundle,))
        left_out = [str(address) for address in backends if address not in able]
        if left_out:
            say(f"not verified, because they cannot read {bundle.name}: {', '.join(left_out)}")
        backends = able
    planned = planned_trials(options, bundle, backends, scratch, environments)
    cells, complete = list[CellResult](), False
    try:
        for cell in verified_cells(planned.trials):
            cells.append(cell)
            say(f"{cell.label}: {cell.state}")
        complete = True
    except KeyboardInterrupt:
        say("interrupted")
    return planned.report(bundle, cells, complete=complete)


def _refuse_contradictions(options: VerifyOptions) -> None:
    if _expected_outputs(options) is None:
        require_data(InputRequest(options.data))
    if options.suite is None:
        if options.only is not None:
            raise IrbenchError("`--only` needs a test suite.", hint="Add --suite onnx.")
        if options.model is None:
            raise IrbenchError("Nothing to verify.", hint="Give a model or an ONNX file, or add --suite onnx.")
        if options.shape and _expected_outputs(options) is not None:
            raise IrbenchError("With `--data` the files determine the shapes.", hint="Leave --shape out.")
        return
    for name in ("model", "data", "value", "feedback", "classes", "shape"):
        if getattr(options, name):
            option = "A model" if name == "model" else f"--{name}"
            raise IrbenchError(f"{option} and --suite cannot be combined.", hint="Leave one of them out.")


def _expected_outputs(options: VerifyOptions) -> Path | None:
    """Return the data sets whose outputs are the expected ones, or one; ``None`` where a reference computes them."""
    if not isinstance(options.data, Path) or options.value or options.feedback:
        return None
    patterns = ("output_*.pb", "test_data_set_*/output_*.pb")
    return options.data if any(any(options.data.glob(pattern)) for pattern in patterns) else None
