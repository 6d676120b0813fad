"""The size of samples as plain integers."""

from __future__ import annotations

from launches import launch, measured, streamed, synchronous

from benchmarks.storing import raw_bytes


def test_samples_count_eight_bytes_for_each_issue_and_each_completion() -> None:
    record = launch(0, [measured("a", [synchronous(0, [1, 2, 3])]), measured("b", [streamed(0, [0, 1], [2, 3])])])
    assert raw_bytes(record) == 8 * (2 * 3 + 2 * 2)
