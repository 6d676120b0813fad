"""``irbench inspect``: show the contents of an ONNX graph, or how two graphs differ."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from irbench.errors import IrbenchError
from irbench.features.inspect.options import INSPECT
from irbench.options.run import GraphSizes
from irbench.options.values import ListingForm
from irbench.terminal.completion import GRAPH
from irbench.terminal.declared import declared, format_option
from irbench.terminal.formats import OUTPUT
from irbench.terminal.stderr import say

if TYPE_CHECKING:
    from irbench.features.inspect.report import GraphDifference, GraphInspection

_EXAMPLES = """\b
Examples:
  irbench inspect resnet50
  irbench inspect model.onnx --format json
  irbench inspect model.onnx --shape tokens=1x128
  irbench inspect resnet50+basic:batch=1
  irbench inspect --diff resnet50 resnet50+extended
  irbench inspect --diff model.onnx optimised.onnx
"""


@click.command("inspect", epilog=_EXAMPLES)
@click.argument("models", nargs=-1, required=True, type=GRAPH, metavar="MODEL[+VARIANT]|FILE.onnx...")
@click.option("--diff", "compares", is_flag=True, help="Show how the second graph differs from the first.")
@declared(INSPECT)
@format_option("table", "json", help=None)
@OUTPUT
def command(
    models: tuple[str, ...],
    compares: bool,
    form: ListingForm,
    output: Path | None,
    **options: Any,
) -> None:
    """Show what graphs contain, or how they differ.

    MODEL is an exported bundle's name or folder, what it was exported from (models.py:build), or an ONNX file.
    resnet50+basic is the graph that `irbench optimize` made of resnet50, and resnet50+basic:batch=1 the one with that
    dimension fixed. Weights are not read, so large files take no longer than small ones; it is an error if those in
    other files are missing or too short. A graph of 200,000 nodes takes some 20 s. With --batch or --shape,
    multiply-accumulates and the shapes of values are those for these sizes. --diff matches nodes by name; nodes
    replaced by a single new node are shown as fused.
    """
    from irbench.features.inspect.report import GraphDifference
    from irbench.terminal.console import print_data

    if compares and len(models) != 2:
        raise IrbenchError(f"--diff compares two graphs, not {len(models)}.", hint="irbench inspect --diff A B")
    sizes = GraphSizes(**options)
    if compares and sizes != GraphSizes():
        raise IrbenchError("--diff compares nodes, which have no sizes.", hint="Leave --batch and --shape out.")
    graphs = _inspected(models, sizes, counts=not compares)
    for message in dict.fromkeys(graph.outdated for graph in graphs if graph.outdated):
        say(message)
    shown = GraphDifference(*graphs) if compares else graphs
    print_data(_as_text(shown, form, to_file=output is not None), output)
    _refuse_damaged_weights([graph.weights_problem for graph in graphs if graph.weights_problem is not None])


def _inspected(models: Sequence[str], sizes: GraphSizes, *, counts: bool) -> list[GraphInspection]:
    from irbench.api.progress import reporting
    from irbench.features.inspect.report import GraphInspection
    from irbench.render.progress_texts import counting_text, reading_text
    from irbench.requests.graph_files import find_graph

    graphs: list[GraphInspection] = []
    with reporting("auto", None) as reporter:
        for model in models:
            reporter.status(reading_text(model))
            graphs.append(GraphInspection(find_graph(model), sizes))
            if counts:
                reporter.status(counting_text(model))
                graphs[-1].count()
        reporter.status("")
    return graphs


def _refuse_damaged_weights(problems: Sequence[IrbenchError]) -> None:
    """Warn of graphs that lack weights, and end as for any damaged model."""
    for problem in problems[:-1]:
        say(f"warning: {problem.message}")
    if problems:
        raise problems[-1]


def _as_text(shown: Sequence[GraphInspection] | GraphDifference, form: str, *, to_file: bool) -> str:
    from irbench.features.inspect.report import GraphDifference, to_json
    from irbench.terminal.console import to_text

    if isinstance(shown, GraphDifference):
        return to_json(shown) if form == "json" else to_text(shown.__rich__(), to_file=to_file)
    for graph in shown:
        if graph.problem:
            say(f"warning: {graph.problem}")
        if graph.work_problem:
            say(f"warning: The cost is left out: {graph.work_problem}")
    return to_json(shown) if form == "json" else "\n".join(to_text(part.__rich__(), to_file=to_file) for part in shown)
