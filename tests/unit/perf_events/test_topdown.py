"""Top-Down, level 1: whose formulas, and what they give."""

from __future__ import annotations

import pytest

from irbench.perf_events.perf_output import EventCount, PerfReading
from irbench.perf_events.topdown import (
    Processor,
    TopdownMethod,
    events_of_method,
    fitting_method,
    kind_and_share,
    metric_group_in,
    shares_named,
    shares_of,
)

SLOTS = frozenset(events_of_method("intel-slots"))
SHARES = frozenset(events_of_method("intel-shares"))


def reading(**counts: float) -> PerfReading:
    return PerfReading({name.replace("_", "-"): EventCount(value) for name, value in counts.items()})


def amd(**counts: float) -> PerfReading:
    return PerfReading({name: EventCount(value) for name, value in counts.items()})


def test_perfs_group_is_found_in_its_list_whatever_stands_beside_it():
    assert metric_group_in("\nMetric Groups:\n\nBackend\nTopdownL1\nTopdownL2\n") == "TopdownL1"
    assert metric_group_in("PipelineL1: [Pipeline utilisation]\nPipelineL2\n") == "PipelineL1"
    assert metric_group_in("\nMetric Groups:\n\nTopdownL2\n") is None


@pytest.mark.parametrize(
    ("processor", "method"),
    [
        (Processor("GenuineIntel", 6, 158, True, SLOTS), "intel-slots"),
        (Processor("GenuineIntel", 6, 143, True, SHARES), "intel-shares"),
        (Processor("GenuineIntel", 6, 143, False), None),
        (Processor("AuthenticAMD", 0x19, 0x11, True), "amd-zen4"),
        (Processor("AuthenticAMD", 0x19, 0x21, True), None),
        (Processor("AuthenticAMD", 0x1A, 0x02, True), "amd-zen5"),
        (Processor("AuthenticAMD", 0x1A, 0x02, False), None),
        (Processor("GenuineIntel", 6, 151, True, SHARES, is_hybrid=True), None),
        (Processor(), None),
    ],
)
def test_the_published_formula_is_that_of_the_processor(processor: Processor, method: TopdownMethod | None):
    assert fitting_method(processor) == method


def test_perfs_own_shares_are_fractions_by_one_name_for_all_vendors():
    percent = PerfReading(metrics={"tma_retiring": (20.4, "%"), "backend_bound": (43.2, "%"), "GHz": (3.1, "")})
    fraction = PerfReading(metrics={"Retiring": (0.204, ""), "Backend_Bound": (0.432, "")})
    assert shares_of(percent, "perf") == pytest.approx({"retiring": 0.204, "backend_bound": 0.432})
    assert shares_of(fraction, "perf") == pytest.approx({"retiring": 0.204, "backend_bound": 0.432})
    assert shares_of(PerfReading(metrics={"tma_retiring": (None, "%")}), "perf") == {}


def test_shares_of_kinds_of_cores_are_kept_apart():
    metrics = {"cpu_core/tma_retiring/": (40.0, "%"), "cpu_atom/tma_retiring/": (20.0, "%"), "cpu_core/tma_x/": (1, "")}
    found = shares_of(PerfReading(metrics=metrics), "perf")
    assert found == pytest.approx({"cpu_core/retiring/": 0.4, "cpu_atom/retiring/": 0.2})
    assert shares_named(PerfReading(metrics=metrics)) == {"retiring"}
    assert [kind_and_share(name) for name in found] == [("cpu_atom", "retiring"), ("cpu_core", "retiring")]
    assert kind_and_share("cpu_core/cycles/") == ("", "cpu_core/cycles/")


def test_yasins_formula_divides_by_all_slots_and_leaves_the_rest_to_the_back_end():
    counts = reading(
        topdown_total_slots=1000,
        topdown_slots_issued=500,
        topdown_slots_retired=400,
        topdown_fetch_bubbles=200,
        topdown_recovery_bubbles=20,
    )
    found = shares_of(counts, "intel-slots")
    assert found == pytest.approx(
        {"retiring": 0.4, "frontend_bound": 0.2, "bad_speculation": 0.12, "backend_bound": 0.28}
    )


def test_the_processors_own_shares_are_relative_to_each_other():
    counts = reading(
        slots=100, topdown_retiring=20, topdown_bad_spec=5, topdown_fe_bound=10, topdown_be_bound=15
    )  # fmt: skip
    found = shares_of(counts, "intel-shares")
    assert found == pytest.approx(
        {"retiring": 0.4, "frontend_bound": 0.2, "bad_speculation": 0.1, "backend_bound": 0.3}
    )


@pytest.mark.parametrize(("method", "width"), [("amd-zen4", 6), ("amd-zen5", 8)])
def test_amds_formula_divides_by_the_dispatch_slots_of_its_generation(method: TopdownMethod, width: int):
    counts = amd(
        ls_not_halted_cyc=100,
        de_no_ops_from_frontend=60,
        de_backend_stalls=120,
        de_smt_contention=0,
        de_src_op_disp=330,
        ex_ret_ops=300,
    )
    found = shares_of(counts, method)
    assert found["retiring"] == pytest.approx(300 / (100 * width))
    assert found["bad_speculation"] == pytest.approx(30 / (100 * width))
    assert found["backend_bound"] == pytest.approx(120 / (100 * width))
    assert found["smt_contention"] == 0


@pytest.mark.parametrize("method", ["intel-slots", "intel-shares", "amd-zen4"])
def test_without_all_of_its_events_a_formula_gives_nothing(method: TopdownMethod):
    events = {name: EventCount(10.0) for name in events_of_method(method)}
    missing = dict(list(events.items())[:-1])
    assert shares_of(PerfReading(missing), method) == {}
    uncounted = {name: EventCount(None) for name in events}
    assert shares_of(PerfReading(uncounted), method) == {}
