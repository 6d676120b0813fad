"""``irbench doctor``: report what disturbs measurements on this machine, and how to fix it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.features.doctor.options import DOCTOR, DoctorOptions
from irbench.options.values import ListingForm
from irbench.terminal.completion import MODEL
from irbench.terminal.declared import declared, format_option
from irbench.terminal.formats import OUTPUT, RESULTS
from irbench.terminal.stderr import plugin_warnings_shown, say

_EXAMPLES = """\b
Examples:
  irbench doctor
  irbench doctor --aa --budget 5m
  irbench doctor --aa resnet50 --backend openvino --threads 1
  irbench doctor --peak
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
    help="Also measure a backend against itself: on MODEL, the model exported last, or a built-in matrix product.",
)
@declared(DOCTOR)
@format_option("table", "json", help=None)
@OUTPUT
@RESULTS
def command(
    model: str | None,
    form: ListingForm,
    output: Path | None,
    **options: Any,
) -> int:
    """Find what disturbs measurements on this machine.

    The report covers processors, memory, limits, clocks and other running programs, and the overhead of irbench's own
    timing loop. It takes a few seconds. The exit code is 0 whatever is found.

    --aa also runs the whole protocol with the same backend in both rows. It passes (exit code 0) if the rows are the
    same, fails if one looks faster or has wrong outputs (1) or has no result (3), and is undecided (4) otherwise. It
    also reports the smallest difference that a run of this length can detect. The run is stored like any other.

    --peak also measures the most operations per second that matrix products attain in each precision, with the best
    backend and size, and how fast caches and main memory deliver data, with one core and with all. The result is kept
    for this machine, and later reports show it with its age; with --backend or --cpus it is only shown.
    """
    from irbench.api.progress import displayed
    from irbench.features.doctor.run import diagnose
    from irbench.terminal.console import print_data, to_text

    settings = DoctorOptions(**options)
    if model is None and (settings.threads or settings.budget):
        raise click.UsageError("--threads and --budget need --aa.")
    if (
        model is None
        and not settings.peak
        and (settings.backend or settings.cpus or settings.results or settings.no_lock)
    ):
        raise click.UsageError("--backend, --cpus, --no-lock and --results need --aa or --peak.")
    with displayed() as reporter, plugin_warnings_shown():
        diagnosis = diagnose(model, settings, reporter)
    text = diagnosis.to_json() if form == "json" else to_text(diagnosis.__rich__(), to_file=output is not None)
    print_data(text, output)
    if diagnosis.report.self_comparison is not None:
        say(f"stored in {diagnosis.report.self_comparison.folder}")
    return int(diagnosis.exit_code)
