"""The texts of warnings about the machine and its use by the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from irbench.notices import Facts, WarningCode
from irbench.quantities import listing, percent, plural
from irbench.render.context import Context
from irbench.render.text_types import WarningText


def _disturbances(facts: Facts) -> Iterator[str]:
    """Yield what one cause brought about, the worst first."""
    if "launches_short" in facts:
        yield (
            f"{plural(facts['launches_short'], 'launch')} had fewer than {facts['least_blocks']} undisturbed blocks,"
            " so all of their blocks are included."
        )
    if "blocks_disturbed" in facts:
        yield f"Other activity disturbed {facts['blocks_disturbed']} of {plural(facts['blocks'], 'block')}."
    if "foreign_share" in facts:
        yield f"Other programs used {percent(facts['foreign_share'], 0)} of a processor."


def _disturbed(facts: Facts, _: Context) -> str:
    return next(_disturbances(facts))


def _also_disturbed(facts: Facts, _: Context) -> str:
    return " ".join(list(_disturbances(facts))[1:])


def _calm_down(facts: Facts, context: Context) -> str:
    processors = ""
    if "foreign_share" in facts and context.has_idle_processors:
        processors = " use idle processors with --cpus,"
    return f"Close other programs (top lists them),{processors} or repeat the run on a quiet machine."


def _stolen(facts: Facts, _: Context) -> str:
    return f"The hypervisor took away {percent(facts['share'], 0)} of a processor's time."


def _held_back(facts: Facts, _: Context) -> str:
    return f"The CPU quota throttled the processes for {facts['seconds']:.2g} s in {plural(facts['blocks'], 'block')}."


def _waits(facts: Facts, context: Context) -> str:
    names = listing(context.name(row["cell"]) for row in facts["rows"])
    return f"Threads of {names} compete with each other for processors."


def _how_long(facts: Facts, context: Context) -> str:
    def of(row: Facts) -> str:
        of_all = f" of {row['threads']}" if row["threads"] is not None else ""
        name, share = context.name(row["cell"]), percent(row["share"], 0)
        return f"{share} of the run time of {name} (on average {row['running']:.1f}{of_all} threads ran)"

    return f"Even in undisturbed blocks, their waiting adds up to {listing(map(of, facts['rows']))}."


def _fewer_threads(_: Facts, context: Context) -> str:
    more = ", or give it more processors with --cpus" if context.can_add_processors else ""
    return f"Lower --threads or --streams{more}."


def _threads(facts: Facts, context: Context) -> str:
    used = listing(f"{context.name(row['cell'])} {row['threads']}" for row in facts["rows"])
    return f"Rows use different numbers of threads: {used}."


def _pin_threads(facts: Facts, _: Context) -> str:
    if facts["has_streams"]:
        return "Some runtimes need a thread for each stream: use no more --streams than --threads."
    return "Set it with --threads N."


_BUSY = {"foreign_share": 0.3, "processors": 2}
_DIRTY = {"blocks_disturbed": 35, "blocks": 103}

MACHINE_TEXTS: Mapping[WarningCode, WarningText] = {
    "few-clean-blocks": WarningText(
        says="a launch had too few undisturbed blocks, so disturbed ones are included",
        brief=_disturbed,
        detail=_also_disturbed,
        remedy=_calm_down,
        example={"launches_short": 2, "least_blocks": 4},
    ),
    "busy-machine": WarningText(
        says="other programs used more than 2.5 % of the processors in use",
        brief=_disturbed,
        remedy=_calm_down,
        example=_BUSY,
    ),
    "many-dirty-blocks": WarningText(
        says="more than a quarter of the blocks were disturbed",
        brief=_disturbed,
        detail=_also_disturbed,
        remedy=_calm_down,
        example=_DIRTY,
    ),
    "cpu-quota": WarningText(
        says="the container's CPU quota throttled the processes",
        brief=_held_back,
        remedy=lambda *_: "Raise the container's quota, or lower --threads to what it allows.",
        example={"seconds": 1.2, "blocks": 9},
    ),
    "stolen-time": WarningText(
        says="the hypervisor took away more than 2 % of a processor's time",
        brief=_stolen,
        remedy=lambda *_: "Repeat the run at another time, or on a machine with dedicated processors.",
        example={"share": 0.07},
    ),
    "not-frozen": WarningText(
        says="idle workers could not be stopped",
        brief=lambda *_: "Idle workers could not be stopped here.",
        detail=lambda *_: "Instead, each round waited until the other workers were idle.",
        remedy=lambda *_: (
            "Measure on Linux, where processes can be stopped: a runtime that spins while idle disturbs the others."
        ),
    ),
    "waits-on-itself": WarningText(
        says="a row has more busy threads than processors",
        brief=_waits,
        detail=_how_long,
        remedy=_fewer_threads,
        example={"rows": [{"cell": "tf", "share": 0.24, "running": 1.9, "threads": 2}]},
    ),
    "threads-differ": WarningText(
        says="the runtimes use different numbers of threads",
        brief=_threads,
        remedy=_pin_threads,
        example={
            "rows": [{"cell": "ort", "threads": 2}, {"cell": "openvino", "threads": 1}],
            "has_streams": False,
        },
    ),
}
