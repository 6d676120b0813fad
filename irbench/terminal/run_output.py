"""Write runs in the formats of other programs, to the file of ``-o`` or to stdout."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.errors import IrbenchError
from irbench.render.formats.export_formats import FORMATS, ExportFormat
from irbench.system.file_states import exists, is_folder
from irbench.terminal.stderr import say

if TYPE_CHECKING:
    from irbench.core.result import RunDocument
    from irbench.render.formats.exported_run import Export
    from irbench.render.speed_table import WhichColumns


def refuse_impossible(form: str, output: Path | None, columns: Sequence[str] = ()) -> None:
    """Refuse a format that cannot be written, before anything is read or measured."""
    if form not in FORMATS:
        if columns and form != "table":
            raise IrbenchError(
                f"--columns does not apply to --format {form}.", hint="Add --format csv, or leave it out."
            )
        return
    from irbench.runs.results_export import require_possible

    require_possible(FORMATS[form], columns)
    if FORMATS[form].is_binary and output is None and sys.stdout.isatty():
        raise IrbenchError(
            f"--format {form} is binary, and standard output is a terminal.", hint="Name a file with -o."
        )


_FIELDS_OF_OPTIONS = {
    "all-columns": "all columns",
    "intervals": "p50_over_launches, ...",
    "warnings": "groups[].warnings in JSON",
    "memory": "private_memory_bytes, peak_memory_bytes",
    "plot": "speedup, speedup_low, speedup_high",
    "roofline": "gflop_per_s, roof_share",
}
"""Where other formats have what an option adds to the table."""


def refuse_options_of_the_table(**options: bool) -> None:
    """Refuse what only the table for people is shown with."""
    for option, given in options.items():
        if given:
            raise IrbenchError(
                f"--{option} applies to --format table only.",
                hint=f"Other formats include this anyway ({_FIELDS_OF_OPTIONS[option]}): leave --{option} out.",
            )


def write_run(
    document: RunDocument,
    folder: Path,
    form: str,
    output: Path | None,
    columns: Sequence[str] = (),
    *,
    roofline: bool = False,
) -> None:
    """Write a run in any format; a table with what compares its rows with the peaks of the machine, if asked for."""
    from irbench.render.formats.exported_run import Export, ExportedRun, read_run

    if form not in FORMATS:
        write_document(document, folder, form, output, roofline=roofline)
        return
    reads_samples = FORMATS[form].reads_samples
    run = read_run(folder, with_samples=True) if reads_samples else ExportedRun.of(document, folder)
    write_export(FORMATS[form], Export((run,), tuple(columns)), output)


def write_export(form: ExportFormat, export: Export, output: Path | None) -> None:
    """Write runs, and say which of their rows have no place in the format."""
    from irbench.runs.results_export import rows_left_out, write_file

    if output is not None:
        write_file(form, export, output)
    elif form.is_binary:
        sys.stdout.buffer.writelines(form.pieces(export))
        sys.stdout.buffer.flush()
    else:
        sys.stdout.writelines(form.pieces(export))
        sys.stdout.flush()
    omitted = rows_left_out(form, export)
    if omitted:
        rows = "1 row" if len(omitted) == 1 else f"{len(omitted)} rows"
        say(f"left out, as {form.name} has no place for rows without such figures: {rows} ({'; '.join(omitted)})")


def refuse_overwriting_models(models: Sequence[str], output: Path | None) -> None:
    """Refuse an output that is a model, or a file of one."""
    for model in map(Path, models if output is not None else ()):
        files = (model, *(model.iterdir() if is_folder(model) else ()))
        if output is not None and exists(output) and output.resolve() in {path.resolve() for path in files}:
            raise IrbenchError(f"-o {output} would overwrite the model.", hint="Give another path with -o.")


def write_document(
    document: RunDocument,
    folder: Path,
    form: str,
    output: Path | None,
    *,
    columns: WhichColumns = "usual",
    intervals: bool = False,
    warnings: bool = False,
    memory: bool = False,
    plot: bool = False,
    roofline: bool = False,
) -> None:
    """Write a run to ``output`` or stdout in one of the formats, a table on demand with intervals or whole warnings.

    ``columns`` says which ones the table has. With ``memory`` it is about that in place of speed; with ``plot``
    speedups are drawn below it; with ``roofline`` rows are compared with the peaks of the machine.
    """
    from irbench.runs.document_text import render_document
    from irbench.runs.run_view import DocumentView
    from irbench.store.folders import run_argument
    from irbench.terminal.console import print_data, to_text

    if form == "table":
        call = f"irbench show {run_argument(folder)} --warnings"
        shows = {"intervals": intervals, "warnings": warnings, "memory": memory, "plot": plot, "roofline": roofline}
        view = DocumentView(document, call=call, columns=columns, **shows)
        print_data(to_text(view, to_file=output is not None, crop=False), output)
    else:
        print_data(render_document(document, form), output)
