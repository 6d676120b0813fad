"""In what two runs differ besides their figures: the machine, which forbids to compare them, and all that may be meant.

Documents of older versions lack some facts. What is not known on one side does not count as a difference.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from irbench.core.result import RunDocument
from irbench.core.row import CellResult
from irbench.spec import GraphFiles

DifferenceKind = Literal["machine", "software", "model", "settings", "inputs"]
"""``machine``: times are of different things. ``software``, ``model``, ``settings``: usually what is compared.
``inputs``: what was computed with, of which the time may depend."""

_FINGERPRINT_DIGITS = 12
_DIGEST_DIGITS = 12
_OF_PROCESSOR = {
    "processor": "Model name",
    "architecture": "Architecture",
    "virtualisation": "Hypervisor vendor",
    "instructions": "Flags",
}
_SETTINGS = ("cpus", "options", "allow_mixed", "seed")
_OF_ENVIRONMENT = ("confined",)
"""Facts of the environment that users choose: of the same machine and software."""
_INPUTS = ("data_in_memory", "values", "feedback")
_PROTOCOL = ("warm_up", "settle", "round_seconds", "stream_round_seconds", "burn_in_blocks")
"""Numbers of the protocol that change what a figure is of, and not only how well it is known."""


@dataclass(frozen=True)
class RunDifference:
    """One fact in which two runs differ.

    Attributes:
        name: What differs: ``processor``, ``onnxruntime``, ``resnet50: ort``, ``options``.
        base: Of the older side; several values where its runs differ among themselves.
    """

    kind: DifferenceKind
    name: str
    base: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def blocks(self) -> bool:
        """Whether times of both sides are not comparable for this reason alone."""
        return self.kind == "machine"


def machine_facts(environment: Mapping[str, Any]) -> dict[str, str]:
    """Return what a machine is known by, as far as a document says it.

    Memory counts in whole GiB and the kernel by its first two numbers: both change a little without being another
    machine. The governor is part of it: under another one the same processor has another speed.
    """
    cpu = environment.get("cpu")
    of_cpu = {name: cpu.get(field) for name, field in _OF_PROCESSOR.items()} if isinstance(cpu, Mapping) else {}
    memory = environment.get("memory_bytes")
    facts = {
        **of_cpu,
        "processors": environment.get("cpus_allowed"),
        "cores": environment.get("physical_cores_allowed"),
        "cpu quota": environment.get("cpu_quota"),
        "memory": f"{round(memory / 2**30)} GiB" if isinstance(memory, int) else None,
        "governor": environment.get("governor"),
        "system": environment.get("system"),
        "kernel": _family(environment.get("kernel")),
    }
    return {name: str(value) for name, value in facts.items() if value not in (None, "")}


def graph_difference(name: str, before: GraphFiles | None, after: GraphFiles | None) -> Iterator[RunDifference]:
    """Yield that a row's graph differs, by the first digits of its checksum, where both sides know it."""
    if before is not None and after is not None and before.sha256 != after.sha256:
        yield RunDifference("model", name, (before.sha256[:_DIGEST_DIGITS],), (after.sha256[:_DIGEST_DIGITS],))


def fingerprint(environment: Mapping[str, Any]) -> str:
    """Return the name of a machine: equal for runs that may be compared, without anything that identifies a person."""
    facts = msgspec.json.encode(machine_facts(environment), order="sorted")
    return hashlib.sha256(facts).hexdigest()[:_FINGERPRINT_DIGITS]


def software_facts(document: RunDocument) -> dict[str, str]:
    """Return the versions of irbench, Python and of every distribution that takes part, by name."""
    installed = document.environment.get("distributions")
    versions = dict(installed) if isinstance(installed, Mapping) else {}
    versions_by_name = {"irbench": document.irbench_version, "python": document.environment.get("python"), **versions}
    return {name: str(version) for name, version in versions_by_name.items() if version}


def differences_between(base: Iterable[RunDocument], new: Iterable[RunDocument]) -> tuple[RunDifference, ...]:
    """Return every fact of their environments and plans in which two sides differ, those that block first."""
    before, after = tuple(base), tuple(new)
    return tuple(
        difference
        for kind, facts in _FACTS.items()
        for difference in _different(kind, list(map(facts, before)), list(map(facts, after)))
    )


def facts_digest(document: RunDocument) -> str:
    """Return a digest of all that :func:`differences_between` compares: equal where it would find nothing."""
    facts = [of_kind(document) for of_kind in _FACTS.values()]
    return hashlib.sha256(msgspec.json.encode(facts, order="sorted")).hexdigest()[: 2 * _DIGEST_DIGITS]


def setup_of(document: RunDocument, row: CellResult, inputs: str) -> tuple[object, ...]:
    """Return what is equal for two runs of a cell of which one only repeats the other, besides the cell and its graph.

    These are the machine, the versions, the inputs (a digest), and how the cell was set up.
    """
    plan = document.plan
    properties = plan.options.get(row.backend) or {}
    python = row.environment and (row.environment.python_version, dict(row.environment.distributions))
    machine, software = fingerprint(document.environment), software_facts(document)
    return machine, software, inputs, properties, plan.cpus, row.program, python


def _different(kind: DifferenceKind, base: list[dict[str, str]], new: list[dict[str, str]]) -> Iterator[RunDifference]:
    for name in dict.fromkeys(name for facts in (*base, *new) for name in facts):
        before = tuple(sorted({facts[name] for facts in base if name in facts}))
        after = tuple(sorted({facts[name] for facts in new if name in facts}))
        if before and after and (before != after or len(before) > 1):
            yield RunDifference(kind, name, before, after)


def _settings(document: RunDocument) -> dict[str, str]:
    plan, of_protocol = document.plan, _texts(document.plan.timing, _PROTOCOL)
    return {**_texts(vars(plan), _SETTINGS), **_texts(document.environment, _OF_ENVIRONMENT), **of_protocol}


def _inputs(document: RunDocument) -> dict[str, str]:
    return _texts(vars(document.plan), _INPUTS)


def _texts(facts: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """Return the named facts as texts that can be compared; one that is not there is left out."""
    return {name: msgspec.json.encode(facts[name], order="sorted").decode() for name in names if name in facts}


def _family(release: object) -> str | None:
    match = re.match(r"\d+\.\d+", str(release)) if release else None
    return match[0] if match else None


_FACTS: Mapping[DifferenceKind, Callable[[RunDocument], dict[str, str]]] = {
    "machine": lambda document: machine_facts(document.environment),
    "software": software_facts,
    "settings": _settings,
    "inputs": _inputs,
}
"""What two sides may differ in besides models; what blocks a comparison stands first."""
