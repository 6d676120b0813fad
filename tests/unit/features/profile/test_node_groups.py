"""What any backend computes in one operator is compared as one."""

from __future__ import annotations

from irbench.features.profile.derivation import node_groups

ORDER = ("a", "b", "c", "d", "e")


def groups_of(*fused: tuple[str, ...]) -> set[tuple[str, ...]]:
    return {group.nodes for group in node_groups(fused, ORDER).values()}


def test_nodes_that_nobody_fuses_stay_alone() -> None:
    assert groups_of(("a",), ("b",), ("a",)) == {("a",), ("b",)}


def test_what_two_backends_fuse_differently_becomes_one_group_in_the_order_of_the_graph() -> None:
    assert groups_of(("b", "a"), ("c",), ("b", "c"), ("d",)) == {("a", "b", "c"), ("d",)}


def test_groups_that_a_later_operator_joins_become_one() -> None:
    assert groups_of(("a", "b"), ("c", "d"), ("d", "a")) == {("a", "b", "c", "d")}


def test_a_group_is_called_by_its_first_node_and_every_node_knows_it() -> None:
    groups = node_groups([("d", "b")], ORDER)
    assert {name: group.key for name, group in groups.items()} == {"b": "b", "d": "b"}


def test_nodes_that_the_exported_graph_lacks_come_behind() -> None:
    assert groups_of(("new", "c")) == {("c", "new")}


def test_operators_without_nodes_make_no_group() -> None:
    assert node_groups([()], ORDER) == {}
