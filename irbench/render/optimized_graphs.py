"""Where optimised graphs come from, for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from rich.console import Group
from rich.text import Text

from irbench.core.graph_record import OPTIMIZING_TEXTS, GraphStep, OptimizerActivity
from irbench.core.plain_text import plain
from irbench.core.quantities import NOT_MEASURED, error_size
from irbench.notices.conversions import agreement_lines, disagreement_text
from irbench.optimizer import Lineage
from irbench.render.table import ListingTable, Row, TableColumn, TextTable

_STEP_COLUMNS = (
    TableColumn("pass", words=True, folds=True, folds_at="_"),
    TableColumn("nodes", drops=2),
    TableColumn("change"),
    TableColumn("max err", drops=1),
    TableColumn("what changed", words=True, folds=True, folds_at=", "),
)
_MOST_OPERATORS = 6


def kept_view(kept: Sequence[Lineage]) -> Group:
    """Return a row for each graph that was made from another, and below them what is special about some.

    Settings and top-1 agreement have a column where a graph has them, the version of irbench where it differs.
    """
    columns = [
        (column, cells)
        for column, cell, least in _COLUMNS
        if len(set(cells := [cell(lineage) for lineage in kept]).difference((NOT_MEASURED,))) >= least
    ]
    rows = zip(*(cells for _, cells in columns), strict=True)
    table = TextTable(tuple(column for column, _ in columns), tuple(Row(cells) for cells in rows))
    return Group(ListingTable(table), *(Text(note) for note in _notes(kept)))


def lineage_lines(lineage: Lineage) -> Iterator[Text]:
    """Yield in a few lines what was done to a graph, when and with what."""
    first, last = lineage.steps[0], lineage.steps[-1]
    yield Text(f"optimised as {plain(lineage.recipe.name)}, {first.nodes} to {last.nodes} nodes, {_when(lineage)}")
    yield Text(f"passes: {', '.join(_passes(lineage)) or 'none changed the graph'}")
    yield Text(f"fixed: {sizes_text(lineage.sizes) or 'nothing'}")
    yield Text(f"made with {', '.join(f'{name} {version}' for name, version in lineage.versions.items())}")
    if lineage.recipe.conversion is not None and lineage.agreement is not None:
        yield from map(Text, agreement_lines(lineage.recipe.conversion.precision, lineage.agreement))
    else:
        error = _error(lineage)
        yield Text("the original graph" if error == NOT_MEASURED else f"max err {error} compared with the original")
    yield from (Text(plain(remark)) for remark in _remarks(lineage))


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Return ``batch=1,length=32``; nothing where no size was bound."""
    return ",".join(f"{name}={size}" for name, size in sorted(sizes.items()))


def settings_text(lineage: Lineage) -> str:
    """Return what tells a graph from others of its name: ``static, 8 inputs``, or the passes that were named."""
    conversion = lineage.recipe.conversion
    custom = lineage.recipe.name.partition("-")[0] == "custom"
    settings = [*lineage.recipe.passes] if custom else []
    if conversion is not None and conversion.precision == "int8":
        method = lineage.steps[-1].name.removeprefix("quantize_")
        settings += [method, f"{conversion.samples} inputs"] if method == "static" else [method]
    return ", ".join(settings)


def _notes(kept: Sequence[Lineage]) -> Iterator[str]:
    about: dict[str, list[str]] = {}
    for lineage in kept:
        for remark in _remarks(lineage):
            about.setdefault(remark, []).append(lineage.recipe.name)
    yield from (f"{', '.join(dict.fromkeys(names))}: {remark}" for remark, names in about.items())


def _passes(lineage: Lineage) -> list[str]:
    return [step.name for step in lineage.steps if step.modified]


def _error(lineage: Lineage) -> str:
    errors = [step.max_rel_error for step in lineage.steps if step.max_rel_error is not None]
    return error_size(errors[-1]) if errors else NOT_MEASURED


def _top1(lineage: Lineage) -> str:
    share = lineage.agreement.error.top1_agreement if lineage.agreement is not None else None
    return NOT_MEASURED if share is None else f"{share * 100:.3g} %"


def _when(lineage: Lineage) -> str:
    return lineage.created[:16].replace("T", " ")


def _remarks(lineage: Lineage) -> Iterator[str]:
    if lineage.domains:
        yield f"uses operators of {', '.join(lineage.domains)}, which only some runtimes support"
    if lineage.nchw_inputs:
        yield f"takes {', '.join(lineage.nchw_inputs)} as NCHW"
    if lineage.disagreement is not None:
        yield f"outputs differ too much from the original's: {disagreement_text(lineage.disagreement)}"


_COLUMNS: tuple[tuple[TableColumn, Callable[[Lineage], str], int], ...] = (
    (TableColumn("optimised", words=True), lambda lineage: lineage.recipe.name, 0),
    (TableColumn("fixed", words=True), lambda lineage: sizes_text(lineage.sizes) or NOT_MEASURED, 0),
    (TableColumn("settings", words=True, folds=True), lambda lineage: settings_text(lineage) or NOT_MEASURED, 1),
    (TableColumn("nodes", drops=1), lambda lineage: str(lineage.steps[-1].nodes), 0),
    (TableColumn("max err"), _error, 0),
    (TableColumn("top-1"), _top1, 1),
    (TableColumn("made", words=True, folds=True), _when, 0),
    (TableColumn("with", words=True, drops=2), lambda lineage: f"irbench {lineage.versions.get('irbench', '?')}", 2),
)
"""Each with what it shows of a graph, and how many different values it takes to be shown."""


def steps_view(model: str, name: str, steps: Sequence[GraphStep], opsets: tuple[int, int]) -> Group:
    """Return a row for each pass that changed something or could not, in order, and a line for all others."""
    first, last = steps[0], steps[-1]
    title = Text.assemble((plain(model), "bold"), f"  {name}: {first.nodes} to {last.nodes} nodes")
    rows = (Row((first.name, str(first.nodes), NOT_MEASURED, NOT_MEASURED, NOT_MEASURED)), *_rows(steps, opsets))
    vendors = ", ".join(sorted({step.vendor for step in steps if step.vendor}))
    note = [Text(f"uses operators of {vendors}, which only some runtimes support")] if vendors else []
    table = ListingTable(TextTable(_STEP_COLUMNS, tuple(rows)), elsewhere="see --format json")
    return Group(title, table, *_idle(steps), *note)


def sizes_line(sizes: Mapping[str, int], by_default: Collection[str]) -> str:
    """Return which free sizes were bound: ``bound: batch 1, sequence 128 (by default)``."""
    bound = (f"{name} {size}{' (by default)' if name in by_default else ''}" for name, size in sizes.items())
    return f"fixed: {', '.join(bound)}"


def in_words(say: Callable[[str], None], status: Callable[[str], None]) -> Callable[[OptimizerActivity], None]:
    """Return a function that tells what an optimisation does.

    Args:
        say: Receives a line at the end of each graph: ``resnet50: optimised as basic: 122 to 107 nodes, ...``.
        status: Receives each step on the way, ``resnet50: fold_shapes``, and nothing at the end.
    """

    def tell(activity: OptimizerActivity) -> None:
        text = OPTIMIZING_TEXTS[activity.code].format(name=activity.name, nodes=activity.nodes, steps=activity.steps)
        is_done = activity.code == "done"
        status("" if is_done else f"{activity.model}: {text}")
        if is_done:
            say(f"{activity.model}: {text}")

    return tell


def _rows(steps: Sequence[GraphStep], opsets: tuple[int, int]) -> Iterator[Row]:
    for before, step in pairwise(steps):
        if step.modified:
            change = f"{step.nodes - before.nodes:+d}" if step.nodes != before.nodes else "0"
            moved = [f"opset {opsets[0]} to {opsets[1]}"] if step.name == "raise_opset" else []
            changes = ", ".join((*moved, *_changes(before, step))) or "same operators, different connections or weights"
            yield Row((step.name, str(step.nodes), change, error_size(step.max_rel_error), changes))
        elif step.obstacle is not None:
            why = step.obstacle.text()
            yield Row((step.name, str(step.nodes), "skipped", NOT_MEASURED, why), style="dim")


def _idle(steps: Sequence[GraphStep]) -> Iterator[Text]:
    """Yield a line with the passes that found nothing to do, and how often where that is more than once."""
    idle = Counter(step.name for step in steps[1:] if not step.modified and step.obstacle is None)
    names = ", ".join(name if times == 1 else f"{name} x{times}" for name, times in idle.items())
    if idle:
        passes = "1 pass" if idle.total() == 1 else f"{idle.total()} passes"
        yield Text(f"no change by {passes}: {names}", style="dim")


def _changes(before: GraphStep, after: GraphStep) -> Iterator[str]:
    names = dict.fromkeys((*before.operators, *after.operators))
    moved = {name: after.operators.get(name, 0) - before.operators.get(name, 0) for name in names}
    changed = (name for name in moved if moved[name])
    ordered = sorted(changed, key=lambda name: (moved[name] < 0, -abs(moved[name]), name))
    bare = Counter(map(_without_domain, names))
    for name in ordered[:_MOST_OPERATORS]:
        short = _without_domain(name)
        yield f"{moved[name]:+d} {short if bare[short] == 1 else name}"
    if len(ordered) > _MOST_OPERATORS:
        yield "..."


def _without_domain(operator: str) -> str:
    """Return an operator without its domain, which a line below the table names."""
    return operator.rpartition(".")[2]
