"""ONNX's test suite on backends, or in two versions of a runtime: one worker each, restarted after a crash."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path

from irbench import __version__
from irbench.api.progress import Say
from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.errors import IrbenchError
from irbench.features.verify.cases import CaseResult, Runtime, SuiteCase, SuiteReport, Tried, operator_changes
from irbench.features.verify.cases import counts as outcome_counts
from irbench.measure.clock import Stopwatch
from irbench.spec import PythonEnvironment
from irbench.worker.failures import CallFailed, WorkerDied
from irbench.worker.process import Worker, call_in_worker

_COLLECT_DEADLINE_S = 900.0
_CASE_DEADLINE_S = 120.0
_CASES_PER_REPORT = 100
_FILE = re.compile(r"[^\w.]")
"""Characters that the name of a log does not have."""


def _collect_cases(folder: Path, pattern: str) -> tuple[SuiteCase, ...]:
    cases: tuple[SuiteCase, ...] = call_in_worker(
        "irbench.features.verify.cases:collect", folder, pattern, deadline_s=_COLLECT_DEADLINE_S
    )
    if not cases:
        raise IrbenchError(
            f"No case of the suite is called {pattern!r}.",
            hint="Names begin with test_, and * matches anything: --only 'test_add*'.",
        )
    return cases


def participant(address: BackendAddress, environment: PythonEnvironment | None) -> str:
    """Return what results call a backend: ``ort``, ``ort:cuda``, or ``ort 1.22.0`` in an environment of its own."""
    return str(address) if environment is None else f"{address} {environment.label}"


def run_cases(
    cases: Sequence[SuiteCase],
    backends: Sequence[BackendAddress],
    scratch: Path,
    deadline_s: float = _CASE_DEADLINE_S,
    environments: Sequence[PythonEnvironment] = (),
) -> Iterator[tuple[CaseResult, ...]]:
    """Yield what became of each case, one result for each backend; the backends work side by side."""
    each = product(backends, environments or (None,))
    benches = [_Bench(address, environment, scratch, deadline_s) for address, environment in each]
    try:
        for case in cases:
            if case.skip:
                yield tuple(bench.result(case, Tried("skipped", case.skip)) for bench in benches)
                continue
            for bench in benches:
                bench.begin(case)
            yield tuple(bench.result(case, bench.finish()) for bench in benches)
    finally:
        for bench in benches:
            bench.close()


@dataclass
class _Bench:
    address: BackendAddress
    environment: PythonEnvironment | None
    scratch: Path
    deadline_s: float
    worker: Worker | None = None

    @property
    def label(self) -> str:
        return participant(self.address, self.environment)

    def begin(self, case: SuiteCase) -> None:
        try:
            self._send(case)
        except WorkerDied:  # it fell after its answer to the case before, so a fresh one gets this one
            self.close()
            self._send(case)

    def _send(self, case: SuiteCase) -> None:
        if self.worker is None:
            python = self.environment.python if self.environment is not None else None
            self.worker = Worker(self.scratch / f"{_FILE.sub('-', self.label)}.log", python=python)
        target = "irbench.features.verify.trial:try_case"
        self.worker.send(target, case, *self.address, self.scratch, deadline_s=self.deadline_s)

    def finish(self) -> Tried:
        assert self.worker is not None
        try:
            tried: Tried = self.worker.receive(deadline_s=self.deadline_s)
        except CallFailed as error:
            return Tried("unsupported", error.message)
        except WorkerDied as death:
            self.close()
            return Tried("crashed", death.message)
        return tried

    def result(self, case: SuiteCase, tried: Tried) -> CaseResult:
        return CaseResult(name=case.name, kind=case.kind, operator=case.operator, backend=self.label, **vars(tried))

    def close(self) -> None:
        if self.worker is not None:
            self.worker.kill()
            self.worker = None


def readers_of_onnx(backends: Sequence[BackendAddress], *, named: bool) -> tuple[BackendAddress, ...]:
    """Return the backends that can run the suite's graphs; one that was named and cannot is refused."""
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
    """Run the cases that match; an interrupt leaves the report incomplete."""
    say(f"collecting the cases of onnx {version('onnx')}")
    cases = _collect_cases(scratch, pattern or "*")
    watch = Stopwatch()
    results: list[CaseResult] = []
    complete = False
    try:
        for number, case_results in enumerate(run_cases(cases, backends, scratch, environments=environments), 1):
            results += case_results
            if number % _CASES_PER_REPORT == 0:
                say(f"{number} of {len(cases)} cases after {watch.elapsed_s:.0f} s")
        complete = True
    except KeyboardInterrupt:
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


def _runtime(address: BackendAddress, environment: PythonEnvironment | None, results: Sequence[CaseResult]) -> Runtime:
    label = participant(address, environment)
    counts = outcome_counts(result for result in results if result.backend == label)
    if environment is not None:
        return Runtime(label, environment.runtime, environment.version, counts)
    description = registry.describe(registry.BACKENDS, address.name)
    return Runtime(label, description.distribution, str(description.version), counts)
