"""The edge of a part: what it reads, what it gives, and what stays inside."""

from __future__ import annotations

from dataclasses import replace

from irbench.features.reduce.cutting import Boundary, GraphOutline, OutlineNode


def node(name: str, reads: str, writes: str) -> OutlineNode:
    return OutlineNode(name, "Relu", "", tuple(reads.split()), tuple(writes.split()))


OUTLINE = GraphOutline(
    nodes=(
        node("conv", "x w", "a"),
        node("norm", "a", "b unused"),
        node("branch", "a b", "c"),
        node("last", "c inside", "y"),
    ),
    inputs=("x",),
    outputs=("y",),
    weights=frozenset({"w"}),
)


def test_weights_are_no_inputs_and_names_of_inner_graphs_are_none_either():
    assert OUTLINE.boundary({0}) == Boundary(inputs=("x",), constants=(), outputs=("a",))
    assert OUTLINE.boundary({3}) == Boundary(inputs=("c",), constants=(), outputs=("y",))


def test_what_a_kept_node_reads_stays_inside_though_others_read_it_too():
    assert OUTLINE.boundary({0, 1}).outputs == ("b",)


def test_what_nobody_reads_is_no_output():
    assert OUTLINE.boundary({1}).outputs == ("b",)


def test_an_output_of_the_model_stays_one():
    given = replace(OUTLINE, outputs=("a", "y"))
    assert given.boundary({0, 1, 2, 3}).outputs == ("a", "y")


def test_parts_need_not_hang_together():
    assert OUTLINE.boundary({0, 3}) == Boundary(inputs=("x", "c"), constants=(), outputs=("a", "y"))


def test_what_no_input_changes_is_a_constant_at_the_edge_and_not_searched():
    static = replace(OUTLINE, nodes=(replace(OUTLINE.nodes[0], is_static=True), *OUTLINE.nodes[1:]))
    assert static.searched == (1, 2, 3)
    assert static.boundary({1}) == Boundary(inputs=(), constants=("a",), outputs=("b",))
