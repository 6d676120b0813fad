"""What a machine can count, with a perf that is scripted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fake_perf
import pytest

from irbench.measure import counter_support
from irbench.perf_events.counter_plan import CounterPlan, Counting
from irbench.perf_events.obstacles import Alone, NoPerf, NotCounted, NotPermitted, Said
from irbench.perf_events.perf_output import EventCount, PerfReading
from irbench.perf_events.topdown import Processor
from irbench.system import host

PMU = Processor("GenuineIntel", 6, 143, has_pmu=True)
GUEST = Processor("GenuineIntel", 6, 143, has_pmu=False)


@pytest.fixture
def asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what asks a scripted perf: events as the first argument, the processor and the script by keyword."""

    def ask(*asked: str, processor: Processor = PMU, toplev: bool = False, **script: Any) -> Counting:
        fake_perf.install(tmp_path / "perf", script, monkeypatch, toplev=toplev)
        monkeypatch.setattr(counter_support, "read_processor", lambda: processor)
        return counter_support.counting_for(CounterPlan(asked))

    return ask


def test_events_that_perf_opens_are_counted(asks: Any):
    counting = asks("software")
    assert counting.version == "6.8.12"
    assert counting.events == tuple(fake_perf.SOFTWARE)
    assert counting.unavailable == {}
    assert not counting.counts_nothing


def test_in_a_guest_without_counters_the_reason_is_the_guest(asks: Any):
    counting = asks("cache", processor=GUEST)
    assert counting.counts_nothing
    assert {reason.code for reason in counting.unavailable.values()} == {"no-pmu"}


def test_an_event_that_the_processor_lacks_is_told_apart_from_a_missing_pmu(asks: Any):
    events = {**fake_perf.HARDWARE, "cache-misses": "<not supported>"}
    counting = asks("cache", events=events)
    assert counting.unavailable["cache-misses"].code == "not-supported"
    assert "cache" not in counting.unavailable, "the group is counted in part"
    assert "cache-references" in counting.events


def test_an_event_that_is_never_on_a_counter_is_not_counted_and_says_so(asks: Any):
    events = {**fake_perf.HARDWARE, "cache-misses": "<not counted>"}
    counting = asks("cache", events=events)
    assert counting.unavailable == {"cache-misses": NotCounted(Alone(alone=True))}
    assert "cache-misses" not in counting.events
    assert "cache-references" in counting.events


def test_an_event_for_which_there_was_no_counter_left_is_tried_alone(asks: Any):
    counting = asks("ipc", "branch", events=fake_perf.HARDWARE, counters=2)
    assert counting.unavailable == {}
    assert counting.events == ("cycles", "instructions", "branches", "branch-misses")


def test_an_event_of_a_kind_of_core_on_which_the_program_did_not_run_is_counted(asks: Any):
    hybrid = Processor("GenuineIntel", 6, 151, has_pmu=True, is_hybrid=True)
    events = {"cpu_atom/cycles/": "<not counted>", "cycles": "<not counted>"}
    counting = asks("cpu_atom/cycles/", "cycles", processor=hybrid, events=events)
    assert counting.events == ("cpu_atom/cycles/",)
    assert counting.unavailable["cycles"].code == "not-counted"


def test_of_several_events_the_one_that_perf_does_not_know_is_named(asks: Any):
    counting = asks("task-clock", "nonsense", refused={"nonsense": fake_perf.UNKNOWN})
    assert counting.events == ("task-clock",)
    assert counting.unavailable["nonsense"].code == "unknown-event"


def test_what_the_kernel_forbids_is_told_with_its_level(asks: Any):
    said = "Access to performance monitoring and observability operations is limited."
    counting = asks("ipc", refused={"cycles": said, "instructions": said})
    assert {reason.code for reason in counting.unavailable.values()} == {"not-permitted"}
    assert isinstance(counting.unavailable["cycles"], NotPermitted)


def test_user_space_alone_is_remembered(asks: Any):
    assert asks("software", user_only=True).user_only
    assert not asks("software").user_only


def test_user_space_alone_that_was_asked_for_is_no_limit_of_the_machine(asks: Any):
    events = {**fake_perf.HARDWARE, "cycles:u": 40_000_000}
    assert not asks("cycles:u", "instructions", events=events).user_only
    assert asks("cycles:u", "instructions", events=events, user_only=True).user_only


def test_events_that_differ_by_their_modifiers_are_counted_apart(asks: Any):
    events = {**fake_perf.HARDWARE, "cycles:u": 40, "cycles:k": 20}
    counting = asks("ipc", "cycles:u", "cycles:k", events=events)
    assert counting.events == ("cycles", "instructions", "cycles:u", "cycles:k")
    reading = PerfReading({name: EventCount(float(events[name])) for name in counting.events})
    counts = {event: count.value for event, count in counting.counts(reading).items()}
    assert counts == {"cycles": 6e7, "instructions": 1.5e8, "cycles:u": 40, "cycles:k": 20}


def test_raw_and_named_events_are_found_by_what_perf_calls_them(asks: Any):
    named = "cpu/event=0x3c,name=foo/"
    events = {"cpu/event=0xc0/": 7, "foo": 8, "task-clock": 9}
    counting = asks("cpu/event=0xc0/", named, "task-clock", events=events, user_only=True)
    assert counting.unavailable == {}
    assert counting.perf_names == {
        "cpu/event=0xc0/": ("cpu/event=0xc0/u",),
        named: ("foo:u",),
        "task-clock": ("task-clock:u",),
    }
    reading = PerfReading({"foo:u": EventCount(8.0), "other": EventCount(1.0)})
    assert {event: count.value for event, count in counting.counts(reading).items()} == {
        "cpu/event=0xc0/": None, named: 8, "task-clock": None, "other": 1
    }  # fmt: skip


def test_an_event_that_perf_counts_under_another_name_is_looked_for_alone(asks: Any):
    counting = asks("cs", "task-clock", events=fake_perf.SOFTWARE, names={"cs": "context-switches"})
    assert counting.perf_names == {"cs": ("context-switches",), "task-clock": ("task-clock",)}


def test_an_event_that_is_not_among_the_answers_is_not_counted(asks: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(counter_support, "read_perf", lambda _: PerfReading())
    counting = asks("task-clock")
    assert counting.counts_nothing
    assert counting.unavailable["task-clock"].code == "not-named"


def test_without_perf_nothing_can_be_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake_perf.uninstall(tmp_path / "empty", monkeypatch)
    counting = counter_support.counting_for(CounterPlan(("software", "cache")))
    assert counting.counts_nothing
    assert {reason.code for reason in counting.unavailable.values()} == {"no-perf"}


def test_the_script_of_a_distribution_that_finds_no_perf_is_no_perf(asks: Any):
    counting = asks("software", version="", says="WARNING: perf not found for kernel 6.8")
    assert counting.unavailable["software"] == NoPerf(Said("WARNING: perf not found for kernel 6.8"))


def test_a_perf_that_writes_no_json_is_too_old(asks: Any):
    refused = dict.fromkeys(fake_perf.SOFTWARE, "  Error: unknown switch `j'")
    assert asks("software", refused=refused).unavailable["software"].code == "old-perf"


def test_top_down_is_perfs_own_where_it_has_the_metrics(asks: Any):
    counting = asks("topdown", events=fake_perf.HARDWARE, metrics={"TopdownL1": fake_perf.TOPDOWN_L1})
    assert (counting.topdown, counting.metric_group) == ("perf", "TopdownL1")
    assert counting.arguments == ("-e", "cycles,instructions", "-M", "TopdownL1")


def test_top_down_is_a_published_formula_where_perf_lists_the_metrics_and_has_none(asks: Any):
    kernel = frozenset(
        {"slots", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound"}
    )  # fmt: skip
    processor = Processor("GenuineIntel", 6, 143, True, kernel)
    events = {**fake_perf.HARDWARE, **dict.fromkeys(kernel, 100)}
    counting = asks("topdown", processor=processor, events=events, metrics={"TopdownL1": []})
    assert counting.topdown == "intel-shares"
    assert counting.arguments[-1].startswith("{slots,topdown-retiring,")


def test_top_down_without_metrics_and_formula_has_a_reason(asks: Any):
    counting = asks("topdown", events=fake_perf.HARDWARE)
    assert counting.topdown is None
    assert counting.unavailable["topdown"].code == "no-topdown"
    assert asks("topdown", processor=GUEST).unavailable["topdown"].code == "no-pmu"


def test_top_down_whose_events_never_had_the_counters_is_told(asks: Any):
    no_number = [line.replace("43.200000", "nan") for line in fake_perf.TOPDOWN_L1[:2]]
    counting = asks("topdown", events=fake_perf.HARDWARE, metrics={"TopdownL1": no_number})
    assert counting.topdown is None
    assert counting.unavailable["topdown"] == NotCounted(Alone(alone=True))
    zen = Processor("AuthenticAMD", 0x19, 0x11, has_pmu=True)
    never = dict.fromkeys(("ls_not_halted_cyc", "de_no_ops_from_frontend", "ex_ret_ops"), "<not counted>")
    others = dict.fromkeys(("de_backend_stalls", "de_smt_contention", "de_src_op_disp"), "<not counted>")
    counting = asks("topdown", processor=zen, events={**fake_perf.HARDWARE, **never, **others})
    assert counting.unavailable["topdown"] == NotCounted(Alone(alone=True))


def test_deeper_levels_need_toplev_and_counters(asks: Any):
    counting = asks("topdown-l3", toplev=True)
    assert counting.toplev is not None
    assert counting.level == 3


@pytest.mark.parametrize(
    ("said", "code"),
    [("ImportError: no ocperf", "toplev-failed"), ("check /proc/sys/kernel/perf_event_paranoid", "not-permitted")],
)
def test_a_toplev_that_fails_is_told_before_anything_is_measured(asks: Any, said: str, code: str):
    counting = asks("software", "topdown-l2", toplev=True, toplev_says=said)
    assert counting.toplev is None
    assert counting.level is None
    assert counting.unavailable["topdown-l2"].code == code
    assert counting.events == tuple(fake_perf.SOFTWARE)


def test_without_toplev_deeper_levels_have_a_reason(asks: Any):
    assert asks("topdown-l2").unavailable["topdown-l2"].code == "no-toplev"


def test_deeper_levels_have_none_in_a_guest(asks: Any):
    assert asks("topdown-l2", processor=GUEST, toplev=True).unavailable["topdown-l2"].code == "no-pmu"


def test_with_several_kinds_of_cores_neither_nodes_nor_published_formulas_are_told(asks: Any):
    kernel = frozenset({"slots", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound"})
    processor = Processor("GenuineIntel", 6, 151, True, kernel, is_hybrid=True)
    events = {**fake_perf.HARDWARE, **dict.fromkeys(kernel, 100)}
    counting = asks("topdown", "topdown-l2", processor=processor, events=events, toplev=True)
    assert counting.topdown is None
    assert counting.unavailable["topdown"].code == "no-topdown"
    assert counting.unavailable["topdown-l2"].code == "several-kinds-of-cores"


def test_the_processor_is_read_from_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    events = tmp_path / "devices" / "cpu_core" / "events"
    events.mkdir(parents=True)
    (events / "topdown-retiring").touch()
    (tmp_path / "devices" / "software").mkdir()
    told = tmp_path / "cpuinfo"
    told.write_text("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n\nprocessor\t: 1\n")
    monkeypatch.setattr(counter_support, "DEVICES", tmp_path / "devices")
    monkeypatch.setattr(host, "CPUINFO", told)
    assert counter_support.read_processor() == Processor("AuthenticAMD", 25, 17, True, frozenset({"topdown-retiring"}))
    (tmp_path / "devices" / "cpu_atom").mkdir()
    assert counter_support.read_processor().is_hybrid
    monkeypatch.setattr(counter_support, "DEVICES", tmp_path / "none")
    assert not counter_support.read_processor().has_pmu
