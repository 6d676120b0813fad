"""From the shell's return key to its next prompt, for the commands that measure nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from benchmarks.rows import Finding, Goal
from benchmarks.workbench import Workbench

_COMMANDS = ("--help", "backends", "models", "results")
_INTERPRETER = "python -c pass"


def measure(bench: Workbench) -> Iterator[Finding]:
    """Call every command in every round, the interpreter alone among them; the first round is a rehearsal."""
    calls: Mapping[str, Callable[[], float]] = {
        _INTERPRETER: lambda: bench.run("python", "-c", "pass").seconds,
        **{name: lambda name=name: bench.irbench(name).seconds for name in _COMMANDS},  # type: ignore[misc]
    }
    rounds = [{name: call() * 1e3 for name, call in calls.items()} for _ in range(1 + bench.repeats(15))][1:]
    interpreter = tuple(round_[_INTERPRETER] for round_ in rounds)
    for name in _COMMANDS:
        goal = Goal("own", "<", 150.0) if name == "--help" else None
        own = tuple(round_[name] for round_ in rounds)
        yield Finding("prompt", f"irbench {name}", "ms", own, interpreter, _INTERPRETER, goal)
