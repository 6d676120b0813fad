"""``irbench doctor``: the machine, what disturbs measurement here and how to mend it, and whether it can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from irbench.cli.options.completion import BACKEND, MODEL
from irbench.cli.options.formats import OUTPUT, RESULTS
from irbench.cli.options.types import CPUS, DURATION, THREADS
from irbench.cli.output.stderr import plugin_warnings_told, say

__all__ = ["command"]

_EXAMPLES = """\b
Examples:
  irbench doctor
  irbench doctor --aa --budget 5m
  irbench doctor --aa resnet50 --backend openvino --threads 1
  irbench doctor --format json -o machine.json
"""


@click.command("doctor", epilog=_EXAMPLES)
@click.option(
    "--aa",
    "model",
    type=MODEL,
    is_flag=False,
    flag_value="",
    metavar="[MODEL]",
    help="Also measure a backend against itself: on MODEL, or the model exported last, or a small one of its own.",
)
@click.option(
    "--backend",
    type=BACKEND,
    metavar="NAME",
    help="The backend for --aa. [default: one whose answers others are held against: ort where it is installed]",
)
@click.option(
    "--threads",
    type=THREADS,
    help="For --aa: total for each process, or native. [default: the physical cores we may use]",
)
@click.option("--cpus", type=CPUS, help="For --aa: processors it may use. [default: all that are allowed]")
@click.option("--budget", type=DURATION, help="For --aa. [default: 90s]")
@click.option("--no-lock", is_flag=True, help="Run --aa though another irbench measures on this machine.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@OUTPUT
@RESULTS
def command(
    model: str | None,
    backend: str | None,
    threads: int | Literal["native"] | None,
    cpus: tuple[int, ...] | None,
    budget: float | None,
    no_lock: bool,
    form: Literal["table", "json"],
    output: Path | None,
    results: Path | None,
) -> int:
    """Say what this machine is, what disturbs measurement here, and how to mend it.

    Looks for a few seconds at processors, memory, limits, clocks and at what else runs, and times what irbench's own
    loop costs. The exit code is 0 whatever is found.

    With --aa it also runs the whole protocol with one backend in both rows. That passes (exit code 0) where they are
    the same, fails where one looks faster or answers wrongly (1) or has no result (3), and is undecided (4) otherwise;
    it says how small a difference a run of this length finds. The run is stored like any other.
    """
    from irbench.api.doctor import SelfComparisonOptions, diagnose
    from irbench.api.progress import displayed
    from irbench.cli.output.console import print_data, to_text

    asked = None
    if model is not None:
        asked = SelfComparisonOptions(model, backend, threads, cpus, budget, results, no_lock)
    elif backend or threads or cpus or budget or results or no_lock:
        raise click.UsageError("--backend, --threads, --cpus, --budget, --no-lock and --results belong to --aa.")
    with displayed() as reporter, plugin_warnings_told():
        found = diagnose(asked, reporter)
    text = found.to_json() if form == "json" else to_text(found.__rich__(), to_file=output is not None)
    print_data(text, output)
    if found.report.self_comparison is not None:
        say(f"stored in {found.report.self_comparison.folder}")
    return int(found.exit_code)
