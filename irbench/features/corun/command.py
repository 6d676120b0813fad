"""``irbench corun``: measure models beside other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.features.corun.options import CORUN, CorunOptions
from irbench.features.run.measured import written
from irbench.options.run import COMMON, RunOptions
from irbench.options.run import OUTPUT as OUTPUT_HEADING
from irbench.terminal.completion import MODEL
from irbench.terminal.declared import declared, headings, strict_option
from irbench.terminal.formats import OUTPUT, RESULTS, RUN_FORMAT
from irbench.terminal.groups import SectionedCommand
from irbench.terminal.run_output import refuse_overwriting_models

_EXAMPLES = """\b
Examples:
  irbench corun model.onnx --with cpu
  irbench corun model.onnx --with l3,bandwidth --cpus 0 --neighbour-cpus 1
  irbench corun resnet50 --with bert_base --rate 20
  irbench corun resnet50 lstm bert_base
  irbench corun model.onnx --with 'stress-ng --cpu 1 --cpu-load {intensity}'
"""


@click.command(
    "corun",
    cls=SectionedCommand,
    sections=headings(CORUN, {"form": COMMON, "results": OUTPUT_HEADING}),
    epilog=_EXAMPLES,
)
@click.argument("models", nargs=-1, type=MODEL, metavar="MODEL|FILE.onnx...")
@declared(CORUN)
@strict_option("a verdict is undecided")
@RUN_FORMAT
@OUTPUT
@RESULTS
def command(
    form: str,
    output: Path | None,
    strict: bool,
    **options: Any,
) -> int:
    """Measure the slowdown caused by co-located programs.

    One session is measured alone, alone again, and beside each neighbour at each intensity; neighbours are frozen
    in between. A slowdown is of pairs within a block, with a confidence interval. A model that is named by --with is
    measured beside the others, too: both sides have a table. Several models without --with are measured each beside
    each, itself included, and a table below all shows which slows which down.
    """
    from irbench.features.corun.run import corun_with
    from irbench.terminal.console import command_line

    own, shared = CORUN.split(options)
    run_options = RunOptions(command=command_line(), **shared)
    refuse_overwriting_models(run_options.models, output)
    beside = CorunOptions(**own)
    return written(
        lambda reporter: corun_with(run_options, beside, reporter), run_options.results, form, output, strict=strict
    )
