"""The processes that this one has started count together with it, also when they have ended."""

from __future__ import annotations

import subprocess
import sys

import pytest

from irbench.measure.kernel_evidence import (
    PeakMemory,
    descendant_folders,
    evidence_between,
    read_counters,
    with_descendants,
)

WORK = "sum(range(6_000_000))"
ENOUGH_TO_SEE_NS = 20_000_000


def test_processor_time_of_a_child_that_lives_and_of_one_that_ended_counts() -> None:
    before, alone = with_descendants(read_counters()), read_counters()
    subprocess.run([sys.executable, "-S", "-c", WORK], check=True)
    with subprocess.Popen(
        [sys.executable, "-S", "-c", f"{WORK}; print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        together = evidence_between(before, with_descendants(read_counters()))
        own = evidence_between(alone, read_counters())
        child.communicate(b"\n")
    assert together.cpu_ns > own.cpu_ns + 2 * ENOUGH_TO_SEE_NS
    assert together.minor_faults > own.minor_faults
    assert together.run_queue_wait_ns is not None


def test_the_memory_of_children_is_that_of_the_largest_and_unknown_without_any() -> None:
    assert PeakMemory(tuple).read_bytes() is None
    hold = "held = bytearray(90_000_000); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-S", "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        memory = PeakMemory(descendant_folders)
        memory.reset()
        assert memory.read_bytes() == pytest.approx(100_000_000, rel=0.2)
        child.communicate(b"\n")
