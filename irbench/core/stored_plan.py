"""What a run was asked to measure, as its document holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from irbench.spec import Goal, Io


def _facts() -> Any:
    return field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class StoredPlan:
    """What was asked of a run, and what its names were resolved to; every field has its default in a run without it.

    Attributes:
        models: Names of the models.
        sources: The file or name that each was read from.
        backends: With their devices: ``ort:cpu``.
        cells: The user's own code, by row.
        batches: Batch sizes; null for the model's own, or 1.
        streams: Numbers of concurrent inferences.
        instances: Numbers of processes side by side.
        precisions: Precisions that are pinned; null for that of each graph.
        variants: Levels of optimisation.
        threads: Threads of each process; null leaves them to the runtime.
        divides_threads: Whether instances share the threads, for which nobody asked.
        apart: Whether each model and batch has a table of its own.
        side_by_side: Whether models share tables though their outputs may differ.
        goal: What rows are compared by, where somebody asked for it.
        cpus: Processors that workers may use; null for all.
        io: What the timed region covers.
        options: Options of backends, by backend.
        alternatives: Sets of options that rows of a backend differ in.
        rows: Ids of the rows that are measured; null for all.
        training: The options of what is trained.
        traced_steps: Steps of each row that are traced.
        is_part_of: The command that the run is a part of, ``tune`` for example.
        search_run: The run that holds the search whose best rows this one confirms.
        accuracy: How good outputs must be.
        shapes: Shapes of inputs and sizes of dimensions, by name.
        sweep: Several shapes of one input, by its name.
        dynamic: Whether graphs with dynamic shapes are rows too.
        generate: Tokens that each call generates.
        prompt: Lengths of the prompts.
        baseline: The row that was named as the baseline.
        allow_mixed: Whether rows are compared whose precisions runtimes chose.
        seed: Of inputs and orders.
        timing: The numbers of the protocol.
        budget_s: For the whole run.
        preset: Which preset the protocol began with.
        command: The command line, in words.
        cold: Whether cold starts are measured.
        soak: How long rows are called to see whether they grow.
        corun: What rows are measured beside.
        serving: Which loads of requests rows are given.
        require_full: Whether rows fail whose nodes run on another device.
        name: What the user calls the run.
        note: What the user wants to remember of it.
        asked: The other options that were given, by name; null where irbench itself chose what to measure.
        environments: Pythons whose runtimes are compared.
        counters: What is counted.
        data: Where samples were read from.
        data_in_memory: How many samples were arrays in memory.
        values: Constants by input.
        feedback: Outputs by the inputs that they become.
    """

    models: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    cells: Mapping[str, Any] = _facts()
    batches: tuple[int, ...] | None = None
    streams: tuple[int, ...] = (1,)
    instances: tuple[int, ...] = (1,)
    precisions: tuple[str, ...] | None = None
    variants: tuple[str, ...] = ("none",)
    threads: tuple[int | None, ...] = ()
    divides_threads: bool = False
    apart: bool = False
    side_by_side: bool = False
    goal: Goal | None = None
    cpus: tuple[int, ...] | None = None
    io: Io = "copy"
    options: Mapping[str, Mapping[str, str]] = _facts()
    alternatives: Mapping[str, tuple[Mapping[str, str], ...]] = _facts()
    rows: tuple[str, ...] | None = None
    training: Mapping[str, Any] | None = None
    traced_steps: int = 0
    is_part_of: str = ""
    search_run: str = ""
    accuracy: Mapping[str, Any] | None = None
    shapes: Mapping[str, tuple[int, ...]] = _facts()
    sweep: Mapping[str, Any] | None = None
    dynamic: bool = False
    generate: int | None = None
    prompt: tuple[int, ...] = ()
    baseline: str | None = None
    allow_mixed: bool = False
    seed: int = 0
    timing: Mapping[str, Any] = _facts()
    budget_s: float | None = None
    preset: Literal["default", "quick", "thorough"] = "default"
    command: tuple[str, ...] = ()
    cold: bool = False
    soak: Mapping[str, Any] | None = None
    corun: Mapping[str, Any] | None = None
    serving: Mapping[str, Any] | None = None
    require_full: bool = False
    name: str = ""
    note: str = ""
    asked: Mapping[str, Any] | None = None
    environments: tuple[Mapping[str, Any], ...] = ()
    counters: Mapping[str, Any] | None = None
    data: str | None = None
    data_in_memory: int | None = None
    values: Mapping[str, tuple[Any, ...]] = _facts()
    feedback: Mapping[str, str] = _facts()

    @property
    def confidence(self) -> float:
        """The confidence of its intervals."""
        confidence = self.timing.get("confidence", 0.95)
        return float(confidence) if isinstance(confidence, int | float) else 0.95
