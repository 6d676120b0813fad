"""Who runs a model from a file as root, unconfined, is told once; whoever has decided on that is not."""

from __future__ import annotations

import os
from pathlib import Path

import models
import pytest

from irbench.requests import resolve


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(resolve, "warned_of", set())
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("IRBENCH_CONFINE")
    return str(models.mlp(tmp_path).path)


def said_of(*names: str) -> list[str]:
    said: list[str] = []
    resolve.resolve_bundles(names, everything=False, say=said.append)
    return said


def test_root_is_warned_once(model: str) -> None:
    (line,) = said_of(model)
    assert line.startswith("warning: models of others run with all rights of root here")
    assert said_of(model) == []


@pytest.mark.parametrize("value", ["0", "1", ""])
def test_who_has_decided_is_not_warned(value: str, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRBENCH_CONFINE", value)
    assert said_of(model) == []


def test_other_users_are_not_warned(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert said_of(model) == []
