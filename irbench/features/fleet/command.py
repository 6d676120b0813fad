"""``irbench fleet``: measure a plan on several machines, and compare the machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from irbench.features.fleet.options import FLEET, FLEET_SERVE, FLEET_TUNE, FleetOptions
from irbench.features.plan.command import PLAN
from irbench.options.run import OUTPUT as OUTPUT_HEADING
from irbench.terminal.completion import MODEL
from irbench.terminal.declared import declared, headings
from irbench.terminal.formats import OUTPUT, RESULTS, TABLE_OR_JSON
from irbench.terminal.groups import SectionedCommand, SuggestingGroup
from irbench.terminal.stderr import plugin_warnings_shown, say

if TYPE_CHECKING:
    from irbench.features.plan.reading import SweepPlan

_EXAMPLES = """\b
Examples:
  irbench fleet run plan.toml --targets fleet.toml
  irbench fleet run plan.toml --targets fleet.toml --resume
  irbench fleet tune model.onnx --targets fleet.toml --budget 10m
  irbench fleet serve model.onnx --targets fleet.toml --slo "p99<=50ms"
  irbench fleet doctor --targets fleet.toml
  irbench fleet status
"""


@click.group("fleet", cls=SuggestingGroup, epilog=_EXAMPLES)
def command() -> None:
    """Run benchmarks on several machines and compare them."""


@command.command("run", short_help="Run a plan on every target.", epilog=_EXAMPLES)
@click.argument("plan", metavar="PLAN", type=PLAN)
@declared(FLEET)
@TABLE_OR_JSON
@OUTPUT
@RESULTS
def run(plan: str, form: str, output: Path | None, **options: Any) -> int:
    """Run a plan on every target.

    PLAN is a TOML file, or the name of a plan from `irbench plan list`. FILE.toml of --targets names the machines, and
    each needs the same irbench with its extra fleet; without it, this machine alone measures. Every target measures
    one table at a time. What was measured is stored here table by table, and a call that was interrupted goes on with
    --resume.
    """
    from irbench.features.plan.reading import read_plan

    return _measured(read_plan(plan), FleetOptions(**options), form, output)


@command.command(
    "tune",
    cls=SectionedCommand,
    sections=headings(FLEET_TUNE, {"form": OUTPUT_HEADING}),
    short_help="Find the fastest configuration on every target.",
    epilog=_EXAMPLES,
)
@click.argument("model", type=MODEL, metavar="MODEL|FILE.onnx")
@declared(FLEET_TUNE)
@TABLE_OR_JSON
@OUTPUT
@RESULTS
def tune(model: str, form: str, output: Path | None, **options: Any) -> int:
    """Find the fastest configuration on every target.

    Each target searches and confirms as `irbench tune` does; both runs are stored here. A target that is lost searches
    again from the beginning. Options that are not those of the machines are of `irbench tune`.
    """
    from irbench.features.fleet.run import plan_of_tuning

    own, shared = FLEET_TUNE.split(options)
    return _measured(plan_of_tuning(model, shared, say), FleetOptions(**own), form, output)


@command.command(
    "serve",
    cls=SectionedCommand,
    sections=headings(FLEET_SERVE, {"form": OUTPUT_HEADING}),
    short_help="Find the load that each target sustains.",
    epilog=_EXAMPLES,
)
@click.argument("models", nargs=-1, type=MODEL, metavar="MODEL|FILE.onnx...")
@declared(FLEET_SERVE)
@TABLE_OR_JSON
@OUTPUT
@RESULTS
def serve(models: tuple[str, ...], form: str, output: Path | None, **options: Any) -> int:
    """Find the load that each target sustains.

    Each target is given requests as `irbench serve` gives them; the runs are stored here. A target that is lost begins
    again. Options that are not those of the machines are of `irbench serve`.
    """
    from irbench.features.fleet.run import plan_of_serving

    own, shared = FLEET_SERVE.split(options)
    return _measured(plan_of_serving(models, shared), FleetOptions(**own), form, output)


def _measured(plan: SweepPlan, options: FleetOptions, form: str, output: Path | None) -> int:
    """Measure a plan on every target, print what came of it, and return the exit code."""
    from irbench.api.progress import displayed
    from irbench.errors import ExitCode
    from irbench.features.fleet.run import run_fleet
    from irbench.terminal.console import resumed_command_line

    with plugin_warnings_shown(), displayed() as reporter:
        report, ended = run_fleet(plan, options, reporter)
    _print(report, form, output)
    if not ended:
        say(f"interrupted: {resumed_command_line()} goes on")
        return int(ExitCode.INTERRUPTED)
    return report.exit_code


@command.command("status", short_help="Show the progress and results of a fleet.")
@click.argument("name", required=False, metavar="[NAME]")
@TABLE_OR_JSON
@OUTPUT
@RESULTS
def status(name: str | None, form: str, output: Path | None, results: Path | None) -> None:
    """Show the progress and results of a fleet.

    NAME is that of the fleet, by default of the one that measured last. Also while it measures.
    """
    from irbench.features.fleet.run import fleet_status
    from irbench.store.folders import default_root

    _print(fleet_status(name, results or default_root()), form, output)


@command.command("doctor", short_help="Check the targets for disturbances.")
@declared(FLEET, "targets", "scheduler")
@click.option("--peak", is_flag=True, help="Also measure the peak performance of each machine, as irbench doctor does.")
@TABLE_OR_JSON
@OUTPUT
def doctor(form: str, output: Path | None, targets: Path | None, scheduler: str | None, peak: bool) -> int:
    """Check the targets for disturbances.

    The exit code is 2 if no target may measure, and 3 if some may not.
    """
    from irbench.api.progress import displayed
    from irbench.features.fleet.run import diagnose_fleet

    with displayed() as reporter:
        diagnosis = diagnose_fleet(targets, scheduler, reporter, peak=peak)
    _print(diagnosis, form, output)
    return diagnosis.exit_code


@command.command("up", short_help="Start a cluster on the targets.")
@click.argument("targets", metavar="FILE.toml", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("cluster.toml"),
    show_default=True,
    help="File of targets to write, which other calls join the cluster with; its private key lies beside it.",
)
def up(targets: Path, output: Path) -> None:
    """Start a cluster on the targets.

    Meanwhile `irbench fleet run PLAN --targets cluster.toml` measures there, from this machine.
    """
    from irbench.api.progress import displayed
    from irbench.features.fleet.run import hold_fleet_up

    with displayed() as reporter:
        hold_fleet_up(targets, output, reporter)


def _print(report: Any, form: str, output: Path | None) -> None:
    from irbench.terminal.console import print_data, to_text

    text = report.to_json() if form == "json" else to_text(report.__rich__(), to_file=output is not None)
    print_data(text, output)
