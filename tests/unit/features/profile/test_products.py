"""Products are computed by operators that are products, whatever the runtime made of their names."""

from __future__ import annotations

from profiles import NODES, operator

from irbench.features.profile.joining import match_operators, with_products
from irbench.features.profile.record import OperatorProfile
from irbench.onnx.operator_classes import OperatorClass

KINDS = {"fusion": OperatorClass.ELEMENTWISE, "dot": OperatorClass.MATRIX}


def joined(*operators: OperatorProfile) -> list[tuple[tuple[str, ...], str]]:
    matches = with_products(operators, match_operators(operators, NODES, KINDS), NODES, KINDS)
    return [(tuple(NODES[place].name for place in match.nodes), match.matched_by) for match in matches]


def lost(name: str, kind: str = "dot") -> OperatorProfile:
    return operator(name, kind, shape=None)


def test_a_fusion_behind_a_product_without_a_name_gives_the_product_back() -> None:
    fusion = operator("f", "fusion", nodes=["block/conv", "block/relu"])
    assert joined(lost("7"), fusion) == [(("block/conv",), "position"), (("block/relu",), "name")]


def test_a_reshape_behind_a_product_gives_all_back() -> None:
    reshape = operator("r", "Reshape", nodes=["block/conv", "block/relu"])
    assert joined(lost("7", "Gemm"), reshape) == [(("block/conv", "block/relu"), "position"), ((), "inserted")]


def test_several_products_are_given_in_order_to_the_last_ones_that_wait() -> None:
    fusion = operator("f", "fusion", nodes=["block/conv", "head/dense"])
    assert joined(lost("1"), lost("2"), lost("3"), fusion) == [
        ((), "unmatched"),
        (("block/conv",), "position"),
        (("head/dense",), "position"),
        ((), "inserted"),
    ]


def test_a_product_that_has_its_nodes_keeps_them() -> None:
    conv = operator("c", "Conv", nodes=["block/conv", "block/relu"])
    assert joined(lost("7"), conv)[1] == (("block/conv", "block/relu"), "name")


def test_an_operator_of_unknown_kind_keeps_its_nodes_and_so_does_one_before_which_nobody_waits() -> None:
    strange = operator("s", "Strange", nodes=["block/conv"])
    fusion = operator("f", "fusion", nodes=["block/conv"])
    assert joined(lost("7"), strange)[1] == (("block/conv",), "name")
    assert joined(fusion) == [(("block/conv",), "name")]


def test_a_part_of_a_product_that_is_computed_gives_nothing_to_one_that_waits() -> None:
    conv = operator("c", "Conv", nodes=["block/conv"])
    bias = operator("b", "fusion", nodes=["block/conv"])
    assert joined(lost("7"), conv, bias) == [((), "unmatched"), (("block/conv",), "name"), (("block/conv",), "name")]
