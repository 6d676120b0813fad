"""Run ONNX's test suite on backends, or on one backend in two versions of its runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from itertools import product
from pathlib import Path

from irbench import __version__
from irbench.api.progress import Say
from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.errors import IrbenchError
from irbench.features.verify.case import CaseResult, Runtime, SuiteReport, operator_changes
from irbench.features.verify.case import counts as outcome_counts
from irbench.features.verify.suite import collect_cases, participant, run_cases
from irbench.measure.clock import Stopwatch
from irbench.spec import PythonEnvironment

_SAY_EVERY = 100


def readers_of_onnx(backends: Sequence[BackendAddress], *, named: bool) -> tuple[BackendAddress, ...]:
    """Return the backends that can run the suite's graphs.

    Args:
        backends: All that are meant.
        named: Whether the user named them.

    Raises:
        IrbenchError: One that was named cannot.
    """
    readers = tuple(address for address in backends if "onnx" in registry.backend(address.name).consumes)
    for address in backends:
        if named and address not in readers:
            raise IrbenchError(
                f"{address.name} does not read ONNX, and the test suite consists of ONNX models.",
                hint="Remove it from --backends.",
            )
    return readers


def run_suite(
    pattern: str | None,
    backends: Sequence[BackendAddress],
    environments: Sequence[PythonEnvironment],
    scratch: Path,
    say: Say,
) -> SuiteReport:
    """Run the cases that match; an interrupt leaves the report incomplete.

    Args:
        pattern: Of the names of cases; ``None`` for all.
        backends: Those that run them.
        environments: Two versions of the runtime; none for the one that is installed.
        scratch: Where cases and logs are written.
        say: Receives how it goes.

    Raises:
        IrbenchError: No case matches.
    """
    say(f"collecting the cases of onnx {version('onnx')}")
    cases = collect_cases(scratch, pattern or "*")
    watch = Stopwatch()

    def report(done: int) -> None:
        say(f"{done} of {len(cases)} cases after {watch.elapsed_s:.0f} s")

    results, complete = _results(run_cases(cases, backends, scratch, environments=environments), report)
    if not complete:
        say("interrupted")
    between = tuple(participant(address, each) for address, each in product(backends, environments))
    return SuiteReport(
        suite="onnx",
        suite_version=version("onnx"),
        irbench_version=__version__,
        pattern=pattern,
        seconds=round(watch.elapsed_s, 1),
        complete=complete,
        backends=tuple(
            _runtime(address, each, results) for address, each in product(backends, environments or (None,))
        ),
        cases=tuple(results),
        between=between,
        changes=operator_changes(results, *between) if between else (),
    )


def _results(running: Iterable[tuple[CaseResult, ...]], report: Callable[[int], None]) -> tuple[list[CaseResult], bool]:
    """Return what became of the cases, and whether there was no interrupt; hundreds are reported."""
    results: list[CaseResult] = []
    try:
        for number, done in enumerate(running, 1):
            results += done
            if number % _SAY_EVERY == 0:
                report(number)
    except KeyboardInterrupt:
        return results, False
    return results, True


def _runtime(address: BackendAddress, environment: PythonEnvironment | None, results: Sequence[CaseResult]) -> Runtime:
    label = participant(address, environment)
    counts = outcome_counts(result for result in results if result.backend == label)
    if environment is not None:
        return Runtime(label, environment.runtime, environment.version, counts)
    description = registry.describe(registry.BACKENDS, address.name)
    return Runtime(label, description.distribution, str(description.version), counts)
