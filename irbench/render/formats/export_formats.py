"""The formats that runs are exported in, by name. Listing them imports no writer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.system.installation import require_libraries

if TYPE_CHECKING:
    from irbench.render.formats.exported_run import Export

FormatName: TypeAlias = Literal[
    "csv",
    "md",
    "jsonl",
    "parquet",
    "arrow",
    "pyperf",
    "bencher",
    "github-action-benchmark",
    "github-action-benchmark-bigger",
    "openmetrics",
    "chrome-trace",
]

ARCHIVE: Literal["archive"] = "archive"
"""What ``irbench results export`` writes besides: runs with raw samples and logs, which ``irbench.store`` packs."""


_ARCHIVE_ENDINGS = (".tar.gz", ".tgz")


@dataclass(frozen=True)
class ExportFormat:
    """One format.

    Attributes:
        writer: Module below :mod:`irbench` and function that yields the file's pieces, as text or bytes.
        endings: Of the names of its files; none where they are ``.json`` like those of other formats.
        takes: What the writer is given: all rows as a ``table``, or the ``runs`` themselves.
        reads_samples: Whether it holds raw samples.
        needs: Columns of which a row must have a value, and be ``ok``, to have a place in it; none where all rows have.
        library: The distribution that it needs besides irbench's own; empty where it needs none.
    """

    name: FormatName
    writer: str
    endings: tuple[str, ...] = ()
    takes: Literal["table", "runs"] = "runs"
    takes_columns: bool = False
    is_binary: bool = False
    reads_samples: bool = False
    needs: tuple[str, ...] = ()
    library: str = ""

    def pieces(self, export: Export) -> Iterator[Any]:
        """Yield what its file consists of: ``bytes`` of a binary format, ``str`` of others."""
        self.require_library()
        module, _, function = self.writer.partition(":")
        write = getattr(import_module(f"irbench.{module}"), function)
        yield from write(export.table if self.takes == "table" else export)

    def require_library(self) -> None:
        """Refuse where the library that it needs is missing."""
        if self.library:
            message = f"{self.library} is not installed, which --format {self.name} needs."
            require_libraries((self.library,), message)


_ALL = (
    ExportFormat("csv", "render.formats.text_files:as_csv", (".csv",), takes="table", takes_columns=True),
    ExportFormat("md", "runs.document_text:as_documents", (".md",), takes_columns=True),
    ExportFormat(
        "jsonl", "render.formats.text_files:as_json_lines", (".jsonl", ".ndjson"), takes="table", takes_columns=True
    ),
    ExportFormat(
        "parquet",
        "render.formats.arrow_files:as_parquet",
        (".parquet",),
        "table",
        takes_columns=True,
        is_binary=True,
        library="pyarrow",
    ),
    ExportFormat(
        "arrow",
        "render.formats.arrow_files:as_arrow",
        (".arrow", ".feather"),
        "table",
        takes_columns=True,
        is_binary=True,
        library="pyarrow",
    ),
    ExportFormat("pyperf", "render.formats.pyperf_suite:as_pyperf", reads_samples=True, needs=("p50_ms", "ready_ms")),
    ExportFormat("bencher", "render.formats.continuous_benchmarks:as_bencher"),
    ExportFormat(
        "github-action-benchmark",
        "render.formats.continuous_benchmarks:as_github_smaller",
        needs=("p50_ms", "ready_ms"),
    ),
    ExportFormat(
        "github-action-benchmark-bigger",
        "render.formats.continuous_benchmarks:as_github_bigger",
        needs=("fps", "sustained_fps"),
    ),
    ExportFormat("openmetrics", "render.formats.openmetrics:as_openmetrics", (".prom", ".openmetrics")),
    ExportFormat("chrome-trace", "render.formats.chrome_trace:as_chrome_trace", reads_samples=True),
)
FORMATS: Mapping[str, ExportFormat] = {form.name: form for form in _ALL}
"""By name, in the order of the help."""


def format_called(name: str) -> ExportFormat:
    """Return the format of a name."""
    if name not in FORMATS:
        raise IrbenchError(
            f"{name!r} is not a format of exports.", hint=f"{did_you_mean(name, FORMATS)}Formats: {', '.join(FORMATS)}."
        )
    return FORMATS[name]


def format_for(output: Path) -> ExportFormat | None:
    """Return the format that the name of a file tells; ``None`` where it is that of an archive."""
    if output.name.lower().endswith(_ARCHIVE_ENDINGS):
        return None
    if output.suffix.lower() == ".json":
        several = ", ".join(form.name for form in _ALL if not form.endings)
        raise IrbenchError(f"Several formats are .json files, as {output} would be.", hint=f"Add --format: {several}.")
    fitting = next((form for form in _ALL if output.suffix.lower() in form.endings), None)
    if fitting is None:
        endings = ", ".join(ending for form in _ALL for ending in form.endings)
        raise IrbenchError(
            f"Unknown file format: {output}.",
            hint=f"Names end with {endings}, or {_ARCHIVE_ENDINGS[0]} for an archive of runs. Or add --format:"
            f" {', '.join(FORMATS)}.",
        )
    return fitting
