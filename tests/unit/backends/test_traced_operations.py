"""A model that changes a variable in its calls is said to keep state; others are left alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from irbench.errors import IrbenchError
from irbench_tf.traced_operations import blaming_state, refuse_state


def function(*operations: tuple[str, str], inside: tuple[tuple[str, str], ...] = ()) -> Any:
    """Return a function with operations (type and name), and some inside of a function that it calls."""
    found = [SimpleNamespace(type=kind, name=name) for kind, name in operations]
    nodes = [SimpleNamespace(op=kind, name=name) for kind, name in inside]
    graph_def = SimpleNamespace(library=SimpleNamespace(function=[SimpleNamespace(node_def=nodes)]))
    return SimpleNamespace(graph=SimpleNamespace(get_operations=lambda: found, as_graph_def=lambda: graph_def))


@pytest.mark.parametrize(
    "kind",
    ["AssignVariableOp", "AssignAddVariableOp", "AssignSub", "ResourceScatterNdUpdate", "ResourceStridedSliceAssign"],
)
def test_what_changes_a_variable_is_named_with_its_place_and_a_remedy(kind: str) -> None:
    for changing in (function((kind, "net/count/op")), function(inside=((kind, "net/count/op"),))):
        with pytest.raises(IrbenchError) as caught:
            refuse_state("net", changing)
        assert f"{kind} in net/count" in caught.value.message
        assert "--feedback" in (caught.value.hint or "")


def test_what_only_reads_or_changes_tensors_is_left_alone() -> None:
    refuse_state("net", function(*((kind, kind) for kind in ("ReadVariableOp", "TensorScatterUpdate", "ScatterNd"))))


def test_state_is_blamed_only_where_something_fails() -> None:
    changing = function(("AssignVariableOp", "train/average"))
    with blaming_state("net", changing):
        pass
    with pytest.raises(IrbenchError, match="keeps state"), blaming_state("net", changing):
        raise ValueError("a resource was expected")
    with pytest.raises(ValueError, match="something else"), blaming_state("net", function(("MatMul", "dense"))):
        raise ValueError("something else")
