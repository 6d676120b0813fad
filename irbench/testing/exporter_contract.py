"""The contract that every exporter keeps, whoever wrote it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.exporter.build import ExportWorker, export
from irbench.exporter.identity import installed_version
from irbench.exporter.source import Source
from irbench.options.export import ExportOptions
from irbench.spec import BATCH, Artifact, InputSpec
from irbench.spi import Exporter
from irbench.store import bundles
from irbench.testing.judging import DEADLINE_S, fail, imported_modules, in_words, modules_of, own_modules
from irbench.worker import call_in_worker

_SEED = 5
_FIND = "from irbench.core import registry; exporter = registry.exporter({name!r})"
_BESIDES = "import irbench.exporter.build"
"""What irbench itself imports before it asks an exporter anything."""


class ExporterContract:
    """What every exporter of ``irbench.exporters`` keeps.

    A subclass whose name begins with ``Test`` names it, and a model that it exports::

        class TestMine(ExporterContract):
            exporter = "mine"
            source = "small_model.py:build"

    A file is looked for beside the test's. A small model is enough: it is exported twice.
    """

    exporter: ClassVar[str]
    source: ClassVar[str]

    @classmethod
    def folder(cls) -> Path:
        """Return the folder that ``source`` is relative to."""
        return Path(inspect.getfile(cls)).absolute().parent

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def part(cls) -> Exporter:
        """Return the exporter; tests are skipped where what it exports from is not installed."""
        try:
            part = registry.exporter(cls.exporter)
            missing = [name for name in part.describe().distributions if installed_version(name) is None]
        except (AttributeError, IrbenchError) as error:
            hint = getattr(error, "hint", "") or f"Give the class the name of an entry point in {registry.EXPORTERS}."
            fail(f"{cls.__name__} cannot be tested: {error}", hint)
        if missing:
            pytest.skip(f"{', '.join(missing)} is not installed here")
        return part

    @pytest.fixture(scope="class")
    @classmethod
    def exported(cls, part: Exporter, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
        """Return the folder of the bundle of the model, exported as ``irbench export`` does."""
        folder = tmp_path_factory.mktemp(part.name)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("IRBENCH_HOME", str(folder / "home"))
            yield cls._export(folder / "bundle")

    @classmethod
    def _export(cls, output: Path) -> Path:
        options = ExportOptions(seed=_SEED, force=True, output=output)
        try:
            return export(cls.source, options, lambda _progress: None, folder=cls.folder())
        except IrbenchError as error:
            fail(f"{cls.exporter} did not export {cls.source}: {error}", error.hint)

    @in_words
    def test_it_is_described_by_distributions_that_are_installed(self, part: Exporter) -> None:
        """Their versions decide whether a bundle is made again."""
        assert part.name == self.exporter, "name must be that of the entry point"
        description = part.describe()
        assert description.framework, "describe() must name the framework, as tables show it"
        assert description.distributions, "describe() must name the distributions whose versions decide what is made"

    def test_accepting_a_source_imports_no_framework(self, part: Exporter) -> None:
        """Every exporter is asked about every model that is named."""
        source = Source(self.source, self.folder()).absolute
        self._require_no_framework(part, f"exporter.accepts({source!r})", "accepts()")

    def test_asking_whose_model_it_is_imports_no_framework(self, part: Exporter) -> None:
        """Every exporter may be asked about a model of another framework, in a process that has only that one."""
        self._require_no_framework(part, "assert not exporter.owns(object())", "owns()")

    @in_words
    def test_it_accepts_its_own_source_and_nothing_unknown(self, part: Exporter) -> None:
        """What no exporter accepts is a mistyped name."""
        accepted = part.accepts(Source(self.source, self.folder()).absolute)
        assert accepted in {"certain", "perhaps"}, f"accepts() must take {self.source}"
        assert part.accepts("no_such_file.no_such_format") == "no", (
            'accepts() must return "no" for what it cannot export'
        )

    def test_it_owns_the_model_that_its_source_makes(self, part: Exporter) -> None:
        """A function may return a model of any framework, so that its owner is asked for."""
        source = Source(self.source, self.folder())
        if source.function is None and not source.is_zoo:
            pytest.skip(f"{self.source} names no function")
        try:
            call_in_worker(
                *("irbench.exporter.acceptance:owner", (part.name,), self.source, (), self.folder()),
                deadline_s=DEADLINE_S,
                say=lambda _progress: None,
            )
        except IrbenchError as error:
            fail(f"{self.exporter} does not own what {self.source} makes: {error}", error.hint)

    @in_words
    def test_the_bundle_is_its_own_and_holds_an_onnx_graph_with_a_free_batch(self, exported: Path) -> None:
        """Every backend must be able to run the model, at any batch."""
        card = bundles.load_card(exported)
        exporter = "" if card.origin is None else card.origin.exporter
        assert exporter == self.exporter, f"{self.source} was exported by another exporter"
        for artifact in card.bundle.artifacts:
            assert artifact.path.exists(), f"the bundle names {artifact.path.name}, which export() did not write"
        graph = self._graph(exported)
        free = {name for spec in graph.inputs for name in spec.dynamic_dimensions}
        assert BATCH in free, f"without a batch in the request, an input must have a dimension called {BATCH!r}"

    @in_words
    def test_the_inputs_of_every_artifact_are_those_of_the_model(self, exported: Path) -> None:
        """They have the same order, and each the dtype and, transposed as its permutation says, the same shape."""
        bundle = bundles.load(exported)
        for artifact in bundle.artifacts:
            names = [spec.name for spec in artifact.inputs]
            assert len(names) == len(bundle.inputs), f"{artifact.label} must have one input for each of Bundle.inputs"
            for place, logical in enumerate(bundle.inputs):
                wrong = _misfit(logical, artifact, place)
                if wrong:
                    fail(
                        f"Input {names[place]} of {artifact.label} does not fit {logical.tensor.name}: {wrong}.",
                        "Artifact.inputs must be in the order of Bundle.inputs; see TensorSpec.permutation.",
                    )

    @in_words
    def test_the_graph_answers_what_the_framework_answered(self, exported: Path) -> None:
        """At batches 1 and 3, with the inputs of the bundle's seed."""
        bundle = bundles.load(exported)
        assert bundle.reference is not None, "export() must write the outputs of the framework: Bundle.reference"
        try:
            ExportWorker(self.exporter).accept(bundle, lambda _progress: None, DEADLINE_S)
        except IrbenchError as error:
            fail(str(error), error.hint)

    def test_the_same_seed_gives_the_same_graph(self, exported: Path, tmp_path: Path) -> None:
        """Otherwise two people who export a model do not measure the same one."""
        again = self._export(tmp_path / "again")
        if self._digests(exported) != self._digests(again):
            fail(
                f"Two exports of {self.source} with seed {_SEED} wrote different ONNX files.",
                "Draw random weights from request.seed, and write no times into the graph."
                f" {self.source} itself must make the same model in every call.",
            )

    def _graph(self, exported: Path) -> Artifact:
        graph = bundles.load(exported).artifact(("onnx",))
        if graph is None:
            fail(f"The bundle of {self.exporter} has no onnx artifact.", "Every export must write an ONNX graph.")
        return graph

    def _digests(self, exported: Path) -> dict[str, str]:
        """Return the digests of the ONNX file, and of files with its weights."""
        name = self._graph(exported).path.name
        return {file: digest for file, digest in bundles.load_card(exported).checksums.items() if file.startswith(name)}

    def _require_no_framework(self, part: Exporter, call: str, what: str) -> None:
        imported = imported_modules(f"{_FIND.format(name=self.exporter)}\n{call}", _BESIDES)
        framework = (imported & modules_of(part.describe().distributions)) - own_modules(part)
        if framework:
            fail(
                f"{self.exporter} imports {', '.join(sorted(framework))} for {what}.",
                "Decide by the source's name, and by type(model).__module__; import the framework in export().",
            )


def _misfit(logical: InputSpec, artifact: Artifact, place: int) -> str | None:
    spec, tensor = artifact.inputs[place], logical.tensor
    axes = spec.permutation or tuple(range(len(tensor.shape)))
    if spec.dtype != tensor.dtype:
        return f"it is {spec.dtype} in place of {tensor.dtype}"
    if len(axes) != len(tensor.shape) or tuple(tensor.shape[axis] for axis in axes) != spec.shape:
        return f"its shape is {spec.shape} in place of {tensor.shape} with the axes in the order {axes}"
    return None
