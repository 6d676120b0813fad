"""``irbench backends``: list installed and missing backends."""

from __future__ import annotations

import json

import click

from irbench.features.backends.report import BackendListing, as_json
from irbench.features.backends.run import backend_rows
from irbench.options.values import ListingForm
from irbench.terminal.formats import TABLE_OR_JSON
from irbench.terminal.stderr import plugin_warnings_shown, say


@click.command(
    "backends",
    epilog="\b\nExamples:\n  irbench backends --probe\n  irbench backends --format json\n",
)
@click.option(
    "--probe", "look", is_flag=True, help="Start every runtime to find the devices and precisions it supports here."
)
@TABLE_OR_JSON
def command(look: bool, form: ListingForm) -> None:
    """List runtimes, devices and how to install them.

    No runtime is imported: devices and precisions come from the last --probe of the same version.
    """
    from irbench.terminal import console

    with plugin_warnings_shown():
        rows = backend_rows(look=look, say=say)
    if form == "json":
        console.print_data(json.dumps({"backends": [as_json(row) for row in rows]}, indent=2), None)
        return
    console.print_data(console.to_text(BackendListing(rows).__rich__()), None)
    if any(row.description.version is not None and row.found is None and not row.problem for row in rows):
        say("Devices and precisions on this machine: irbench backends --probe")
