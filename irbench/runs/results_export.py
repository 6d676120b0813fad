"""Write stored runs to files for other programs: tables of rows, formats of other tools, traces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from irbench.errors import ExitCode, IrbenchError
from irbench.options import values
from irbench.options.option import read_keywords
from irbench.render.formats.export_formats import FORMATS, ExportFormat, format_called, format_for
from irbench.render.formats.exported_run import Export, ExportedRun, UnreadRuns, read_run
from irbench.render.formats.row_table import check_columns
from irbench.store.file_errors import explained
from irbench.store.listing import find_runs
from irbench.system.file_access import replacing


@dataclass(frozen=True)
class ExportReport:
    """What became of runs that were to be exported.

    Attributes:
        export: The runs that could be read; rows of a table are read while they are written.
        problems: Why others could not, one for each; complete when the file is written.
    """

    export: Export
    problems: Sequence[IrbenchError] = ()

    def raise_problems(self, output: Path) -> None:
        """Raise one error that names every run that could not be read."""
        if not self.problems:
            return
        reasons = " ".join(problem.message for problem in self.problems)
        written = f"{output} holds the other runs" if self.export.runs else "nothing was written"
        raise IrbenchError(
            f"Not every run could be exported, and {written}. {reasons}",
            hint=self.problems[0].hint,
            exit_code=ExitCode.FAILED_CELL if self.export.runs else ExitCode.USAGE,
        )


def chosen_columns(columns: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return names of columns as Python gives them; none for all."""
    read = read_keywords("export", {"columns": columns}, {"columns": ('["label", "p50_ms"]', values.ordered_names)})
    return tuple(read.get("columns", ()))


def chosen_format(name: str | None, output: Path | None) -> ExportFormat | None:
    """Return the format of a name, or that which the name of a file tells; ``None`` where that is an archive's."""
    if name is not None:
        return format_called(name)
    return None if output is None else format_for(output)


def require_possible(form: ExportFormat, columns: Sequence[str]) -> None:
    """Refuse what cannot be written, before anything is read or measured."""
    form.require_library()
    if columns and not form.takes_columns:
        tables = ", ".join(known.name for known in FORMATS.values() if known.takes_columns)
        raise IrbenchError(
            f"--columns does not apply to --format {form.name}.", hint=f"Leave it out, or choose one of {tables}."
        )
    check_columns(columns)


def export_named(root: Path, names: Sequence[str | Path], form: ExportFormat, columns: tuple[str, ...]) -> ExportReport:
    """Read runs for a file, and say of each why it cannot be read rather than stop there.

    Of a table only the first run is read: the others are read when their rows are written.

    Args:
        root: The folder of results.
        names: Folders, or what :func:`irbench.store.listing.find_runs` takes; a run named twice is exported once.
        form: Says whether raw samples are needed.
        columns: That were chosen.
    """
    problems: list[IrbenchError] = []
    folders = tuple(dict.fromkeys(_found(root, names, problems)))
    if form.takes == "table":
        unread = UnreadRuns(folders, problems)
        return ExportReport(Export(unread.read, columns, unread), problems)
    return ExportReport(Export(tuple(_read(folders, problems, form)), columns), problems)


def _found(root: Path, names: Iterable[str | Path], problems: list[IrbenchError]) -> Iterator[Path]:
    for name in names:
        try:
            yield from (name,) if isinstance(name, Path) else find_runs(root, name)
        except IrbenchError as error:
            problems.append(error)


def _read(folders: Iterable[Path], problems: list[IrbenchError], form: ExportFormat) -> Iterator[ExportedRun]:
    for folder in folders:
        try:
            yield read_run(folder, with_samples=form.reads_samples)
        except IrbenchError as error:
            problems.append(error)


def export_run(run: ExportedRun, output: Path, name: str | None, columns: tuple[str, ...]) -> None:
    """Write a run to a file."""
    form = chosen_format(name, output)
    if form is None:
        raise IrbenchError(
            f"{output} would be an archive of runs, and this is one run.",
            hint=f"Use irbench.export_runs, or give a format with format=: {', '.join(FORMATS)}.",
        )
    require_possible(form, columns)
    whole = read_run(run.folder, with_samples=True) if form.reads_samples else run
    write_file(form, Export((whole,), columns), output)


def write_file(form: ExportFormat, export: Export, output: Path) -> None:
    """Write a file, which appears when it is whole."""
    with explained(output, "name another file with -o"):
        if output.exists() and not output.is_file():  # a pipe or a device cannot be replaced
            with output.open("wb") as file:
                _write_pieces(form, export, file.write)
            return
        with replacing(output.resolve()) as file:
            _write_pieces(form, export, file.write)


def _write_pieces(form: ExportFormat, export: Export, write: Callable[[bytes], object]) -> None:
    for piece in form.pieces(export):
        write(piece if isinstance(piece, bytes) else piece.encode())


def rows_left_out(form: ExportFormat, export: Export) -> tuple[str, ...]:
    """Return the labels of the rows that have no figures, and therefore no place in the file."""
    if not form.needs:
        return ()
    records = replace(export, columns=("label", "state", *form.needs)).table.records()
    return tuple(
        record["label"]
        for record in records
        if record["state"] != "ok" or all(record[column] is None for column in form.needs)
    )
