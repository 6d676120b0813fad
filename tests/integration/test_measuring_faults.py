"""Faults of the machine while it measures: whatever was measured before is kept, and can be gone on with."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import models
import pytest
from fake_runs import ENOUGH, FASTEST, cell
from front_door import Called, irbench

import irbench as api
from irbench.errors import IrbenchError
from irbench.measure import clock
from irbench.store.runs import Store

pytestmark = pytest.mark.usefixtures("known_backends")

BOTH = ("--backends", "fake-a,fake-b", "--format", "json")
CALLS = ("--set", "fake-a.call_us=20000", "--set", "fake-b.call_us=20000")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


@pytest.fixture
def store(own_home: Path) -> Store:
    return Store(own_home / "results")


@contextlib.contextmanager
def files_no_larger_than(size_bytes: int) -> Iterator[None]:
    """Let no file grow beyond a size, as on a disk that fills up; unlike a mount it needs no privileges."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def after_launch(number: int, do: Callable[[], object]) -> Callable[[api.Progress], None]:
    """Return what hears a run, and does something when so many launches have ended."""

    def hear(progress: api.Progress) -> None:
        if progress.interim is not None and progress.interim.launches == number:
            do()

    return hear


@pytest.mark.ci
def test_a_file_that_cannot_be_written_whole_keeps_the_launches_before_and_the_run_goes_on(
    model: Path, store: Store
) -> None:
    with contextlib.ExitStack() as stack:
        fill = after_launch(1, lambda: stack.enter_context(files_no_larger_than(200)))
        with pytest.raises(IrbenchError, match="File too large") as caught:
            api.run(model, backends=["fake-a", "fake-b"], quick=True, budget="60m", progress=fill)
    assert "kept in" in caught.value.hint
    (entry,) = store.listing().entries
    before = store.load(Path(entry.folder))
    assert (entry.launches, entry.measured, entry.resumable) == (1, True, True)
    assert len(store.launches(Path(entry.folder))) == 1
    found = api.resume(progress=None)
    assert (found.id, found.document.complete, len(found.document.launches)) == (entry.run_id, True, 3)
    assert found.document.launches["launch-00-00.bin"] == before.launches["launch-00-00.bin"]


@pytest.mark.parametrize(
    "name",
    [pytest.param("launch-00-01.bin", marks=pytest.mark.ci), pytest.param("run.json", marks=pytest.mark.slow)],
)
def test_a_full_disk_at_any_file_of_a_run_is_one_error_and_loses_no_launch(
    model: Path, store: Store, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from irbench.store import runs

    full: list[bool] = []

    def failing(write: Callable[[Path, bytes], None]) -> Callable[[Path, bytes], None]:
        def fail(path: Path, data: bytes) -> None:
            if full and path.name == name:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            write(path, data)

        return fail

    monkeypatch.setattr(runs, "write_synced", failing(runs.write_synced))
    monkeypatch.setattr(runs, "write_atomically", failing(runs.write_atomically))
    with pytest.raises(IrbenchError, match=f"{name} cannot be written: No space left on device") as caught:
        api.run(
            model, backends=["fake-a"], quick=True, budget="60m", progress=after_launch(1, lambda: full.append(True))
        )
    assert "Free some space there" in caught.value.hint
    assert "kept in" in caught.value.hint
    (entry,) = store.listing().entries
    assert entry.launches == 1
    full.clear()
    assert len(api.resume(progress=None).document.launches) == 3


STEPS = {
    "back": [timedelta(hours=-2)] * 50,
    "forth": [timedelta(days=400)] * 50,
    "back and forth": [timedelta(hours=(-1) ** number * 9) for number in range(50)],
}


class SteppingCalendar(datetime):
    """A calendar that is set again each time it is looked at."""

    steps: ClassVar[list[timedelta]] = []

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return datetime.now(UTC) + (cls.steps.pop(0) if cls.steps else timedelta())  # noqa: TID251 - what is stepped


def measured(model: Path) -> Called:
    called = irbench("run", model, *BOTH, *FASTEST, "--seed", "3")
    assert called.code == 0, called.err
    return called


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("back and forth", marks=pytest.mark.ci),
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("back", "forth")),
    ],
)
def test_a_wall_clock_that_is_set_while_a_run_measures_changes_no_figure_and_loses_no_run(
    model: Path, store: Store, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    steady = measured(model).document
    monkeypatch.setattr(SteppingCalendar, "steps", [timedelta(), *STEPS[kind]])
    monkeypatch.setattr(clock, "datetime", SteppingCalendar)
    stepping = measured(model).document
    for name in ("fake-a", "fake-b"):
        before, after = (
            row for run in (steady, stepping) for row in run["groups"][0]["cells"] if row["backend"] == name
        )
        assert after["latency_ms"]["p50"] == pytest.approx(before["latency_ms"]["p50"], rel=1e-3)
        assert after["state"] == "ok"
    assert stepping["groups"][0]["stopped_by"] == steady["groups"][0]["stopped_by"]
    listing = store.listing()
    assert not listing.problems
    assert {entry.run_id for entry in listing.entries} == {steady["run_id"], stepping["run_id"]}
    for entry in listing.entries:
        assert len(store.launches(Path(entry.folder))) == 1
    assert irbench("results").code == 0
    assert irbench("show", stepping["run_id"]).code == 0


@pytest.mark.ci
def test_a_run_goes_on_though_the_clock_was_set_back_since(
    model: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(api.Interrupted):
        api.run(model, backends=["fake-a"], quick=True, budget="60m", progress=after_launch(1, stop))
    monkeypatch.setattr(SteppingCalendar, "steps", [timedelta(days=-30)] * 50)
    monkeypatch.setattr(clock, "datetime", SteppingCalendar)
    found = api.resume(progress=None)
    assert (found.document.complete, len(found.document.launches)) == (True, 3)
    assert len(store.listing().entries) == 1


@pytest.mark.ci
def test_a_worker_that_runs_out_of_memory_later_keeps_its_launches_and_those_of_others(
    model: Path, store: Store
) -> None:
    faults = ("--set", "fake-b.fault=memory", "--set", "fake-b.at=relaunch")
    called = irbench("run", model, *BOTH, "--quick", *ENOUGH, *CALLS, *faults)
    assert called.code == 3, called.err
    lost, other = cell(called, "fake-b"), cell(called, "fake-a")
    assert (lost["state"], lost["failure"]["message"]) == ("failed", "It ran out of memory.")
    assert "smaller batch" in lost["failure"]["hint"]
    assert (other["state"], other["latency_ms"]["count"] > 0) == ("ok", True)
    (entry,) = store.listing().entries
    launches = store.launches(Path(entry.folder))
    assert [len(record.cells) for record in launches] == [2, 1, 1]
