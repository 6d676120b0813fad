"""Carrying out ``irbench doctor``: look at the machine, measure a backend against itself, and say what it means."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from irbench import bundles, registry
from irbench.address import BackendAddress
from irbench.cli.backend_rows import as_json, as_table, backend_rows
from irbench.cli.console import print_data, to_text
from irbench.cli.resolve import resolve_backends, resolve_bundles
from irbench.cli.running import allowed_cpus, measure, total_threads
from irbench.diagnostics import Facts, Report, ReportView, describe_machine, find, judge_self_comparison, watch
from irbench.diagnostics.self_comparison import Outcome
from irbench.errors import ExitCode
from irbench.measure.clock import reading_ns
from irbench.measure.lock import Company, measuring
from irbench.measure.overhead import Overhead
from irbench.onnx.probe_graph import matmul
from irbench.runner.plan import plan
from irbench.runner.request import RunRequest
from irbench.system import host
from irbench.worker import call_in_worker
from irbench.worker.scratch import scratch_folder

__all__ = ["SelfComparisonRequest", "examine"]

_EXITS: Mapping[Outcome, ExitCode] = {
    "passed": ExitCode.OK,
    "failed": ExitCode.DIFFERENT,
    "undecided": ExitCode.UNDECIDED,
    "busy": ExitCode.UNDECIDED,
    "mismatch": ExitCode.DIFFERENT,
    "broken": ExitCode.FAILED_CELL,
    "interrupted": ExitCode.INTERRUPTED,
}
_DEADLINE_S = 60.0
_OWN_SHAPE = (1, 512, 512)
"""Of our own model's input: enough for some milliseconds of work, so that overheads do not decide."""


@dataclass(frozen=True)
class SelfComparisonRequest:
    """A backend that is to be measured against itself.

    Attributes:
        model: Anything that ``irbench run`` takes; empty for the model exported last, or one of our own.
        backend: Its name, perhaps with a device; ``None`` for one that may serve as a reference.
        threads: Total for each process, ``native``, or ``None`` for the physical cores.
        cpus: Processors that it may use; ``None`` for all that are allowed.
        budget_s: Wall time it may take; ``None`` for the usual.
        results: Where the run is kept; ``None`` for the usual place.
        lock: Whether nobody else may measure on this machine meanwhile.
    """

    model: str
    backend: str | None
    threads: int | Literal["native"] | None
    cpus: tuple[int, ...] | None
    budget_s: float | None
    results: Path | None
    lock: bool


def examine(asked: SelfComparisonRequest | None, form: Literal["table", "json"], output: Path | None) -> int:
    """Print what was found, and return the exit code.

    Args:
        asked: What to measure against itself, if anything.
        form: How to print it.
        output: Where to; ``None`` for stdout.

    Raises:
        IrbenchError: This is not Linux, or what is to be measured cannot be.
    """
    host.require_linux()
    with _place(asked) as company, scratch_folder() as folder:
        # a backend or model that is not there is told before anything is looked at
        request = None if asked is None else _request(asked, folder)
        facts, overhead = _look()
        self_comparison = None
        if asked is not None and request is not None and company is not None:
            document, stored = measure(request, plan(request, folder), folder, asked.results, company)
            self_comparison = judge_self_comparison(document, stored, request.timing)
    _write(Report(facts, find(facts), overhead, self_comparison), form, output)
    return int(ExitCode.OK if self_comparison is None else _EXITS[self_comparison.outcome])


def _look() -> tuple[Facts, Overhead]:
    _say("looking at this machine for some seconds ...")
    machine = describe_machine()
    activity = watch(machine.cpus)
    overhead: Overhead = call_in_worker("irbench.measure.overhead:measure_overhead", deadline_s=_DEADLINE_S)
    return Facts(machine, activity, reading_ns()), overhead


def _write(report: Report, form: Literal["table", "json"], output: Path | None) -> None:
    rows = backend_rows(look=False)
    if form == "json":
        text = json.dumps(report.as_document([as_json(row) for row in rows]), indent=2)
    else:
        text = to_text(ReportView(report, as_table(rows)), to_file=output is not None)
    print_data(text, output)
    if report.self_comparison is not None:
        _say(f"stored in {report.self_comparison.folder}")


def _request(asked: SelfComparisonRequest, scratch: Path) -> RunRequest:
    """Return the plan of a run in which one backend is named twice, and say what was chosen for want of a name."""
    backend, why_backend = _backend(asked.backend)
    model, why_model = _model(asked.model, scratch)
    notes = tuple(filter(None, (why_backend, why_model)))
    for note in notes:
        _say(note)
    cpus = allowed_cpus(asked.cpus)
    return RunRequest(
        bundles=resolve_bundles([model], everything=False, say=_say),
        backends=(backend, backend),
        notes=notes,
        threads=total_threads(asked.threads, cpus),
        cpus=cpus,
        budget_s=asked.budget_s,
    ).with_budget_for(1)


def _place(asked: SelfComparisonRequest | None) -> AbstractContextManager[Company | None]:
    """Return what keeps others from measuring meanwhile, where anything is measured."""
    if asked is None:
        return nullcontext()
    return measuring(asked.model or "a backend against itself", insist=not asked.lock)


def _backend(asked: str | None) -> tuple[BackendAddress, str]:
    """Return the name and device of the backend, and why it was chosen where none was named.

    A runtime that others are held against is the one whose steadiness says most of the machine.
    """
    if asked is not None:
        return resolve_backends([asked])[0], ""
    installed = resolve_backends(())
    trusted = [address for address in map(BackendAddress, registry.references_in_order()) if address in installed]
    chosen = (trusted or installed)[0]
    why = "a runtime that other answers are held against" if trusted else "the first that is installed"
    return chosen, f"measured against itself: {chosen.name}, {why} (--backend names another)"


def _model(asked: str, scratch: Path) -> tuple[str, str]:
    """Return the model's name, folder or file, and why it was chosen where none was named."""
    if asked:
        return asked, ""
    latest = bundles.latest()
    if latest is None:
        return str(matmul(scratch, "fp32", _OWN_SHAPE).path), "on a product of matrices: no model was exported yet"
    return str(latest), f"on {latest.parent.name}, the model exported last (--aa MODEL names another)"


def _say(text: str) -> None:
    click.echo(text, err=True)
