"""What a chain of Transpose, Reshape, Unsqueeze, Squeeze and Flatten does to the elements of a tensor.

Axes are cut into *atoms*, the pieces that move as a whole. A transposition reorders groups of atoms, a reshape cuts
and regroups them, and neither looks at the elements: two chains do the same exactly if they leave the same atoms in the
same order. Axes of size one hold no atoms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.shapes import set_sizes
from irbench.onnx.sizes import ONE, Size, product, quotient, sizes_of
from irbench.optimizer.pass_tools.edit import add_constant, insert, reshape_operation

if TYPE_CHECKING:
    import onnx_ir as ir

Atom = tuple[int, ...]
"""An axis of the source, then which piece of it, of which piece, and so on: atoms sort in the order of the source."""

Step = tuple[str, tuple[int, ...] | tuple[Size, ...]]
"""``("Transpose", permutation)`` or ``("Reshape", sizes)``."""


@dataclass(frozen=True)
class Layout:
    """Where the elements of a source tensor stand.

    Attributes:
        atoms: Size of each atom; together they cover the source.
        axes: Atoms in each axis of the result, outermost first.
    """

    source: tuple[Size, ...]
    atoms: dict[Atom, Size]
    axes: tuple[tuple[Atom, ...], ...]
    sizes: tuple[Size, ...]

    @property
    def order(self) -> list[Atom]:
        """Atoms of the result, outermost first."""
        return [atom for axis in self.axes for atom in axis]


def start(sizes: Sequence[Size]) -> Layout:
    """Return the layout of a tensor that nothing has been done to."""
    atoms: dict[Atom, Size] = {(place,): size for place, size in enumerate(sizes) if size != ONE}
    axes = tuple(((place,),) if size != ONE else () for place, size in enumerate(sizes))
    return Layout(tuple(sizes), atoms, axes, tuple(sizes))


def transpose(layout: Layout, permutation: Sequence[int]) -> Layout:
    """Reorder axes."""
    axes = tuple(layout.axes[place] for place in permutation)
    return Layout(layout.source, layout.atoms, axes, tuple(layout.sizes[place] for place in permutation))


def reshape(layout: Layout, sizes: Sequence[Size]) -> Layout | None:
    """Regroup atoms into axes of new sizes, or return ``None`` where an atom cannot be cut that way."""
    atoms = dict(layout.atoms)
    rest = layout.order
    axes: list[tuple[Atom, ...]] = []
    for size in sizes:
        axis: list[Atom] = []
        remaining: Size | None = size
        while remaining is not None and remaining != ONE:
            if not rest:
                return None
            taken = _take(rest, atoms, remaining)
            if taken is None:
                return None
            axis.append(taken)
            remaining = quotient(remaining, atoms[taken])
        axes.append(tuple(axis))
    return None if rest else Layout(layout.source, atoms, tuple(axes), tuple(sizes))


def _take(rest: list[Atom], atoms: dict[Atom, Size], remaining: Size) -> Atom | None:
    first = rest.pop(0)
    if quotient(remaining, atoms[first]) is not None:
        return first
    inner = quotient(atoms[first], remaining)
    if inner is None:
        return None
    outer_piece, inner_piece = (*first, 0), (*first, 1)
    del atoms[first]
    atoms |= {outer_piece: remaining, inner_piece: inner}
    rest.insert(0, inner_piece)
    return outer_piece


def steps(layout: Layout) -> list[Step]:
    """Return the fewest steps that make the layout of its source: at most Reshape, Transpose, Reshape."""
    order = layout.order
    if order == sorted(order):
        return [] if layout.sizes == layout.source else [("Reshape", layout.sizes)]
    blocks = _blocks(layout, {atom: atom[0] for atom in order})
    cut, ranks = _moved(layout, blocks)
    if cut == [size for size in layout.source if size != ONE]:
        return _without_cut(layout, [block[0][0] for block in blocks])
    joined = _blocks(layout, {atom: place for place, axis in enumerate(layout.axes) for atom in axis})
    if len(joined) == sum(map(bool, layout.axes)):
        return _without_joint(layout, *_moved(layout, joined))
    return [("Reshape", tuple(cut)), ("Transpose", tuple(ranks)), ("Reshape", layout.sizes)]


def _blocks(layout: Layout, axis: dict[Atom, int]) -> list[tuple[Atom, ...]]:
    """Join atoms of one axis that the source and the result both hold next to each other."""
    following = dict(pairwise(sorted(layout.atoms)))
    blocks: list[tuple[Atom, ...]] = []
    for atom in layout.order:
        last = blocks[-1][-1] if blocks else None
        if last is not None and following.get(last) == atom and axis[last] == axis[atom]:
            blocks[-1] = (*blocks[-1], atom)
        else:
            blocks.append((atom,))
    return blocks


def _moved(layout: Layout, blocks: list[tuple[Atom, ...]]) -> tuple[list[Size], list[int]]:
    ordered = sorted(blocks)
    return [product(layout.atoms[atom] for atom in block) for block in ordered], [
        ordered.index(block) for block in blocks
    ]


def _without_joint(layout: Layout, cut: list[Size], ranks: list[int]) -> list[Step]:
    ones = layout.sizes.count(ONE)
    moved, idle = iter(ones + rank for rank in ranks), iter(range(ones))
    permutation = tuple(next(idle if size == ONE else moved) for size in layout.sizes)
    return [("Reshape", (ONE,) * ones + tuple(cut)), ("Transpose", permutation)]


def _without_cut(layout: Layout, moved: list[int]) -> list[Step]:
    """Transpose the axes of the source as they are; axes of size one go where the result wants them."""
    idle = [place for place, size in enumerate(layout.source) if size == ONE]
    permutation, waiting = [], list(moved)
    for axis in layout.axes:
        if not axis and idle:
            permutation.append(idle.pop(0))
        elif axis and waiting:
            permutation.append(waiting.pop(0))
    permutation = [*idle, *permutation, *waiting]
    shortened: list[Step] = [("Transpose", tuple(permutation))]
    reached = tuple(layout.source[place] for place in permutation)
    return shortened if reached == layout.sizes else [*shortened, ("Reshape", layout.sizes)]


def write_steps(before: ir.Node, source: ir.Value, steps: Sequence[Step]) -> ir.Value | None:
    """Lay a value out differently before a node and return the result; ``None`` where no constant can say a step."""
    targets = _targets(source, steps)
    graph = before.graph
    if targets is None or graph is None:
        return None
    value = source
    for operation, numbers, sizes in targets:
        if operation == "Transpose":
            value = insert(before, operation, [value], {"perm": numbers})
        else:
            constant = add_constant(graph, np.array(numbers, np.int64), before.outputs[0])
            value = insert(before, operation, [value, constant])
        set_sizes(value, sizes)
    return value


def _targets(source: ir.Value, steps: Sequence[Step]) -> list[tuple[str, list[int], list[Size]]] | None:
    sizes = list(sizes_of(source) or ())
    targets: list[tuple[str, list[int], list[Size]]] = []
    for operation, target in steps:
        if operation == "Transpose":
            order = [place for place in target if isinstance(place, int)]
            step: tuple[str, list[int]] | None = (operation, order)
            sizes = [sizes[place] for place in order]
        else:
            after = [size for size in target if isinstance(size, Size)]
            step, sizes = reshape_operation(sizes, after), after
        if step is None:
            return None
        name, values = step
        targets.append((name, values, sizes))
    return targets
