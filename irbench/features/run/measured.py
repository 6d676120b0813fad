"""Measure what a command asks for, and write it where it belongs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.terminal.run_hints import say_how_to_resume
from irbench.terminal.stderr import plugin_warnings_shown, say

if TYPE_CHECKING:
    from irbench.api.progress import Reporter
    from irbench.options.run import ResumeOptions, RunOptions
    from irbench.runs.measurement import ModePlan, RowFilter, StoredRun


def measured(
    options: RunOptions,
    form: str,
    output: Path | None,
    *,
    strict: bool,
    mode: ModePlan | None = None,
    keep: RowFilter | None = None,
    roofline: bool = False,
) -> int:
    """Measure, write the document, and return the exit code.

    ``mode`` and ``keep`` are those of :func:`irbench.runs.measurement.measure`.
    """
    from irbench.runs.measurement import measure

    return written(
        lambda reporter: measure(options, reporter, mode, keep),
        options.results,
        form,
        output,
        strict=strict,
        roofline=roofline,
    )


def resumed(options: ResumeOptions, form: str, output: Path | None, *, strict: bool, roofline: bool = False) -> int:
    """Continue a run, write the document, and return the exit code; takes what :func:`measured` does."""
    from irbench.features.run.resume import resume_with

    return written(
        lambda reporter: resume_with(options, reporter),
        options.results,
        form,
        output,
        strict=strict,
        roofline=roofline,
    )


def written(
    measure: Callable[[Reporter], StoredRun],
    results: Path | None,
    form: str,
    output: Path | None,
    *,
    strict: bool,
    roofline: bool = False,
) -> int:
    """Show how a measurement goes, write its document, and return the exit code.

    With ``roofline`` its tables compare rows with the peaks of the machine.

    Raises:
        IrbenchError: These are not known, or the format is not that of tables; nothing was measured.
    """
    from irbench.api.progress import displayed
    from irbench.runs.exit_codes import exit_code
    from irbench.terminal.run_output import refuse_impossible, write_run

    refuse_impossible(form, output)
    if roofline:
        _require_roofs(form)
    with plugin_warnings_shown(), displayed() as reporter:
        stored = measure(reporter)
    try:
        write_run(stored.document, stored.folder, form, output, roofline=roofline)
    finally:  # a file that cannot be written any more loses nothing
        say(f"stored in {stored.folder}")
        say_how_to_resume(stored.document, results, began_here=True)
    return int(exit_code(stored.document, strict=strict))


def _require_roofs(form: str) -> None:
    from irbench.errors import IrbenchError
    from irbench.runs.work import known_peaks
    from irbench.terminal.run_output import refuse_options_of_the_table

    if form != "table":
        refuse_options_of_the_table(roofline=True)
    if known_peaks() is None:
        raise IrbenchError(
            "--roofline compares rows with the peaks of this machine, which are not known.",
            hint="irbench doctor --peak measures them.",
        )
