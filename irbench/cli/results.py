"""``irbench results``: list the stored runs."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from irbench.cli.formats import FORMAT, OUTPUT, RESULTS
from irbench.cli.options import DURATION

if TYPE_CHECKING:
    from irbench.render import TextTable
    from irbench.store import RunEntry

__all__ = ["command"]


@click.command("results", short_help="List the stored runs.")
@click.option("--model", metavar="NAME", help="Only runs of this model.")
@click.option("--backend", metavar="NAME", help="Only runs in which this backend, or this row, took part.")
@click.option("--since", type=DURATION, help="Only runs no older than this: 12h or 7d, for example.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many, the newest.")
@FORMAT
@OUTPUT
@RESULTS
def command(
    model: str | None,
    backend: str | None,
    since: float | None,
    limit: int | None,
    form: str,
    output: Path | None,
    results: Path | None,
) -> None:
    """List the stored runs, newest first."""
    from irbench.cli.console import print_data
    from irbench.measure.clock import utc_now
    from irbench.store import Store, default_root

    root = results or default_root()
    listing = Store(root).listing()
    for problem in listing.problems:
        click.echo(f"warning: {problem}", err=True)
    oldest = None if since is None else utc_now() - timedelta(seconds=since)
    found = [entry for entry in listing.entries if _fits(entry, model, backend, oldest)][:limit]
    if not found:
        click.echo(f"No run in {root} fits." if listing.entries else f"No run is stored in {root}.", err=True)
    if found or form != "table":
        print_data(_as_text(found, form, to_file=output is not None), output)


def _fits(entry: RunEntry, model: str | None, backend: str | None, oldest: datetime | None) -> bool:
    return (
        (model is None or model in entry.models)
        and (backend is None or backend in (*entry.backends, *entry.rows))
        and (oldest is None or datetime.fromisoformat(entry.created) >= oldest)
    )


def _as_text(found: list[RunEntry], form: str, *, to_file: bool) -> str:
    if form == "json":
        return json.dumps({"runs": [asdict(entry) for entry in found]}, indent=2)
    if form == "jsonl":
        return "".join(json.dumps(asdict(entry)) + "\n" for entry in found)
    table = _table(found)
    if form == "csv":
        return table.as_csv()
    if form == "md":
        return table.as_markdown()
    from irbench.cli.console import to_text

    return to_text(table, to_file=to_file)


def _table(found: list[RunEntry]) -> TextTable:
    from irbench.render import Column, Row, TextTable

    columns = (
        Column("run", words=True),
        Column("when (UTC)", words=True),
        Column("models", words=True, folds=True),
        Column("launches", drops=1),
        Column("rows", words=True, folds=True),
        Column("fastest", words=True, folds=True),
    )
    return TextTable(columns, tuple(Row(_cells(entry)) for entry in found))


def _cells(entry: RunEntry) -> tuple[str, ...]:
    when = datetime.fromisoformat(entry.created).strftime("%Y-%m-%d %H:%M")
    fastest = "; ".join(entry.winners) or "-"
    ended = "" if entry.complete else " (not complete)"
    return (entry.run_id, when, ", ".join(entry.models), str(entry.launches), ", ".join(entry.rows), fastest + ended)
