"""What irbench costs and gains, measured by itself: ``python -m benchmarks.bench``, or ``make bench``.

Every comparison takes turns within the run, so only its ratios mean something beyond the machine. A goal that is
missed is shown and changes nothing else; the exit code is 1 only when something could not be measured.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import click

from benchmarks import exporting, growth, harness_cost, listing, optimizing, peers, prompts, run_cost, storing
from benchmarks.output import refuse_unwritable
from benchmarks.rows import Finding, as_plain, as_table
from benchmarks.workbench import Workbench
from irbench.measure.clock import Stopwatch
from irbench.terminal.console import print_data, to_text

SUBJECTS: Mapping[str, Callable[[Workbench], Iterator[Finding]]] = {
    "harness": harness_cost.measure,
    "prompt": prompts.measure,
    "run": run_cost.measure,
    "openvino": peers.measure_openvino,
    "ort": peers.measure_ort,
    "export": exporting.measure,
    "optimize": optimizing.measure,
    "store": storing.measure,
    "list": listing.measure,
    "growth": growth.measure,
}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", multiple=True, type=click.Choice(list(SUBJECTS)), help="One subject; may be repeated.")
@click.option("--quick", is_flag=True, help="Once each, and shorter: whether everything works, not what it costs.")
@click.option("--format", "form", type=click.Choice(["table", "md", "json"]), default="table", help="How to print it.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE instead.")
def main(only: Sequence[str], quick: bool, form: str, output: Path | None) -> None:
    """Measure what irbench costs and gains, as ratios within this run."""
    refuse_unwritable(output)
    watch, findings = Stopwatch(), list[Finding]()
    with tempfile.TemporaryDirectory(prefix="irbench-bench-") as folder:
        bench = Workbench(Path(folder), quick=quick)
        for name in only or SUBJECTS:
            click.echo(f"{watch.elapsed_s:5.0f} s  {name}", err=True)
            findings += _measured(name, bench)
            if output is not None:  # what is known so far outlives an interruption
                print_data(_text(findings, form, to_file=True), output)
    click.echo(f"{watch.elapsed_s:5.0f} s  done", err=True)
    if output is None:
        print_data(_text(findings, form, to_file=False), None)
    if any(finding.failed for finding in findings):
        raise SystemExit(1)


def _measured(name: str, bench: Workbench) -> Iterator[Finding]:
    """Yield what a subject finds; where it fails, its reason as its last finding."""
    try:
        yield from SUBJECTS[name](bench)
    except Exception as error:  # noqa: BLE001 - whatever went wrong in one subject, the others go on
        yield Finding(name, "not measured", remark=f"{type(error).__name__}: {error}", failed=True)


def _text(findings: Sequence[Finding], form: str, *, to_file: bool) -> str:
    if form == "json":
        return json.dumps({"findings": as_plain(findings)}, indent=1)
    table = as_table(findings)
    return table.as_markdown() if form == "md" else to_text(table, to_file=to_file)


if __name__ == "__main__":
    main()
