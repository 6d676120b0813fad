"""Where models come from: the zoo's sources, and exporters that make bundles of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from irbench.spec import Bundle, InputSpec


@dataclass(frozen=True)
class ModelSource:
    """A model the zoo can build. What yields it imports no framework.

    Attributes:
        name: The name used on the command line.
        family: What kind of network it is, ``residual CNN`` for example.
        summary: One line for listings.
        inputs: Logical inputs with named dynamic dimensions and value ranges.
        build: Makes the framework's model (a ``keras.Model``), unseeded.
        defaults: Sizes of dynamic dimensions other than the batch.
        classifier: Whether its first output holds class scores.
        parameters: Weights that training finds, and the statistics it keeps; ``None`` where nobody counted.
        macs: Multiply-accumulate operations of its products and convolutions at batch 1 and ``defaults``; ``None``
            where nobody counted.
        requires: Distributions that it is built with, besides those of the exporter.
    """

    name: str
    family: str
    summary: str
    inputs: tuple[InputSpec, ...]
    build: Callable[[], Any]
    defaults: Mapping[str, int] = field(default_factory=dict[str, int])
    classifier: bool = True
    parameters: int | None = None
    macs: int | None = None
    requires: tuple[str, ...] = ()


Acceptance: TypeAlias = Literal["certain", "perhaps", "no"]
"""Whether an exporter takes a source: *perhaps* where only a call tells, as a function may return anybody's model."""


@dataclass(frozen=True)
class ExportRequest:
    """Everything an exporter needs to make a bundle.

    Attributes:
        source: A zoo name, a ``.keras`` file, a SavedModel folder, or ``module:function``.
        directory: An empty folder to write the bundle's files into.
        opset: ONNX operator set version of the default domain.
        batch: A fixed batch, or ``None`` for a dynamic one.
        seed: Seed of random weights and of generated inputs.
        weights: ``random``, a file of weights, or ``None`` for the source's own
            (a zoo model has none and takes random ones).
        layout: Of image inputs in ONNX: ``keep`` the framework's or ``nchw``.
        imports: Modules, or files of Python, to import before the model is loaded: they define its layers.
        signature: Of a SavedModel, the function to export; ``None`` for its default, and for sources without any.
        shapes: Shapes of inputs, and sizes of dynamic dimensions, by name: the model is run with them, and they are the
            bundle's default sizes.
    """

    source: str
    directory: Path
    opset: int
    batch: int | None
    seed: int
    weights: str | None
    layout: Literal["keep", "nchw"]
    imports: tuple[str, ...] = ()
    signature: str | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])


@dataclass(frozen=True)
class ExporterDescription:
    """What is known about an exporter without importing its framework.

    Attributes:
        framework: What tables call the framework, whose outputs are what every runtime's are compared with.
        distributions: Those that it needs, and whose versions decide what an export makes; what was made with others is
            made again.
        environment: Variables that are set for the processes that export and check.
    """

    framework: str
    distributions: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


class Exporter(Protocol):
    """Makes bundles out of a framework's models."""

    @property
    def name(self) -> str:
        """The name of its entry point."""
        ...

    def describe(self) -> ExporterDescription:
        """Say what it exports from, and what with; imports no framework."""
        ...

    def accepts(self, source: str) -> Acceptance:
        """Return whether it exports ``source``, as far as its name and its files tell. Imports no framework."""
        ...

    def owns(self, model: object, /) -> bool:
        """Whether something that a function returned is a model of its framework. Imports no framework.

        Asked where several exporters take a source *perhaps*, in a process that ends afterwards: the export calls the
        function again, in the environment of its owner.
        """
        ...

    def export(self, request: ExportRequest, say: Callable[[str], None], /) -> Bundle:
        """Write the bundle's files into ``request.directory`` and return it; ``say`` reports progress.

        Runs in a worker, in the folder in which the model was named. irbench records which files are read, and exports
        again when one has changed: those that Python opens, and those that a library opens by itself are announced with
        ``sys.audit("open", path, mode, flags)``.

        Raises:
            IrbenchError: The model cannot be exported; says why and what to do.
        """
        ...


@dataclass(frozen=True)
class ModelInMemory:
    """A model that was loaded or made in Python, and how it becomes a file that an exporter takes.

    Attributes:
        name: What it calls itself.
        digest: Of all that decides what it computes, in hexadecimal digits: equal models have the same.
        suffix: Of its file.
        save: Writes it to a file that is not there yet.
    """

    name: str
    digest: str
    suffix: str
    save: Callable[[Path], object]


@runtime_checkable
class InMemoryExporter(Protocol):
    """An exporter that also takes its framework's models as objects."""

    def in_memory(self, model: object, /) -> ModelInMemory | None:
        """Return how a model is saved; ``None`` for what is no model of its framework. Imports no framework.

        Raises:
            IrbenchError: It is one that cannot be saved; says why and what to do.
        """
        ...
