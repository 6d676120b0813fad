"""What an inference on a GPU is made of: copies in, kernels, copies out, and the time the GPU waits for the host."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from irbench.features.profile.estimates import Estimate, estimate
from irbench.features.profile.record import GpuTimes, ProfiledCell
from irbench.spi.profiling import InferenceProfile
from irbench.stats.intervals import Looks


@dataclass(frozen=True)
class GpuParts:
    """The parts of an inference on a GPU, over launches; in each launch they add up to the latency.

    Attributes:
        copy_in_ns: Copies to the GPU.
        copy_out_ns: Copies from the GPU.
        kernels_ns: Kernels; ``None`` where the runtime records none.
        waiting_ns: Time in which the GPU waits for the host; ``None`` as well.
        between_copies_ns: Kernels and waiting together.
        issuing_ns: Time that the host takes to hand over the work; ``None`` where that is unknown.
        on_cpu: Share of the latency in operators that ran on the CPU, as a fraction.
        rounding_ns: By how much kernels may be too short, and the waiting too long.
    """

    copy_in_ns: Estimate
    copy_out_ns: Estimate
    kernels_ns: Estimate | None
    waiting_ns: Estimate | None
    between_copies_ns: Estimate
    issuing_ns: Estimate | None
    on_cpu: Estimate
    rounding_ns: int


def gpu_times(
    profiles: Sequence[InferenceProfile],
    copies_ns: Sequence[tuple[int, int]],
    counted: Iterable[int],
    profile_of: Iterable[int],
) -> GpuTimes | None:
    """Return where the time of a launch went on a GPU; ``None`` of one on the CPU.

    Args:
        profiles: Of its inferences.
        copies_ns: Of each call, how long its inputs and its outputs were copied, by the harness's clock.
        counted: Places of the calls that count.
        profile_of: The place of each of these calls' profile.
    """
    activities = [gpu for place in profile_of if (gpu := profiles[place].gpu) is not None]
    if not activities or not copies_ns:
        return None
    copies = [copies_ns[place] for place in counted]
    kernels = [gpu.kernels_ns for gpu in activities if gpu.kernels_ns is not None]
    issuing = [gpu.issuing_ns for gpu in activities if gpu.issuing_ns is not None]
    return GpuTimes(
        copy_in_ns=_mean([copy_in for copy_in, _ in copies]) + _mean([gpu.copy_in_ns or 0 for gpu in activities]),
        copy_out_ns=_mean([copy_out for _, copy_out in copies]) + _mean([gpu.copy_out_ns or 0 for gpu in activities]),
        kernels_ns=_mean(kernels) if len(kernels) == len(activities) else None,
        rounding_ns=_mean([gpu.rounding_ns for gpu in activities]),
        issuing_ns=_mean(issuing) if len(issuing) == len(activities) else None,
        on_cpu_ns=_mean([gpu.on_cpu_ns for gpu in activities]),
    )


def gpu_parts(cell: ProfiledCell, latencies_ns: Sequence[float], looks: Looks) -> GpuParts | None:
    """Return the parts of a cell's inferences; ``None`` of a cell that did not run on a GPU.

    Args:
        cell: It.
        latencies_ns: The mean latency of the calls that count, of each launch.
        looks: At how many launches intervals are looked at.
    """
    found = [launch.gpu for launch in cell.launches if launch.gpu is not None]
    if not found or len(found) < len(cell.launches):
        return None
    between = [all_ - gpu.copy_in_ns - gpu.copy_out_ns for all_, gpu in zip(latencies_ns, found, strict=True)]
    kernels = [gpu.kernels_ns for gpu in found if gpu.kernels_ns is not None]
    issuing = [gpu.issuing_ns for gpu in found if gpu.issuing_ns is not None]
    waiting = [all_ - busy for all_, busy in zip(between, kernels, strict=False)]
    return GpuParts(
        copy_in_ns=estimate([gpu.copy_in_ns for gpu in found], looks),
        copy_out_ns=estimate([gpu.copy_out_ns for gpu in found], looks),
        kernels_ns=estimate(kernels, looks) if len(kernels) == len(found) else None,
        waiting_ns=estimate(waiting, looks) if len(kernels) == len(found) else None,
        between_copies_ns=estimate(between, looks),
        issuing_ns=estimate(issuing, looks) if len(issuing) == len(found) else None,
        on_cpu=estimate([gpu.on_cpu_ns / all_ for all_, gpu in zip(latencies_ns, found, strict=True)], looks),
        rounding_ns=max(gpu.rounding_ns for gpu in found),
    )


def _mean(times_ns: Sequence[int]) -> int:
    return round(sum(times_ns) / len(times_ns))
