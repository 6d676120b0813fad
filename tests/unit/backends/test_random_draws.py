"""A model that draws random numbers in inference is refused with the place; others are left alone."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from irbench.errors import IrbenchError
from irbench_tf.random_draws import SEED, blaming_draws, drawing_without_seeds, refuse_draws


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


KINDS = ("normal", "truncated_normal", "uniform")


class Generator:
    """Stands for Keras's."""

    def next(self, ordered: bool = True) -> str:
        return f"a variable, {ordered}"


def recorder(name: str) -> Any:
    return lambda *given, **named: (name, given, named)


@pytest.fixture
def tf(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    names = (*KINDS, *(f"stateless_{kind}" for kind in KINDS))
    experimental = SimpleNamespace(stateless_dropout=recorder("stateless_dropout"))
    module = SimpleNamespace(
        int32=SimpleNamespace(max=7),
        nn=SimpleNamespace(experimental=experimental),
        random=SimpleNamespace(**{name: recorder(name) for name in names}),
    )
    monkeypatch.setitem(sys.modules, "tensorflow", module)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "keras", SimpleNamespace(random=SimpleNamespace(SeedGenerator=Generator)))  # type: ignore[arg-type]
    return module


@pytest.mark.parametrize("kind", KINDS)
def test_a_draw_from_a_generated_seed_keeps_a_state_of_its_own(kind: str, tf: SimpleNamespace):
    with drawing_without_seeds():
        draw = getattr(tf.random, f"stateless_{kind}")
        assert draw([2], seed=Generator().next(), dtype="float16") == (kind, ([2],), {"dtype": "float16"})
        assert draw([2], Generator().next(ordered=False), 5.0, alg="philox") == (kind, ([2], 5.0), {})


@pytest.mark.parametrize("kind", KINDS)
def test_a_draw_from_a_seed_that_the_model_states_stays(kind: str, tf: SimpleNamespace):
    with drawing_without_seeds():
        Generator().next()
        draw = getattr(tf.random, f"stateless_{kind}")
        assert draw([2], seed=[1, 2]) == (f"stateless_{kind}", ([2],), {"seed": [1, 2]})
        assert draw([2], [1, 2]) == (f"stateless_{kind}", ([2], [1, 2]), {})
        assert tf.nn.experimental.stateless_dropout("x", 0.5, [1, 2])[0] == "stateless_dropout"


def test_a_generated_seed_is_random_so_that_no_draw_from_it_is_a_constant(tf: SimpleNamespace):
    with drawing_without_seeds():
        assert Generator().next() == ("uniform", ([2],), {"maxval": 7, "dtype": tf.int32, "name": SEED})


def test_afterwards_all_is_as_before(tf: SimpleNamespace):
    before = dict(vars(tf.random))
    with drawing_without_seeds():
        assert vars(tf.random) != before
    assert vars(tf.random) == before
    assert Generator().next() == "a variable, True"
