"""What disturbs measurement on a made-up machine, and what fixes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from machines import facts

from irbench.features.doctor.findings import Finding, find
from irbench.features.doctor.machine import CoreToCore, CounterFacts, RunningProgram
from irbench.perf_events.obstacles import Level, NoPerf, NoPmu, NoTopdown, NotPermitted, NotSupported, Obstacle


class Said(NamedTuple):
    """A finding with its words."""

    code: str
    found: str
    effect: str
    remedy: str
    command: str | None


HOG = RunningProgram("stress", 4711, 0.95, "stress --cpu 1", stoppable=True)
MOVED = CoreToCore((90.0, 92.0, 91.0, 300.0, 303.0, 299.0))


def said(finding: Finding) -> Said:
    words = finding.words()
    return Said(finding.code, words.found, words.effect, words.remedy, words.command)


def only(**changes: Any) -> Said:
    (finding,) = find(facts(**changes))
    return said(finding)


def codes(**changes: Any) -> list[str]:
    return [warning.code for warning in find(facts(**changes))]


def test_nothing_is_found_on_a_quiet_machine() -> None:
    assert find(facts()) == ()


@pytest.mark.parametrize(
    ("changes", "code", "figure", "command"),
    [
        ({"governors": ("powersave",)}, "governor", "powersave", "echo performance | sudo tee /sys/"),
        ({"turbo": True}, "turbo", "Turbo is on", "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"),
        ({"turbo": True, "turbo_file": "/sys/x/boost"}, "turbo", "Turbo", "echo 0 | sudo tee /sys/x/boost"),
        ({"cpu_per_core": (0, 2)}, "smt", "4 processors share 2 cores", "irbench run --cpus 0,2"),
        ({"foreign_siblings": (8, 9)}, "shared-cores", "not available: 8-9", "taskset -pc 0-3,8-9 $$"),
        ({"quota": 1.5, "container": "docker"}, "cpu-quota", "1.5 of 4 processors", "docker update --cpus 4 CONTAINER"),
        ({"cpus": (1,), "cpu_per_core": (1,)}, "affinity", "1 of 4 processors are available (1)", "taskset -pc 0-3 $$"),
        ({"available_memory_bytes": 10**9}, "little-memory", "1.00 GB of memory", "ps -eo"),
        ({"swap_used_bytes": 2 * 10**9}, "swap", "2.00 GB of swap are used", "swapoff"),
        ({"freezes": False}, "not-freezing", "cannot be frozen", "unset IRBENCH_NO_FREEZE"),
        ({"schedstat": False}, "no-schedstat", "schedstat", "kernel.task_delayacct=1"),
        ({"clock_source": "hpet", "clock_ns": 900.0}, "slow-clock", "(hpet) are at least 900 ns", "echo tsc"),
        ({"clock_source": None, "clock_ns": 900.0}, "slow-clock", "900 ns", "current_clocksource"),
        ({"hypervisor": "KVM"}, "virtual-machine", "virtual machine (KVM)", "irbench doctor --aa"),
        ({"core_to_core": CoreToCore((330.0,))}, "cores-far", "330 ns apart", "lscpu"),
        ({"core_to_core": MOVED}, "cores-moved", "between 91 ns and 300 ns", "--threads 1"),
        ({"foreign_share": 0.98, "programs": (HOG,)}, "busy-machine", "98 % of a processor: stress 95 %", "-STOP 4711"),
        ({"pressure": 0.4}, "cpu-pressure", "In 40 % of the last 10 s", "irbench doctor"),
        ({"load_average": 3.4}, "recent-load", "is 3.4", "irbench doctor"),
    ],
)
def test_each_disturbance_is_named_with_its_figure_and_the_command_that_mends_it(
    changes: dict[str, Any], code: str, figure: str, command: str
) -> None:
    finding = only(**changes)
    assert finding.code == code
    assert figure in finding.found
    assert finding.command is not None
    assert command in finding.command
    assert finding.effect
    assert finding.remedy


def test_what_cannot_be_mended_here_says_so_and_offers_no_command() -> None:
    finding = only(stolen_share=0.07)
    assert "7 % of a processor" in finding.found
    assert "cannot be fixed from inside" in finding.remedy
    assert finding.command is None


def test_a_clock_is_judged_by_measurement_and_never_by_its_name() -> None:
    assert codes(clock_source="hpet", clock_ns=60.0) == []


def test_a_quick_source_that_reads_slowly_is_not_changed_for_itself() -> None:
    finding = only(clock_source="tsc", clock_ns=900.0)
    assert finding.command is None
    assert "sandbox or a tracer" in finding.remedy


@pytest.mark.parametrize(
    ("container", "time", "cpus"),
    [
        (None, None, "taskset -pc 0-3 $$"),
        ("docker", "docker update --cpus 2 CONTAINER", "docker update --cpuset-cpus 0-3 CONTAINER"),
        ("podman", "podman update --cpus 2 CONTAINER", "podman update --cpuset-cpus 0-3 CONTAINER"),
        ("kubernetes", "kubectl set resources deployment NAME --limits=cpu=2", None),
        ("lxc", None, None),
    ],
)
def test_processors_are_granted_by_the_command_of_what_contains_us(
    container: str | None, time: str | None, cpus: str | None
) -> None:
    narrow: dict[str, Any] = {"cpus": (0, 1), "cpu_per_core": (0, 1), "container": container}
    quota, affinity = map(said, find(facts(quota=1.0, **narrow)))
    assert (quota.code, quota.command) == ("cpu-quota", time)
    assert (affinity.code, affinity.command) == ("affinity", cpus)
    shared = only(
        cpus=(0, 1, 2), cpu_per_core=(0, 1, 2), processors=(0, 1, 2), foreign_siblings=(3,), container=container
    )
    assert shared.command == cpus
    for finding in (quota, affinity, shared):
        assert (f"from outside the container ({container})" in finding.remedy) == (container is not None)


def test_what_is_not_told_is_neither_good_nor_bad() -> None:
    assert codes(governors=(), turbo=None, turbo_file=None, clock_source=None, pressure=None, core_to_core=None) == []


def test_a_virtual_machine_names_what_its_host_hides() -> None:
    hidden = only(hypervisor="KVM", governors=(), turbo=None)
    assert "the frequency governor, turbo and other virtual machines" in hidden.found
    assert "governor" not in only(hypervisor="unknown").found


def test_one_busy_program_is_one_finding_however_many_counters_see_it() -> None:
    finding = only(foreign_share=0.98, programs=(HOG,), pressure=0.6, load_average=9.0)
    assert finding.code == "busy-machine"
    assert "60 %" in finding.found
    assert "9.0" in finding.found


@pytest.mark.parametrize(("threads", "most"), [(1, 0.025), (4, 0.1)])
def test_what_other_programs_may_use_grows_with_the_processors_in_use(threads: int, most: float) -> None:
    assert "busy-machine" not in codes(threads=threads, foreign_share=most)
    assert "busy-machine" in codes(threads=threads, foreign_share=most + 0.001)


def test_what_programs_used_that_ended_too_soon_to_be_named_is_told_of() -> None:
    assert only(foreign_share=1.95, programs=(HOG,)).found.endswith("stress 95 % (process 4711) and others 100 %.")


def test_no_program_is_to_be_stopped_that_would_not_disturb_alone() -> None:
    small = tuple(replace(HOG, process_id=number, share=0.04) for number in range(4))
    busy = only(threads=2, foreign_share=0.16, programs=small)
    assert (busy.code, busy.command) == ("busy-machine", "top -o %CPU")
    assert "kill" not in busy.remedy


def test_a_busy_machine_whose_programs_have_ended_names_none() -> None:
    assert only(foreign_share=0.5).found == "Other programs use 50 % of a processor."


def test_only_what_may_be_stopped_is_named_for_stopping_with_its_command() -> None:
    terminal = RunningProgram("terminal", 99, 0.9, "terminal")
    finding = only(foreign_share=1.5, programs=(terminal, HOG))
    assert finding.command == "kill -STOP 4711"
    assert "pause process 4711 (stress --cpu 1) while you measure" in finding.remedy
    alone = only(foreign_share=0.9, programs=(terminal,))
    assert alone.command == "top -o %CPU"
    assert "pause" not in alone.remedy


def test_a_program_is_not_to_be_stopped_where_another_disturbs_more() -> None:
    terminal = RunningProgram("terminal", 99, 0.96, "terminal")
    finding = only(foreign_share=1.2, programs=(terminal, replace(HOG, share=0.16)))
    assert finding.command == "top -o %CPU"


def test_a_quota_as_large_as_the_processors_disturbs_nothing() -> None:
    assert codes(quota=4.0) == []
    assert "throttled irbench for 30 %" in only(quota=3.0, throttled_share=0.3).found


def test_a_single_processor_is_shared_with_what_is_measured() -> None:
    assert "share one processor" in only(cpus=(1,), cpu_per_core=(1,)).effect
    assert "not for the whole machine" in only(cpus=(0, 1), cpu_per_core=(0, 1)).effect


def test_findings_come_in_the_order_of_what_they_usually_cost_and_what_nothing_mends_last() -> None:
    assert codes(hypervisor="KVM", turbo=True, foreign_share=0.98, cpus=(0, 1), cpu_per_core=(0, 1)) == [
        "busy-machine", "turbo", "affinity", "virtual-machine",
    ]  # fmt: skip


def test_a_single_odd_look_is_no_second_regime() -> None:
    odd = CoreToCore((90.0, 91.0, 92.0, 91.0, 92.0, 300.0))
    assert odd.regimes_ns == (91.5,)
    assert codes(core_to_core=odd) == []


def test_five_looks_are_too_few_to_tell_regimes() -> None:
    assert CoreToCore((90.0, 91.0, 300.0, 301.0, 299.0)).regimes_ns == ()


def counters(**unavailable: Obstacle) -> tuple[Finding, ...]:
    available = tuple(name for name in ("software", "cache") if name not in unavailable)
    return find(replace(facts(), counters=CounterFacts("6.8.12", available, unavailable)))


def test_a_machine_that_counts_everything_has_no_finding_of_counters() -> None:
    assert counters() == ()


@pytest.mark.parametrize("missing", [NoPmu(), NotSupported(), NoTopdown()])
def test_counters_that_a_machine_does_not_have_are_no_finding(missing: Obstacle) -> None:
    assert counters(cache=missing) == ()


def test_a_perf_that_is_not_installed_is_a_finding_also_in_a_virtual_machine() -> None:
    found = find(replace(facts(hypervisor="KVM"), counters=CounterFacts(None, (), {"software": NoPerf()})))
    assert {finding.code: finding.lasting for finding in found} == {"counters-missing": False, "virtual-machine": True}


def test_counters_that_the_kernel_forbids_have_the_command_that_allows_them() -> None:
    (finding,) = counters(software=NotPermitted(Level(4)), cache=NoPmu())
    words = said(finding)
    assert not finding.lasting
    assert "perf_event_paranoid is 4" in words.found
    assert "cache" not in words.found
    assert words.command == "sudo sysctl kernel.perf_event_paranoid=1"
