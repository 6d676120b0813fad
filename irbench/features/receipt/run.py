"""``irbench.receipt`` and ``irbench.replay``: hand a result to somebody who can check it."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Unpack

from irbench.across_runs import repetition_obstacles as obstacles
from irbench.across_runs.checked_runs import read_run
from irbench.across_runs.differences import fingerprint
from irbench.across_runs.repetition_obstacles import RepetitionObstacle
from irbench.api.arguments import given_path
from irbench.api.progress import ProgressOption, Reporter, reporting
from irbench.errors import IrbenchError
from irbench.features.compare.confirm import other_confinement, other_software
from irbench.features.receipt.keywords import ReplayKeywords
from irbench.features.receipt.options import REPLAY, ReplayOptions
from irbench.features.receipt.replay import (
    Replay,
    ReplayResult,
    checked_claims,
    outcome_of_claims,
)
from irbench.features.receipt.report import Receipt, decode_receipt, encode_receipt, receipt_of
from irbench.options.option import names_keywords
from irbench.options.run import RunOptions
from irbench.options.values import RunName, run_name
from irbench.runs.measurement import measure
from irbench.runs.planned_graphs import ModelChanged, requires_graphs
from irbench.runs.repetition import own_code_obstacle, refuse_stored_folders, stored_options
from irbench.store.file_errors import explained, read_bytes
from irbench.store.folders import default_root, results_option
from irbench.store.listing import find_run
from irbench.system import host
from irbench.system.file_access import write_atomically


def receipt(
    run: RunName = "latest",
    output: str | PathLike[str] | None = None,
    *,
    results: str | PathLike[str] | None = None,
) -> Receipt:
    """Return what a run claims, with its plan, its environment and the checksums of its models and samples.

    Args:
        run: As :func:`irbench.load` takes it.
        output: A file to write it to, for :func:`replay`.
        results: The folder where runs are kept; ``None`` for the usual place.

    Raises:
        IrbenchError: There is no such run, it is damaged or was altered, it claims nothing, or the file cannot be
            written.
    """
    file = None if output is None else given_path("output", output)
    return write_receipt(run_name(run), file, None if results is None else given_path("results", results))


def write_receipt(run: str, output: Path | None, results: Path | None) -> Receipt:
    """Return the receipt of a run, written to ``output``; raises as :func:`receipt` does."""
    root = results or default_root()
    read, problems = read_run(find_run(root, run))
    if read is None:
        remedy = problems[0].hint or f"Name another run: irbench results{results_option(root)}"
        raise IrbenchError(" ".join(problem.text() for problem in problems), hint=remedy)
    receipt = receipt_of(read)
    if output is not None:
        with explained(output, "name another file with -o"):
            write_atomically(output, encode_receipt(receipt))
    return receipt


@names_keywords(REPLAY)
def replay(
    claim: str | PathLike[str],
    *models: str | PathLike[str],
    progress: ProgressOption = "auto",
    **options: Unpack[ReplayKeywords],
) -> Replay:
    """Measure what a receipt claims again, and say of each claim whether it is confirmed or refuted.

    A plan that names own code is not replayed without ``allow_own_code``.

    Args:
        claim: A file of :func:`receipt`.
        models: Where its models lie here, in the order of its plan; where they were by default.
        progress: As :func:`irbench.run` takes it.
        options: What is replayed, and how.

    Raises:
        IrbenchError: The file is not a receipt, of a newer format, or was changed after it was written.
    """
    request = REPLAY.from_keywords(options, claim=Path(claim), models=tuple(map(str, models)))
    with reporting(progress, REPLAY) as reporter:
        return replay_with(request, reporter)


def replay_with(options: ReplayOptions, reporter: Reporter) -> Replay:
    """Replay what was asked for; returns and raises what :func:`replay` does."""
    claimed = decode_receipt(read_bytes(options.claim), str(options.claim))
    obstacle = None if options.force else _obstacle(claimed)
    if obstacle is not None:
        return Replay(ReplayResult(claimed, "not-comparable", obstacle=obstacle))
    try:
        planned = _plan(claimed, options)
        refuse_stored_folders(planned)
        refused = _own_code(planned, options)
        if refused is not None:
            return _not_comparable(claimed, refused)
        stored = measure(planned, reporter, keep=requires_graphs(claimed.graphs, any_name=True))
    except ModelChanged as changed:
        return _not_comparable(claimed, obstacles.OtherGraph(names=tuple(changed.models)))
    except IrbenchError as error:
        return _not_comparable(claimed, obstacles.NotRepeatable(message=error.message, hint=error.hint))
    run = stored.document.run_id
    if not stored.document.complete:
        return Replay(ReplayResult(claimed, "undecided", run=run, obstacle=obstacles.RepetitionInterrupted()))
    claims = checked_claims(claimed, stored.document, options.within)
    return Replay(ReplayResult(claimed, outcome_of_claims(claims), claims, run))


def _not_comparable(claimed: Receipt, obstacle: RepetitionObstacle) -> Replay:
    return Replay(ReplayResult(claimed, "not-comparable", obstacle=obstacle))


def _obstacle(claimed: Receipt) -> RepetitionObstacle | None:
    if fingerprint(host.describe()) != claimed.machine:
        return obstacles.OtherMachine()
    changed = other_software(claimed.environment.get("distributions") or {})
    return obstacles.OtherSoftware(names=tuple(changed)) if changed else other_confinement(claimed.environment)


def _own_code(planned: RunOptions, options: ReplayOptions) -> RepetitionObstacle | None:
    """Return why a plan is not run that names code of the receipt's author; a model that was given does not count."""
    if options.allow_own_code:
        return None
    return own_code_obstacle(replace(planned, models=()) if options.models else planned)


def _plan(claimed: Receipt, options: ReplayOptions) -> RunOptions:
    """Return the options that ask for the claimed run again."""
    planned = stored_options(claimed.plan)
    if options.models and len(options.models) != len(planned.models):
        raise IrbenchError(
            f"The receipt has {len(planned.models)} models, and {len(options.models)} were given.",
            hint=f"Give a file for each, in this order: {', '.join(planned.models)}",
        )
    return replace(
        planned,
        models=options.models or planned.models,
        quick=options.quick or planned.quick,
        thorough=planned.thorough and not options.quick,
        budget=planned.budget if options.budget is None else options.budget,
        no_lock=options.no_lock,
        results=options.results,
        name="",
        note=f"replays {claimed.run_id}",
    )
