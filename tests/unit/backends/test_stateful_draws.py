"""While a model is traced, what draws from a seed that Keras generates keeps a state of its own; nothing else does."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from irbench_tf.random_draws import SEED, drawing_without_seeds

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
