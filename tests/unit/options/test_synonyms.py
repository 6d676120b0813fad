"""Words that mean another word of an option."""

from __future__ import annotations

import pytest

from irbench.options import kinds


def test_tokens_per_second_is_another_word_for_the_objective_of_throughput() -> None:
    assert kinds.OBJECTIVE.read("tokens/s") == kinds.OBJECTIVE.read("fps") == "fps"
    with pytest.raises(ValueError, match="tokens/s"):
        kinds.OBJECTIVE.read("tokens")
