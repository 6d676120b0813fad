"""Varied options of a stored run ask for the same rows again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from irbench.options.values import AS_IT_IS, alternatives, varied_in

VALUES = st.lists(st.sampled_from([AS_IT_IS, "0", "1", "2"]), min_size=2, max_size=3, unique=True).map(tuple)
VARIED = st.dictionaries(
    st.sampled_from(["ort", "openvino"]), st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1), min_size=1
)


@given(VARIED)
def test_what_was_varied_is_varied_again_in_the_same_order(asked: dict[str, dict[str, tuple[str, ...]]]):
    sets = alternatives(asked)
    assert alternatives(varied_in(sets)) == sets
