"""Products of matrices and tensors, and convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from irbench.cost_model.known_tensors import LINEAR_SAMPLE, NodeView, Rule, Rules, UnknownShape, Work
from irbench.cost_model.rules.elementwise import GELU_BY_TANH, activation_operations


def dense_macs(node: NodeView, transposed: str = "transA") -> int:
    """Return the elements of the output times the length of the axis that is summed over."""
    inner = -2 if node.attribute(transposed, 0) else -1
    return node.output_elements() * node.input_shape(0)[inner]


def _matmul(node: NodeView) -> Work:
    return Work(node.output_elements() * node.input_shape(0)[-1])


def _gemm(node: NodeView) -> Work:
    """Count alpha and beta where they are not 1."""
    outputs = node.output_elements()
    scaled = float(node.attribute("alpha", 1.0)) != 1
    added = node.has_input(2)
    scaled_bias = added and float(node.attribute("beta", 1.0)) != 1
    activation = activation_operations(node.attribute("activation", ""))
    return Work(dense_macs(node), outputs * (scaled + added + scaled_bias + activation))


def _fused_matmul(node: NodeView) -> Work:
    if node.attribute("transBatchA", 0) or node.attribute("transBatchB", 0):
        raise UnknownShape
    outputs = node.output_elements()
    scaled = float(node.attribute("alpha", 1.0)) != 1
    return Work(dense_macs(node), outputs * (scaled + activation_operations(node.attribute("activation", ""))))


def _gemm_gelu(node: NodeView) -> Work:
    return Work(dense_macs(node), node.output_elements() * (GELU_BY_TANH + node.has_input(2)))


def _packed_weights(node: NodeView) -> Work:
    """Count the product, and the two operations that make a number of each packed weight."""
    inner, columns = int(node.attribute("K", 0)), int(node.attribute("N", 0))
    outputs = node.output_elements()
    added = outputs if node.node.op_type == "MatMulNBits" and node.has_input(5) else 0
    return Work(outputs * inner, 2 * inner * columns + added)


def _einsum(node: NodeView) -> Work:
    """Count pairs of operands from left to right: one for each combination of the indices that both have.

    An index that no later operand and not the output has is summed over as soon as the last operand that has it is met.
    """
    terms, output = _einsum_terms(node)
    sizes: dict[str, int] = {}
    for place, term in enumerate(terms):
        for index, size in zip(term, node.input_shape(place), strict=True):
            sizes[index] = max(size, sizes.get(index, size))  # an operand of size 1 is stretched
    if len(terms) == 1:
        return Work(0, node.input_elements() if set(terms[0]) - set(output) else 0)
    macs, indices = 0, set(terms[0])
    for place, term in enumerate(terms[1:], start=1):
        indices |= set(term)
        macs += prod(sizes[index] for index in indices)
        indices &= {*output, *(index for later in terms[place + 1 :] for index in later)}
    return Work(macs)


def _einsum_terms(node: NodeView) -> tuple[list[str], str]:
    """Return the indices of the operands and of the output; those of an ellipsis are digits, the last axis 0."""
    left, arrow, right = str(node.attribute("equation", "")).replace(" ", "").partition("->")
    terms = [_spelled_out(term, len(node.input_shape(place))) for place, term in enumerate(left.split(","))]
    if arrow:
        longest = max((index for term in terms for index in term if index.isdigit()), default="")
        spelled = "".join(str(digit) for digit in range(int(longest), -1, -1)) if longest else ""
        return terms, right.replace("...", spelled)
    every = "".join(terms)
    return terms, "".join(index for index in every if index.isdigit() or every.count(index) == 1)


def _spelled_out(term: str, rank: int) -> str:
    missing = rank - len(term.replace("...", ""))
    if missing < 0 or missing > len("0123456789") or ("..." not in term and missing):
        raise UnknownShape
    return term.replace("...", "".join(str(digit) for digit in range(missing - 1, -1, -1)))


def _linear_model(node: NodeView) -> Work:
    rows = prod(node.input_shape(0)[:-1])
    coefficients: Sequence[float] = node.attribute("coefficients", ())
    intercepts: Sequence[float] = node.attribute("intercepts", ())
    return Work(rows * len(coefficients), rows * len(intercepts))


def _pairwise_distances(node: NodeView) -> Work:
    """Count a subtraction, a product and a sum for each coordinate of each pair."""
    return Work(0, 3 * node.output_elements() * node.input_shape(0)[-1])


def _mixture_of_experts(node: NodeView) -> Work:
    tokens = prod(node.input_shape(0)[:-1])
    experts = [prod(node.input_shape(place)[1:]) for place in (2, 4, 6) if node.has_input(place)]
    return Work(tokens * int(node.attribute("k", 1)) * sum(experts))


PRODUCTS: Rules = {
    "CDist": _pairwise_distances,
    "Einsum": _einsum,
    "FusedGemm": _gemm,
    "FusedMatMul": _fused_matmul,
    "FusedMatMulActivation": _fused_matmul,
    "Gemm": _gemm,
    "GemmFastGelu": _gemm_gelu,
    "GemmFloat8": _gemm,
    "LinearClassifier": _linear_model,
    "LinearRegressor": _linear_model,
    "MatMul": _matmul,
    "MatMulBnb4": _packed_weights,
    "MatMulInteger": _matmul,
    "MatMulInteger16": _matmul,
    "MatMulNBits": _packed_weights,
    "MoE": _mixture_of_experts,
    "TransposeMatMul": _fused_matmul,
}


def convolution(weight: int = 1, bias: int | None = 2) -> Rule:
    """Return the rule of a convolution.

    Each place of an output channel meets the weights of its group: ``channels / groups`` times the kernel, which is
    the weight's shape without its first axis. Padding counts as if it were data; dilation changes nothing.
    """

    def count(node: NodeView) -> Work:
        outputs = node.output_elements()
        macs = outputs * prod(node.input_shape(weight)[1:])
        return Work(macs, outputs if bias is not None and node.has_input(bias) else 0)

    return count


def _transposed_convolution(node: NodeView) -> Work:
    """Count the weights of a group that each element of the input meets."""
    outputs = node.output_elements()
    macs = node.input_elements() * prod(node.input_shape(1)[1:])
    return Work(macs, outputs if node.has_input(2) else 0)


def _fused_convolution(node: NodeView) -> Work:
    macs, others = convolution()(node)
    outputs = node.output_elements()
    added = outputs if node.has_input(3) else 0
    return Work(macs, others + added + outputs * activation_operations(node.attribute("activation", "")))


def _deformable_convolution(node: NodeView) -> Work:
    """Count the convolution, and the interpolation of every value of a window at its own place."""
    macs = node.output_elements() * prod(node.input_shape(1)[1:])
    batch, channels = node.input_shape(0)[:2]
    kernel = prod(node.input_shape(1)[2:])
    samples = batch * channels * kernel * prod(node.output_shape()[2:])
    masked = samples if node.has_input(4) else 0
    return Work(macs, samples * LINEAR_SAMPLE + masked + (node.output_elements() if node.has_input(3) else 0))


CONVOLUTIONS: Rules = {
    "Conv": _fused_convolution,
    "ConvInteger": convolution(bias=None),
    "ConvTranspose": _transposed_convolution,
    "ConvTransposeWithDynamicPads": _transposed_convolution,
    "DeformConv": _deformable_convolution,
    "FusedConv": _fused_convolution,
    "NhwcConv": convolution(),
    "NhwcFusedConv": _fused_convolution,
}
