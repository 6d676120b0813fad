"""Reading the kernel's files, on machines that are folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from irbench.features.doctor import machine
from irbench.features.doctor.machine import describe_machine
from irbench.system import host


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty kernel: nothing is told until a test writes it."""
    for name in ("_CPU", "_MEMORY_INFO", "_CLOCK_SOURCE", "_HUGE_PAGES", "_SYSTEMD_CONTAINER"):
        monkeypatch.setattr(machine, name, tmp_path / name)
    monkeypatch.setattr(host, "CPUINFO", tmp_path / "_CPU_INFO")
    monkeypatch.setattr(machine, "CONTAINERS", {"docker": tmp_path / "dockerenv"})
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    return tmp_path


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_this_machine_can_be_described() -> None:
    found = describe_machine()
    assert found.processor
    assert set(found.cpu_per_core) <= set(found.cpus) <= set(found.processors)
    assert 1 <= found.threads <= len(found.cpus)
    assert 0 < found.available_memory_bytes <= found.memory_bytes


@pytest.mark.usefixtures("kernel")
def test_what_the_kernel_does_not_tell_is_none_and_never_zero() -> None:
    found = describe_machine()
    assert (found.turbo, found.turbo_file, found.governors) == (None, None, ())
    assert found.clock_source is None
    assert found.huge_pages is None
    assert found.container is None
    assert found.swap_used_bytes == 0
    assert found.processors


@pytest.mark.parametrize(
    ("file", "text", "turbo"),
    [
        ("intel_pstate/no_turbo", "0", True),
        ("intel_pstate/no_turbo", "1", False),
        ("cpufreq/boost", "1", True),
        ("cpufreq/boost", "0", False),
    ],
)
def test_turbo_is_told_by_either_switch(kernel: Path, file: str, text: str, turbo: bool) -> None:
    put(kernel / "_CPU" / file, f"{text}\n")
    found = describe_machine()
    assert found.turbo is turbo
    assert found.turbo_file == str(kernel / "_CPU" / file)


def test_every_governor_of_our_processors_is_named_once(kernel: Path) -> None:
    for cpu in describe_machine().cpus:
        put(kernel / "_CPU" / f"cpu{cpu}/cpufreq/scaling_governor", "powersave\n")
    put(kernel / "_CPU/cpu9999/cpufreq/scaling_governor", "ondemand\n")
    assert describe_machine().governors == ("powersave",)


def test_instructions_that_inference_profits_from_are_named(kernel: Path) -> None:
    put(kernel / "_CPU_INFO", "processor : 0\nflags\t\t: fpu avx2 hypervisor amx_int8 fma\n")
    assert describe_machine().instructions == ("fma", "avx2", "amx_int8")


def test_a_hypervisor_that_does_not_name_itself_is_seen(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described = {**machine.host.describe(), "cpu": {"Model name": "A Processor"}}
    monkeypatch.setattr(machine.host, "describe", lambda: described)
    assert describe_machine().hypervisor is None
    put(kernel / "_CPU_INFO", "flags : fpu hypervisor\n")
    assert describe_machine().hypervisor == "unknown"


def test_swap_clock_source_and_huge_pages_are_read(kernel: Path) -> None:
    put(kernel / "_MEMORY_INFO", "MemTotal: 9 kB\nSwapTotal: 100 kB\nSwapFree: 60 kB\n")
    put(kernel / "_CLOCK_SOURCE", "hpet\n")
    put(kernel / "_HUGE_PAGES", "always [madvise] never\n")
    found = describe_machine()
    assert (found.swap_used_bytes, found.clock_source, found.huge_pages) == (40 * 1024, "hpet", "madvise")


def test_a_container_is_recognised(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(kernel / "_SYSTEMD_CONTAINER", "lxc\n")
    assert describe_machine().container == "lxc"
    put(kernel / "dockerenv", "")
    assert describe_machine().container == "docker"
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert describe_machine().container == "kubernetes"


@pytest.mark.parametrize("told", ["", "lscpu: unknown option", '{"caches": [{"name": "L1d"}]}'])
def test_an_lscpu_that_is_missing_or_old_leaves_the_caches_out(
    told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "lscpu", f"#!/bin/sh\necho '{told}'\n")
    (tmp_path / "lscpu").chmod(0o755 if told else 0o644)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert describe_machine().caches == ()
