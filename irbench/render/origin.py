"""The origin of a run: machine, versions, date and command line."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from irbench.core.result import RunDocument
from irbench.render.table_title import SEPARATOR


def machine_text(document: RunDocument) -> str:
    """Return the processor, and how many processors and cores of it could be used; empty where nothing is known."""
    environment = document.environment
    cpu = environment.get("cpu")
    name = cpu.get("Model name") if isinstance(cpu, Mapping) else None
    cpus, cores = environment.get("cpus_allowed"), environment.get("physical_cores_allowed")
    counts = f"{cpus} processors on {cores} cores" if cpus is not None and cores is not None else None
    return ", ".join(str(part) for part in (name, counts) if part)


def is_confined(document: RunDocument) -> bool | None:
    """Return whether workers of a run's backends were confined; ``None`` where an older document does not say."""
    confined = document.environment.get("confined")
    return confined if isinstance(confined, bool) else None


def versions(document: RunDocument) -> dict[str, str]:
    """Return the versions of the system and of each distribution that takes part, by name."""
    environment = document.environment
    distributions = environment.get("distributions")
    found: dict[str, Any] = {name: environment.get(name) for name in ("kernel", "python")}
    found |= dict(distributions) if isinstance(distributions, Mapping) else {}
    elsewhere = _runtimes_elsewhere(document)
    return {name: str(version) for name, version in found.items() if version and name not in elsewhere}


def _runtimes_elsewhere(document: RunDocument) -> set[str]:
    """Return the runtimes that other environments brought: that of irbench's own environment did not take part."""
    environments = document.plan.get("environments") or ()
    return {str(environment.get("runtime")) for environment in environments}


def command_text(document: RunDocument) -> str:
    """Return the command line of a run, quoted for a shell; empty where it is not known."""
    command = document.plan.get("command")
    return shlex.join(str(word) for word in command) if isinstance(command, list | tuple) else ""


def origin_lines(document: RunDocument) -> Iterator[str]:
    """Yield what a reader elsewhere must know of a run: its name and moment, the machine, the versions, the command."""
    yield SEPARATOR.join((f"run {document.run_id}", document.created, f"irbench {document.irbench_version}"))
    machine = machine_text(document)
    if machine:
        yield machine
    found = ", ".join(f"{name} {version}" for name, version in versions(document).items())
    if found:
        yield found
    command = command_text(document)
    if command:
        yield command
