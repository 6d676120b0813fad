"""Two processes' parts of one cell, here on two threads: what each is given, and what both have timed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import launches
import numpy as np
import pytest

from irbench.core import registry
from irbench.core.feeds import write_sample
from irbench.measure.ledger import CommonWindow, WindowCounters
from irbench.measure.pacing import CallSchedule, join_paced, start_soon
from irbench.runner.instances import joined_shares
from irbench.spec import Artifact, Feeding, Io, Timing
from irbench.spi import Feed, Outputs
from irbench.worker.cell import CellTask
from irbench.worker.cell_hosts import InstanceHost, Place

SAMPLES = 6


class Recorder:
    """A slot that keeps every feed that it was given."""

    def __init__(self) -> None:
        self.given: list[int] = []

    def stage(self, feed: Feed) -> None:
        self.given.append(int(feed[0].flat[0]))

    def run(self) -> None:
        os.sched_yield()

    def fetch(self) -> Outputs:
        return (np.zeros(1),)


def task(folder: Path) -> CellTask:
    """Return a cell of two instances whose samples are 0, 1, 2, ... throughout."""
    group = launches.group("a")
    inputs = group.main.bundle.inputs
    spec = inputs[0].tensor.bind({"batch": 1})
    paths = tuple(folder / f"{number}.npz" for number in range(SAMPLES))
    for number, path in enumerate(paths):
        write_sample(path, inputs, {"image": np.full((1, 3, 8, 8), number, np.float32)})
    load = replace(group.cells[0].load, instances=2)
    cell = replace(group.cells[0], artifact=Artifact("onnx", Path(), (spec,), ()), load=load)
    return CellTask(cell, replace(group.main, feeding=Feeding(samples=paths)), Timing(warm_up=1e-5))


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[InstanceHost], list[Recorder]]:
    """Two processes of one cell, with the slot of each."""
    slots: list[Recorder] = []

    def open_slots(count: int, _io: Io) -> list[Recorder]:
        slots.extend(Recorder() for _ in range(count))
        return slots[-count:]

    session = SimpleNamespace(effective={"precision": "fp32"}, open_slots=open_slots, close=lambda: None)
    monkeypatch.setattr(registry, "backend", lambda _: SimpleNamespace(compile=lambda *_: session))
    described, descriptor = task(tmp_path), os.memfd_create("test")
    os.ftruncate(descriptor, WindowCounters.size_bytes(2))
    hosts = [InstanceHost(described, Place(number, os.dup(descriptor))) for number in range(2)]
    os.close(descriptor)
    for host in hosts:
        host.prepare(with_outputs=False)
    for slot in slots:
        slot.given.clear()
    return hosts, slots


def at_once(hosts: Sequence[InstanceHost], ask: Callable[[InstanceHost], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(hosts)) as threads:
        return list(threads.map(ask, hosts))


def test_processes_are_given_the_samples_of_a_window_between_them(
    pair: tuple[list[InstanceHost], list[Recorder]],
) -> None:
    hosts, slots = pair
    window = CommonWindow(reference=1, settle_calls=2, calls=3)
    shares = at_once(hosts, lambda host: host.take_share(window, first=1))
    for number, slot in enumerate(slots):
        begin = (1 + 3 * number - 2) % SAMPLES
        assert slot.given == [(begin + place) % SAMPLES for place in range(len(slot.given))]
    timed = joined_shares(shares, window)
    assert timed.completion_ns.size >= 3
    assert np.all(np.diff(timed.completion_ns) >= 0)


def test_processes_take_turns_at_a_pace(pair: tuple[list[InstanceHost], list[Recorder]]) -> None:
    hosts, slots = pair
    schedule = CallSchedule(start_soon(), 1_000_000, 6, processes=2)
    shares = at_once(hosts, lambda host: host.take_paced_share(schedule, first=0))
    assert [share[:, 0].tolist() for share in shares] == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]
    assert [slot.given[-3:] for slot in slots] == [[0, 1, 2], [3, 4, 5]]
    run = join_paced(shares, schedule)
    assert run.issue_ns.size == 6
    assert run.concurrency == 2
