"""On what an optimised graph was compared with the original, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from irbench.core.graph_record import (
    KIND_TEXTS,
    LEFT_OUT_TEXTS,
    UNCHECKED_TEXTS,
    GraphCheck,
    UncheckedBody,
    UncheckedReason,
)
from irbench.core.plain_text import plain
from irbench.core.quantities import listing, plural

_GIVE_INPUTS = "Give inputs that lead there with --data"
_REMEDIES: Mapping[UncheckedReason, str] = {
    "other-shapes": "Fix such sizes with --shape to check it",
    "not-followed": "Compare the outputs on inputs that lead into every branch",
}

_MOST_UNCHECKED = 5


def check_lines(checked: GraphCheck) -> Iterator[str]:
    """Yield what was compared: ``checked on 5 inputs (seeded, large, ...); batch 1, 2 and 3``."""
    kinds = dict.fromkeys(KIND_TEXTS[checked_input.kind] for checked_input in checked.inputs)
    sizes = "".join(f"; {text}" for text in _sizes(checked))
    yield f"checked on {plural(len(checked.inputs), 'input')} ({', '.join(kinds)}){sizes}"
    never = sum(body.iterations is None for body in checked.unchecked)
    if checked.bodies or never:
        yield f"checked {checked.bodies} of {plural(checked.bodies + never, 'subgraph')} of If, Loop and Scan"
    for kind, reason in checked.left_out.items():
        yield f"not checked on {KIND_TEXTS[kind]} inputs: {LEFT_OUT_TEXTS[reason]}"
    if checked.unvaried:
        names = listing([plain(name) for name in checked.unvaried])
        yield f"not checked at other sizes of {names}: the original runs at none that was tried"


def unchecked_texts(checked: GraphCheck) -> Iterator[str]:
    """Yield a sentence for each branch or body that was not compared, with its remedy, for the first few of them."""
    for body in checked.unchecked[:_MOST_UNCHECKED]:
        remedy = _REMEDIES.get(body.reason, _GIVE_INPUTS)
        yield f"{_what(body)} was not checked: {UNCHECKED_TEXTS[body.reason]}. {remedy}"
    more = len(checked.unchecked) - _MOST_UNCHECKED
    if more > 0:
        yield f"{more} more of such a kind; --format json has all of them"


def _what(body: UncheckedBody) -> str:
    node = f"{body.operator} {plain(body.node)}"
    return (
        f"{body.part} of {node}" if body.iterations is None else f"{node} with {plural(body.iterations, 'iteration')}"
    )


def _sizes(checked: GraphCheck) -> Iterator[str]:
    """Yield the sizes of each dynamic dimension: ``batch 1, 2 and 3``."""
    for name in checked.inputs[0].sizes if checked.inputs else ():
        sizes = sorted({checked_input.sizes[name] for checked_input in checked.inputs})
        yield f"{plain(name)} {listing([str(size) for size in sizes])}"
