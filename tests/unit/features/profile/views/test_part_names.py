"""Names of nodes are shortened, and stay different."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from irbench.features.profile.views.part_names import LONGEST_NAME, short_names


def long_name(block: str, end: str = "value_1/Tensordot/MatMul") -> str:
    return f"StatefulPartitionedCall/functional_1/{block}/attention_layer_with_a_long_name/{end}"


def test_a_short_name_is_left_alone() -> None:
    assert short_names(["block/conv"]) == {"block/conv": "block/conv"}


def test_a_long_name_keeps_its_last_scopes() -> None:
    name = "model/" + "/".join(f"scope{number}" for number in range(9)) + "/Tensordot/MatMul"
    assert short_names([name]) == {name: "…/scope6/scope7/scope8/Tensordot/MatMul"}


def test_names_that_would_look_the_same_keep_the_scopes_that_tell_them_apart() -> None:
    names = [long_name(f"block_{number}") for number in range(3)]
    assert list(short_names(names).values()) == [f"…/block_{number}/…/value_1/Tensordot/MatMul" for number in range(3)]


def test_names_that_differ_in_several_scopes_keep_each_of_them() -> None:
    names = [long_name(f"{side}/block_{number}") for side in ("encoder", "decoder") for number in range(2)]
    short = list(short_names(names).values())
    assert short[0] == "…/encoder/block_0/…/Tensordot/MatMul"
    assert len(set(short)) == 4


def test_only_the_names_that_would_look_the_same_become_longer() -> None:
    first, second = long_name("block_0"), long_name("block_1")
    alone = long_name("block_0", "value_1/Tensordot/Reshape")
    assert short_names([first, second, alone])[alone] == short_names([alone])[alone]


def test_a_name_with_fewer_scopes_is_told_from_the_end_of_a_longer_one() -> None:
    end = "/".join(["a_rather_long_scope"] * 3)
    short = short_names([f"model/{end}", f"outer/model/{end}"])
    assert len(set(short.values())) == 2


def test_names_without_scopes_that_differ_in_the_middle_are_shown_whole() -> None:
    names = [f"{'a' * 30}{number}{'b' * 30}" for number in range(2)]
    assert list(short_names(names).values()) == names


scopes = st.sampled_from(["layer_0", "layer_1", "value_1", "Tensordot", "MatMul", "…", "", "x" * 50, "x" * 49 + "y"])


@given(st.sets(st.lists(scopes, min_size=1, max_size=8).map("/".join), max_size=12))
def test_different_names_stay_different(names: set[str]) -> None:
    short = short_names(names)
    assert set(short) == names
    assert len(set(short.values())) == len(names)
    assert all(text == name for name, text in short.items() if len(name) <= LONGEST_NAME)
