"""``irbench reduce``: the smallest part of a graph that still shows a difference between backends."""

from __future__ import annotations

from typing import Any

import click

from irbench.features.reduce.options import REDUCE, ReduceOptions
from irbench.options.run import OUTPUT as OUTPUT_HEADING
from irbench.options.run import RunOptions
from irbench.options.values import ReportForm
from irbench.terminal.completion import MODEL
from irbench.terminal.declared import declared, headings
from irbench.terminal.formats import REPORT_FORMAT, RESULTS
from irbench.terminal.groups import SectionedCommand

_EXAMPLES = """\b
Examples:
  irbench reduce resnet50 --expect 'ort slower than openvino by 1.5x'
  irbench reduce model.onnx --expect-wrong openvino --data sample.npz
  irbench reduce model.onnx --expect-failure ort -o bug
"""


@click.command(
    "reduce",
    cls=SectionedCommand,
    sections=headings(REDUCE, {"form": OUTPUT_HEADING, "results": OUTPUT_HEADING}),
    epilog=_EXAMPLES,
)
@click.argument("model", type=MODEL, metavar="MODEL|FILE.onnx")
@declared(REDUCE)
@REPORT_FORMAT
@RESULTS
def command(
    form: ReportForm,
    model: str,
    **options: Any,
) -> int:
    """Find the smallest graph that shows a difference.

    The difference is one of speed, wrong outputs, or a failure. Parts of the graph are cut out, with the values that
    the whole graph has there as their inputs, and nodes are left out until none can be left out any more. By speed, two
    rows race until the interval of their ratio lies on one side of what was expected; the smallest part is measured
    again in full. Ctrl-C keeps the smallest part until then. The folder has the graph, its inputs, and the text of a
    bug report with versions, machine, command and figures.
    """
    from irbench.api.progress import displayed
    from irbench.features.reduce.run import reduce_with
    from irbench.terminal.console import command_line
    from irbench.terminal.report_output import write_report_text
    from irbench.terminal.stderr import plugin_warnings_shown

    own, shared = REDUCE.split(options)
    reduce_options = ReduceOptions(model, RunOptions(command=command_line(), **shared), **own)
    with plugin_warnings_shown(), displayed() as reporter:
        reduction = reduce_with(reduce_options, reporter)
    write_report_text(reduction, form, None, crop=False)
    return int(reduction.exit_code)
