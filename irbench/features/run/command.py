"""``irbench run``: measure models on backends and say which is fastest, by how much, and how sure that is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from irbench.errors import IrbenchError
from irbench.features.run.measured import measured, resumed
from irbench.options.run import COMMON, RESUME, RUN, ResumeOptions, RunOptions
from irbench.options.run import OUTPUT as OUTPUT_HEADING
from irbench.terminal.completion import MODEL
from irbench.terminal.completion import RUN as RUN_NAME
from irbench.terminal.declared import declared, given_parameters, headings, strict_option
from irbench.terminal.formats import OUTPUT, RESULTS, ROOFLINE, RUN_FORMAT
from irbench.terminal.groups import SectionedCommand
from irbench.terminal.run_output import refuse_overwriting_models
from irbench.terminal.stderr import say

_EXAMPLES = """\b
Examples:
  irbench run --backends ort,openvino --streams 4
  irbench run resnet50 --batch 1,8 --threads 1,2 --baseline ort
  irbench run model.onnx --shape tokens=1x128 --format json -o result.json
  irbench run --resume
"""


_NEWEST = ""
"""What ``--resume`` without a run stands for."""

_RESUME = click.option(
    "--resume",
    type=RUN_NAME,
    is_flag=False,
    flag_value=_NEWEST,
    metavar="[RUN]",
    help="Continue a run that ended early, after its last stored launch and with its own settings: RUN, or the newest"
    " run that ended early.",
)
_BESIDE = ("resume", "allow_own_code", "strict", "no_lock", "yes", "roofline", "form", "output", "results")
"""Options that change nothing of what is measured."""


@click.command(
    "run",
    cls=SectionedCommand,
    is_short=True,
    sections=headings(
        RUN,
        {
            "strict": "This call",
            "resume": "Continuing a run",
            "roofline": OUTPUT_HEADING,
            "form": COMMON,
            "results": OUTPUT_HEADING,
        },
    ),
    epilog=_EXAMPLES,
)
@click.argument("models", nargs=-1, type=MODEL, metavar="[MODEL|FILE.onnx]...")
@declared(RUN)
@strict_option("a verdict or the winner is undecided")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print the plan, its settings and the least time it takes, without measuring. Models are exported and graphs"
    " optimised for that.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@_RESUME
@declared(RESUME, "allow_own_code")
@RUN_FORMAT
@ROOFLINE
@OUTPUT
@RESULTS
@click.pass_context
def command(
    context: click.Context,
    /,
    resume: str | None,
    allow_own_code: bool,
    roofline: bool,
    form: str,
    output: Path | None,
    strict: bool,
    dry_run: bool,
    yes: bool,
    **options: Any,
) -> int:
    """Measure models on backends and compare their speed.

    MODEL is an ONNX file, a name from `irbench models`, an exported bundle, or any source that `irbench export`
    accepts. The default is the model exported last. A model that has not been exported yet is exported first.
    Options with several values, such as --streams 1,4, make one row per combination. Outputs are verified before and
    during timing. Every speedup has a confidence interval. Finished launches are stored, and --resume continues
    after the last one.
    """
    from irbench.runs.measurement import describe_plan
    from irbench.terminal.console import command_line, print_lines

    if resume is not None:
        _refuse_other_options(context)
        return resumed(
            ResumeOptions(resume or None, allow_own_code, options["no_lock"], options["results"]),
            form,
            output,
            strict=strict,
            roofline=roofline,
        )
    if allow_own_code:
        raise IrbenchError("--allow-own-code applies to --resume only.", hint="Leave it out: --cell names the code.")
    run_options = RunOptions(command=command_line(), **options)
    if dry_run and output is not None:
        raise IrbenchError("--dry-run measures nothing that -o could write.", hint="Leave one of them out.")
    refuse_overwriting_models(run_options.models, output)
    if not yes and not confirmed_first_run(run_options):
        say("Nothing was measured. Name a model (irbench models lists them) or an ONNX file.")
        return 0
    if dry_run:
        print_lines(describe_plan(run_options, say))
        return 0
    return measured(run_options, form, output, strict=strict, roofline=roofline)


def _refuse_other_options(context: click.Context) -> None:
    """Refuse models and options that say what is measured: a run that is continued has its own."""
    names = ", ".join(given_parameters(context, _BESIDE))
    if not names:
        return
    raise IrbenchError(
        f"--resume and {names} cannot be combined: a run is continued with the settings that it was begun with.",
        hint="Leave out either of them; without --resume another run begins.",
    )


def confirmed_first_run(options: RunOptions) -> bool:
    """Return whether to export and measure the first model where none is named and none was exported yet.

    On a terminal, the user is asked.

    Raises:
        IrbenchError: Nobody can be asked, or the model cannot be exported.
    """
    from irbench.requests.resolve import FIRST_MODEL, is_first_run, require_model

    if is_first_run(options.models, everything=options.all):
        from irbench.core import registry
        from irbench.features.run.view import first_run_text
        from irbench.terminal.console import confirmed

        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise IrbenchError(
                "No model is named, and none has been exported yet.",
                hint=f"Name an ONNX file or a model of the zoo: irbench run model.onnx, or irbench run {FIRST_MODEL}.",
            )
        require_model(FIRST_MODEL, options.imports)
        say(first_run_text(FIRST_MODEL, registry.installed_backends()))
        return confirmed("Continue?", default=True)
    return True
