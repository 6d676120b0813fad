"""What each pass did to a graph, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.console import Group
from rich.text import Text

from irbench.record import Agreement, GraphStep
from irbench.render.figures import NOT_MEASURED, error_size
from irbench.render.table import Column, Row, TextTable
from irbench.render.wording import plain

__all__ = ["agreement_line", "steps_view"]

_COLUMNS = (
    Column("pass", words=True),
    Column("nodes"),
    Column("change"),
    Column("max err"),
    Column("what changed", words=True, folds=True),
)
_MOST_OPERATORS = 6


def steps_view(model: str, name: str, steps: Sequence[GraphStep]) -> Group:
    """Return a row for each pass, in order.

    Args:
        model: What was optimised.
        name: What the result is called.
        steps: The graph as it came, then what each pass did.
    """
    first, last = steps[0], steps[-1]
    title = Text.assemble((plain(model), "bold"), f"  {name}: {first.nodes} to {last.nodes} nodes")
    rows = (Row((first.name, str(first.nodes), NOT_MEASURED, NOT_MEASURED, NOT_MEASURED)), *_rows(steps))
    vendors = ", ".join(sorted({step.vendor for step in steps if step.vendor}))
    note = [Text(f"holds operators of {vendors}: only runtimes that know them can read it")] if vendors else []
    return Group(title, TextTable(_COLUMNS, tuple(rows)), *note)


def agreement_line(precision: str, agreement: Agreement) -> str:
    """Return what a conversion costs: ``int8 beside fp32 over 64 inputs: max err 0.04, cosine 0.9999, ...``."""
    error = agreement.error
    top1 = f", top-1 agreement {error.top1_agreement * 100:.3g} %" if error.top1_agreement is not None else ""
    return (
        f"{precision} beside fp32 over {agreement.samples} inputs, answered by {agreement.by}: "
        f"max abs {error_size(error.max_abs)}, max err {error_size(error.max_rel)}, cosine {error.cosine:.5f}{top1}"
    )


def _rows(steps: Sequence[GraphStep]) -> Iterator[Row]:
    for before, step in pairwise(steps):
        if step.modified:
            change = f"{step.nodes - before.nodes:+d}" if step.nodes != before.nodes else "0"
            yield Row((step.name, str(step.nodes), change, error_size(step.max_rel_error), _changes(before, step)))
        else:
            change = "left alone" if step.remark else "nothing to do"
            yield Row((step.name, str(step.nodes), change, NOT_MEASURED, step.remark or NOT_MEASURED), style="dim")


def _changes(before: GraphStep, after: GraphStep) -> str:
    """Return the operators of which there are more or fewer, what is new first."""
    names = dict.fromkeys((*before.operators, *after.operators))
    moved = {name: after.operators.get(name, 0) - before.operators.get(name, 0) for name in names}
    changed = (name for name in moved if moved[name])
    ordered = sorted(changed, key=lambda name: (moved[name] < 0, -abs(moved[name]), name))
    shown = [f"{moved[name]:+d} {name}" for name in ordered[:_MOST_OPERATORS]]
    return ", ".join(shown) + (", ..." if len(ordered) > _MOST_OPERATORS else "")
