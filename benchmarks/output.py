"""Where benchmarks write what they found."""

from __future__ import annotations

from pathlib import Path

import click

from irbench.errors import IrbenchError
from irbench.terminal.console import check_writable


def refuse_unwritable(output: Path | None) -> None:
    """End the call where what is found could not be written there."""
    try:
        if output is not None:
            check_writable(output)
    except IrbenchError as error:
        raise click.UsageError(f"{error.message} {error.hint}") from error
