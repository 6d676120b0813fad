"""What a model costs as a formula in its dynamic dimensions.

Counts are evaluated at a grid of sizes, solved for polynomials in exact arithmetic, and compared at one more point: no
rule knows of symbols, and whatever can be counted has a formula.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from irbench.cost_model.costs import ModelCost, NodeCost
from irbench.cost_model.counting import model_cost, refusals_of_onnx
from irbench.cost_model.polynomials import Polynomial, coefficients_of, degree_of, polynomial
from irbench.onnx.operator_classes import OperatorClass
from irbench.onnx.reading.weightless import read_outline
from irbench.spec import TensorSpec, names_in

if TYPE_CHECKING:
    import onnx
    from numpy.typing import NDArray

__all__ = ["CostFormula", "ModelFormulas", "NoFormulas", "formulas_of_file", "model_formulas"]

_QUANTITIES = ("macs", "flops", "read_bytes", "written_bytes", "activation_bytes")
_SMALLEST = 2
"""A size of 1 is stretched to others, and would hide how a count grows."""
_STEPS = (1, 32, 128)
"""Sizes are first taken one after the other; a network that halves its input several times needs multiples."""
_HIGHEST_DEGREE = 4
_MOST_EVALUATIONS = 80

_Point: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class CostFormula:
    """What nodes cost together, in the units of :class:`~irbench.cost_model.NodeCost`; unknown costs are left out.

    Attributes:
        nodes: How many nodes there are.
        macs: Multiply-accumulates.
        flops: Arithmetic operations.
        read_bytes: Bytes read.
        written_bytes: Bytes written.
        activation_bytes: Bytes read and written, without those of weights.
        parameters: Elements of weights.
        weight_bytes: Bytes of weights.
        without_flops: Nodes whose operations are unknown.
        without_bytes: Nodes whose bytes are unknown.
    """

    nodes: int
    macs: Polynomial
    flops: Polynomial
    read_bytes: Polynomial
    written_bytes: Polynomial
    activation_bytes: Polynomial
    parameters: int
    weight_bytes: int
    without_flops: int
    without_bytes: int


@dataclass(frozen=True)
class ModelFormulas:
    """What a model costs at any size of its dynamic dimensions.

    Attributes:
        names: The dimensions.
        multiple_of: The formulas hold where every size is a multiple of this.
        example: The cost at one point, for what depends on no size: names, operators, weights and uncounted nodes.
        total: All nodes together.
        by_class: The classes that occur.
        by_operator: The operators with their domains, in the order of the example's.
        nodes: A formula for each node of the example.
    """

    names: tuple[str, ...]
    multiple_of: int
    example: ModelCost
    total: CostFormula
    by_class: Mapping[OperatorClass, CostFormula]
    by_operator: Mapping[str, CostFormula]
    nodes: tuple[CostFormula, ...]


@dataclass(frozen=True)
class NoFormulas:
    """That no formula was found.

    Attributes:
        reason: ``no-polynomial`` where the counts follow none of a low degree, ``too-many-dimensions`` where finding it
            would take too long.
        names: The dimensions.
    """

    reason: Literal["no-polynomial", "too-many-dimensions"]
    names: tuple[str, ...]


def formulas_of_file(path: Path, inputs: Sequence[TensorSpec]) -> ModelFormulas | NoFormulas:
    """Return what :func:`model_formulas` does for an ONNX file, whose weights are not read.

    ONNX's own code reads what is in the file: call this in a worker where the file is of unknown origin.

    Raises:
        IrbenchError: The file is missing or not an ONNX model, or ONNX finds that its nodes do not fit together.
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
    failures: list[NoFormulas] = []
    for step in _STEPS:
        found = _Search(model, inputs, names, step).formulas()
        if isinstance(found, ModelFormulas) and not _lacks_shapes(found.example):
            return found
        failures += [found] if isinstance(found, NoFormulas) else []
    return found if isinstance(found, ModelFormulas) else failures[0]


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

    def formulas(self) -> ModelFormulas | NoFormulas:
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
            sizes = {name: self._size(place) for name, place in zip(self.names, point, strict=True)}
            self.known[point] = model_cost(self.model, [spec.bind(sizes) for spec in self.inputs])
        return self.known[point]

    def _size(self, place: int) -> int:
        return (_SMALLEST + place) * self.step

    def _degree(self, axis: int) -> int | None:
        """Return the degree along one dimension, while the others have their smallest size."""
        samples: list[tuple[int, ...]] = []
        for place in range(_HIGHEST_DEGREE + 2):
            total = self._cost(tuple(place if other == axis else 0 for other in range(len(self.names)))).total
            samples.append(tuple(getattr(total, quantity) for quantity in _QUANTITIES))
            if (degree := degree_of(samples)) is not None and place >= 2:
                return degree
        return None

    def _solved(self, degrees: Sequence[int]) -> ModelFormulas | NoFormulas:
        example = self._cost((0,) * len(self.names))
        grid = self._grid(degrees)
        check_point = tuple(degree + 2 + axis for axis, degree in enumerate(degrees))
        check = self._cost(check_point)
        if any(_pattern(cost) != _pattern(example) for cost in (check, *grid.values())):
            return NoFormulas("no-polynomial", self.names)
        coefficients = coefficients_of(
            _values(grid, degrees), [[self._size(place) for place in range(degree + 1)] for degree in degrees]
        )
        found = _Sums(self.names, example, coefficients)
        sizes = {name: self._size(place) for name, place in zip(self.names, check_point, strict=True)}
        if not all(formula.at(sizes) == value for formula, value in found.compared_with(check)):
            return NoFormulas("no-polynomial", self.names)
        return found.formulas(self.step)

    def _grid(self, degrees: Sequence[int]) -> Mapping[_Point, ModelCost]:
        return {point: self._cost(point) for point in product(*(range(degree + 1) for degree in degrees))}


def _pattern(cost: ModelCost) -> tuple[Hashable, ...]:
    """Return what must be the same at every size: the nodes, and which of their costs are known."""
    return tuple((node.name, node.operator, *(value is None for value in _quantities(node))) for node in cost.nodes)


def _quantities(node: NodeCost) -> tuple[int | None, ...]:
    return node.macs, node.flops, node.read_bytes, node.written_bytes, node.activation_bytes


def _values(grid: Mapping[_Point, ModelCost], degrees: Sequence[int]) -> NDArray[Any]:
    """Return the costs of all nodes at all points: an axis for each dimension, then nodes, then quantities."""
    import numpy as np

    nodes = len(next(iter(grid.values())).nodes)
    found: NDArray[Any] = np.zeros((*(degree + 1 for degree in degrees), nodes, len(_QUANTITIES)), dtype=object)
    for point, cost in grid.items():
        for place, node in enumerate(cost.nodes):
            found[(*point, place)] = [value or 0 for value in _quantities(node)]
    return found


@dataclass(frozen=True)
class _Sums:
    """Formulas of groups of nodes, out of the coefficients of each node."""

    names: tuple[str, ...]
    example: ModelCost
    coefficients: NDArray[Any]

    def of(self, places: Sequence[int]) -> CostFormula:
        """Return what some nodes cost together."""
        summed = self.coefficients[..., list(places), :].sum(axis=-2)
        formulas = {name: polynomial(self.names, summed[..., column]) for column, name in enumerate(_QUANTITIES)}
        nodes = [self.example.nodes[place] for place in places]
        return CostFormula(
            nodes=len(nodes),
            **formulas,
            parameters=sum(node.parameters for node in nodes),
            weight_bytes=sum(node.weight_bytes for node in nodes),
            without_flops=sum(node.flops is None for node in nodes),
            without_bytes=sum(node.moved_bytes is None for node in nodes),
        )

    def by(self, key: Callable[[NodeCost], Any]) -> dict[Any, CostFormula]:
        """Return the sums of the nodes that have something in common."""
        groups: dict[Any, list[int]] = {}
        for place, node in enumerate(self.example.nodes):
            groups.setdefault(key(node), []).append(place)
        return {name: self.of(places) for name, places in groups.items()}

    def compared_with(self, cost: ModelCost) -> list[tuple[Polynomial, int]]:
        """Return the totals with what they must be at the sizes of another cost."""
        total = self.of(range(len(self.example.nodes)))
        return [(getattr(total, name), getattr(cost.total, name)) for name in _QUANTITIES]

    def formulas(self, step: int) -> ModelFormulas:
        """Return all of them."""
        by_class, by_operator = self.by(lambda node: node.operator_class), self.by(lambda node: node.operator)
        return ModelFormulas(
            names=self.names,
            multiple_of=step,
            example=self.example,
            total=self.of(range(len(self.example.nodes))),
            by_class={operators: by_class[operators] for operators in self.example.by_class()},
            by_operator={operator: by_operator[operator] for operator in self.example.by_operator()},
            nodes=tuple(self.of([place]) for place in range(len(self.example.nodes))),
        )
