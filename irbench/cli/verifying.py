"""Carrying out ``irbench verify``: from typed options to a report and an exit code."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import msgspec

from irbench import __version__, registry
from irbench.address import BackendAddress
from irbench.cli.console import print_data, to_text
from irbench.cli.resolve import resolve_backends, resolve_bundles
from irbench.conformance import model
from irbench.conformance.case import CaseResult, Runtime, SuiteReport
from irbench.conformance.model import Asked, ModelReport, trials, verified_cells
from irbench.conformance.score import counts, exit_code
from irbench.conformance.suite import collect_cases, run_cases
from irbench.conformance.view import Document, model_view, suite_view
from irbench.errors import ExitCode, IrbenchError
from irbench.measure.clock import Stopwatch
from irbench.result import CellResult
from irbench.system import host
from irbench.worker.scratch import scratch_folder

__all__ = ["execute"]

_SAY_EVERY = 100


def execute(arguments: Mapping[str, Any]) -> int:
    """Verify what was asked for, print the report, and return the exit code.

    Raises:
        IrbenchError: The call is impossible, or there is nothing to compare with; nothing was verified.
    """
    host.require_linux()
    _refuse_contradictions(arguments)
    backends = resolve_backends(arguments["backends"] or ())
    with scratch_folder() as folder:
        if arguments["suite"]:
            suite = _suite(arguments["only"], _readers_of_onnx(backends, bool(arguments["backends"])), folder)
            _print(suite, suite_view(suite), arguments)
            return int(exit_code(suite.cases) if suite.complete else ExitCode.INTERRUPTED)
        report = _model(arguments, backends, folder)
        _print(report, model_view(report), arguments)
        return int(model.exit_code(report))


def _refuse_contradictions(arguments: Mapping[str, Any]) -> None:
    if arguments["suite"] is None:
        if arguments["only"] is not None:
            raise IrbenchError("--only chooses cases of a suite.", hint="Add --suite onnx.")
        if arguments["model"] is None:
            raise IrbenchError("Nothing to verify.", hint="Name a model or an ONNX file, or say --suite onnx.")
        if arguments["data"] is not None and arguments["shapes"]:
            raise IrbenchError("--data gives the shapes of the inputs itself.", hint="Leave --shape out.")
        return
    for name, option in (("model", "A model"), ("data", "--data"), ("shapes", "--shape")):
        if arguments[name]:
            raise IrbenchError(f"{option} and --suite contradict each other.", hint="Leave one of them out.")


def _readers_of_onnx(backends: tuple[BackendAddress, ...], named: bool) -> tuple[BackendAddress, ...]:
    """Return the backends that can run the suite's graphs; one that was named and cannot is refused."""
    for name, _ in backends:
        if named and "onnx" not in registry.backend(name).consumes:
            raise IrbenchError(
                f"{name} does not read ONNX, which the suite is made of.", hint="Leave it out of --backends."
            )
    return tuple(address for address in backends if "onnx" in registry.backend(address.name).consumes)


def _model(arguments: Mapping[str, Any], backends: tuple[BackendAddress, ...], scratch: Path) -> ModelReport:
    (bundle,) = resolve_bundles((arguments["model"],), False, _say)
    planned, source = trials(Asked(bundle, backends, dict(arguments["shapes"]), arguments["data"]), scratch)
    cells: list[CellResult] = []
    complete = False
    try:
        for cell in verified_cells(planned):
            cells.append(cell)
            _say(f"{cell.label}: {cell.state}")
        complete = True
    except KeyboardInterrupt:
        _say("interrupted")
    return ModelReport(bundle.name, source, complete, tuple(cells))


def _suite(pattern: str | None, backends: tuple[BackendAddress, ...], scratch: Path) -> SuiteReport:
    _say(f"collecting the cases of onnx {version('onnx')}")
    cases = collect_cases(scratch, pattern or "*")
    results: list[CaseResult] = []
    complete, watch = False, Stopwatch()
    try:
        for number, done in enumerate(run_cases(cases, backends, scratch), 1):
            results += done
            if number % _SAY_EVERY == 0:
                _say(f"{number} of {len(cases)} cases after {watch.elapsed_s:.0f} s")
        complete = True
    except KeyboardInterrupt:
        _say("interrupted")
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
    description = registry.backend(address.name).describe()
    own = (result for result in results if result.backend == label)
    return Runtime(label, description.distribution, str(description.version), counts(own))


def _print(report: SuiteReport | ModelReport, view: Document, arguments: Mapping[str, Any]) -> None:
    output: Path | None = arguments["output"]
    if arguments["form"] == "json":
        print_data(msgspec.json.format(msgspec.json.encode(report), indent=1).decode(), output)
    elif arguments["form"] == "md":
        print_data(view.as_markdown(), output)
    else:
        print_data(to_text(view, to_file=output is not None), output)


def _say(text: str) -> None:
    click.echo(text, err=True)
