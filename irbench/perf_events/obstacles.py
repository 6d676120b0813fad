"""Why something cannot be counted: one class a reason, with what was seen, what is wrong and what helps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, TypeAlias

import msgspec

from irbench.core.quantities import listing
from irbench.perf_events.event_names import GROUPS

_FORBIDDEN = re.compile(
    r"perf_event_paranoid|Access to performance monitoring|No permission|Permission denied|Operation not permitted"
)
_UNKNOWN_OPTION = re.compile(r"unknown (?:option|switch) `?(?:j|control)", re.IGNORECASE)
_UNKNOWN_EVENT = re.compile(
    r"event syntax error|Unable to find|Bad event|parser error|Cannot find metric", re.IGNORECASE
)
_UNSUPPORTED = re.compile(r"No supported events|not supported|No such device|Invalid argument", re.IGNORECASE)


class Nothing(msgspec.Struct, frozen=True):
    """No facts."""


class Said(msgspec.Struct, frozen=True):
    """What a program that failed said; empty where it said nothing."""

    said: str = ""


class Level(msgspec.Struct, frozen=True):
    """The kernel's level of perf_event_paranoid; ``None`` where it is unknown."""

    level: int | None = None


class Alone(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether nothing else was counted."""

    alone: bool = False


class _Reason(msgspec.Struct, frozen=True, tag_field="code"):
    """Why an event, or a group, is not counted; its class attributes are its words.

    Documents have ``code``, the tag of the class, and ``facts``.
    """

    cause: ClassVar[str]
    help: ClassVar[str]
    is_fixable: ClassVar[bool] = False
    """Whether something done on the machine makes it available."""

    @property
    def code(self) -> str:
        """The name of the reason."""
        return str(self.__struct_config__.tag)

    def why(self) -> str:
        """Return why something is not counted, as the end of a sentence."""
        return self.cause

    def remedy(self) -> str:
        """Return what helps, in one sentence."""
        return self.help


class _Plain(_Reason, frozen=True):
    facts: Nothing = msgspec.field(default_factory=Nothing)


class _Failed(_Reason, frozen=True):
    facts: Said = msgspec.field(default_factory=Said)

    def why(self) -> str:
        return f"{self.cause}: {self.facts.said}" if self.facts.said else self.cause


class NoPerf(_Reason, frozen=True, tag="no-perf"):
    """There is no perf, or a script that looks for the real one and does not find it."""

    cause = "no working perf was found"
    help = "Install it: linux-perf on Debian, linux-tools on Ubuntu, perf on Fedora and Arch."
    is_fixable = True
    facts: Said = msgspec.field(default_factory=Said)

    def why(self) -> str:
        return f"{self.cause} ({self.facts.said})" if self.facts.said else self.cause


class OldPerf(_Plain, frozen=True, tag="old-perf"):
    """perf is too old for what irbench asks of it."""

    cause = "this perf cannot write JSON"
    help = "Install perf 6.0 or later."
    is_fixable = True


class NoPmu(_Plain, frozen=True, tag="no-pmu"):
    """No counters of the processor are visible."""

    cause = "the kernel offers no counters of the processor, as in most virtual machines"
    help = "Measure on bare metal, or let the hypervisor pass them on (a vPMU); `--counters software` works here."


class NotPermitted(_Reason, frozen=True, tag="not-permitted"):
    """The kernel forbids it."""

    cause = "the kernel does not permit it"
    help = "Allow it: sudo sysctl kernel.perf_event_paranoid=1; in a container also --cap-add PERFMON."
    is_fixable = True
    facts: Level = msgspec.field(default_factory=Level)

    def why(self) -> str:
        level = self.facts.level
        return self.cause if level is None else f"{self.cause} (kernel.perf_event_paranoid is {level})"


class NotSupported(_Plain, frozen=True, tag="not-supported"):
    """This processor lacks the event."""

    cause = "this processor or its hypervisor does not support it"
    help = "Choose other events: perf list names them."


class UnknownEvent(_Plain, frozen=True, tag="unknown-event"):
    """perf does not know the name."""

    cause = "perf knows no such event"
    help = f"Groups: {', '.join(GROUPS)}; perf list names the events."


class NoTopdown(_Plain, frozen=True, tag="no-topdown"):
    """Nobody has published how the shares of slots are computed."""

    cause = "perf has no Top-Down metrics for this processor, and no published formula fits it"
    help = "Install a newer perf; `--counters ipc,cache,branch` needs no such metrics."


class NoToplev(_Plain, frozen=True, tag="no-toplev"):
    """toplev is not installed."""

    cause = "there is no toplev on PATH"
    help = "Install pmu-tools for deeper levels (Intel processors), or ask for `--counters topdown`."


class ToplevFailed(_Failed, frozen=True, tag="toplev-failed"):
    """toplev ended with an error."""

    cause = "toplev failed"
    help = "Try it by itself: toplev -l2 --single-thread -- true"


class SeveralKindsOfCores(_Plain, frozen=True, tag="several-kinds-of-cores"):
    """Nodes of toplev would be those of several kinds together."""

    cause = "the processor has several kinds of cores, whose nodes would be mixed"
    help = "Ask for `--counters topdown`: perf reports its shares for each kind."


class NotCounted(_Reason, frozen=True, tag="not-counted"):
    """perf could count it, but the event was never on a counter while it was wanted."""

    cause = "it was never on a counter"
    help = "Ask for fewer events at once."
    facts: Alone = msgspec.field(default_factory=Alone)

    def why(self) -> str:
        return f"{self.cause}, although nothing else was counted" if self.facts.alone else self.cause

    def remedy(self) -> str:
        if self.facts.alone:
            return "Something else holds the counters: end other perf sessions, and sudo sysctl kernel.nmi_watchdog=0."
        return self.help


class NotNamed(_Plain, frozen=True, tag="not-named"):
    """perf counts it, under no name by which the count could be told from others."""

    cause = "perf counts it without a distinct name"
    help = "Name it: cpu/event=0xc0,name=retired/, for example."


class PerfFailed(_Failed, frozen=True, tag="perf-failed"):
    """perf ended with an error of another kind."""

    cause = "perf failed"
    help = "Try it by itself: perf stat -j -e EVENT true"


Obstacle: TypeAlias = (
    NoPerf | OldPerf | NoPmu | NotPermitted | NotSupported | UnknownEvent | NoTopdown | NoToplev | ToplevFailed
    | SeveralKindsOfCores | NotCounted | NotNamed | PerfFailed
)  # fmt: skip
"""Every reason: documents are read as one of these."""


def obstacle_from_messages(said: str, paranoid: int | None) -> Obstacle:
    """Return what the messages of a perf that failed mean."""
    if _UNKNOWN_OPTION.search(said):
        return OldPerf()
    if _FORBIDDEN.search(said):
        return NotPermitted(Level(paranoid))
    if _UNKNOWN_EVENT.search(said):
        return UnknownEvent()
    if _UNSUPPORTED.search(said):
        return NotSupported()
    lines = [line.strip() for line in said.splitlines() if line.strip() not in ("", "Error:")]
    return PerfFailed(Said(lines[0] if lines else ""))


def not_counted(requested: Sequence[str], unavailable: Mapping[str, Obstacle]) -> Iterator[tuple[str, Obstacle]]:
    """Yield what was asked for and cannot be counted, once for all that have the same reason."""
    whole = [name for name in requested if name in unavailable]
    covered = {event for name in whole for event in GROUPS.get(name, ())}
    names = (*whole, *(event for event in unavailable if event not in covered and event not in whole))
    reasons: list[tuple[list[str], Obstacle]] = []
    for name in names:
        same = next((sharing for sharing, obstacle in reasons if obstacle == unavailable[name]), None)
        if same is None:
            reasons.append(([name], unavailable[name]))
        else:
            same.append(name)
    yield from ((listing(sharing), obstacle) for sharing, obstacle in reasons)
