"""What a model costs as a formula in its dynamic dimensions.

Counts are evaluated at a grid of sizes, solved for polynomials in exact arithmetic, and compared at more points, large
ones among them: no rule knows of symbols, and whatever can be counted has a formula, which holds in the range that it
was compared in.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import product
from math import lcm, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from irbench.cost_model.costs import ModelCost, NodeCost
from irbench.cost_model.counting import model_cost, refusals, refusals_of_onnx
from irbench.onnx.operator_classes import OperatorClass
from irbench.onnx.reading.external_data import read_outline
from irbench.spec import TensorSpec, names_in

if TYPE_CHECKING:
    import onnx
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Polynomial:
    """A sum of products of sizes.

    Attributes:
        terms: For each product the exponents of the dimensions, in the order of ``names``, and its factor, which is
            never 0; the product with the most dimensions first.
    """

    names: tuple[str, ...]
    terms: tuple[tuple[tuple[int, ...], Fraction], ...] = ()

    def __add__(self, other: Polynomial) -> Polynomial:
        """Return the sum of two polynomials in the same dimensions."""
        factors = dict(self.terms)
        for powers, factor in other.terms:
            factors[powers] = factors.get(powers, Fraction(0)) + factor
        return Polynomial(self.names, _ordered(factors))

    def at(self, sizes: Mapping[str, int]) -> Fraction:
        """Return the value at a size of each dimension."""
        return sum(
            (
                factor * prod(sizes[name] ** power for name, power in zip(self.names, powers, strict=True))
                for powers, factor in self.terms
            ),
            Fraction(0),
        )


def polynomial(names: Sequence[str], coefficients: NDArray[Any]) -> Polynomial:
    """Return the polynomial with these coefficients, an axis for each name and its power along it."""
    return Polynomial(tuple(names), _ordered(dict(np.ndenumerate(coefficients))))


def _ordered(factors: Mapping[tuple[int, ...], Any]) -> tuple[tuple[tuple[int, ...], Fraction], ...]:
    """Return the terms that are not 0, those of the most dimensions first."""
    terms = [(powers, Fraction(factor)) for powers, factor in factors.items() if factor]
    return tuple(sorted(terms, key=lambda term: (-sum(term[0]), *(-power for power in term[0]))))


def degree_of(samples: Sequence[Sequence[int]]) -> int | None:
    """Return the least degree of polynomials through samples at equally spaced sizes.

    Returns:
        The degree; ``None`` where the samples are too few to tell: a degree ``d`` shows in ``d + 2`` of them.
    """
    differences = np.array([list(values) for values in samples], dtype=object)
    for degree in range(len(samples) - 1):
        differences = differences[1:] - differences[:-1]
        if not differences.any():
            return degree
    return None


def coefficients_of(grid: NDArray[Any], points: Sequence[Sequence[int]]) -> NDArray[Any]:
    """Return the coefficients of the polynomials through values on a grid.

    Args:
        grid: Integers, with an axis for each dimension, and behind them any others, along which each polynomial has its
            own values.
        points: The sizes along each of the first axes.

    Returns:
        Fractions in an array of the shape of ``grid``: along each dimension's axis lie the powers 0, 1, 2, ...
    """
    coefficients, divisor = grid, 1
    for axis, sizes in enumerate(points):
        matrix, denominator = _inverse_vandermonde(tuple(sizes))
        coefficients = _along(coefficients, axis, matrix)
        divisor *= denominator
    return _divided(coefficients, divisor)


def _along(values: NDArray[Any], axis: int, matrix: NDArray[Any]) -> NDArray[Any]:
    return np.moveaxis(np.tensordot(matrix, values, axes=(1, axis)), 0, axis)


def _divided(values: NDArray[Any], divisor: int) -> NDArray[Any]:
    flat = [Fraction(value, divisor) if value else 0 for value in values.reshape(-1)]
    fractions: NDArray[Any] = np.empty(len(flat), dtype=object)
    fractions[:] = flat
    return fractions.reshape(values.shape)


@cache
def _inverse_vandermonde(sizes: tuple[int, ...]) -> tuple[NDArray[Any], int]:
    """Return what makes coefficients of values at these sizes: integers, and what they are to be divided by."""
    columns = [_lagrange(sizes, place) for place in range(len(sizes))]
    denominator = lcm(*(factor.denominator for column in columns for factor in column))
    matrix: NDArray[np.object_] = np.array(
        [[int(column[power] * denominator) for column in columns] for power in range(len(sizes))], dtype=object
    )
    return matrix, denominator


def _lagrange(sizes: Sequence[int], place: int) -> list[Fraction]:
    """Return the coefficients of the polynomial that is 1 at one size and 0 at the others."""
    coefficients = [Fraction(1)]
    for other, size in enumerate(sizes):
        if other != place:
            coefficients = _times_linear(coefficients, -size)
            coefficients = [factor / (sizes[place] - size) for factor in coefficients]
    return coefficients


def _times_linear(coefficients: Iterable[Fraction], constant: int) -> list[Fraction]:
    """Multiply a polynomial with ``x + constant``."""
    old = list(coefficients)
    raised, scaled = [Fraction(0), *old], [*(factor * constant for factor in old), Fraction(0)]
    return [first + second for first, second in zip(raised, scaled, strict=True)]


QUANTITIES = ("macs", "flops", "read_bytes", "written_bytes", "activation_bytes")


@dataclass(frozen=True)
class CostFormula:
    """What nodes cost together, in units of :class:`~irbench.cost_model.costs.NodeCost`; unknown costs are left out."""

    nodes: int
    macs: Polynomial
    flops: Polynomial
    read_bytes: Polynomial
    written_bytes: Polynomial
    activation_bytes: Polynomial
    parameters: int
    weight_bytes: int
    without_macs: int
    without_flops: int
    without_bytes: int


@dataclass(frozen=True)
class FormulaSums:
    """Formulas of groups of nodes, out of the coefficients of each node."""

    names: tuple[str, ...]
    example: ModelCost
    coefficients: NDArray[Any]

    def of(self, places: Sequence[int]) -> CostFormula:
        """Return what some nodes cost together."""
        summed = self.coefficients[..., list(places), :].sum(axis=-2)
        formulas = {name: polynomial(self.names, summed[..., column]) for column, name in enumerate(QUANTITIES)}
        nodes = [self.example.nodes[place] for place in places]
        return CostFormula(
            nodes=len(nodes),
            **formulas,
            parameters=sum(node.parameters for node in nodes),
            weight_bytes=sum(node.weight_bytes for node in nodes),
            without_macs=sum(node.macs is None for node in nodes),
            without_flops=sum(node.flops is None for node in nodes),
            without_bytes=sum(node.moved_bytes is None for node in nodes),
        )

    def by(self, key: Callable[[NodeCost], Any]) -> dict[Any, CostFormula]:
        """Return the sums of the nodes that have something in common."""
        groups: dict[Any, list[int]] = {}
        for place, node in enumerate(self.example.nodes):
            groups.setdefault(key(node), []).append(place)
        return {name: self.of(places) for name, places in groups.items()}

    def hold(self, sizes: Mapping[str, int], cost: ModelCost) -> bool:
        """Return whether every node has the cost that was counted at some sizes."""
        if _pattern_of(cost) != _pattern_of(self.example):
            return False
        return bool(np.all(self._at(sizes) == _costs_of_nodes(cost)))

    def _at(self, sizes: Mapping[str, int]) -> NDArray[Any]:
        values = self.coefficients
        for name in self.names:
            powers = np.array([sizes[name] ** power for power in range(len(values))], dtype=object)
            values = np.tensordot(powers, values, axes=1)
        return values


def _costs_of_nodes(cost: ModelCost) -> NDArray[Any]:
    """Return an array of whole numbers: nodes, then quantities; an unknown cost is 0."""
    return np.array([[value or 0 for value in _quantities(node)] for node in cost.nodes], dtype=object).reshape(
        len(cost.nodes), len(QUANTITIES)
    )


def _pattern_of(cost: ModelCost) -> tuple[Hashable, ...]:
    """Return what must be the same at every size: the nodes, and which of their costs are known."""
    return tuple((node.name, node.operator, *(value is None for value in _quantities(node))) for node in cost.nodes)


def _quantities(node: NodeCost) -> tuple[int | None, ...]:
    return node.macs, node.flops, node.read_bytes, node.written_bytes, node.activation_bytes


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
    """Why no formula was found.

    Attributes:
        reason: ``no-polynomial`` where the counts follow none of a low degree, ``too-many-dimensions`` where finding it
            would take too long.
    """

    reason: Literal["no-polynomial", "too-many-dimensions"]
    names: tuple[str, ...]


def formulas_of_file(path: Path, inputs: Sequence[TensorSpec]) -> tuple[ModelFormulas | None, NoFormulas | None]:
    """Return what :func:`model_formulas` does for an ONNX file, whose weights are not read; one of both is ``None``.

    ONNX's own code reads what is in the file: call this in a worker where the file is of unknown origin.
    """
    with refusals_of_onnx(path):
        formulas = model_formulas(read_outline(path), inputs)
    return (formulas, None) if isinstance(formulas, ModelFormulas) else (None, formulas)


def model_formulas(model: onnx.ModelProto, inputs: Sequence[TensorSpec]) -> ModelFormulas | NoFormulas:
    """Return what a model costs as polynomials in the dimensions of its inputs that have no size."""
    dimensions = (dimension for spec in inputs for dimension in spec.dynamic_dimensions)
    names = tuple(dict.fromkeys(name for dimension in dimensions for name in names_in(dimension)))
    tried: list[tuple[_FormulaSearch, FormulaSums | NoFormulas]] = []
    for step in (*_STEPS, *_LONG_STEPS):
        if step in _LONG_STEPS and not _is_too_short(tried[0][1]):
            break
        search = _FormulaSearch(model, inputs, names, step)
        tried.append((search, search.sums()))
        if _is_final(tried[-1][1]):
            break
    search, formulas = min(tried, key=lambda pair: _shortcomings(pair[1]))
    return search.formulas(formulas) if isinstance(formulas, FormulaSums) else formulas


def _is_final(formulas: FormulaSums | NoFormulas) -> bool:
    if isinstance(formulas, NoFormulas):
        return formulas.reason == "too-many-dimensions"
    return not formulas.example.empty and not _lacks_shapes(formulas.example)


def _is_too_short(formulas: FormulaSums | NoFormulas) -> bool:
    """Whether the smallest sizes may be shorter than a window; of a smaller size than 0 the shape is unknown."""
    return isinstance(formulas, FormulaSums) and (bool(formulas.example.empty) or _lacks_shapes(formulas.example))


def _shortcomings(formulas: FormulaSums | NoFormulas) -> int:
    """Return how many nodes formulas lack; of those that lack as many, the first are taken."""
    if isinstance(formulas, NoFormulas):
        return _MOST_NODES
    unknown = sum(node.reason == "unknown-shape" for node in formulas.example.uncounted)
    return unknown + len(formulas.example.empty)


def _lacks_shapes(cost: ModelCost) -> bool:
    return any(node.reason == "unknown-shape" for node in cost.uncounted)


class _TooManyError(Exception):
    """More evaluations would be needed than are made."""


@dataclass
class _FormulaSearch:
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
        if point not in self.known:
            if len(self.known) >= _MOST_EVALUATIONS:
                raise _TooManyError
            sizes = self._sizes(point)
            self.known[point] = model_cost(self.model, [spec.bind(sizes) for spec in self.inputs])
        return self.known[point]

    def _size(self, place: int) -> int:
        return (_SMALLEST + place) * self.step

    def _degree(self, axis: int) -> int | None:
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
        if any(_pattern_of(cost) != _pattern_of(example) for cost in grid.values()):
            return NoFormulas("no-polynomial", self.names)
        coefficients = coefficients_of(
            _values(grid, degrees), [[self._size(place) for place in range(degree + 1)] for degree in degrees]
        )
        formulas = FormulaSums(self.names, example, coefficients)
        check_point = tuple(degree + 2 + axis for axis, degree in enumerate(degrees))
        holds = formulas.hold(self._sizes(check_point), self._cost(check_point))
        return formulas if holds else NoFormulas("no-polynomial", self.names)

    def formulas(self, sums: FormulaSums) -> ModelFormulas:
        nodes = range(len(sums.example.nodes))
        by_class, by_operator = sums.by(lambda node: node.operator_class), sums.by(lambda node: node.operator)
        single = dict.fromkeys(self.names, self.step)
        return ModelFormulas(
            names=self.names,
            multiple_of=self.step,
            smallest=self.step if self._hold(sums, single) else self._size(0),
            largest=self._largest_sizes(sums),
            example=sums.example,
            total=sums.of(nodes),
            by_class={operators: by_class[operators] for operators in sums.example.by_class()},
            by_operator={operator: by_operator[operator] for operator in sums.example.by_operator()},
            nodes=tuple(sums.of([place]) for place in nodes),
        )

    def _largest_sizes(self, sums: FormulaSums) -> dict[str, int]:
        largest = {name: self._largest(sums, name) for name in self.names}
        while not self._hold(sums, largest):
            largest = {name: max(self._size(0), size // 2 // self.step * self.step) for name, size in largest.items()}
        return largest

    def _largest(self, sums: FormulaSums, name: str) -> int:
        others = dict.fromkeys(self.names, self._size(0))
        holds, fails = _SMALLEST, _LARGEST // self.step
        if self._hold(sums, {**others, name: _LARGEST}):
            return _LARGEST
        while fails - holds > 1:
            middle = (holds + fails) // 2
            if self._hold(sums, {**others, name: middle * self.step}):
                holds = middle
            else:
                fails = middle
        return holds * self.step

    def _hold(self, sums: FormulaSums, sizes: Mapping[str, int]) -> bool:
        """Whether the formulas give what is counted at some sizes; not where ONNX finds that these do not fit."""
        try:
            return sums.hold(sizes, model_cost(self.model, [spec.bind(sizes) for spec in self.inputs]))
        except refusals():
            return False

    def _sizes(self, point: _Point) -> dict[str, int]:
        return {name: self._size(place) for name, place in zip(self.names, point, strict=True)}

    def _grid(self, degrees: Sequence[int]) -> Mapping[_Point, ModelCost]:
        return {point: self._cost(point) for point in product(*(range(degree + 1) for degree in degrees))}


def _values(grid: Mapping[_Point, ModelCost], degrees: Sequence[int]) -> NDArray[Any]:
    nodes = len(next(iter(grid.values())).nodes)
    values: NDArray[Any] = np.zeros((*(degree + 1 for degree in degrees), nodes, len(QUANTITIES)), dtype=object)
    for point, cost in grid.items():
        values[point] = _costs_of_nodes(cost)
    return values
