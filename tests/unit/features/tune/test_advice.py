"""Asking a backend what it advises for an objective."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from irbench.features.tune import tuning_rows as rows
from irbench.options.run import RunOptions
from irbench.spec import Artifact, Cell, Load
from irbench.system.confinement import Confinement
from irbench.worker import requested_confinement


def test_the_worker_that_compiles_a_model_for_advice_is_confined_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def call(*_: object, confinement: Confinement | None = None, **__: object) -> int:
        asked.append(confinement)
        return 4

    row = Cell("a", Artifact("tf-graph", tmp_path / "graph.pb", (), ()), "openvino", "cpu", Load())
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    monkeypatch.setattr(requested_confinement, "require_confinement", lambda: None)
    monkeypatch.setattr(rows, "requested", lambda _: None)
    monkeypatch.setattr(rows, "planned", lambda *_: (None, [SimpleNamespace(measured=[row])]))
    monkeypatch.setattr(rows, "call_in_worker", call)
    assert rows.streams_advised(RunOptions(), {"hint": "throughput"}, tmp_path) == 4
    assert asked == [Confinement((tmp_path / "graph.pb",), for_runtime=True)]
