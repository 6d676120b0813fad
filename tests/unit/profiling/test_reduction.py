"""Inferences of a launch become medians, launch by launch."""

from __future__ import annotations

from irbench.profiling.record import LaunchLatencies, ProfiledCell
from irbench.profiling.reduction import with_launch
from irbench.spi.profiling import InferenceProfile, OperatorTime

EMPTY = ProfiledCell("a", "a", "a", "cpu", "onnx")


def inference(*times: tuple[str, int], averages: int = 1) -> InferenceProfile:
    return InferenceProfile(tuple(OperatorTime(name, "Conv", time) for name, time in times), averages)


def latencies(*profiled: int, launch: int = 0) -> LaunchLatencies:
    return LaunchLatencies(launch, profiled, (1,))


def durations(cell: ProfiledCell) -> dict[str, tuple[int, ...]]:
    return {operator.name: operator.duration_ns for operator in cell.operators}


def test_the_median_over_inferences_is_kept_which_one_slow_call_does_not_change() -> None:
    found = with_launch(EMPTY, latencies(1, 1, 1), [inference(("x", time)) for time in (10, 11, 900)])
    assert durations(found) == {"x": (11,)}


def test_an_operator_that_is_executed_several_times_counts_with_all_of_them() -> None:
    found = with_launch(EMPTY, latencies(1), [inference(("x", 10), ("y", 1), ("x", 30))])
    assert durations(found) == {"x": (40,), "y": (1,)}
    assert [operator.executions for operator in found.operators] == [2, 1]


def test_a_mean_of_several_inferences_weighs_as_many() -> None:
    found = with_launch(EMPTY, latencies(1, 1, 1, 1), [inference(("x", 10), averages=3), inference(("x", 50))])
    assert durations(found) == {"x": (10,)}


def test_an_operator_that_a_launch_lacks_takes_no_time_there() -> None:
    first = with_launch(EMPTY, latencies(1), [inference(("x", 10))])
    second = with_launch(first, latencies(1, launch=1), [inference(("y", 20))])
    assert durations(second) == {"x": (10, 0), "y": (0, 20)}
    assert [launch.launch for launch in second.launches] == [0, 1]


def test_the_inference_that_is_drawn_is_that_of_the_median_latency_in_the_first_launch() -> None:
    found = with_launch(EMPTY, latencies(300, 100, 200), [inference(("x", time)) for time in (3, 1, 2)])
    assert [span.duration_ns for span in found.timeline] == [2]
    again = with_launch(found, latencies(1, launch=1), [inference(("x", 77))])
    assert again.timeline == found.timeline


def test_the_inference_that_is_drawn_may_be_a_mean_of_several() -> None:
    found = with_launch(EMPTY, latencies(5, 1, 9), [inference(("x", 3), averages=1), inference(("x", 7), averages=2)])
    assert [span.duration_ns for span in found.timeline] == [3]
