"""What is verified of one model, and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from irbench.api.display import DisplayedReport
from irbench.core.address import BackendAddress
from irbench.core.plain_text import plain
from irbench.core.record import Failure
from irbench.core.row import CellResult, GivenInputs
from irbench.errors import ExitCode
from irbench.features.verify.cases import CaseResult, SuiteReport
from irbench.features.verify.options import VERIFY
from irbench.notices import AnyWarn, Reference, Warn
from irbench.options.input_request import InputRequest
from irbench.render.views import Document
from irbench.spec import Artifact, Bundle, Cell, Feeding, Precision, PythonEnvironment
from irbench.spi import Array, Outputs
from irbench.stats.workload_facts import given_inputs


class NoReference(Exception):
    """Nothing could compute the expected outputs; the warning says what was tried."""

    def __init__(self, warning: Warn) -> None:
        super().__init__(warning.code)
        self.warning = warning


DEADLINE_S = 300.0
"""For one backend, unless a budget allows less."""


@dataclass(frozen=True)
class DataSets:
    """A folder of data sets, which hold the expected outputs."""

    folder: str
    count: int


@dataclass(frozen=True)
class ModelReport:
    """The document of one verified model.

    Attributes:
        verified_against: Where the expected outputs come from; ``None`` where nobody kept that.
        complete: False where the run was interrupted; the cells are those that were done.
        shapes: Of the inputs by name, in the model's order; empty where data sets have several.
        given_inputs: Data, constants and feedback; ``None`` where all inputs were generated, or came from data sets.
        classes: The outputs that top-1 agreement is of, where the model has others besides.
    """

    model: str
    verified_against: Reference | DataSets | None
    complete: bool
    cells: tuple[CellResult, ...]
    warnings: tuple[AnyWarn, ...] = ()
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    given_inputs: GivenInputs | None = None
    classes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        """What the cells come to: an interrupt first, then wrong outputs, then failures."""
        states = {cell.state for cell in self.cells}
        if not self.complete:
            return ExitCode.INTERRUPTED
        if "mismatch" in states:
            return ExitCode.DIFFERENT
        return ExitCode.FAILED_CELL if "failed" in states else ExitCode.OK


@dataclass(frozen=True)
class Trial:
    """Inputs with the outputs that they must lead to, and cells whose shapes are bound to them.

    Attributes:
        name: Of the data set; empty where there is one only.
        inputs: Logical inputs of the only call; empty where a feeding has them.
        absent: Why some of them cannot run it, by cell id.
        others: The graph with dynamic shapes, by cell id, for a runtime that refuses the one with bound shapes.
        feeding: Where the inputs of the calls come from; ``None`` for a data set with expected outputs.
        scale: Size of the inputs, which small outputs are compared with.
    """

    name: str
    inputs: tuple[Array, ...]
    expected: tuple[Outputs, ...]
    bundle: Bundle
    sizes: Mapping[str, int]
    cells: tuple[Cell, ...]
    absent: Mapping[str, Failure]
    others: Mapping[str, Artifact]
    feeding: Feeding | None = None
    scale: float = 1.0
    deadline_s: float = DEADLINE_S

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each input, by its name."""
        bound = (spec.tensor.bind(self.sizes) for spec in self.bundle.inputs)
        return {tensor.name: tuple(size for size in tensor.shape if isinstance(size, int)) for tensor in bound}


@dataclass(frozen=True)
class PlannedTrials:
    """What every backend must answer.

    Attributes:
        trials: One for each data set; a single one for seeded inputs.
    """

    trials: tuple[Trial, ...]
    source: Reference | DataSets | None
    warnings: tuple[AnyWarn, ...] = ()

    def report(self, bundle: Bundle, cells: Sequence[CellResult], *, complete: bool) -> ModelReport:
        """Return the document of what came of them."""
        shapes = [trial.shapes for trial in self.trials]
        feedings = [trial.feeding for trial in self.trials if trial.feeding is not None]
        return ModelReport(
            model=bundle.name,
            verified_against=self.source,
            complete=complete,
            cells=tuple(cells),
            warnings=self.warnings,
            shapes=shapes[0] if shapes and all(other == shapes[0] for other in shapes) else {},
            given_inputs=given_inputs(feedings[0]) if feedings else None,
            classes=bundle.names_of_classes(bundle.known_class_axes),
        )


@dataclass(frozen=True)
class VerificationRequest:
    """What is verified.

    Attributes:
        shapes: Of inputs with dynamic dimensions, by name.
        data: A folder of data sets with expected outputs; ``None`` for the reference that ``irbench run`` compares
            with.
        inputs: Data and constants for inputs, without ``data``.
        environments: Pythons whose runtimes are compared, a row in each; none for the one that irbench runs in.
        precisions: What backends compute in, a row for each; ``None`` for what the graph holds.
        deadline_s: How long each backend, and the reference, is waited for.
    """

    bundle: Bundle
    backends: tuple[BackendAddress, ...]
    shapes: Mapping[str, tuple[int, ...]]
    data: Path | None
    inputs: InputRequest = field(default_factory=InputRequest)
    environments: tuple[PythonEnvironment, ...] = ()
    precisions: tuple[Precision, ...] | None = ("fp32",)
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    deadline_s: float = DEADLINE_S


class Verification(DisplayedReport[ModelReport | SuiteReport]):
    """What was verified: the ``report`` of a model or of a suite."""

    _command = VERIFY

    @property
    def exit_code(self) -> ExitCode:
        """What ``irbench verify`` exits with."""
        return self.report.exit_code

    @property
    def ok(self) -> bool:
        """Whether all was done and nothing failed, crashed or answered wrongly; between versions, nothing changed."""
        return self.exit_code == ExitCode.OK

    @property
    def rows(self) -> tuple[CellResult, ...] | tuple[CaseResult, ...]:
        """A row for each backend, or for each case on each backend."""
        return self.report.cells if isinstance(self.report, ModelReport) else self.report.cases

    def __repr__(self) -> str:
        """Return what was verified and whether all is well."""
        what = self.report.model if isinstance(self.report, ModelReport) else f"suite {self.report.suite}"
        return plain(f"<Verification of {what}: {'ok' if self.ok else 'not ok'}>")

    def __rich__(self) -> Document:
        """Return the report as ``irbench verify`` prints it; called by rich."""
        from irbench.features.verify.view import model_view, suite_view

        return model_view(self.report) if isinstance(self.report, ModelReport) else suite_view(self.report)
