"""``irbench cost``: what one inference of a graph costs, from its shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.features.cost.options import COST
from irbench.options.run import GraphSizes
from irbench.options.values import ReportWithRowsForm
from irbench.terminal.completion import GRAPH
from irbench.terminal.declared import declared, format_option
from irbench.terminal.formats import OUTPUT
from irbench.terminal.stderr import say

_EXAMPLES = """\b
Examples:
  irbench cost resnet50                              # formulas in the batch
  irbench cost resnet50 --batch 1                    # numbers
  irbench cost model.onnx --shape length=128 --per-node
  irbench cost resnet50+basic-int8 --batch 1 --format json
"""


@click.command("cost", epilog=_EXAMPLES)
@click.argument("model", type=GRAPH, metavar="MODEL[+VARIANT]|FILE.onnx")
@declared(COST)
@click.option("--per-node", is_flag=True, help="A row for each node instead of one for each operator.")
@format_option("table", "json", "csv", "md", help="Output format; json always has every node.")
@OUTPUT
def command(
    model: str,
    per_node: bool,
    form: ReportWithRowsForm,
    output: Path | None,
    **options: Any,
) -> None:
    """Count operations, parameters and bytes of a graph.

    MODEL is an exported bundle's name or folder, what it was exported from (models.py:build), or an ONNX file; names
    are those of `irbench inspect`. Counts follow from shapes alone: weights are not read, and nothing is run. Without
    --batch and --shape, the costs of a graph with dynamic dimensions are formulas in these. An operator that cannot be
    counted is named, and never counted as zero.
    """
    from irbench.api.progress import reporting
    from irbench.features.cost.report import GraphCost
    from irbench.render.progress_texts import counting_text
    from irbench.requests.graph_files import find_graph
    from irbench.terminal.console import print_data, to_text

    with reporting("auto", None) as reporter:  # which says on a terminal what takes seconds of large graphs
        reporter.status(counting_text(model))
        costs = GraphCost(find_graph(model), GraphSizes(**options))
        reporter.status("")
    if costs.outdated:
        say(costs.outdated)
    to_file = output is not None
    shown = to_text(costs.view(per_node=per_node), to_file=to_file) if form == "table" else None
    print_data(costs.to_text(form, per_node=per_node) if shown is None else shown, output)
    if costs.weights_problem is not None:  # as irbench inspect, below what is known all the same
        raise costs.weights_problem
