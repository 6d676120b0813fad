"""Loops and branches: calls of functions, or spread out among the other operations."""

from __future__ import annotations

from typing import Any

_FUNCTIONAL = frozenset({"Case", "If", "StatelessCase", "StatelessIf", "StatelessWhile", "While"})


def lower(graph_def: Any) -> None:
    """Let the session spread loops and branches out, in place, as ``tf.function`` does by default.

    A spread-out loop reads its weights as constants; a function gets them as arguments in each turn.
    """
    for nodes in (graph_def.node, *(function.node_def for function in graph_def.library.function)):
        for node in nodes:
            if node.op in _FUNCTIONAL:
                node.attr["_lower_using_switch_merge"].b = True
