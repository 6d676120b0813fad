"""Counters of classes: counts of single operators, added up as often as an inference has them, launch by launch."""

from __future__ import annotations

from dataclasses import replace

import profile_counters
import pytest
from profile_counters import EVENTS, counters, launch, part

from irbench.core.counter_row import CounterFigure
from irbench.errors import IrbenchError
from irbench.features.profile.derivation import derive_report
from irbench.features.profile.profile_document import CountedPart, ProfileDocument, decode_profile, encode_profile
from irbench.features.profile.report import ClassCounters
from irbench.onnx.operator_classes import OperatorClass
from irbench.perf_events.perf_output import EventCount

MATRIX = OperatorClass.MATRIX


def derived(*parts: CountedPart) -> ClassCounters:
    """Return the counters of the only class of some parts of ort."""
    (found,) = derive_report(of(*parts)).counters
    return found


def of(*parts: CountedPart) -> ProfileDocument:
    return replace(profile_counters.example(), counters=counters(*parts))


def figure(found: ClassCounters, name: str) -> CounterFigure:
    (wanted,) = (figure for figure in found.figures if figure.name == name)
    return wanted


def test_counts_are_those_of_an_inference_that_consists_of_each_operator_so_many_times() -> None:
    conv = part("a", 1, launches=[launch(0, cycles=1e9, inferences=100)], times=3)
    dense = part("b", 4, launches=[launch(0, cycles=4e9, inferences=200)])
    found = derived(conv, dense)
    assert figure(found, "cycles").value == pytest.approx(3 * 1e7 + 2e7)
    assert (found.operator_class, found.label, found.models, found.times) == (MATRIX, "ort", 2, 4)


def test_ratios_are_of_sums_and_shares_of_slots_have_the_weight_of_their_cycles() -> None:
    busy = part("a", 1, launches=[launch(0, cycles=3e9, instructions=9e9, retiring=0.8)])
    stalled = part("b", 4, launches=[launch(0, cycles=1e9, instructions=1e9, retiring=0.2)])
    found = derived(busy, stalled)
    assert figure(found, "ipc").value == pytest.approx(10 / 4)
    assert figure(found, "retiring").value == pytest.approx(0.75 * 0.8 + 0.25 * 0.2)
    assert figure(found, "retiring").unit == "share"


def test_the_share_of_the_time_that_was_counted_is_told() -> None:
    assert derived(part("a", 1, launches=[launch(0)])).counted_share == pytest.approx(10 / 12)
    assert derived(part("a", 1, 4, launches=[launch(0)])).counted_share == pytest.approx(1)


def test_only_rounds_count_in_which_every_operator_was_counted() -> None:
    conv = part("a", 1, launches=[launch(number, cycles=1e9 * (1 + number)) for number in range(3)])
    dense = part("b", 4, launches=[launch(0), launch(2)])
    found = derived(conv, dense)
    assert found.launches == 2
    assert figure(found, "cycles").launches == 2


def test_six_launches_give_an_interval_and_fewer_the_range() -> None:
    def of_launches(number: int) -> CounterFigure:
        made = [launch(place, cycles=1e9 * (1 + place)) for place in range(number)]
        return figure(derived(part("a", 1, launches=made)), "cycles")

    assert of_launches(6).confidence == 0.95
    assert (of_launches(5).confidence, of_launches(5).low, of_launches(5).high) == (None, None, None)
    assert (of_launches(5).range_low, of_launches(5).range_high) == (1e7, 5e7)


def test_a_sum_without_one_of_its_counts_is_none_and_never_less() -> None:
    lacking = launch(0)
    phase = lacking.phases["inference"]
    lacking = replace(
        lacking, phases={"inference": replace(phase, events={**phase.events, "cycles": EventCount(None)})}
    )
    found = derived(part("a", 1, launches=[launch(0)]), part("b", 4, launches=[lacking]))
    assert figure(found, "cycles").value is None
    assert figure(found, "instructions").value is not None
    assert not [each for each in found.figures if each.name == "ipc"]
    assert figure(found, "retiring").value is None


def test_shares_of_a_kind_of_cores_are_left_out_of_several_models_and_stay_in_one() -> None:
    phase = launch(0).phases["inference"]
    of_kind = {f"cpu_core/{name}/": value for name, value in phase.shares.items()}
    hybrid = [replace(launch(0), phases={"inference": replace(phase, shares=of_kind)})]
    model, conv = part("model", kind="model", launches=hybrid), part("a", 1, launches=hybrid)
    alone, _ = derive_report(of(model, conv)).counters
    both, whole = derive_report(of(model, conv, part("b", 4, launches=hybrid))).counters
    assert figure(alone, "cpu_core/retiring/").value == 0.5
    assert figure(whole, "cpu_core/retiring/").value == 0.5
    assert {each.name for each in both.figures} == {*EVENTS, "ipc"}


def test_counts_that_perf_has_scaled_are_marked_with_the_smallest_share() -> None:
    scaled = part("a", 1, launches=[launch(0, running=0.4)])
    assert figure(derived(scaled, part("b", 4, launches=[launch(0)])), "cycles").running_share == 0.4


def test_an_operator_that_failed_is_in_no_sum_and_not_in_the_share() -> None:
    failed = replace(part("b", 4), failure=profile_counters.LOST)
    found = derived(part("a", 1, launches=[launch(0)]), failed)
    assert (found.models, found.counted_share) == (1, pytest.approx(10 / 12))


def test_the_whole_model_and_an_empty_call_come_behind_the_classes() -> None:
    report = derive_report(profile_counters.example())
    of_ort = [(row.kind, row.operator_class) for row in report.counters if row.cell == "ort-cpu"]
    assert of_ort == [("operators", MATRIX), ("operators", OperatorClass.ELEMENTWISE), ("call", None), ("model", None)]
    assert {figure.name for row in report.counters for figure in row.figures} >= {*EVENTS, "ipc", "retiring"}


def test_a_profile_without_counters_has_none() -> None:
    assert derive_report(replace(profile_counters.example(), counters=None)).counters == ()


def test_a_document_with_counters_is_read_as_it_was_written() -> None:
    document = profile_counters.example()
    assert decode_profile(encode_profile(document), "it") == document


def test_a_failure_of_a_cell_that_is_not_there_is_refused() -> None:
    document = replace(of(), counters=replace(counters(), failures={"none": profile_counters.LOST}))
    with pytest.raises(IrbenchError, match="damaged"):
        decode_profile(encode_profile(document), "it")


@pytest.mark.parametrize("wrong", [part("a", 99), part("a", 1, cell="none")])
def test_counters_of_operators_that_are_not_there_are_refused(wrong: CountedPart) -> None:
    with pytest.raises(IrbenchError, match="damaged"):
        decode_profile(encode_profile(of(wrong)), "it")
