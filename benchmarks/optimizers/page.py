"""The page about optimisers: nodes, what is fused, answers, speeds, and where another is better than irbench."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from benchmarks.backbone_check import MASKS, GraphError
from benchmarks.optimizers.graphs import BACKENDS, MadeGraph, State, Timed, Unit, state_of
from benchmarks.optimizers.speeds import MEASURED_GRAPHS, graphs_to_measure, measured_as
from benchmarks.optimizers.standing import behind_in_nodes, behind_in_speed, fused
from benchmarks.optimizers.subjects import EXPORTED, EXPORTERS, OPTIMIZERS, SUBJECTS
from irbench.core.quantities import NOT_MEASURED, error_size, significant
from irbench.render.figure_texts import speedup_cell
from irbench.render.table import Row, TableColumn, TextTable

_COLUMNS = (EXPORTED, *OPTIMIZERS)
_STATES: tuple[State, ...] = ("equal", "differs", "fails")
_WRONG, _LOST, _UNREADABLE = "x", "f", "o"


def node_table(units: Sequence[Unit]) -> TextTable:
    """Return a row of nodes for each unit, each with the marks of what is wrong with its graph."""
    return _table(units, _nodes)


def fused_table(units: Sequence[Unit]) -> TextTable:
    """Return a row for each unit that has anything to fuse: attentions and normalisations that are one node."""
    return _table([unit for unit in units if any(any(fused(graph)) for graph in unit.graphs)], _fused)


def answer_table(units: Sequence[Unit]) -> TextTable:
    """Return a row for each optimiser: how its graphs answer on each runtime."""
    columns = (
        *(TableColumn("optimiser", words=True), TableColumn("graphs"), TableColumn("no graph")),
        *(TableColumn(f"{backend} {state}") for backend in BACKENDS for state in _STATES),
        TableColumn("ort max err"),
    )
    return TextTable(columns, tuple(_answer_row(name, units) for name in _COLUMNS))


def speed_table(units: Sequence[Unit]) -> TextTable:
    """Return a row of speedups over the exported graph for each unit, or why it has none."""
    columns = (
        *(TableColumn("model", words=True), TableColumn("exporter", words=True), TableColumn("exported ms")),
        *(TableColumn(name) for name in MEASURED_GRAPHS[1:]),
        TableColumn("launches"),
    )
    rows = [_speed_row(unit) for unit in units if not unit.failure]
    return TextTable(columns, tuple(rows))


def problems(units: Sequence[Unit]) -> Iterator[str]:
    """Yield a line of Markdown for each graph that failed or answers wrongly.

    Graphs are left out that a runtime cannot run, and that it cannot run as exported either.
    """
    for unit in units:
        if unit.failure:
            yield f"- {unit.model}, {unit.exporter}: not exported: {unit.failure}"
        for graph in unit.graphs:
            yield from (f"- {unit.model}, {unit.exporter}, {graph.name}{text}" for text in _problems_of(unit, graph))


def shortfalls(units: Sequence[Unit]) -> Iterator[str]:
    """Yield a line of Markdown for each place where another optimiser is better than irbench."""
    for unit in units:
        nodes = behind_in_nodes(unit)
        if nodes is not None:
            figures = f"{nodes.other_value:.0f} by {nodes.other}, {nodes.own_value:.0f} by {nodes.own}"
            yield f"- nodes, {nodes.model}, {nodes.exporter}: {figures}"
    for unit in units:
        speed = behind_in_speed(unit)
        if speed is not None:
            sure = "the intervals do not overlap" if speed.is_sure else "the intervals overlap"
            figures = f"{speed.other_value:.2f} by {speed.other}, {speed.own_value:.2f} by {speed.own}"
            yield f"- speed, {speed.model}, {speed.exporter}: {figures}; {sure}"


def as_page(units: Sequence[Unit], notes: Mapping[tuple[str, ...], str]) -> str:
    """Return the page in Markdown.

    Args:
        units: What is known.
        notes: Why irbench is behind in nodes, by the models.
    """
    lost = list(shortfalls(units))
    shown = {unit.model for unit in units if behind_in_nodes(unit) is not None}
    reasons = ((sorted(shown.intersection(models)), reason) for models, reason in notes.items())
    why = [f"- {', '.join(models)}: {reason}." for models, reason in reasons if models]
    return _PAGE.format(
        versions=_versions(units),
        made=len(units),
        asked=len(SUBJECTS) * len(EXPORTERS),
        duration=_duration(units),
        untimed=_untimed(units),
        certainty=_certainty(units),
        masks=f"masks of {', '.join(MASKS)}",
        nodes=node_table(units).as_markdown(),
        fused=fused_table(units).as_markdown(),
        answers=answer_table(units).as_markdown(),
        problems="\n".join(problems(units)) or "None.",
        speeds=speed_table(units).as_markdown(),
        behind="\n".join((*lost, *(("", "Why:", "", *why) if why else ()))) or "Nowhere.",
    )


def _versions(units: Sequence[Unit]) -> str:
    """Return the versions of all units; several of one name where they differ."""
    found: dict[str, dict[str, None]] = {}
    for unit in units:
        for name, version in unit.versions.items():
            found.setdefault(name, {})[version] = None
    return ", ".join(f"{name} {' and '.join(versions)}" for name, versions in found.items())


def _duration(units: Sequence[Unit]) -> str:
    """Return how long the tables of speeds took, as a range."""
    found = [unit.speeds.seconds for unit in units if unit.speeds is not None]
    return f", {min(found):.0f} to {max(found):.0f} s each" if found else ""


def _untimed(units: Sequence[Unit]) -> str:
    """Return how many models were not measured, which no place where irbench is behind in speed can be among."""
    untimed = sum(unit.speeds is None and bool(unit.graphs) for unit in units)
    return f"{untimed} of the {len(units)} have no speeds yet. " if untimed else ""


def _certainty(units: Sequence[Unit]) -> str:
    """Return of how many speedups it is open whether the graph is faster than the exported one."""
    rows = [row for unit in units if unit.speeds is not None for row in unit.speeds.rows.values()]
    spans = [row.speedup for row in rows if row.speedup is not None and row.speedup.low is not None]
    if not spans:
        return ""
    unclear = sum(not span.excludes_one for span in spans)
    return f"{unclear} of the {len(spans)} intervals hold 1, so that they show no difference from the exported graph."


def _table(units: Sequence[Unit], cell_of: Callable[[Unit, MadeGraph], str]) -> TextTable:
    columns = (TableColumn("model", words=True), TableColumn("exporter", words=True), *map(TableColumn, _COLUMNS))
    return TextTable(columns, tuple(_row(unit, cell_of) for unit in units))


def _row(unit: Unit, cell_of: Callable[[Unit, MadeGraph], str]) -> Row:
    start = (unit.model, unit.exporter)
    if unit.failure:
        return Row(start, sentence=f"not exported: {unit.failure}")
    cells = {graph.name: NOT_MEASURED if graph.failure else cell_of(unit, graph) for graph in unit.graphs}
    return Row((*start, *(cells.get(name, "") for name in _COLUMNS)))


def _nodes(unit: Unit, graph: MadeGraph) -> str:
    return f"{graph.nodes}{''.join(f' {mark}' for mark in _marks(unit, graph.name))}"


def _marks(unit: Unit, name: str) -> Iterator[str]:
    state = state_of(unit.errors, name, "ort")
    if state != "equal":
        yield {"differs": _WRONG, "fails": _LOST}[state]
    if state_of(unit.errors, name, "openvino") == "fails":
        yield _UNREADABLE


def _fused(_: Unit, graph: MadeGraph) -> str:
    return " + ".join(map(str, fused(graph)))


def _answer_row(name: str, units: Sequence[Unit]) -> Row:
    graphs = [(unit, graph) for unit in units for graph in unit.graphs if graph.name == name]
    made = [unit for unit, graph in graphs if not graph.failure]
    states = Counter((backend, state_of(unit.errors, name, backend)) for unit in made for backend in BACKENDS)
    errors = [
        max(error.by_mask.values(), default=0.0)
        for unit in made
        for error in unit.errors
        if error.level == name and error.backend == "ort" and not error.wrong_masks and error.ran
    ]
    counts = (str(states[backend, state]) for backend in BACKENDS for state in _STATES)
    return Row((name, str(len(graphs)), str(len(graphs) - len(made)), *counts, error_size(max(errors, default=None))))


def _problems_of(unit: Unit, graph: MadeGraph) -> Iterator[str]:
    if graph.failure:
        yield f": no graph: {graph.failure}"
    for error in unit.errors:
        if error.level != graph.name or not error.failure:
            continue
        if error.ran or state_of(unit.errors, EXPORTED, error.backend) != "fails":
            yield f" on {error.backend}: {error.failure}{_masks(error)}"


def _masks(error: GraphError) -> str:
    return f" (wrong with masks of {', '.join(error.wrong_masks)})" if len(error.wrong_masks) > 1 else ""


def _speed_row(unit: Unit) -> Row:
    if unit.speeds is None:
        differ = len(graphs_to_measure(unit)) > 1
        return Row((unit.model, unit.exporter), sentence="not timed" if differ else "no graph differs")
    rows = unit.speeds.rows
    measured = measured_as(unit)
    cells = (_speed(name, measured.get(name), rows) for name in MEASURED_GRAPHS[1:])
    p50 = significant(rows[EXPORTED].p50_ms if EXPORTED in rows else None)
    return Row((unit.model, unit.exporter, p50, *cells, str(unit.speeds.launches)))


def _speed(name: str, measured: str | None, rows: Mapping[str, Timed]) -> str:
    if name in rows:
        row = rows[name]
        return row.state if row.state != "ok" else speedup_cell(row.speedup, is_baseline=False, marks_ranges=True)
    return NOT_MEASURED if measured in (None, name) else f"as {measured}"


_PAGE = """# irbench's optimiser beside others

Written by `make bench-optimizers ARGUMENTS='-o results/reference/optimizers.md'`, which can be stopped and called
again: every model of every exporter is kept when it is done, in a file of results/reference/optimizers, and this page
is of all that is there. Models of torchvision and transformers with seeded random weights, written by both of PyTorch's
exporters (`dynamo=True`, and `dynamo=False` with opset 17) with dynamic batches and lengths; those of transformers have
4 layers of width 256, and vit_b_16 has 4 of its 12 layers. Biases of 0 and factors of 1, which optimisers remove and
trained models do not have, are replaced by random ones. Every optimiser is called as its documentation does, with its
defaults; irbench gets no sizes either. {made} of {asked} graphs are done.
Versions: {versions}.

- **onnxscript**: `optimizer.optimize`, then `rewriter.rewrite` with its default rules. The exporter of `dynamo=True`
  has called the former already. **onnxscript ort_fusions**: `rewriter.ort_fusions.optimize_for_ort`.
- **ORT basic, extended, all**: the graph that an `InferenceSession` saves at that level of optimisation.
- **ORT transformers**: `onnxruntime.transformers.optimizer`, told the kind of model, heads and width, where it knows
  a kind that fits; `gpt2` for other decoders, `bert` for other encoders.

## Nodes

Nodes of the graph, those within others included and constants left out. `x`: it answers otherwise than the exported
graph; `f`: ONNX Runtime does not load or run it; `o`: OpenVINO does not; `-`: the optimiser failed.

{nodes}

## What is fused

Attentions + normalisations over features (layer and RMS, with or without a sum) that are one node, of ONNX or of
Microsoft.

{fused}

## Answers

Compared with the exported graph on ONNX Runtime with its optimisations off, within the tolerance of fp32 (1e-3 of the
largest value of the output), on one input; for models with masks on {masks}. A graph that is wrong under one of
them differs. On OpenVINO, what it cannot read as exported counts as well.

{answers}

{problems}

## Speeds

Speedups over the exported graph on ONNX Runtime, two threads, batch 1 (64 tokens; decoders with a cache one token after
63), with their 95 % intervals, or ranges where there were too few launches: one table of `irbench run` for each model,
all rows interleaved{duration}. ONNX Runtime optimises every graph at its highest level when it loads it, so that
the exported one's row is that of its own optimiser. A graph that answers wrongly is not measured (`-`), and of graphs
that differ in names or in the order of nodes alone one is. {untimed}{certainty}

{speeds}

## Where irbench is behind

In nodes: another graph that answers rightly is smaller than irbench's. In speed: the fastest of the others is more than
2 % faster than irbench's faster level.

{behind}
"""
