"""A model that draws random numbers in inference is refused with the place; others are left alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from irbench.errors import IrbenchError
from irbench_tf.random_draws import blaming_draws, refuse_draws


def function(*operations: tuple[str, str], inside: tuple[tuple[str, str], ...] = ()) -> Any:
    """Return a function with operations (type and name), and some inside of a function that it calls."""
    found = [SimpleNamespace(type=kind, name=name) for kind, name in operations]
    library = SimpleNamespace(
        function=[SimpleNamespace(node_def=[SimpleNamespace(op=op, name=name) for op, name in inside])]
    )
    graph_def = SimpleNamespace(library=library)
    return SimpleNamespace(graph=SimpleNamespace(get_operations=lambda: found, as_graph_def=lambda: graph_def))


@pytest.mark.parametrize(
    "kind",
    ["RandomUniform", "RandomStandardNormal", "TruncatedNormal", "Multinomial", "StatelessRandomNormalV2",
     "StatelessTruncatedNormalV2", "StatefulStandardNormalV2", "RngReadAndSkip"],
)  # fmt: skip
def test_what_draws_is_named_with_its_place(kind: str):
    with pytest.raises(
        IrbenchError, match=f"^net draws random numbers in inference \\({kind} in net/noise\\)"
    ) as caught:
        refuse_draws("net", function(("MatMul", "net/dense/MatMul"), (kind, "net/noise/draw")))
    assert caught.value.message.startswith(f"net draws random numbers in inference ({kind} in net/noise)")
    assert "training=False" in caught.value.hint


def test_what_draws_inside_a_function_is_found():
    with pytest.raises(IrbenchError, match="RandomUniform in noise"):
        refuse_draws("net", function(inside=(("RandomUniform", "noise"),)))


def test_a_seed_is_not_what_a_model_draws():
    seed = ("RandomUniformInt", "net/noise/irbench_seed_1")
    refuse_draws("net", function(seed, inside=(seed,)))
    with pytest.raises(IrbenchError, match="StatelessRandomGammaV3 in net/noise"):
        refuse_draws("net", function(seed, ("StatelessRandomGammaV3", "net/noise/gamma")))


def refusal_of(*kinds: str) -> str | None:
    try:
        refuse_draws("net", function(*((kind, kind) for kind in kinds)))
    except IrbenchError as error:
        return error.message
    return None


def test_what_only_sounds_alike_is_left_alone():
    kinds = ("StatelessIf", "StatefulPartitionedCall", "StatelessWhile", "UniformQuantize", "ReadVariableOp")
    assert refusal_of(*kinds) is None
    assert refusal_of(*kinds, "RandomShuffle") is not None


def test_a_failure_is_blamed_on_draws_only_where_there_are_some():
    with (
        pytest.raises(IrbenchError, match="draws random numbers"),
        blaming_draws("net", function(("RandomUniform", "r"))),
    ):
        raise ValueError("expected resource")
    with pytest.raises(ValueError, match="expected resource"), blaming_draws("net", function(("MatMul", "m"))):
        raise ValueError("expected resource")
