"""Sessions whose operators PyTorch's profiler records: each node of the program, or each kernel of inductor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile, record_function

from irbench.spec import Artifact
from irbench.spi import InferenceProfile, OperatorTime, Phases, Refusal
from irbench_torch.options import TorchOptions
from irbench_torch.session import TorchSession

_INFERENCE, _NODE = "irbench inference", "irbench node "
_KERNEL = "cpp_fused"


class _NamedNodes(torch.fx.Interpreter):
    """Runs a program node by node, so that the profiler knows which one it is in."""

    def run_node(self, n: torch.fx.Node) -> Any:
        if n.op != "call_function":
            return super().run_node(n)
        with record_function(_NODE + n.name):
            return super().run_node(n)


class ProfiledTorchSession(TorchSession):
    """Runs like any other session, by an interpreter of the program where nothing is compiled."""

    def __init__(self, artifact: Artifact, asked: TorchOptions, phases: Phases) -> None:
        if asked.mode is not None:
            import torch._inductor.config

            torch._inductor.config.cpp.enable_kernel_profile = True  # noqa: SLF001 - its only address
        super().__init__(artifact, asked, phases)
        self._kinds = {node.name: _kind(node) for node in self.module.graph.nodes}
        if asked.mode is None:
            self.call = _NamedNodes(self.module).run
        self._profile: Any = None

    def infer(self, arguments: Sequence[Any]) -> list[torch.Tensor]:
        """Run one inference, and record when it began and ended."""
        with record_function(_INFERENCE):
            return super().infer(arguments)

    def start_profile(self) -> None:
        """Record from now on."""
        self._profile = profile(activities=[ProfilerActivity.CPU])
        self._profile.start()

    def finish_profile(self, inferences: int, /) -> Sequence[InferenceProfile]:
        """Return what was recorded; see :class:`irbench.spi.ProfiledSession`."""
        self._profile.stop()
        events = [event for event in self._profile.events() if event.device_type == DeviceType.CPU]
        whole = sorted(
            (event for event in events if event.name == _INFERENCE), key=lambda event: event.time_range.start
        )
        if len(whole) != inferences:
            raise Refusal(
                f"PyTorch's profiler recorded {len(whole)} of {inferences} inferences.", hint="Profile fewer of them."
            )
        operators = sorted(self._operators(events), key=lambda each: each[0].time_range.start)
        return [
            InferenceProfile(
                tuple(
                    _time(event, name, kind, nodes, begun=inference.time_range.start)
                    for event, name, kind, nodes in operators
                    if inference.time_range.start <= event.time_range.start < inference.time_range.end
                )
            )
            for inference in whole
        ]

    def _operators(self, events: Sequence[Any]) -> Iterator[tuple[Any, str, str, tuple[str, ...]]]:
        """Yield each event of an operator, with its name, its kind, and the nodes that it computes."""
        for event in events:
            if event.name.startswith(_NODE):
                name = event.name.removeprefix(_NODE)
                yield event, name, self._kinds[name], (name,)
            elif self.asked.mode is not None and _is_outermost(event):
                kind = "fusion" if _KERNEL in event.name else event.name.rpartition("::")[2]
                yield event, event.name, kind, ()


def _is_outermost(event: Any) -> bool:
    """Whether an event is an operator or a kernel that no other one called."""
    if not _is_work(event):
        return False
    parent = event.cpu_parent
    while parent is not None:
        if _is_work(parent):
            return False
        parent = parent.cpu_parent
    return True


def _is_work(event: Any) -> bool:
    return "::" in event.name or _KERNEL in event.name


def _kind(node: torch.fx.Node) -> str:
    packet = getattr(node.target, "overloadpacket", None)
    return str(getattr(packet or node.target, "__name__", node.target))


def _time(event: Any, name: str, kind: str, nodes: tuple[str, ...], *, begun: float) -> OperatorTime:
    return OperatorTime(
        name=name,
        kind=kind,
        duration_ns=round(1000 * event.time_range.elapsed_us()),
        nodes=nodes,
        start_ns=round(1000 * (event.time_range.start - begun)),
        thread=event.thread,
    )
