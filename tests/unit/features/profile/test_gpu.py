"""On a GPU copies, kernels and the wait for the host add up to the latency, launch by launch."""

from __future__ import annotations

import profiles
import pytest

from irbench.features.profile.derivation import derive_report
from irbench.features.profile.launches import gpu_times
from irbench.features.profile.record import GpuTimes, ProfiledCell, decode_profile, encode_profile
from irbench.features.profile.report import GpuParts
from irbench.spi.profiling import GpuActivity, InferenceProfile


def inference(gpu: GpuActivity | None) -> InferenceProfile:
    return InferenceProfile((), gpu=gpu)


def parts_of(cell: ProfiledCell) -> GpuParts:
    (found,) = derive_report(profiles.document(cell)).cells
    assert found.gpu is not None
    return found.gpu


def test_only_calls_that_count_are_in_the_times_of_a_launch() -> None:
    activities = [GpuActivity(kernels, 10, 20, 3, 40, 5) for kernels in (100, 200, 900)]
    copies = [(1, 2), (3, 4), (500, 600)]
    found = gpu_times([inference(gpu) for gpu in activities], copies, counted=(0, 1), profile_of=(0, 1))
    assert found == GpuTimes(copy_in_ns=12, copy_out_ns=23, kernels_ns=150, rounding_ns=3, issuing_ns=40, on_cpu_ns=5)


def test_what_some_inferences_do_not_tell_is_unknown() -> None:
    activities = [GpuActivity(100, 10, 20, 3, 40), GpuActivity(issuing_ns=60, on_cpu_ns=4)]
    found = gpu_times([inference(gpu) for gpu in activities], [(2, 2), (4, 4)], (0, 1), (0, 1))
    assert found is not None
    assert (found.kernels_ns, found.issuing_ns, found.on_cpu_ns) == (None, 50, 2)


def test_an_inference_on_the_cpu_has_no_times_of_a_gpu() -> None:
    assert gpu_times([inference(None)], (), (0,), (0,)) is None
    (found,) = derive_report(profiles.document(profiles.ort())).cells
    assert found.gpu is None


def test_the_parts_add_up_to_the_latency() -> None:
    parts = parts_of(profiles.on_gpu())
    assert parts.kernels_ns is not None
    assert parts.waiting_ns is not None
    known = (parts.copy_in_ns, parts.kernels_ns, parts.waiting_ns, parts.copy_out_ns)
    assert sum(part.value for part in known) == pytest.approx(3.0e6)
    assert parts.waiting_ns.value == pytest.approx(0.6e6)
    assert parts.waiting_ns.confidence is not None
    assert parts.between_copies_ns.value == pytest.approx(2.7e6)
    assert parts.on_cpu.value == pytest.approx(0.02)


def test_without_kernels_the_wait_is_unknown_and_no_operator_is_summed_up() -> None:
    cell = profiles.on_gpu(has_kernels=False)
    parts = parts_of(cell)
    assert parts.kernels_ns is parts.waiting_ns is None
    assert parts.issuing_ns is not None
    assert parts.issuing_ns.value == pytest.approx(0.9e6)
    (found,) = derive_report(profiles.document(cell)).cells
    assert found.sum_ns is found.between_ns is None
    assert found.plain_ns is not None
    assert found.confidence is not None


def test_a_document_keeps_the_times_of_a_gpu() -> None:
    document = profiles.document(profiles.on_gpu(), profiles.on_gpu("b", has_kernels=False))
    assert decode_profile(encode_profile(document), "it") == document
