"""Of a launch the middle half of its inferences counts, launch by launch."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from irbench.features.profile.launches import ProfileLaunch, middle_half, with_launch
from irbench.features.profile.profile_document import GpuTimes, ProfiledCell
from irbench.spi.profiling import GpuActivity, InferenceProfile, OperatorTime

EMPTY = ProfiledCell(id="a", label="a", backend="a", device="cpu", artifact="onnx")


def inference(*times: tuple[str, int], averages: int = 1) -> InferenceProfile:
    return InferenceProfile(tuple(OperatorTime(name, "Conv", time) for name, time in times), averages)


def launch(latencies: Sequence[int], *profiles: InferenceProfile, number: int = 0) -> ProfileLaunch:
    return ProfileLaunch(number, tuple(latencies), (1,), profiles)


def durations(cell: ProfiledCell) -> dict[str, tuple[int, ...]]:
    return {operator.name: operator.duration_ns for operator in cell.operators}


@pytest.mark.parametrize(
    ("latencies", "places"),
    [((9,), (0,)), ((9, 1), (0, 1)), ((9, 1, 5, 4), (2, 3)), ((1, 1, 1, 1), (1, 2)), (range(20), range(5, 15))],
)
def test_the_middle_half_is_by_size_and_never_empty(latencies: Sequence[int], places: Sequence[int]) -> None:
    assert tuple(middle_half(latencies)) == tuple(places)


def test_slow_and_fast_inferences_do_not_count() -> None:
    profiles = [inference(("x", time)) for time in (900, 10, 20, 1)]
    found = with_launch(EMPTY, launch((1000, 100, 110, 90), *profiles))
    assert durations(found) == {"x": (15,)}
    assert found.launches[0].counted == (1, 2)


def test_parts_add_up_to_the_latency_of_the_same_inferences_also_where_different_operators_stall() -> None:
    stalls = [inference(*((name, 110 if name == stalled else 10) for name in "abcd")) for stalled in "abcd"]
    found = with_launch(EMPTY, launch((150, 150, 150, 150), *stalls))
    assert sum(time for (time,) in durations(found).values()) == 140


def test_an_operator_that_is_executed_several_times_counts_with_all_of_them() -> None:
    found = with_launch(EMPTY, launch((1,), inference(("x", 10), ("y", 1), ("x", 30))))
    assert durations(found) == {"x": (40,), "y": (1,)}
    assert [operator.executions for operator in found.operators] == [2, 1]


def test_a_mean_of_several_inferences_cannot_be_taken_apart_and_weighs_as_many() -> None:
    found = with_launch(EMPTY, launch((1, 1, 1, 900), inference(("x", 10), averages=3), inference(("x", 50))))
    assert durations(found) == {"x": (20,)}
    assert found.launches[0].counted == (0, 1, 2, 3)


def test_an_operator_that_a_launch_lacks_takes_no_time_there() -> None:
    first = with_launch(EMPTY, launch((1,), inference(("x", 10))))
    second = with_launch(first, launch((1,), inference(("y", 20)), number=1))
    assert durations(second) == {"x": (10, 0), "y": (0, 20)}
    assert [launch.launch for launch in second.launches] == [0, 1]


def test_the_inference_that_is_drawn_is_that_of_the_median_latency_in_the_first_launch() -> None:
    found = with_launch(EMPTY, launch((300, 100, 200), *(inference(("x", time)) for time in (3, 1, 2))))
    assert [span.duration_ns for span in found.timeline] == [2]
    again = with_launch(found, launch((1,), inference(("x", 77)), number=1))
    assert again.timeline == found.timeline


def test_the_inference_that_is_drawn_may_be_a_mean_of_several() -> None:
    found = with_launch(EMPTY, launch((5, 1, 9), inference(("x", 3)), inference(("x", 7), averages=2)))
    assert [span.duration_ns for span in found.timeline] == [3]


def test_a_launch_keeps_how_exactly_its_runtime_tells_times() -> None:
    rounded = InferenceProfile((OperatorTime("x", "Conv", 10),), averages=2, uncertainty_ns=1_500)
    assert with_launch(EMPTY, launch((9, 9), rounded)).launches[0].uncertainty_ns == 1_500


def on_gpu(copies_ns: tuple[tuple[int, int], ...], latencies: Sequence[int], *activities: GpuActivity) -> GpuTimes:
    profiles = tuple(InferenceProfile((), gpu=activity) for activity in activities)
    times = with_launch(EMPTY, ProfileLaunch(0, tuple(latencies), (1,), profiles, copies_ns=copies_ns)).launches[0].gpu
    assert times is not None
    return times


def test_only_calls_that_count_are_in_the_times_of_a_gpu() -> None:
    activities = [GpuActivity(kernels, 10, 20, 3, 40, 5) for kernels in (100, 900, 200, 900)]
    times = on_gpu(((1, 2), (500, 600), (3, 4), (500, 600)), (20, 1, 30, 99), *activities)
    assert times == GpuTimes(copy_in_ns=12, copy_out_ns=23, kernels_ns=150, rounding_ns=3, issuing_ns=40, on_cpu_ns=5)


def test_what_some_inferences_do_not_tell_of_the_gpu_is_unknown() -> None:
    times = on_gpu(((2, 2), (4, 4)), (1, 1), GpuActivity(100, 10, 20, 3, 40), GpuActivity(issuing_ns=60, on_cpu_ns=4))
    assert (times.kernels_ns, times.issuing_ns, times.on_cpu_ns) == (None, 50, 2)


def test_an_inference_on_the_cpu_has_no_times_of_a_gpu() -> None:
    assert with_launch(EMPTY, launch((1,), inference(("x", 1)))).launches[0].gpu is None
