"""What of the machine irbench may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.system import host


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
    monkeypatch.setattr(host, "core_of", lambda cpu: str(cpu // 2))
    assert host.allowance((0, 1, 2, 3)).physical_cores == 2
    assert host.one_per_core((3, 2, 1)) == (1, 2)


def test_a_kernel_file_that_is_not_there_reads_as_nothing(tmp_path: Path) -> None:
    assert host.read_text(tmp_path / "governor") == ""
    (tmp_path / "governor").write_text("performance\n")
    assert host.read_text(tmp_path / "governor") == "performance"


@pytest.mark.parametrize(
    ("cpuinfo", "bits"),
    [
        ("flags\t: fpu avx2 avx512f avx512_vnni", 8),
        ("flags\t: fpu avx2 avx_vnni", 8),
        ("flags\t: fpu avx2 avx512f", 7),
        ("Features\t: fp asimd", 8),
    ],
)
def test_int8_weights_have_seven_bits_where_sums_of_products_would_overflow(
    cpuinfo: str, bits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\n{cpuinfo}\n")
    monkeypatch.setattr(host, "CPUINFO", tmp_path / "cpuinfo")
    assert host.int8_weight_bits.__wrapped__() == bits


def test_available_memory_is_no_more_than_the_machine_has() -> None:
    assert 0 < host.available_memory_bytes() <= int(host.describe()["memory_bytes"])


def test_the_description_names_the_processor_and_versions() -> None:
    description = host.describe(["numpy", "no-such-runtime"])
    assert description["cpu"]["Model name"]
    assert set(description["distributions"]) == {"numpy"}


@pytest.fixture
def cgroups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(host, "CGROUP", tmp_path / "cgroup")
    monkeypatch.setattr(host, "OWN_CGROUP", tmp_path / "self")
    return tmp_path / "cgroup"


def put(cgroups: Path, own: str, files: dict[str, str]) -> None:
    (cgroups.parent / "self").write_text(own)
    for name, text in files.items():
        (cgroups / name).parent.mkdir(parents=True, exist_ok=True)
        (cgroups / name).write_text(text)


V2 = "0::/kubepods.slice/pod.slice/box.scope\n"
V1 = "4:cpu,cpuacct:/kubepods/pod/box\n3:memory:/kubepods/pod/box\n0::/kubepods/pod/box\n"
UNLIMITED_V1 = "9223372036854771712"


def test_the_quota_of_a_slice_around_ours_counts(cgroups: Path) -> None:
    put(
        cgroups,
        V2,
        {
            "kubepods.slice/cpu.max": "800000 100000",
            "kubepods.slice/pod.slice/cpu.max": "150000 100000",
            "kubepods.slice/pod.slice/box.scope/cpu.max": "max 100000",
        },
    )
    assert host.allowance().quota == 1.5


def test_the_quota_of_an_older_kernels_parent_counts(cgroups: Path) -> None:
    put(
        cgroups,
        V1,
        {
            "cpu,cpuacct/kubepods/pod/cpu.cfs_quota_us": "250000",
            "cpu,cpuacct/kubepods/pod/cpu.cfs_period_us": "100000",
            "cpu,cpuacct/kubepods/pod/box/cpu.cfs_quota_us": "-1",
            "cpu,cpuacct/kubepods/pod/box/cpu.cfs_period_us": "100000",
        },
    )
    assert host.allowance().quota == 2.5


def test_without_a_quota_there_is_none(cgroups: Path) -> None:
    put(cgroups, V2, {"kubepods.slice/pod.slice/box.scope/cpu.max": "max 100000"})
    assert host.allowance().quota is None


@pytest.mark.parametrize("own", ["0::/\n", "0::/../../other\n", "0::/docker/not-mounted-here\n"])
def test_a_container_that_is_its_own_root_is_found(cgroups: Path, own: str) -> None:
    put(cgroups, own, {"cpu.max": "50000 100000"})
    assert host.allowance().quota == 0.5


def test_the_memory_limit_of_a_slice_around_ours_counts(cgroups: Path) -> None:
    put(
        cgroups,
        V2,
        {
            "kubepods.slice/pod.slice/memory.max": "5000000",
            "kubepods.slice/pod.slice/memory.current": "4000000",
            "kubepods.slice/pod.slice/box.scope/memory.max": "max",
            "kubepods.slice/pod.slice/box.scope/memory.current": "1000000",
        },
    )
    assert host.available_memory_bytes() == 1_000_000


def test_the_memory_limit_of_an_older_kernels_parent_counts(cgroups: Path) -> None:
    put(
        cgroups,
        V1,
        {
            "memory/kubepods/pod/memory.limit_in_bytes": "5000000",
            "memory/kubepods/pod/memory.usage_in_bytes": "6000000",
            "memory/kubepods/pod/box/memory.limit_in_bytes": UNLIMITED_V1,
            "memory/kubepods/pod/box/memory.usage_in_bytes": "1000000",
        },
    )
    assert host.available_memory_bytes() == 0


def test_the_file_cache_in_a_limit_is_available(cgroups: Path) -> None:
    put(
        cgroups,
        "0::/\n",
        {"memory.max": "5000000", "memory.current": "4000000", "memory.stat": "anon 1\ninactive_file 3000000"},
    )
    assert host.available_memory_bytes() == 4_000_000


def test_being_held_back_by_any_quota_around_us_counts_once(cgroups: Path) -> None:
    put(
        cgroups,
        V2,
        {
            "kubepods.slice/pod.slice/cpu.stat": "usage_usec 9\nthrottled_usec 30",
            "kubepods.slice/pod.slice/box.scope/cpu.stat": "usage_usec 9\nthrottled_usec 12",
        },
    )
    assert host.throttled_ns() == 42_000


def test_two_names_of_one_older_hierarchy_are_counted_once(cgroups: Path) -> None:
    put(cgroups, V1, {"cpu,cpuacct/kubepods/pod/box/cpu.stat": "nr_throttled 1\nthrottled_time 700"})
    (cgroups / "cpu").symlink_to(cgroups / "cpu,cpuacct")
    assert host.throttled_ns() == 700


def test_the_hardware_threads_of_a_core_go_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "topology_of", lambda cpu: tmp_path / str(cpu))
    for cpu in (0, 1, 8, 9):
        (tmp_path / str(cpu)).mkdir()
        (tmp_path / str(cpu) / "thread_siblings_list").write_text(f"{cpu % 8},{cpu % 8 + 8}\n")
    assert host.with_siblings((1, 5)) == {1, 5, 9}


def test_another_system_than_linux_is_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    host.require_linux()
    monkeypatch.setattr(host.platform, "system", lambda: "Darwin")
    with pytest.raises(IrbenchError, match="on Linux only, and this is Darwin") as caught:
        host.require_linux()
    assert caught.value.hint
