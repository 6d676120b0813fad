"""``irbench show``: print a stored run again."""

from __future__ import annotations

from pathlib import Path

import click

from irbench.cli.formats import FORMAT, OUTPUT, RESULTS

__all__ = ["command"]


@click.command("show", short_help="Print a stored run again.")
@click.argument("run", required=False)
@FORMAT
@OUTPUT
@RESULTS
def command(run: str | None, form: str, output: Path | None, results: Path | None) -> None:
    """Print a stored run again.

    RUN is a run's name or the beginning of one, its folder, or `latest`, which is the default.
    """
    from irbench.cli.formats import write_document
    from irbench.store import Store, default_root

    store = Store(results or default_root())
    folder = store.find(run)
    document = store.load(folder)
    click.echo(f"run {document.run_id} of {document.created}, in {folder}", err=True)
    write_document(document, form, output)
