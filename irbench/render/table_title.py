"""The line above a table: the model, and what all rows have in common."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from irbench.core.address import function_address
from irbench.core.quantities import plural
from irbench.core.result import GroupResult, RunDocument
from irbench.core.row import GivenInputs, Requested, all_threads
from irbench.core.stored_plan import StoredPlan
from irbench.spec import Number, Objective, Scalar, shape_text
from irbench.spec.cells import IO_TEXTS

SEPARATOR = " · "
COMPARED_BY: Mapping[Objective, str] = {"latency": "latency", "fps": "FPS", "cost": "processor time per sample"}
"""What the objectives are called."""
_STEPS_COMPARED_BY: Mapping[Objective, str] = {**COMPARED_BY, "latency": "step time"}
_MOST_VALUES = 4
_PROGRAM = "irbench"
"""Readers copy commands into a terminal, and a run from elsewhere may name any."""


def title(result: GroupResult, environment: Mapping[str, Any] | None = None, plan: StoredPlan | None = None) -> str:
    """Return the model, its shapes, and everything that all cells have in common."""
    facts = (
        f"{_models(result)}  {_generated(result) or shapes_text(result)}",
        _batches(result),
        *shared_facts(result.cells, environment or {}, plan or StoredPlan()),
        _mode(result),
        _inputs(result),
    )
    return SEPARATOR.join(fact for fact in facts if fact)


def _inputs(result: GroupResult) -> str:
    """Return what the inputs were, of each batch where that differs: samples may be joined and repeated."""
    texts = {cell.batch: inputs_text(cell.given_inputs or result.given_inputs) for cell in result.cells}
    if len(set(texts.values())) <= 1:
        return inputs_text(result.given_inputs)
    return SEPARATOR.join(f"batch {batch}: {text}" for batch, text in sorted(texts.items()))


def _models(result: GroupResult) -> str:
    return ", ".join(dict.fromkeys(cell.model or result.model for cell in result.cells)) or result.model


def _generated(result: GroupResult) -> str:
    """Return how long prompts and generations are, as the plan says it; empty where calls generate nothing."""
    lengths = [row.generation for row in result.cells if row.generation is not None]
    if not lengths:
        return ""
    batch = f"batch {result.batch}" if result.batch > 1 and not _batches(result) else ""
    prompt = f"prompt {lengths[0].prompt}" if len(result.shapes) == 1 else shapes_text(result)
    return ", ".join(filter(None, (batch, prompt, plural(lengths[0].new_tokens, "new token"))))


def _batches(result: GroupResult) -> str:
    batches = sorted({cell.batch for cell in result.cells})
    return f"batches {', '.join(map(str, batches))}" if len(batches) > 1 else ""


class _TableRow(Protocol):
    @property
    def backend(self) -> str: ...
    @property
    def effective(self) -> Mapping[str, Scalar]: ...
    @property
    def requested(self) -> Requested: ...
    @property
    def device(self) -> str: ...


def shared_facts(rows: Sequence[_TableRow], environment: Mapping[str, Any], plan: StoredPlan) -> tuple[str, ...]:
    """Return the precision, threads, device and confinement of a table's rows, or that they differ."""
    ran = [row for row in rows if row.effective] or list(rows)
    return (
        _same({_precision(row) for row in ran}, "mixed precision"),
        f"{_threads(ran)}{_cores(environment, plan)}",
        _same({row.device for row in ran}, "mixed devices"),
        *filter(None, (_confinement(rows, environment, plan),)),
    )


def is_own_code(backend: str, plan: StoredPlan) -> bool:
    """Return whether what a row names is not a backend but the user's own code, which is never confined."""
    return backend in plan.cells


def _confinement(rows: Sequence[_TableRow], environment: Mapping[str, Any], plan: StoredPlan) -> str:
    own = [is_own_code(row.backend, plan) for row in rows]
    if own and all(own):
        return ""
    text = confinement_text(environment)
    return f"{text} except own code" if text and any(own) else text


def confinement_text(environment: Mapping[str, Any]) -> str:
    """Return that workers of backends were confined; empty where they were not, or an older document does not say."""
    return "confined" if environment.get("confined") is True else ""


def shapes_text(result: GroupResult) -> str:
    """Return the shapes of a table's inputs: ``1x224x224x3``, or ``ids 1x128, mask 1x128`` where there are several."""
    return sizes_text(result.shapes)


def inputs_text(inputs: GivenInputs | None) -> str:
    """Return what the inputs were: ``data: speech (12 samples)``, constants, and what is fed back; or nothing."""
    if inputs is None:
        return ""
    parts: list[str] = []
    if inputs.samples:
        source = f"data: {Path(inputs.source).name}" if inputs.source else "data in memory"
        parts.append(f"{source} ({_samples(inputs)})")
    parts += [f"{name}={_values(values)}" for name, values in inputs.values.items()]
    if inputs.feedback:
        parts.append(f"decode loop: {', '.join(f'{output} -> {name}' for name, output in inputs.feedback.items())}")
    return SEPARATOR.join(parts)


def _samples(inputs: GivenInputs) -> str:
    """Return how many samples took turns, or how many made how many calls: ``8 samples in 2 calls of 4``."""
    if inputs.rows_per_call <= 1:
        return plural(inputs.samples, "sample")
    joined = f"{plural(inputs.rows, 'sample')} in {plural(inputs.samples, 'call')} of {inputs.rows_per_call}"
    missing = inputs.samples * inputs.rows_per_call - inputs.rows
    return f"{joined}, filled up by repeating {missing}" if missing else joined


def _values(values: Sequence[Number]) -> str:
    shown = ",".join(map(str, values[:_MOST_VALUES]))
    return shown if len(values) <= _MOST_VALUES else f"{shown},..."


def sizes_text(shapes: Mapping[str, Sequence[int | str]], *, names_single: bool = False) -> str:
    """Return shapes by input as :func:`shapes_text` does."""
    named = names_single or len(shapes) != 1
    return ", ".join(f"{name} {shape_text(shape)}" if named else shape_text(shape) for name, shape in shapes.items())


def _precision(cell: _TableRow) -> str:
    return str(cell.effective.get("precision") or cell.requested.precision)


def _threads(cells: Sequence[_TableRow]) -> str:
    counts = {all_threads(cell.effective, cell.requested) or cell.requested.all_threads for cell in cells}
    if len(counts) != 1:
        return "threads differ"
    (threads,) = counts
    return "native threads" if threads is None else plural(threads, "thread")


def _cores(environment: Mapping[str, Any], plan: StoredPlan) -> str:
    cpus, cores = plan.cpus, environment.get("physical_cores_allowed")
    if cpus:
        return f" on {'processor' if len(cpus) == 1 else 'processors'} {','.join(str(cpu) for cpu in cpus)}"
    return f" on {plural(cores, 'core')}" if isinstance(cores, int) else ""


def _mode(result: GroupResult) -> str:
    io = _same({IO_TEXTS[cell.io] for cell in result.cells}, "copies in some rows")
    modes = [mode for mode in ("streams", "instances") if any(cell.mode == mode for cell in result.cells)]
    mode = " and ".join(modes) or ("training steps" if result.is_training else "sync, back to back")
    bound = result.goal.max_latency_ms if result.goal is not None else None
    option = "" if result.goal is None or result.goal.level is None else " (--slo)"
    limit = "" if bound is None else f" with p90 of at most {bound:g} ms{option}"
    facts = (f"{mode}, compared by {_compared_by(result)}{limit}" if compared_how(result) else mode, io)
    return facts[0] if result.is_training else ", ".join(facts)  # what a step copies is a part of it


def compared_how(result: GroupResult) -> str:
    """Return by what speeds differ, as it follows a ratio: ``in FPS``; empty where it is the usual latency."""
    if _compares_means(result) or (result.is_generation and result.objective == "latency"):
        return f"by {_compared_by(result)}"
    return "" if result.goal is None and result.objective == "latency" else f"in {_compared_by(result)}"


def _compared_by(result: GroupResult) -> str:
    if result.is_generation and result.objective == "latency":
        return "time per generation"
    if _compares_means(result):
        return "time per step" if result.is_training else "time per inference"
    if result.objective == "fps":
        return result.throughput_unit
    return (_STEPS_COMPARED_BY if result.is_training else COMPARED_BY)[result.objective]


def _compares_means(result: GroupResult) -> bool:
    """Whether latencies are compared on a busy machine: not by medians, which jump with the share of the load."""
    return result.objective == "latency" and result.condition is not None and result.lead is not None


def _same(values: set[str], otherwise: str) -> str:
    return values.pop() if len(values) == 1 else otherwise


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
    versions_by_name: dict[str, Any] = {name: environment.get(name) for name in ("kernel", "python")}
    versions_by_name |= dict(distributions) if isinstance(distributions, Mapping) else {}
    elsewhere = _runtimes_elsewhere(document)
    return {name: str(version) for name, version in versions_by_name.items() if version and name not in elsewhere}


def _runtimes_elsewhere(document: RunDocument) -> set[str]:
    """Return the runtimes that other environments brought: that of irbench's own environment did not take part."""
    return {str(environment.get("runtime")) for environment in document.plan.environments}


def command_text(document: RunDocument) -> str:
    """Return the command line of a run, quoted for a shell; empty where it is not known, or of another program."""
    return planned_command_text(document.plan)


def planned_command_text(plan: StoredPlan) -> str:
    """Return the command line that a run with this plan was called by; see :func:`command_text`."""
    return shlex.join(plan.command) if plan.command[:1] == (_PROGRAM,) else ""


_CODE_OPTIONS = ("--cell", "--metric", "--import", "--with")
_SETTINGS = ("--set", "--vary")
_NAMES_BACKENDS = ("--backend", "--backends", "--baseline", "--reference")


def code_in_command(plan: StoredPlan) -> tuple[str, ...]:
    """Return what the command line of a run names that runs code of whoever wrote it, or uses files beside models.

    Who stored the run may have written any command there, so it is read from the command and not from the plan.
    """
    words = shlex.split(planned_command_text(plan))
    named: list[str] = []
    for before, word in pairwise(words):
        option, equals, value = word.partition("=") if word.startswith("--") else (before, "=", word)
        is_path = os.sep in value.partition("=")[2]
        runs_code = option in _CODE_OPTIONS or (option in _SETTINGS and is_path)
        is_function = option not in _NAMES_BACKENDS and function_address(value) is not None
        if equals and (runs_code or is_function):
            named.append(value)
    return tuple(dict.fromkeys(named))


def origin_lines(document: RunDocument) -> Iterator[str]:
    """Yield what a reader elsewhere must know of a run: its name and moment, the machine, the versions, the command."""
    yield SEPARATOR.join((f"run {document.run_id}", document.created, f"irbench {document.irbench_version}"))
    machine = machine_text(document)
    if machine:
        yield machine
    versions_line = ", ".join(f"{name} {version}" for name, version in versions(document).items())
    if versions_line:
        yield versions_line
    command = command_text(document)
    if command:
        yield command
        if named := code_in_command(document.plan):
            yield f"warning: read the command before you type it, it runs code or uses files: {'; '.join(named)}"
