"""The changes of each pass to a graph, for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from rich.console import Group
from rich.text import Text

from irbench.core.graph_record import OPTIMIZING_TEXTS, GraphStep, OptimizerActivity
from irbench.core.plain_text import plain
from irbench.core.quantities import NOT_MEASURED, error_size
from irbench.render.table import Column, ListingTable, Row, TextTable

_COLUMNS = (
    Column("pass", words=True, folds=True, folds_at="_"),
    Column("nodes", drops=2),
    Column("change"),
    Column("max err", drops=1),
    Column("what changed", words=True, folds=True, folds_at=", "),
)
_MOST_OPERATORS = 6


def steps_view(model: str, name: str, steps: Sequence[GraphStep], opsets: tuple[int, int]) -> Group:
    """Return a row for each pass that changed something or could not, in order, and a line for all others.

    Args:
        model: What was optimised.
        name: What the result is called.
        steps: The graph as it came, then what each pass did.
        opsets: ONNX's operator set of the graph as it came, and of the result.
    """
    first, last = steps[0], steps[-1]
    title = Text.assemble((plain(model), "bold"), f"  {name}: {first.nodes} to {last.nodes} nodes")
    rows = (Row((first.name, str(first.nodes), NOT_MEASURED, NOT_MEASURED, NOT_MEASURED)), *_rows(steps, opsets))
    vendors = ", ".join(sorted({step.vendor for step in steps if step.vendor}))
    note = [Text(f"uses operators of {vendors}, which only some runtimes support")] if vendors else []
    table = ListingTable(TextTable(_COLUMNS, tuple(rows)), elsewhere="see --format json")
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
    found = Counter(step.name for step in steps[1:] if not step.modified and step.obstacle is None)
    names = ", ".join(name if times == 1 else f"{name} x{times}" for name, times in found.items())
    if found:
        passes = "1 pass" if found.total() == 1 else f"{found.total()} passes"
        yield Text(f"no change by {passes}: {names}", style="dim")


def _changes(before: GraphStep, after: GraphStep) -> Iterator[str]:
    """Yield the operators of which there are more or fewer, what is new first."""
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
