"""What we may use of the machine."""

from __future__ import annotations

import os

import pytest

from irbench import host


@pytest.mark.parametrize(
    ("text", "cpus"), [("0", (0,)), ("0-2", (0, 1, 2)), ("3,0-1", (0, 1, 3)), ("1,1", (1,)), (" 4 , 2 ", (2, 4))]
)
def test_processor_lists_are_read(text: str, cpus: tuple[int, ...]) -> None:
    assert host.parse_cpu_list(text) == cpus


@pytest.mark.parametrize("text", ["", "a", "3-1", "1-", "-1", "1,,2", "0-1-2"])
def test_what_is_no_processor_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the caller words the message
        host.parse_cpu_list(text)


@pytest.mark.parametrize(("cores", "quota", "threads"), [(4, None, 4), (4, 2.5, 2), (4, 0.5, 1), (2, 8.0, 2)])
def test_threads_fit_cores_and_quota(cores: int, quota: float | None, threads: int) -> None:
    assert host.CpuAllowance(tuple(range(cores)), cores, quota).threads == threads


def test_the_allowance_is_the_affinity_mask() -> None:
    assert host.allowance().cpus == tuple(sorted(os.sched_getaffinity(0)))


def test_hyperthreads_of_one_core_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "_core_of", lambda cpu: str(cpu // 2))
    assert host.allowance((0, 1, 2, 3)).physical_cores == 2


def test_available_memory_is_no_more_than_the_machine_has() -> None:
    assert 0 < host.available_memory_bytes() <= int(host.describe()["memory_bytes"])


def test_the_description_names_the_processor_and_versions() -> None:
    description = host.describe()
    assert description["cpu"]["Model name"]
    assert description["distributions"]["numpy"]
