"""Carrying out ``irbench doctor``: look at the machine, measure a backend against itself, and say what it means."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from irbench import bundles, host
from irbench.cli.backend_rows import as_json, as_table, backend_rows
from irbench.cli.console import print_data, to_text
from irbench.cli.exits import exit_code
from irbench.cli.resolve import resolve_backends, resolve_bundles
from irbench.cli.running import measure
from irbench.doctor import Facts, Report, ReportView, Twins, describe_machine, find, judge_twins, watch
from irbench.errors import ExitCode
from irbench.ir.tiny import matmul
from irbench.measure.overhead import Overhead
from irbench.runner.plan import plan
from irbench.runner.request import RunRequest
from irbench.spec import Bundle
from irbench.worker import call_in_worker

__all__ = ["TwinsAsked", "examine"]

_DEADLINE_S = 60.0
_SIDE = 512
"""Of the matrices of our own model: enough for some milliseconds of work, so that overheads do not decide."""


@dataclass(frozen=True)
class TwinsAsked:
    """A backend that is to be measured against itself.

    Attributes:
        model: Anything that ``irbench run`` takes; empty for the model exported last, or one of our own.
        backend: Its name, perhaps with a device; ``None`` for the first that is installed.
        budget_s: Wall time it may take; ``None`` for the usual.
        results: Where the run is kept; ``None`` for the usual place.
    """

    model: str
    backend: str | None
    budget_s: float | None
    results: Path | None


def examine(asked: TwinsAsked | None, form: Literal["table", "json"], output: Path | None) -> int:
    """Print what was found, and return the exit code.

    Args:
        asked: What to measure against itself, if anything.
        form: How to print it.
        output: Where to; ``None`` for stdout.

    Raises:
        IrbenchError: This is not Linux, or what is to be measured cannot be.
    """
    host.require_linux()
    # a model or backend that is not there is told before anything else
    backend = resolve_backends([asked.backend] if asked.backend else ())[0] if asked is not None else None
    click.echo("looking at this machine for some seconds ...", err=True)
    machine = describe_machine()
    activity = watch(machine.cpus)
    overhead: Overhead = call_in_worker("irbench.measure.overhead:measure_overhead", deadline_s=_DEADLINE_S)
    facts = Facts(machine, activity, overhead.bare.median_ns)
    twins, code = None, ExitCode.OK
    if asked is not None and backend is not None:
        twins, code = _measure_twins(asked, backend)
    report = Report(facts, find(facts), overhead, twins)
    _write(report, form, output)
    return int(code)


def _write(report: Report, form: Literal["table", "json"], output: Path | None) -> None:
    rows = backend_rows(look=False)
    if form == "json":
        text = json.dumps(report.as_document([as_json(row) for row in rows]), indent=2)
    else:
        text = to_text(ReportView(report, as_table(rows)), to_file=output is not None)
    print_data(text, output)
    if report.twins is not None:
        click.echo(f"stored in {report.twins.folder}", err=True)


def _measure_twins(asked: TwinsAsked, backend: tuple[str, str]) -> tuple[Twins, ExitCode]:
    """Measure a backend against itself as any two are compared; also return what the process should tell."""
    with tempfile.TemporaryDirectory(prefix="irbench-") as folder:
        scratch = Path(folder)
        request = RunRequest(
            bundles=_model(asked.model, scratch),
            backends=(backend, backend),
            threads=host.allowance().threads,
            budget_s=asked.budget_s,
        )
        groups = plan(request, scratch)
        request = request.with_budget_for(len(groups))
        document, stored = measure(request, groups, scratch, asked.results)
    twins = judge_twins(document, stored, request.timing.within)
    return twins, exit_code(document, strict=False) or twins.exit_code


def _model(name: str, scratch: Path) -> tuple[Bundle, ...]:
    """Return the model that was named, else the one exported last, else a product of matrices."""
    if not name and bundles.latest() is None:
        name = str(matmul(scratch, "fp32", _SIDE).path)
    return resolve_bundles([name] if name else (), everything=False, say=lambda text: click.echo(text, err=True))
