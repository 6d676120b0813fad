"""``irbench results``: list the stored runs."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from irbench.cli.formats import FORMAT, OUTPUT, RESULTS
from irbench.cli.options import DURATION

if TYPE_CHECKING:
    from irbench.store import RunEntry

__all__ = ["command"]


@click.command("results", short_help="List the stored runs.")
@click.option("--model", metavar="NAME", help="Only runs of this model.")
@click.option("--backend", metavar="NAME", help="Only runs in which this backend took part.")
@click.option("--since", type=DURATION, help="Only runs no older than this.")
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
    from irbench.cli.console import check_writable, print_data
    from irbench.measure.clock import utc_now
    from irbench.store import Store, default_root

    check_writable(output)
    root = results or default_root()
    oldest = utc_now() - timedelta(seconds=since) if since is not None else None
    found = [entry for entry in Store(root).entries() if _fits(entry, model, backend, oldest)][:limit]
    if form == "table" and not found:
        click.echo(f"No run in {root} fits." if root.is_dir() else f"No run is stored in {root}.", err=True)
        return
    print_data(_as_text(found, form), output)


def _fits(entry: RunEntry, model: str | None, backend: str | None, oldest: datetime | None) -> bool:
    backends = {label.split()[0].split(":")[0] for label in entry.backends.split(",") if label}
    return (
        (model is None or model in entry.models.split(","))
        and (backend is None or backend in backends or backend in entry.backends.split(","))
        and (oldest is None or datetime.fromisoformat(entry.created) >= oldest)
    )


def _as_text(found: list[RunEntry], form: str) -> str:
    import json

    from rich.console import Group

    from irbench.cli.console import to_text
    from irbench.render.table import Row, TextTable

    documents = [asdict(entry) for entry in found]
    if form == "json":
        return json.dumps({"runs": documents}, indent=2)
    if form == "jsonl":
        return "\n".join(json.dumps(one) for one in documents)
    headings = ("run", "when (UTC)", "models", "rows", "fastest")
    table = TextTable(headings, tuple(Row(_cells(entry)) for entry in found), frozenset(headings))
    if form == "csv":
        return table.as_csv()
    return table.as_markdown() if form == "md" else to_text(Group(*table.as_lines(100)))


def _cells(entry: RunEntry) -> tuple[str, ...]:
    when = datetime.fromisoformat(entry.created).strftime("%Y-%m-%d %H:%M")
    fastest = entry.summary or "-"
    return (entry.run_id, when, entry.models, entry.backends, fastest if entry.complete else f"{fastest} (interrupted)")
