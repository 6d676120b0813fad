"""Carrying out ``irbench run``: from typed options to a request, a run, its table and an exit code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click

from irbench import registry
from irbench.address import BackendAddress
from irbench.cli.console import err_console
from irbench.cli.contradictions import refuse_contradictions
from irbench.cli.exits import exit_code
from irbench.cli.formats import write_document
from irbench.cli.ineffective_options import idle_layouts, idle_levels, refuse_idle_levels
from irbench.cli.live import LiveDisplay
from irbench.cli.native_precision import native_notes
from irbench.cli.resolve import resolve_backends, resolve_bundles
from irbench.cli.settings import settings, too_many_threads
from irbench.errors import IrbenchError
from irbench.measure.lock import Company, measuring
from irbench.optimizer import variant
from irbench.result import RunDocument
from irbench.runner.campaign import run
from irbench.runner.outline import outline
from irbench.runner.plan import PlannedGroup, plan
from irbench.runner.request import RunRequest
from irbench.runner.sizes import refuse_unknown_inputs
from irbench.spec import Precision, Timing
from irbench.store import RunWriter, Store, default_root
from irbench.suggestions import did_you_mean
from irbench.system import host
from irbench.worker.scratch import scratch_folder

__all__ = ["allowed_cpus", "execute", "measure", "total_threads"]

_QUICK = Timing(min_launches=3, max_launches=3, blocks=6, max_blocks=9)
_THOROUGH = Timing(
    min_launches=10, max_launches=20, blocks=12, max_blocks=18, most_blocks=24, target=0.005, budget=900.0
)


def execute(arguments: Mapping[str, Any], form: str, output: Path | None) -> int:
    """Measure what was asked for, print it, and return the exit code.

    Raises:
        IrbenchError: The call or the plan is impossible; nothing was measured.
    """
    host.require_linux()
    refuse_contradictions(arguments, output)
    asked = _request(arguments)
    if arguments["dry_run"]:
        with scratch_folder() as folder:
            _foretell(*_planned(asked, arguments, folder), arguments["results"])
        return 0
    # exports, optimising and probing disturb whoever measures, too
    with measuring(_what(arguments), insist=bool(arguments["no_lock"])) as company, scratch_folder() as folder:
        request, groups = _planned(asked, arguments, folder)
        document, stored = measure(request, groups, folder, arguments["results"], company)
    try:
        write_document(document, form, output)
    finally:  # a file that cannot be written any more is no loss
        click.echo(f"stored in {stored}", err=True)
    return int(exit_code(document, strict=bool(arguments["strict"])))


def measure(
    request: RunRequest, groups: Sequence[PlannedGroup], scratch: Path, results: Path | None, company: Company
) -> tuple[RunDocument, Path]:
    """Measure what was planned, showing how it goes, and return the document and the folder it is stored in.

    Args:
        request: What was asked for, with each group's share of the budget.
        groups: What :func:`irbench.runner.plan.plan` made of it.
        scratch: A folder that is gone after the run.
        results: Where runs are kept; ``None`` for the usual place.
        company: Our place among those who measure on this machine.

    Raises:
        IrbenchError: The store cannot be written.
    """
    _say(outline(groups, request.timing))
    _warn(request)
    pinned = request.precisions or ("fp32", *(cell.load.precision for group in groups for cell in group.group.cells))
    native = native_notes(tuple(dict.fromkeys(request.backends)), pinned, _say)
    request = replace(request, notes=(*request.notes, *native))
    with LiveDisplay(err_console()) as display:
        writer = Store(results or default_root()).begin(host.describe(), request.as_plan())
        with _telling_what_is_kept(writer):
            return run(request, groups, scratch, writer, display.show, company.others), writer.folder


def _planned(
    asked: RunRequest, arguments: Mapping[str, Any], scratch: Path
) -> tuple[RunRequest, tuple[PlannedGroup, ...]]:
    """Return the request with its models and each group's share of the budget, and the groups."""
    bundles = resolve_bundles(arguments["models"], bool(arguments["everything"]), _say)
    refuse_unknown_inputs(asked.shapes, bundles)
    request = replace(asked, bundles=bundles)
    groups = plan(request, scratch, _say)
    levels, layouts = tuple(idle_levels(request, groups)), tuple(dict.fromkeys(idle_layouts(groups)))
    for line in (*levels, *(f"warning: {layout}" for layout in layouts)):
        _say(line)
    return replace(request, notes=(*levels, *layouts)).with_budget_for(len(groups)), groups


def _foretell(request: RunRequest, groups: Sequence[PlannedGroup], results: Path | None) -> None:
    click.echo(f"{outline(groups, request.timing)}\n{settings(request, groups)}")
    click.echo(f"would be stored in {results or default_root()}")
    _warn(request)


def _warn(request: RunRequest) -> None:
    for warning in too_many_threads(request):
        _say(f"warning: {warning}")


def _what(arguments: Mapping[str, Any]) -> str:
    """Return what is measured, in a few words, before any model is looked at."""
    names = ", ".join(Path(model).name for model in arguments["models"])
    return names or ("every exported model" if arguments["everything"] else "the model exported last")


def _request(arguments: Mapping[str, Any]) -> RunRequest:
    """Return what was asked for, without its models."""
    backends = resolve_backends(arguments["backends"] or ())
    cpus = allowed_cpus(arguments["cpus"])
    variants = _variants(arguments["optimize"])
    refuse_idle_levels(backends, variants)
    options = _options(arguments["settings"], backends)
    precisions = _precisions(arguments["precision"])
    timing = _timing(arguments)
    return RunRequest(
        bundles=(),
        backends=backends,
        batches=arguments["batch"],
        streams=arguments["streams"],
        precisions=precisions,
        variants=variants,
        threads=total_threads(arguments["threads"], cpus),
        cpus=cpus,
        io=arguments["io"],
        options=options,
        shapes=dict(arguments["shapes"]),
        baseline=arguments["baseline"],
        allow_mixed=bool(arguments["allow_mixed"])
        or any(variant(argument).conversion for argument in arguments["optimize"]),
        seed=arguments["seed"],
        timing=timing,
        budget_s=arguments["budget"],
    )


def _timing(arguments: Mapping[str, Any]) -> Timing:
    timing = _QUICK if arguments["quick"] else _THOROUGH if arguments["thorough"] else Timing()
    within = timing.within if arguments["within"] is None else arguments["within"]
    deadline = timing.deadline if arguments["deadline"] is None else arguments["deadline"]
    sustain = timing.sustain if arguments["sustain"] is None else arguments["sustain"]
    return replace(timing, tail=bool(arguments["tail"]), within=within, deadline=deadline, sustain=sustain)


def total_threads(asked: int | str | None, cpus: tuple[int, ...] | None) -> int | None:
    """Return the threads of each process; ``None`` leaves them to the runtimes."""
    if asked is None:
        return host.allowance(cpus).threads
    return asked if isinstance(asked, int) else None


def allowed_cpus(asked: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return what was asked for with ``--cpus``.

    Raises:
        IrbenchError: We may not use one of them.
    """
    allowed = host.allowance().cpus
    missing = sorted(set(asked or ()) - set(allowed))
    if missing:
        listing = ",".join(str(cpu) for cpu in allowed)
        raise IrbenchError(f"--cpus names processor {missing[0]}, which we may not use.", hint=f"We may use: {listing}")
    return asked


def _options(
    settings: tuple[tuple[str, str, str], ...], backends: tuple[BackendAddress, ...]
) -> dict[str, dict[str, str]]:
    options: dict[str, dict[str, str]] = {}
    for backend, key, value in settings:
        registry.backend(backend)
        if backend not in {name for name, _ in backends}:
            raise IrbenchError(
                f"--set {backend}.{key} names a backend that takes no part.",
                hint=f"Taking part: {', '.join(name for name, _ in backends)}.",
            )
        options.setdefault(backend, {})[key] = value
    for backend, given in options.items():
        registry.require_options(backend, given)
    return options


def _precisions(asked: tuple[str, ...] | None) -> tuple[Precision, ...] | None:
    if asked is None:
        return None
    known = get_args(Precision)
    for item in asked:
        if item not in known:
            near = did_you_mean(item, known)
            raise IrbenchError(f"There is no precision {item!r}.", hint=f"{near}Precisions: {', '.join(known)}.")
    return tuple(item for item in known if item in asked)


def _variants(asked: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(variant(item).name for item in asked))


def _say(text: str) -> None:
    click.echo(text, err=True)


@contextmanager
def _telling_what_is_kept(writer: RunWriter) -> Iterator[None]:
    """Have an error that ends a run say where the launches before it are."""
    try:
        yield
    except IrbenchError as error:
        kept = f" What was measured before is kept in {writer.folder}" if writer.document.launches else ""
        raise IrbenchError(error.message, hint=f"{error.hint}{kept}", exit_code=error.exit_code) from error
