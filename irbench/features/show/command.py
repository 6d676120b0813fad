"""``irbench show``: print a stored run again, or its raw samples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from irbench.errors import IrbenchError, one_line
from irbench.terminal.completion import RUN
from irbench.terminal.formats import COLUMNS, OUTPUT, RESULTS, ROOFLINE, RUN_FORMAT
from irbench.terminal.stderr import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from irbench.core.result import RunDocument
    from irbench.features.sweep.report import Sweep

_EXAMPLES = """\b
Examples:
  irbench show
  irbench show 01KAJ3WQ --format json -o run.json
  irbench show --format csv --columns label,p50_ms,speedup
  irbench show --all-columns
  irbench show --plot
  irbench show latest --samples -o samples.csv
  irbench show latest --code "openvino x4"
  irbench show night --format csv -o night.csv
"""


@click.command("show", epilog=_EXAMPLES)
@click.argument("run", required=False, type=RUN)
@click.argument("row", required=False)
@click.option("--code", is_flag=True, help="Print the program that runs ROW, or the winner, without irbench.")
@click.option("--samples", is_flag=True, help="Print the raw samples instead, as CSV or JSON Lines.")
@click.option("--intervals", is_flag=True, help="Show medians over launches with confidence intervals.")
@click.option("--warnings", is_flag=True, help="Show warnings with their remedies, and why rows failed, in full.")
@click.option(
    "--memory", is_flag=True, help="Show the memory of the rows instead: peak, private, and what added to it."
)
@click.option(
    "--all-columns", is_flag=True, help="Show all columns of the table: spread, errors, start-up and memory as well."
)
@click.option(
    "--plot",
    is_flag=True,
    help="Draw speedups with their intervals below the table, and FPS against each setting in which rows differ.",
)
@ROOFLINE
@RUN_FORMAT
@COLUMNS
@OUTPUT
@RESULTS
@click.pass_context
def command(
    context: click.Context,
    /,
    run: str | None,
    row: str | None,
    code: bool,
    samples: bool,
    intervals: bool,
    warnings: bool,
    memory: bool,
    all_columns: bool,
    plot: bool,
    roofline: bool,
    form: str,
    columns: tuple[str, ...],
    output: Path | None,
    results: Path | None,
) -> None:
    """Show a stored run or its raw samples.

    RUN is a run's name, its id or the beginning of its id, its folder, or `latest`, the default: the newest run in
    which at least one row was measured. A name of several runs means the newest of them, by the same rule. The name of
    a sweep shows its tables, and all of their rows as one table; formats such as csv have the rows of all its runs.

    --code prints the program that runs a row with its settings and without irbench, of the graph that `irbench deploy`
    writes beside it. ROW is what the table calls the row.

    --samples prints for each sample its table (group), model, row, launch and block, whether the block was disturbed
    and whether it counts, when the sample was issued and completed in nanoseconds from the start of its round, its
    latency, and its number of calls. The kind is `round` for the calls that are compared, `tail` for the consecutive
    calls of --tail, and `sustained` for the summary of a row's run of --sustain. All checksums are verified before
    anything is printed.
    """
    from irbench.terminal.run_hints import say_how_to_resume
    from irbench.terminal.run_output import refuse_impossible, refuse_options_of_the_table, write_document, write_run

    shows = {"intervals": intervals, "warnings": warnings, "memory": memory, "plot": plot, "roofline": roofline}
    of_table = {**shows, "all-columns": all_columns}
    if row is not None and not code:
        raise IrbenchError(f"Only --code is of one row, {row}.", hint="Add --code, or leave the row out.")
    if samples or code or form != "table":
        refuse_options_of_the_table(**of_table)
    if code:
        _write_code(_found(run, results)[1], row, output, results)
        return
    if samples:
        sample_format = _sample_format(context, form, columns)
        _write_samples(*_found(run, results), sample_format, output)
        return
    refuse_impossible(form, output, columns)
    if run is not None and (swept := _sweep(run, results)) is not None:
        _refuse_options_of_runs(swept, {name: given for name, given in of_table.items() if name != "plot"})
        _write_sweep(swept, form, output, columns, plot=plot)
        return
    folder, document = _found(run, results)
    if form == "table":
        _refuse_memory_of_others(document, memory=memory)
        _refuse_plots_of_others(document, plot=plot)
        _refuse_unknown_roofs(document, roofline=roofline)
        _refuse_absent_columns(document, columns, all_columns=all_columns)
        write_document(document, folder, form, output, columns="all" if all_columns else columns or "usual", **shows)
        say_how_to_resume(document, results)
    else:
        write_run(document, folder, form, output, columns)


def _sweep(name: str, results: Path | None) -> Sweep | None:
    from irbench.features.sweep.stored import stored_sweep
    from irbench.store.folders import default_root

    return stored_sweep(results or default_root(), name)


def _refuse_options_of_runs(sweep: Sweep, options: Mapping[str, bool]) -> None:
    run = next((table.run for table in sweep.overview.tables if table.run), "RUN")
    for option, is_given in options.items():
        if is_given:
            raise IrbenchError(
                f"--{option} applies to a run, and {sweep.name} is a sweep.",
                hint=f"Show one of its tables: irbench show {run} --{option}",
            )


def _write_sweep(sweep: Sweep, form: str, output: Path | None, columns: tuple[str, ...], *, plot: bool) -> None:
    from irbench.render.formats.export_formats import FORMATS
    from irbench.runs.results_export import export_named
    from irbench.terminal.console import print_data, to_text
    from irbench.terminal.run_output import write_export

    if form == "table" and columns:
        raise IrbenchError("--columns applies to the table of a run.", hint="Add --format csv, or name a run.")
    if form == "table":
        print_data(to_text(sweep.shown(plot=plot), to_file=output is not None), output)
    elif form == "json" or (form == "md" and not columns):
        print_data(sweep.to_text("json" if form == "json" else "md"), output)
    else:
        folders = [table.entry.folder for table in sweep.overview.tables if table.entry is not None]
        report = export_named(sweep.folder.parents[1], list(map(Path, folders)), FORMATS[form], columns)
        write_export(FORMATS[form], report.export, output)
        report.raise_problems(output or Path("-"))


def _found(run: str | None, results: Path | None) -> tuple[Path, RunDocument]:
    from irbench.store.folders import default_root
    from irbench.store.listing import find_run
    from irbench.store.runs import Store
    from irbench.terminal.run_hints import say_which_run

    store = Store(results or default_root())
    say_which_run(store.root, run)
    folder = find_run(store.root, run)
    document = store.load(folder)
    _introduce(document, folder)
    return folder, document


def _refuse_memory_of_others(document: RunDocument, *, memory: bool) -> None:
    if memory and not document.groups:
        raise IrbenchError(
            "--memory applies to runs that compare speeds.",
            hint="The table of a soak has its memory, and that of cold starts none: leave --memory out.",
        )


def _refuse_plots_of_others(document: RunDocument, *, plot: bool) -> None:
    if plot and not document.groups:
        raise IrbenchError(
            "--plot applies to runs that compare speeds.", hint="Tables of cold starts and soaks: leave --plot out."
        )


def _refuse_unknown_roofs(document: RunDocument, *, roofline: bool) -> None:
    if roofline and all(row.work is None for table in document.groups for row in table.cells):
        raise IrbenchError(
            "The peaks of the machine were not known when this was measured, so its rows have no roof.",
            hint="irbench doctor --peak measures them; then measure again with irbench run --roofline.",
        )


def _refuse_absent_columns(document: RunDocument, columns: tuple[str, ...], *, all_columns: bool) -> None:
    from irbench.render.speed_table import columns_of

    if columns and all_columns:
        raise IrbenchError("--columns and --all-columns contradict each other.", hint="Leave one of them out.")
    if columns and not document.groups:
        raise IrbenchError(
            "--columns applies to tables that compare speeds.", hint="Leave it out, or add --format csv."
        )
    known = tuple(dict.fromkeys(name for table in document.groups for name in columns_of(table)))
    for name in columns:
        if name not in known:
            raise IrbenchError(f"This run has no column {name}.", hint=f"It has: {', '.join(known)}")


def _refuse_samples_elsewhere(document: RunDocument, folder: Path) -> None:
    from irbench.store.folders import run_argument

    for field, tables in (("cold_starts", document.cold_starts), ("soaks", document.soaks)):
        if tables:
            raise IrbenchError(
                "--samples applies to runs that compare speeds.",
                hint=f"Every raw time is in {field} of its JSON: irbench show {run_argument(folder)} --format json",
            )


def _introduce(document: RunDocument, folder: Path) -> None:
    name, note = one_line(document.plan.name), one_line(document.plan.note)
    called = f" ({name})" if name else ""
    say(f"run {document.run_id}{called} of {document.created}, in {folder}")
    if note:
        say(f"note: {note}")


def _write_code(document: RunDocument, name: str | None, output: Path | None, results: Path | None) -> None:
    from irbench.runs.stored_rows import deploy_command, find_row, planned_row, program_of_row
    from irbench.store.folders import results_option
    from irbench.terminal.console import print_data
    from irbench.worker.scratch import scratch_folder

    stored = find_row(document, name)
    with scratch_folder() as scratch:
        program = program_of_row(stored, planned_row(stored, scratch))
    if stored.choice == "fastest":
        say(f"no winner is decided: {stored.name} looks fastest")
    print_data(program, output)
    say(f"with its graph and a check: {deploy_command(document.run_id, stored.name, results_option(results))}")


def _sample_format(context: click.Context, form: str, columns: tuple[str, ...]) -> str:
    from irbench.render.sample_lines import SAMPLE_FORMATS

    if columns:
        raise IrbenchError("--samples has columns of its own.", hint="Leave --columns out.")
    if context.get_parameter_source("form") is ParameterSource.DEFAULT:
        return SAMPLE_FORMATS[0]
    if form not in SAMPLE_FORMATS:
        raise IrbenchError(
            f"Raw samples cannot be printed as {form}.",
            hint=f"Use --format {' or '.join(SAMPLE_FORMATS)}, or leave --samples out.",
        )
    return form


def _write_samples(folder: Path, document: RunDocument, form: str, output: Path | None) -> None:
    from irbench.render.sample_lines import samples_of, write_samples
    from irbench.store.runs import check_launches, read_launches
    from irbench.terminal.console import data_file

    _refuse_samples_elsewhere(document, folder)
    check_launches(folder, document)
    with data_file(output) as target:
        write_samples(samples_of(document, read_launches(folder, document), folder), form, target)
