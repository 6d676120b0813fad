"""What a backend gives that can say how long each operator of an inference took.

A profiled session is made apart from the one that is timed: profiling costs time, so its latencies are never
published as the model's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from irbench.spec import Artifact, Load
from irbench.spi.backend import Phases, Session


@dataclass(frozen=True)
class TensorShape:
    """A tensor as a runtime's profile describes it.

    Attributes:
        dtype: NumPy's name of the element type, ``float32`` for example; empty where the runtime does not tell.
        shape: Sizes in the runtime's own layout; ``None`` where it does not tell.
    """

    dtype: str
    shape: tuple[int, ...] | None


@dataclass(frozen=True)
class OperatorTime:
    """One operator of one inference, as the runtime executed it.

    Attributes:
        name: The runtime's own name of it.
        kind: The runtime's own operator type.
        duration_ns: Time in it, without that of operators nested in it, in nanoseconds.
        nodes: Names of the ONNX nodes that it computes, as far as the runtime tells; several where it fused them, none
            where names were lost. A node without a name is called as
            :attr:`irbench.onnx.reading.inventory.NodeEntry.label` does. Of an artifact that is not ONNX, these are the
            names of its own nodes.
        start_ns: Start since the inference's first operator, in nanoseconds; ``None`` where the runtime tells none.
        thread: Number of the thread or queue that ran it; ``None`` where the runtime does not tell.
        device: Where it ran: ``cpu``, ``cuda``; or the provider's or plugin's own name where that says more.
        implementation: The kernel that was chosen, with its precision: ``brgconv_avx512_f32`` for example.
        inputs: Its inputs, where the runtime tells.
        outputs: Its outputs, where the runtime tells.
        is_overhead: Whether this is the runtime's own work between operators, and computes no node.
    """

    name: str
    kind: str
    duration_ns: int
    nodes: tuple[str, ...] = ()
    start_ns: int | None = None
    thread: int | None = None
    device: str = "cpu"
    implementation: str = ""
    inputs: tuple[TensorShape, ...] = ()
    outputs: tuple[TensorShape, ...] = ()
    is_overhead: bool = False


@dataclass(frozen=True)
class GpuActivity:
    """What a GPU did while one inference ran, between the copies of its inputs and of its outputs.

    Times are in nanoseconds. What the GPU did is ``None`` where the runtime records only what the host did: the host's
    time in an operator is the time in which it hands over work, and no time of the GPU.

    Attributes:
        kernels_ns: Time in which it ran kernels and copied nothing from or to the host.
        copy_in_ns: Time in which it copied from the host.
        copy_out_ns: Time in which it copied to the host.
        rounding_ns: By how much these three together may be too short, because the runtime's figures are cut off.
        issuing_ns: Time that the host took to hand over the work of the inference, with its waits for copies to the
            host in between; ``None`` where that is unknown.
        on_cpu_ns: Time of operators that ran on the CPU.
    """

    kernels_ns: int | None = None
    copy_in_ns: int | None = None
    copy_out_ns: int | None = None
    rounding_ns: int = 0
    issuing_ns: int | None = None
    on_cpu_ns: int = 0


@dataclass(frozen=True)
class InferenceProfile:
    """The operators of one inference, in the order in which they were executed.

    Attributes:
        operators: One entry for each execution: an operator within a loop has several. None on a GPU whose work the
            runtime does not record.
        averages: How many inferences the durations are a mean of; 1 where each inference is told apart.
        uncertainty_ns: By how much each duration may be off, because the runtime's figures are rounded; 0 where that
            does not matter.
        gpu: What the GPU did that it ran on; ``None`` on the CPU.
    """

    operators: tuple[OperatorTime, ...]
    averages: int = 1
    uncertainty_ns: int = 0
    gpu: GpuActivity | None = None


class ProfiledSession(Session, Protocol):
    """A session whose runtime records operators between two calls; it runs like any other.

    On a GPU its slots are bound (:meth:`irbench.spi.Session.open_slots`), so that the harness times the copies of
    inputs and outputs apart.

    It is called before :meth:`start_profile` only as often as a warm-up needs: some runtimes count from their first
    inference on.
    """

    def start_profile(self) -> None:
        """Forget what was recorded so far; what runs from now on counts."""
        ...

    def finish_profile(self, inferences: int, /) -> Sequence[InferenceProfile]:
        """Return what was recorded of ``inferences`` inferences since :meth:`start_profile`, oldest first.

        Each inference is in exactly one profile: the ``averages`` of all add up to ``inferences``. It is called once;
        some runtimes record nothing afterwards.

        Raises:
            Refusal: The runtime recorded nothing, or something else than so many inferences.
        """
        ...


@runtime_checkable
class ProfilingBackend(Protocol):
    """A backend that can profile; found by ``isinstance``, beside :class:`~irbench.spi.Backend`."""

    def compile_profiled(self, artifact: Artifact, load: Load, device: str, phases: Phases, /) -> ProfiledSession:
        """Compile as ``compile`` does, with the runtime's recording of operators switched on.

        Args:
            artifact: As for ``compile``.
            load: As for ``compile``; one inference at a time, so ``streams`` is 1.
            device: As for ``compile``.
            phases: As for ``compile``.

        Raises:
            Refusal: The runtime cannot profile what was asked.
        """
        ...
