"""``irbench.compare``: whether what was measured last is slower than what was measured before."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from irbench.across_runs.side_comparison import RunComparison, Side, compare_sides, read_side
from irbench.across_runs.texts import blocked_message
from irbench.api.progress import ProgressOption, Reporter, Say, reporting
from irbench.errors import IrbenchError
from irbench.features.compare.confirmed_regressions import Confirmation
from irbench.features.compare.keywords import CompareKeywords
from irbench.features.compare.options import COMPARE, CompareOptions
from irbench.features.compare.report import ComparedRuns
from irbench.options.option import names_keywords
from irbench.options.values import RunName, run_name
from irbench.store.folders import default_root, results_option
from irbench.worker import WorkerDied, call_in_worker
from irbench.worker.scratch import scratch_folder

_DEADLINE_S = 600.0


@names_keywords(COMPARE)
def compare(
    base: RunName, new: RunName = "latest", *, progress: ProgressOption = "auto", **options: Unpack[CompareKeywords]
) -> ComparedRuns:
    """Compare two sides of stored runs row by row, over the launches of both.

    With ``confirm``, what got worse is measured again before ``regressed`` is true, and so is what could not be judged.

    Args:
        base: The older side: a run as :func:`irbench.load` takes it, a folder or archive with runs in it, or
            ``machine:`` and the beginning of a fingerprint.
        new: The newer side; the newest run by default.
        progress: As :func:`irbench.run` takes it.
        options: What counts, and what is measured again.

    Raises:
        IrbenchError: A side has no run that can be used, the machines differ, or a keyword has an invalid value.
    """
    request = COMPARE.from_keywords(options, base=run_name(base), new=run_name(new))
    with reporting(progress, COMPARE) as reporter:
        return compare_with(request, reporter)


def compare_with(options: CompareOptions, reporter: Reporter) -> ComparedRuns:
    """Compare what was asked for; returns and raises what :func:`compare` does."""
    with scratch_folder() as scratch:
        sides = _sides(options, scratch, reporter.say)
        comparison = compare_sides(*sides, options.checked, options.within)
        if comparison.blocking and not options.force:
            raise IrbenchError(
                blocked_message(comparison), hint="Measure both on one machine, or compare them anyway with --force."
            )
        if not (options.confirm and comparison.suspects):
            return ComparedRuns(comparison)
        return ComparedRuns(comparison, _confirmed(comparison, sides, options, reporter))


def _confirmed(
    comparison: RunComparison, sides: tuple[Side, Side], options: CompareOptions, reporter: Reporter
) -> Confirmation:
    from irbench.features.compare.confirm import confirm

    allowed = options.allow_own_code
    return confirm(comparison, sides, options.checked, options.results, reporter, allow_own_code=allowed)


def unpack_apart(archive: Path, target: Path) -> None:
    """Unpack an archive of runs in a process of its own, which may die of it alone."""
    try:
        call_in_worker("irbench.store.archives:unpack", archive, target, deadline_s=_DEADLINE_S)
    except WorkerDied as death:
        remedy = "It may be damaged, or made to do harm: copy it again, or pack it again with irbench results export."
        raise death.during(f"Reading {archive} failed.", remedy) from death


def _sides(options: CompareOptions, scratch: Path, say: Say) -> tuple[Side, Side]:
    """Return both sides; everything that is wrong with either is said before one of them is refused."""
    root = options.results or default_root()
    read: list[Side] = []
    errors: list[IrbenchError] = []
    for name, folder in ((options.base, scratch / "base"), (options.new, scratch / "new")):
        folder.mkdir()
        try:
            read.append(read_side(name, root, folder, unpack_apart))
        except IrbenchError as error:
            errors.append(error)
    problems = [problem for side in read for problem in side.problems]
    for problem in dict.fromkeys(problem.text() for problem in problems):
        say(f"warning: {problem}")
    for other in errors[:-1]:
        say(f"error: {other.message}")
    if errors:
        raise errors[-1]
    empty = [side.name for side in read if not side.runs]
    if empty:
        raise IrbenchError(
            f"{' and '.join(empty)}: no run that can be compared.",
            hint=problems[0].hint or f"List the stored runs: irbench results{results_option(root)}",
        )
    base, new = read
    is_newest = options.new == "latest"  # also where the newer side was left out
    if is_newest and [run.run_id for run in base.runs] == [run.run_id for run in new.runs]:
        raise IrbenchError(
            f"Both sides are the same run: {new.runs[-1].run_id}.",
            hint=f"Name an older run first; irbench results{results_option(root)} lists them.",
        )
    return base, new
