import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.einsum_to_matmul import einsum_to_matmul

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 6, "f": 7}


def make(equation, left, right, result, free=()):
    def axes(term):
        return ",".join(factor if factor in free else str(SIZES.get(factor, 1)) for factor in term)

    node = f'y = Einsum <equation: string = "{equation}"> (u, v)'
    return graph(f"(float[{axes(left)}] u, float[{axes(right)}] v) => (float[{axes(result)}] y) {{ {node} }}", opset=18)


def feed(left, right):
    return {name: random(*(SIZES[factor] for factor in term)) for name, term in (("u", left), ("v", right))}


EQUATIONS = {
    ("ab", "bc", "ac"): ["MatMul"],
    ("abc", "cd", "abd"): ["MatMul"],
    ("abcd", "aecd", "acbe"): ["Transpose", "Transpose", "MatMul"],
    ("abc", "cde", "abde"): ["Reshape", "MatMul", "Reshape"],
    ("acbe", "aecd", "abcd"): ["Transpose", "Transpose", "MatMul", "Transpose"],
    ("abcd", "cde", "abe"): ["Reshape", "Reshape", "MatMul"],
    ("ab", "cd", "x"): None,
}


@pytest.mark.parametrize("terms", [terms for terms, left in EQUATIONS.items() if left], ids=",".join)
def test_rule_1_writes_a_product(terms):
    left, right, result = terms
    found = applied(einsum_to_matmul, make(f"{left},{right}->{result}", *terms), feed(left, right))
    assert "Einsum" not in found
    assert "MatMul" in found
    assert len(found) <= len(EQUATIONS[terms]) + 1


def test_rule_1_keeps_free_sizes_in_their_place():
    terms = ("abcd", "aecd", "acbe")
    found = applied(einsum_to_matmul, make("abcd,aecd->acbe", *terms, free="abe"), feed(*terms[:2]))
    assert sorted(found) == ["MatMul", "Transpose", "Transpose"]


NO_PRODUCT = [
    ("ab,bc->c", "ab", "bc", "c"),
    ("ab,cd->abcd", "ab", "cd", "abcd"),
    ("aab,bc->ac", "aab", "bc", "ac"),
    ("ab,bc", "ab", "bc", "ac"),
]


@pytest.mark.parametrize("case", NO_PRODUCT, ids=lambda case: case[0])
def test_other_sums_stay(case):
    assert kept(einsum_to_matmul, make(*case))


def test_an_axis_of_one_that_is_stretched_stays():
    text = '(float[2,1] u, float[3,4] v) => (float[2,4] y) { y = Einsum <equation: string = "ab,bc->ac"> (u, v) }'
    assert kept(einsum_to_matmul, graph(text, opset=18))


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint16"])
def test_numbers_that_matmul_does_not_take_stay(dtype):
    signature = f"({dtype}[2,3] u, {dtype}[3,4] v) => ({dtype}[2,4] y)"
    node = 'y = Einsum <equation: string = "ab,bc->ac"> (u, v)'
    assert kept(einsum_to_matmul, graph(f"{signature} {{ {node} }}", opset=18))


@pytest.mark.parametrize("dtype", ["int32", "int64", "double"])
def test_other_numbers_than_float32_are_multiplied(dtype):
    signature = f"({dtype}[2,3] u, {dtype}[3,4] v) => ({dtype}[2,4] y)"
    node = 'y = Einsum <equation: string = "ab,bc->ac"> (u, v)'
    arrays = {"u": np.arange(6, dtype=dtype).reshape(2, 3), "v": np.arange(12, dtype=dtype).reshape(3, 4)}
    assert applied(einsum_to_matmul, graph(f"{signature} {{ {node} }}", opset=18), arrays) == ["MatMul"]
