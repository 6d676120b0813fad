"""How many numbers a packed weight stands for."""

from __future__ import annotations

import pytest

from irbench.onnx.reading.packed_weights import packs, unpacked_elements

MATRIX = {"N": 8, "K": 40, "bits": 4, "block_size": 32}
CASES = {
    "a matrix whose last block is padded": ("MatMulNBits", 1, "uint8", 8 * 2 * 16, MATRIX, 8 * 40),
    "a zero point for each block of a column": ("MatMulNBits", 3, "uint8", 8, MATRIX, 8 * 2),
    "zero points that are not packed": ("MatMulNBits", 3, "float16", 16, MATRIX, 16),
    "scales": ("MatMulNBits", 2, "float32", 16, MATRIX, 16),
    "a matrix without sizes, as it is stored": ("MatMulNBits", 1, "uint8", 256, {}, 256),
    "a matrix of 4-bit floats": ("MatMulBnb4", 1, "uint8", 160, MATRIX, 8 * 40),
    "a table of 4 bits, as by default": ("GatherBlockQuantized", 0, "uint8", 64, {}, 128),
    "a table of 8 bits": ("GatherBlockQuantized", 0, "uint8", 64, {"bits": 8}, 64),
    "a table whose type has 4 bits": ("GatherBlockQuantized", 0, "uint4", 64, {"bits": 4}, 64),
    "experts of 2 bits": ("QMoE", 2, "uint8", 64, {"expert_weight_bits": 2}, 256),
    "experts whose second product has a width of its own": (
        "QMoE", 5, "uint8", 64, {"expert_weight_bits": 2, "fc2_expert_weight_bits": 4}, 128,
    ),
    "a width that cannot be": ("QMoE", 2, "uint8", 64, {"expert_weight_bits": -1}, 64),
    "sizes that cannot be": ("MatMulNBits", 3, "uint8", 8, {**MATRIX, "block_size": 0}, 8),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_packed_weight_stands_for_as_many_numbers_as_its_operator_reads(case):
    op_type, place, dtype, stored, attributes, expected = CASES[case]

    def attribute(name: str, default: int) -> int:
        return attributes.get(name, default)

    assert unpacked_elements(op_type, place, dtype, stored, attribute) == expected


def test_only_operators_of_onnx_runtime_pack():
    assert packs("com.microsoft", "MatMulNBits")
    assert not packs("somebody", "MatMulNBits")
    assert not packs("", "MatMul")
