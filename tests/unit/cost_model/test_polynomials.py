"""Polynomials that are found from their values."""

from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from irbench.cost_model.formulas import Polynomial, coefficients_of, degree_of, polynomial

FACTORS = st.tuples(*[st.integers(-50, 50)] * 6)


@given(FACTORS)
def test_a_polynomial_is_found_from_its_values_on_a_grid(factors):
    points = [[2, 3], [32, 64, 96]]
    powers = list(product(range(2), range(3)))
    grid = np.zeros((2, 3), dtype=object)
    for place in product(range(2), range(3)):
        sizes = [points[axis][index] for axis, index in enumerate(place)]
        grid[place] = sum(
            factor * sizes[0] ** first * sizes[1] ** second
            for factor, (first, second) in zip(factors, powers, strict=True)
        )
    found = polynomial(("n", "s"), coefficients_of(grid, points))
    expected = {power: factor for power, factor in zip(powers, factors, strict=True) if factor}
    assert dict(found.terms) == expected


def test_a_polynomial_has_fractions_where_values_ask_for_them():
    found = polynomial(("n",), coefficients_of(np.array([1, 3, 6], dtype=object), [[1, 2, 3]]))
    assert found.terms == (((2,), Fraction(1, 2)), ((1,), Fraction(1, 2)))
    assert found.at({"n": 10}) == 55


def test_many_polynomials_are_found_at_once():
    grid = np.array([[10, 0], [20, 1]], dtype=object)
    coefficients = coefficients_of(grid, [[1, 2]])
    assert polynomial(("n",), coefficients[..., 0]).terms == (((1,), Fraction(10)),)
    assert polynomial(("n",), coefficients[..., 1]).terms == (((1,), Fraction(1)), ((0,), Fraction(-1)))


def test_the_degree_shows_in_two_samples_more():
    assert degree_of([(7, 1), (7, 2)]) is None
    assert degree_of([(7,), (7,)]) == 0
    assert degree_of([(7, 1), (7, 2), (7, 3)]) == 1
    assert degree_of([(1,), (4,), (9,)]) is None
    assert degree_of([(1,), (4,), (9,), (16,)]) == 2


def test_the_sum_of_two_formulas_leaves_out_what_cancels():
    first = Polynomial(("n",), (((1,), Fraction(7)), ((0,), Fraction(2))))
    second = Polynomial(("n",), (((2,), Fraction(1)), ((0,), Fraction(-2))))
    assert (first + second).terms == (((2,), Fraction(1)), ((1,), Fraction(7)))
