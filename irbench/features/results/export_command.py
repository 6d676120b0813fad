"""``irbench results export``: runs as an archive, or as files for other programs."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from irbench.errors import ExitCode, IrbenchError
from irbench.features.results.options import RESULTS_EXPORT, RunFilter
from irbench.render.formats.export_formats import ARCHIVE, FORMATS, format_for
from irbench.system.file_states import is_file
from irbench.terminal.completion import RUN
from irbench.terminal.declared import declared
from irbench.terminal.formats import COLUMNS, EXPORT_FORMAT, OutputFile
from irbench.terminal.formats import RESULTS as RESULTS_FOLDER
from irbench.terminal.stderr import say

_MOST_NAMED = 10


_EXAMPLES = """\b
Examples:
  irbench results export latest 01KAJ3WQ -o runs.tar.gz
  irbench results export --all -o runs.parquet
  irbench results export --model resnet50 --since 7d --columns created,label,p50_ms -o week.csv
  irbench results export before --format pyperf -o before.json
"""


@click.command("export", short_help="Export runs to an archive or a file.", epilog=_EXAMPLES)
@click.argument("runs", nargs=-1, metavar="[RUN]...", type=RUN)
@click.option("--all", "everything", is_flag=True, help="Every stored run.")
@declared(RESULTS_EXPORT)
@EXPORT_FORMAT
@COLUMNS
@click.option(
    "-o",
    "--output",
    type=OutputFile(path_type=Path),
    metavar="FILE",
    help="The file to write; - is standard output, the default for text.",
)
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists; an archive replaces only an archive.")
@RESULTS_FOLDER
def export(
    runs: tuple[str, ...],
    everything: bool,
    form: str | None,
    columns: tuple[str, ...],
    output: Path | None,
    force: bool,
    results: Path | None,
    **filters: Any,
) -> int:
    """Export runs to an archive or a file.

    RUN is a run's name, its id or the beginning of its id, its folder, or `latest`; without RUN, options choose.
    All checksums are verified. An archive holds raw samples and logs (of each log, the last megabyte): read it with
    `irbench results import`, or unpack it with tar in a results folder. The other formats have a row for each row of
    the runs, also for failed ones, and docs/exports.md describes them. A run that cannot be read is reported, and the
    others are exported. An existing FILE is overwritten only with --force.
    """
    from irbench.store.folders import default_root

    root = results or default_root()
    format_name = _format(form, output)
    if output is not None and not force and is_file(output):  # a pipe or a device loses nothing
        raise IrbenchError(f"{output} exists already.", hint="Give another file with -o, or overwrite it with --force.")
    names, problems = _chosen(root, runs, RunFilter(**filters), everything=everything)
    for problem in problems:
        say(f"error: {problem}")
    if format_name == ARCHIVE:
        _pack(root, names, columns, output)
        are_all_exported = True
    else:
        are_all_exported = _write(root, names, format_name, columns, output)
    return int(ExitCode.OK if are_all_exported and not problems else ExitCode.FAILED_CELL)


def _format(form: str | None, output: Path | None) -> str:
    chosen = format_for(output) if form is None and output is not None else None
    return form or (chosen.name if chosen is not None else ARCHIVE)


def _chosen(
    root: Path,
    runs: tuple[str, ...],
    run_filter: RunFilter,
    *,
    everything: bool,
) -> tuple[tuple[str | Path, ...], tuple[str, ...]]:
    """Return the runs that are meant, as folders and oldest first where options choose them, and what is damaged."""
    is_chosen = everything or run_filter != RunFilter()
    if runs and is_chosen:
        raise IrbenchError("RUN and options that choose runs cannot be combined.", hint="Leave one of them out.")
    if runs:
        return runs, ()
    if not is_chosen:
        raise IrbenchError(
            "No run is named.", hint="Name runs, or choose them with --all, `--model`, `--backend` or --since."
        )
    from irbench.features.results.run import chosen_entries
    from irbench.store.folders import results_option
    from irbench.store.listing import list_runs

    listing = list_runs(root)
    entries = chosen_entries(listing.entries, run_filter)
    if not entries and not listing.problems:
        raise IrbenchError(
            f"No stored run in {root} matches.", hint=f"List the stored runs: irbench results{results_option(root)}"
        )
    return tuple(Path(entry.folder) for entry in reversed(entries)), listing.problems


def _pack(root: Path, names: tuple[str | Path, ...], columns: tuple[str, ...], output: Path | None) -> None:
    from irbench.features.results.run import export_runs
    from irbench.terminal.console import print_lines

    if columns:
        raise IrbenchError("--columns does not apply to an archive.", hint="Add --format csv, or leave it out.")
    if output is None:
        raise IrbenchError(
            "An archive cannot be written to standard output.", hint="Name a file with -o, or add --format csv."
        )
    _say_which(root, names)
    folders = export_runs(names, output, format=ARCHIVE, results=root)
    print_lines(_exported([folder.name for folder in folders]))


def _write(root: Path, names: tuple[str | Path, ...], name: str, columns: tuple[str, ...], output: Path | None) -> bool:
    from irbench.render.footer import incomplete
    from irbench.runs.results_export import export_named
    from irbench.store.folders import results_option
    from irbench.terminal.console import print_lines
    from irbench.terminal.run_output import refuse_impossible, write_export

    refuse_impossible(name, output, columns)
    _say_which(root, names)
    report = export_named(root, names, FORMATS[name], columns)
    is_any_read = bool(report.export.runs)
    if is_any_read:
        write_export(FORMATS[name], report.export, output)
    for error in report.problems:
        say(f"error: {error.message}")
    if not is_any_read:
        raise IrbenchError(
            "None of the runs can be exported.", hint=f"List the stored runs: irbench results{results_option(root)}"
        )
    for run in report.export.runs:
        if not run.is_complete:
            say(f"warning: {run.run_id}: {incomplete(run.document)}")
    if output is not None:
        print_lines(_exported([run.run_id for run in report.export.runs]))
    return not report.problems


def _exported(run_ids: Sequence[str]) -> str:
    """Return what is said of exported runs: each on a line, unless nobody would read so many lines."""
    if len(run_ids) > _MOST_NAMED:
        return f"exported {len(run_ids)} runs: {run_ids[0]} to {run_ids[-1]}"
    return "\n".join(f"exported {run_id}" for run_id in run_ids)


def _say_which(root: Path, names: tuple[str | Path, ...]) -> None:
    """Say which runs are meant where that is not obvious; what cannot be found is reported later."""
    from irbench.terminal.run_hints import say_which_run

    for name in names:
        if not isinstance(name, Path):
            with contextlib.suppress(IrbenchError):
                say_which_run(root, name)
