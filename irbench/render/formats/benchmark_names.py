"""Names of rows for tools that compare benchmarks by name, the same from run to run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from irbench.render.formats.columns import RowSource
from irbench.render.formats.row_table import row_sources
from irbench.result import RunDocument


def named_rows(documents: Sequence[RunDocument]) -> Iterator[tuple[str, RowSource]]:
    """Yield each row with its name: model, shapes, row, and what was requested of it.

    A name does not depend on which other rows were measured, so that it is found again in another run. Where rows of a
    file would have the same one, the run is added, and if that does not tell them apart, their place in it.
    """
    sources = [source for document in documents for source in row_sources(document)]
    names = [_name(source) for source in sources]
    for place in (_run, _place):
        often = Counter(names)
        names = [
            name if often[name] == 1 else f"{_name(source)} ({place(source)})"
            for name, source in zip(names, sources, strict=True)
        ]
    yield from zip(names, sources, strict=True)


def _name(source: RowSource) -> str:
    row, requested = source.row, source.row.requested
    parts = (
        source.model,
        source.shapes,
        f"batch={row.batch}",
        row.label,
        requested.precision,
        "native threads" if requested.threads is None else f"threads={requested.threads}",
        "bound" if row.io == "bound" else "",
        f"{row.cache} cache" if source.kind == "cold-start" else "",
        "soak" if source.kind == "soak" else "",
    )
    return " ".join(part for part in parts if part)


def _run(source: RowSource) -> str:
    return str(source.document.plan.get("name") or source.document.run_id)


def _place(source: RowSource) -> str:
    return f"run {source.document.run_id}, table {source.table_number}, {source.row.id}"
