"""How cells of tables are folded."""

from __future__ import annotations

from irbench.render.table import fold


def test_options_are_broken_behind_their_sign_where_words_fold_at_spaces():
    assert fold("openvino x2 PERFORMANCE_HINT=THROUGHPUT", 18, breaks_at="=") == [
        "openvino x2",
        "PERFORMANCE_HINT=",
        "THROUGHPUT",
    ]
    assert fold("", 18, breaks_at="=") == [""]
