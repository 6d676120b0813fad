"""What a model costs as a formula in its dynamic dimensions.

Counts are evaluated at a grid of sizes, solved for polynomials in exact arithmetic, and compared at more points, large
ones among them: no rule knows of symbols, and whatever can be counted has a formula, which holds in the range that it
was compared in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from irbench.cost_model.costs import ModelCost
from irbench.cost_model.counting import model_cost, refusals, refusals_of_onnx
from irbench.cost_model.formula_sums import QUANTITIES, CostFormula, FormulaSums, costs_of_nodes, pattern_of
from irbench.cost_model.polynomials import coefficients_of, degree_of
from irbench.onnx.operator_classes import OperatorClass
from irbench.onnx.reading.weightless import read_outline
from irbench.spec import TensorSpec, names_in

if TYPE_CHECKING:
    import onnx
    from numpy.typing import NDArray

_SMALLEST = 2
"""A size of 1 is stretched to others, and would hide how a count grows."""
_STEPS = (1, 32, 128)
"""Sizes are first taken one after the other; a network that halves its input several times needs multiples."""
_LONG_STEPS = (512, 800)
"""For inputs that are shorter than a window at smaller sizes: audio, with a window every 80, 160 or 256 samples."""
_LARGEST = 4096
"""The largest size that formulas are compared at: windows and tables of positions end below it."""
_HIGHEST_DEGREE = 4
_MOST_EVALUATIONS = 80
_MOST_NODES = 1 << 32

_Point: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class ModelFormulas:
    """What a model costs in its dynamic dimensions, in the range of sizes in which that is known to hold.

    Attributes:
        largest: By dimension the size that they hold up to: a window or a table of positions ends there, or they were
            not compared with counts beyond.
        example: The cost at one point, for what depends on no size: names, operators, weights and uncounted nodes.
        by_operator: The operators with their domains, in the order of the example's.
    """

    names: tuple[str, ...]
    multiple_of: int
    smallest: int
    largest: Mapping[str, int]
    example: ModelCost
    total: CostFormula
    by_class: Mapping[OperatorClass, CostFormula]
    by_operator: Mapping[str, CostFormula]
    nodes: tuple[CostFormula, ...]

    def holds_at(self, sizes: Mapping[str, int]) -> bool:
        """Return whether the formulas were found to hold for sizes like these."""
        return all(
            self.smallest <= sizes[name] <= self.largest[name] and sizes[name] % self.multiple_of == 0
            for name in self.names
        )


@dataclass(frozen=True)
class NoFormulas:
    """That no formula was found.

    Attributes:
        reason: ``no-polynomial`` where the counts follow none of a low degree, ``too-many-dimensions`` where finding it
            would take too long.
    """

    reason: Literal["no-polynomial", "too-many-dimensions"]
    names: tuple[str, ...]


def formulas_of_file(path: Path, inputs: Sequence[TensorSpec]) -> ModelFormulas | NoFormulas:
    """Return what :func:`model_formulas` does for an ONNX file, whose weights are not read.

    ONNX's own code reads what is in the file: call this in a worker where the file is of unknown origin.
    """
    with refusals_of_onnx(path):
        return model_formulas(read_outline(path), inputs)


def model_formulas(model: onnx.ModelProto, inputs: Sequence[TensorSpec]) -> ModelFormulas | NoFormulas:
    """Return what a model costs as polynomials in the dimensions of its inputs that have no size.

    Args:
        model: Left as it is; large weights may lack their content.
        inputs: Its inputs; dimensions that have a size keep it.
    """
    dimensions = (dimension for spec in inputs for dimension in spec.dynamic_dimensions)
    names = tuple(dict.fromkeys(name for dimension in dimensions for name in names_in(dimension)))
    tried: list[tuple[_Search, FormulaSums | NoFormulas]] = []
    for step in (*_STEPS, *_LONG_STEPS):
        if step in _LONG_STEPS and not _is_too_short(tried[0][1]):
            break
        search = _Search(model, inputs, names, step)
        tried.append((search, search.sums()))
        if _is_final(tried[-1][1]):
            break
    search, found = min(tried, key=lambda pair: _shortcomings(pair[1]))
    return search.formulas(found) if isinstance(found, FormulaSums) else found


def _is_final(found: FormulaSums | NoFormulas) -> bool:
    if isinstance(found, NoFormulas):
        return found.reason == "too-many-dimensions"
    return not found.example.empty and not _lacks_shapes(found.example)


def _is_too_short(found: FormulaSums | NoFormulas) -> bool:
    """Whether the smallest sizes may be shorter than a window; of a smaller size than 0 the shape is unknown."""
    return isinstance(found, FormulaSums) and (bool(found.example.empty) or _lacks_shapes(found.example))


def _shortcomings(found: FormulaSums | NoFormulas) -> int:
    """Return how many nodes formulas lack; of those that lack as many, the first are taken."""
    if isinstance(found, NoFormulas):
        return _MOST_NODES
    unknown = sum(node.reason == "unknown-shape" for node in found.example.uncounted)
    return unknown + len(found.example.empty)


def _lacks_shapes(cost: ModelCost) -> bool:
    return any(node.reason == "unknown-shape" for node in cost.uncounted)


class _TooManyError(Exception):
    """More evaluations would be needed than are made."""


@dataclass
class _Search:
    """The evaluations of one model at multiples of one step."""

    model: onnx.ModelProto
    inputs: Sequence[TensorSpec]
    names: tuple[str, ...]
    step: int
    known: dict[_Point, ModelCost] = field(default_factory=dict[tuple[int, ...], ModelCost])

    def sums(self) -> FormulaSums | NoFormulas:
        try:
            degrees = [self._degree(axis) for axis in range(len(self.names))]
            if None in degrees:
                return NoFormulas("no-polynomial", self.names)
            return self._solved([degree or 0 for degree in degrees])
        except _TooManyError:
            return NoFormulas("too-many-dimensions", self.names)

    def _cost(self, point: _Point) -> ModelCost:
        """Return the cost at a point of the grid, which has 0 where a size is the smallest."""
        if point not in self.known:
            if len(self.known) >= _MOST_EVALUATIONS:
                raise _TooManyError
            sizes = self._sizes(point)
            self.known[point] = model_cost(self.model, [spec.bind(sizes) for spec in self.inputs])
        return self.known[point]

    def _size(self, place: int) -> int:
        return (_SMALLEST + place) * self.step

    def _degree(self, axis: int) -> int | None:
        """Return the degree along one dimension, while the others have their smallest size."""
        samples: list[tuple[int, ...]] = []
        for place in range(_HIGHEST_DEGREE + 2):
            total = self._cost(tuple(place if other == axis else 0 for other in range(len(self.names)))).total
            samples.append(tuple(getattr(total, quantity) for quantity in QUANTITIES))
            if (degree := degree_of(samples)) is not None and place >= 2:
                return degree
        return None

    def _solved(self, degrees: Sequence[int]) -> FormulaSums | NoFormulas:
        example = self._cost((0,) * len(self.names))
        grid = self._grid(degrees)
        if any(pattern_of(cost) != pattern_of(example) for cost in grid.values()):
            return NoFormulas("no-polynomial", self.names)
        coefficients = coefficients_of(
            _values(grid, degrees), [[self._size(place) for place in range(degree + 1)] for degree in degrees]
        )
        found = FormulaSums(self.names, example, coefficients)
        check_point = tuple(degree + 2 + axis for axis, degree in enumerate(degrees))
        holds = found.hold(self._sizes(check_point), self._cost(check_point))
        return found if holds else NoFormulas("no-polynomial", self.names)

    def formulas(self, found: FormulaSums) -> ModelFormulas:
        nodes = range(len(found.example.nodes))
        by_class, by_operator = found.by(lambda node: node.operator_class), found.by(lambda node: node.operator)
        single = dict.fromkeys(self.names, self.step)
        return ModelFormulas(
            names=self.names,
            multiple_of=self.step,
            smallest=self.step if self._hold(found, single) else self._size(0),
            largest=self._largest_sizes(found),
            example=found.example,
            total=found.of(nodes),
            by_class={operators: by_class[operators] for operators in found.example.by_class()},
            by_operator={operator: by_operator[operator] for operator in found.example.by_operator()},
            nodes=tuple(found.of([place]) for place in nodes),
        )

    def _largest_sizes(self, found: FormulaSums) -> dict[str, int]:
        largest = {name: self._largest(found, name) for name in self.names}
        while not self._hold(found, largest):
            largest = {name: max(self._size(0), size // 2 // self.step * self.step) for name, size in largest.items()}
        return largest

    def _largest(self, found: FormulaSums, name: str) -> int:
        """Return the largest size of one dimension that the formulas hold for, while the others have their smallest."""
        others = dict.fromkeys(self.names, self._size(0))
        holds, fails = _SMALLEST, _LARGEST // self.step
        if self._hold(found, {**others, name: _LARGEST}):
            return _LARGEST
        while fails - holds > 1:
            middle = (holds + fails) // 2
            if self._hold(found, {**others, name: middle * self.step}):
                holds = middle
            else:
                fails = middle
        return holds * self.step

    def _hold(self, found: FormulaSums, sizes: Mapping[str, int]) -> bool:
        """Whether the formulas give what is counted at some sizes; not where ONNX finds that these do not fit."""
        try:
            return found.hold(sizes, model_cost(self.model, [spec.bind(sizes) for spec in self.inputs]))
        except refusals():
            return False

    def _sizes(self, point: _Point) -> dict[str, int]:
        return {name: self._size(place) for name, place in zip(self.names, point, strict=True)}

    def _grid(self, degrees: Sequence[int]) -> Mapping[_Point, ModelCost]:
        return {point: self._cost(point) for point in product(*(range(degree + 1) for degree in degrees))}


def _values(grid: Mapping[_Point, ModelCost], degrees: Sequence[int]) -> NDArray[Any]:
    """Return the costs of all nodes at all points: an axis for each dimension, then nodes, then quantities."""
    import numpy as np

    nodes = len(next(iter(grid.values())).nodes)
    found: NDArray[Any] = np.zeros((*(degree + 1 for degree in degrees), nodes, len(QUANTITIES)), dtype=object)
    for point, cost in grid.items():
        found[point] = costs_of_nodes(cost)
    return found
