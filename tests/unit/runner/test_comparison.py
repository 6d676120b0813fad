"""One group, interrupted: what is stored, and what its notes say of others."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import models
import pytest

from irbench.measure.core_to_core import CoreLink
from irbench.measure.lock import Holder
from irbench.result import RunDocument
from irbench.runner import comparison
from irbench.runner.comparison import Comparison, GroupContext
from irbench.runner.plan import plan
from irbench.runner.prepare import prepare
from irbench.runner.request import RunRequest
from irbench.spec import Bundle, InputSpec
from irbench.store import RunWriter, Store

ONE = Holder(7, "2026-01-05T10:00:00+00:00", "vgg16")


@pytest.fixture
def writer(tmp_path: Path) -> RunWriter:
    return Store(tmp_path / "results").begin({}, {})


def interrupted(tmp_path: Path, writer: RunWriter, others: Iterator[tuple[Holder, ...]]) -> Comparison:
    """Return a comparison that is interrupted before its first launch."""
    artifact = models.mlp(tmp_path)
    bundle = Bundle("mlp", tuple(InputSpec(spec) for spec in artifact.inputs), (artifact,))
    request = RunRequest((bundle,), (("fake-a", "cpu"),))
    (planned,) = plan(request, prepare(request, tmp_path / "scratch"))

    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    around = GroupContext(request, writer, interrupt, lambda: next(others), CoreLink((0,)), tmp_path, 0)
    return Comparison(planned, around)


def test_all_who_measured_meanwhile_are_noted_once(tmp_path: Path, writer: RunWriter) -> None:
    result = interrupted(tmp_path, writer, iter([(ONE,), (ONE, Holder())])).run()
    assert [note.facts["what"] for note in result.notes if note.code == "another-irbench"] == ["vgg16", None]


def test_a_second_interrupt_does_not_cut_the_storing_of_what_the_first_kept(
    tmp_path: Path, writer: RunWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = RunWriter.commit

    def interrupt_and_commit(self: RunWriter, document: RunDocument) -> RunDocument:
        signal.raise_signal(signal.SIGINT)
        return commit(self, replace(document))

    monkeypatch.setattr(comparison.RunWriter, "commit", interrupt_and_commit)
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path, writer, iter([(), ()])).run()
    (group,) = writer.document.groups
    assert group.stopped_by == "interrupt"
