"""Carrying out ``irbench run``: from typed options to a request, a run, its table and an exit code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click

from irbench import host, registry
from irbench.cli.console import err_console
from irbench.cli.contradictions import refuse_contradictions
from irbench.cli.exits import exit_code
from irbench.cli.formats import write_document
from irbench.cli.groups import did_you_mean
from irbench.cli.live import LiveDisplay
from irbench.cli.native import native_notes
from irbench.cli.resolve import resolve_backends, resolve_bundles
from irbench.cli.settings import settings, too_many_threads
from irbench.errors import IrbenchError
from irbench.measure.lock import measuring, who_measures
from irbench.optimize import variant
from irbench.result import RunDocument
from irbench.runner.campaign import run
from irbench.runner.outline import outline
from irbench.runner.plan import PlannedGroup, plan
from irbench.runner.request import RunRequest
from irbench.spec import Precision, Timing
from irbench.store import RunWriter, Store, default_root
from irbench.worker.scratch import scratch_folder

__all__ = ["execute", "measure"]

_QUICK = Timing(min_launches=3, max_launches=3, blocks=6, max_blocks=9, sustain=0.0)
_THOROUGH = Timing(min_launches=10, max_launches=20, blocks=12, max_blocks=18, target=0.005, budget=900.0)


def execute(arguments: Mapping[str, Any], form: str, output: Path | None) -> int:
    """Measure what was asked for, print it, and return the exit code.

    Raises:
        IrbenchError: The call or the plan is impossible; nothing was measured.
    """
    host.require_linux()
    refuse_contradictions(arguments, output)
    request = _request(arguments)
    with scratch_folder() as folder:
        groups = plan(request, folder, _say)
        request = request.with_budget_for(len(groups))
        if arguments["dry_run"]:
            click.echo(f"{outline(groups, request.timing)}\n{settings(request)}")
            click.echo(f"would be stored in {arguments['results'] or default_root()}")
            return 0
        lock = not arguments["no_lock"]
        document, stored = measure(request, groups, folder, arguments["results"], lock=lock)
    try:
        write_document(document, form, output)
    finally:  # a file that cannot be written any more is no loss
        click.echo(f"stored in {stored}", err=True)
    return int(exit_code(document, strict=bool(arguments["strict"])))


def measure(
    request: RunRequest, groups: Sequence[PlannedGroup], scratch: Path, results: Path | None, *, lock: bool = True
) -> tuple[RunDocument, Path]:
    """Measure what was planned, showing how it goes, and return the document and the folder it is stored in.

    Args:
        request: What was asked for, with each group's share of the budget.
        groups: What :func:`irbench.runner.plan.plan` made of it.
        scratch: A folder that is gone after the run.
        results: Where runs are kept; ``None`` for the usual place.
        lock: Whether nobody else may measure on this machine meanwhile.

    Raises:
        IrbenchError: The store cannot be written, or someone else is measuring; nothing was stored then.
    """
    _say(outline(groups, request.timing))
    for warning in too_many_threads(request):
        _say(f"warning: {warning}")
    request = replace(request, notes=native_notes(tuple(dict.fromkeys(request.backends)), request.precisions, _say))
    with _measuring(request, lock=lock) as noted, LiveDisplay(err_console()) as display:
        writer = Store(results or default_root()).begin(host.describe(), noted.as_plan())
        with _telling_what_is_kept(writer):
            return run(noted, groups, scratch, writer, display.show), writer.folder


def _request(arguments: Mapping[str, Any]) -> RunRequest:
    backends = resolve_backends(arguments["backends"] or ())
    cpus = _allowed_cpus(arguments["cpus"])
    options = _options(arguments["settings"], backends)
    precisions = _precisions(arguments["precision"])
    timing = _timing(arguments)
    bundles = resolve_bundles(arguments["models"], bool(arguments["everything"]), _say)
    shapes = dict(arguments["shapes"])
    _refuse_unknown_inputs(shapes, {spec.tensor.name for bundle in bundles for spec in bundle.inputs})
    return RunRequest(
        bundles=bundles,
        backends=backends,
        batches=arguments["batch"],
        streams=arguments["streams"],
        precisions=precisions,
        variants=_variants(arguments["optimize"]),
        threads=_threads(arguments["threads"], cpus),
        cpus=cpus,
        io=arguments["io"],
        options=options,
        shapes=shapes,
        baseline=arguments["baseline"],
        allow_mixed=bool(arguments["allow_mixed"]) or any(variant(one).conversion for one in arguments["optimize"]),
        seed=arguments["seed"],
        timing=timing,
        budget_s=arguments["budget"],
    )


def _timing(arguments: Mapping[str, Any]) -> Timing:
    timing = _QUICK if arguments["quick"] else _THOROUGH if arguments["thorough"] else Timing()
    within = timing.within if arguments["within"] is None else arguments["within"]
    deadline = timing.deadline if arguments["deadline"] is None else arguments["deadline"]
    return replace(timing, tail=bool(arguments["tail"]), within=within, deadline=deadline)


def _threads(asked: int | str | None, cpus: tuple[int, ...] | None) -> int | None:
    """Return the threads of each process; ``None`` leaves them to the runtimes."""
    if asked is None:
        return host.allowance(cpus).threads
    return asked if isinstance(asked, int) else None


def _allowed_cpus(asked: tuple[int, ...] | None) -> tuple[int, ...] | None:
    allowed = host.allowance().cpus
    missing = sorted(set(asked or ()) - set(allowed))
    if missing:
        listing = ",".join(str(cpu) for cpu in allowed)
        raise IrbenchError(f"--cpus names processor {missing[0]}, which we may not use.", hint=f"We may use: {listing}")
    return asked


def _options(
    settings: tuple[tuple[str, str, str], ...], backends: tuple[tuple[str, str], ...]
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
    return options


def _precisions(asked: tuple[str, ...]) -> tuple[Precision, ...]:
    known = get_args(Precision)
    for one in asked:
        if one not in known:
            near = did_you_mean(one, known)
            raise IrbenchError(f"There is no precision {one!r}.", hint=f"{near}Precisions: {', '.join(known)}.")
    return tuple(one for one in known if one in asked)


def _variants(asked: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(variant(one).name for one in asked))


def _refuse_unknown_inputs(shapes: Mapping[str, tuple[int, ...]], inputs: set[str]) -> None:
    for name in shapes:
        if name not in inputs:
            raise IrbenchError(f"No model has an input {name!r}.", hint=f"Inputs: {', '.join(sorted(inputs))}.")


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


@contextmanager
def _measuring(request: RunRequest, *, lock: bool) -> Iterator[RunRequest]:
    """Hold the machine's lock on measuring, or have every table say who else was measuring."""
    if lock:
        with measuring(", ".join(bundle.name for bundle in request.bundles)):
            yield request
        return
    other = None
    with suppress(IrbenchError):  # without the lock, its file may be out of reach
        other = who_measures()
    notes = () if other is None else (f"{other} was measuring at the same time, as --no-lock allows.",)
    yield replace(request, notes=(*request.notes, *notes))
