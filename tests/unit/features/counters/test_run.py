"""A counted launch waits for what a user asked of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

from irbench.features.counters import run as counted
from irbench.spec import Timing


class _Worker:
    """Answers at once, and remembers how long each step could have taken on top of the deadline."""

    def __init__(self, *_: object) -> None:
        self.extra_s: dict[str, float] = {}
        _Worker.last = self

    last: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def hold(self, *_: object) -> None: ...

    def ask(self, _stage: str, target: str, *_: object, extra_s: float = 0.0) -> Any:
        self.extra_s[target] = extra_s
        return SimpleNamespace(first_inference_s=0.7, calls_per_sample=1, completion_ns=7e8, calls=5)


def test_a_warm_up_of_many_calls_has_the_time_that_they_take(tmp_path: Path) -> None:
    setting: Any = SimpleNamespace(timing=Timing(warm_up=0.0, warm_up_calls=500), worker=_Worker)
    counting: Any = SimpleNamespace(arguments=(), toplev=None)
    cell: Any = SimpleNamespace(load=SimpleNamespace(beside=None))
    counted.count_cell(cell, setting, counting, tmp_path)
    assert _Worker.last.extra_s["warm_up"] >= 500 * 0.7
