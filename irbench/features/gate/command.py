"""``irbench gate``: fail if a model or a configuration is slower than another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.features.gate.options import GATE, GateOptions
from irbench.options.run import COMMON, RunOptions
from irbench.options.run import OUTPUT as OUTPUT_HEADING
from irbench.options.values import ReportForm
from irbench.terminal.completion import MODEL
from irbench.terminal.declared import declared, given_names, headings
from irbench.terminal.formats import OUTPUT, REPORT_FORMAT, RESULTS
from irbench.terminal.groups import SectionedCommand
from irbench.terminal.run_output import refuse_overwriting_models

_EXAMPLES = """\b
Examples:
  irbench gate base.onnx new.onnx --backends ort
  irbench gate base.onnx new.onnx --limit 2% --fail-on 'peak_memory>20%' --budget 5m --format md -o gate.md
  irbench gate model.onnx@threads=2 model.onnx@threads=4
  irbench gate main new.onnx
"""


@click.command(
    "gate", cls=SectionedCommand, sections=headings(GATE, {"form": COMMON, "results": OUTPUT_HEADING}), epilog=_EXAMPLES
)
@click.argument("base", type=MODEL, metavar="BASE")
@click.argument("new", type=MODEL, metavar="NEW")
@declared(GATE)
@REPORT_FORMAT
@OUTPUT
@RESULTS
def command(base: str, new: str, form: ReportForm, output: Path | None, **options: Any) -> int:
    """Fail if a model or configuration is slower.

    BASE and NEW are models; or one model with different settings, such as model.onnx@threads=2,optimize=all (also
    backend, batch, streams, instances, precision), named on both sides; or BASE is a stored run of one model, whose
    plan is measured again alongside NEW. Outputs may differ: each model is verified against its own reference.

    The exit code is 0 if slowdowns of --limit or more are excluded in every row, 1 if a row has a significant slowdown
    with an estimate above --limit, and 6 if --budget ends before either. Conditions of --fail-on are those of irbench
    compare, and are evaluated in the same way.
    """
    from irbench.api.progress import displayed
    from irbench.features.gate.run import gate_with
    from irbench.terminal.console import command_line
    from irbench.terminal.report_output import write_report_text
    from irbench.terminal.stderr import plugin_warnings_shown

    own, shared = GATE.split(options)
    run = RunOptions(command=command_line(), **shared)
    given = given_names(click.get_current_context()) & shared.keys()
    refuse_overwriting_models((base, new), output)
    with plugin_warnings_shown(), displayed() as reporter:
        gate = gate_with(GateOptions(base, new, run, given, **own), reporter)
    write_report_text(gate, form, output)
    return int(gate.exit_code)
